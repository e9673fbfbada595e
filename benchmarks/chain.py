"""What a chain costs: in process, around a tool call, and over HTTP, in one run.

    python benchmarks/chain.py

Prints medians.  Machines differ and are busy: compare rows, not runs.  The lean client is
measured in processor time of the calling process beside the SDK's client, both against one
`policyd serve` in another process.
"""

from __future__ import annotations

import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic import TypeAdapter

from policyd import Engine, Invocation, compile_bundle
from policyd.chain import Chain
from policyd.middleware import install_client, install_server
from policyd.ports import open_port
from policyd.server import add_interceptors
from policyd.source import make_bundle

CONDITIONS = (
    'tool in ["rm", "sh"]',
    'has(args.path) && args.path.startsWith("/etc")',
    'principal.type == "anonymous" && tool == "admin"',
    "args.timeout > 300",
    "args.exists(k, size(k) > 100)",
    "args.url.matches(r'^ftp://')",
    "size(args.notes) > 400",
    'event == "tools/list"',
    'args.path.contains("..")',
    "size(args) > 50",
)

MUTATORS = """
mutators:
  - name: dry-run
    match: {events: [tools/call], phase: request}
    patch:
      - {op: add, path: /arguments/dry_run, value: true}
  - name: limit
    match: {events: [tools/call], phase: request}
    patch:
      - op: replace
        path: /arguments/timeout
        value: {cel: "args.timeout > 10 ? 10 : args.timeout"}
  - name: by-place
    match: {events: [tools/call], phase: request}
    redact:
      - {path: /arguments/token, replace: "[token]"}
"""

IN_TEXTS = """
  - name: in-texts
    match: {events: [tools/call], phase: request}
    redact:
      - {detect: [secrets], replace: "[{detector}]"}
"""

ARGUMENTS: dict[str, Any] = {
    "path": "/srv/data/a.txt",
    "url": "https://api.example.com/v1/items?limit=10",
    "timeout": 30,
    "notes": ["lorem ipsum dolor sit amet " * 2] * 14,
}

CALL: dict[str, Any] = {"name": "shell", "arguments": ARGUMENTS}


def policies(mutators: str) -> str:
    """Ten validators and *mutators* as a policy file."""
    validators = "".join(
        f"  - name: v{index}\n    match: {{events: [tools/call], phase: request}}\n"
        f"    rules: [{{id: r, deny: {json.dumps(condition)}, message: refused}}]\n"
        for index, condition in enumerate(CONDITIONS)
    )
    return f"policyd: v1\nvalidators:\n{validators}{mutators}"


def engine(text: str) -> Engine:
    """The engine of a policy file."""
    compilation = compile_bundle(make_bundle({"bench.yaml": text.encode()}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return Engine(compilation.snapshot)


def row(name: str, microseconds: float, note: str = "") -> None:
    """Print one figure."""
    print(f"  {name:44s} {microseconds:9.1f} us  {note}")


def median(run: Callable[[], Any], count: int = 300) -> float:
    """Median microseconds of one call, over nine batches."""
    batches = []
    run()
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(count):
            run()
        batches.append((time.perf_counter() - started) / count * 1e6)
    return statistics.median(batches)


async def median_of(run: Callable[[], Awaitable[Any]], count: int = 200) -> float:
    """Median microseconds of one awaited call, over nine batches."""
    batches = []
    await run()
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(count):
            await run()
        batches.append((time.perf_counter() - started) / count * 1e6)
    return statistics.median(batches)


async def processor(run: Callable[[], Awaitable[Any]], count: int = 200) -> float:
    """Median microseconds of processor time of this process for one call, over nine batches."""
    batches = []
    await run()
    for _ in range(9):
        started = time.process_time()
        for _ in range(count):
            await run()
        batches.append((time.process_time() - started) / count * 1e6)
    return statistics.median(batches)


async def in_process() -> None:
    """An engine called directly, through a chain, and over the in-memory transport."""
    print(f"10 validators and 3 mutators, {len(json.dumps(CALL))} bytes, all let through")
    usual = engine(policies(MUTATORS))
    row("Engine.decide", median(lambda: usual.decide(Invocation("tools/call", "request", CALL))))
    wide = engine(policies(MUTATORS + IN_TEXTS))
    cost = median(lambda: wide.decide(Invocation("tools/call", "request", CALL)))
    row("Engine.decide, and secrets sought in all texts", cost)
    async with Chain() as chain:
        chain.add_engine(usual)
        row("Chain.execute", await median_of(lambda: chain.execute("tools/call", "request", CALL)))
        nobody = await median_of(lambda: chain.execute("tools/list", "request", {}))
        row("Chain.execute, nobody hooked", nobody)
    server = MCPServer("interceptors")
    add_interceptors(server, usual)
    async with Chain() as chain:
        await chain.add_server(server)
        cost = await median_of(lambda: chain.execute("tools/call", "request", CALL), 10)
        row("Chain.execute, over the in-memory transport", cost)


def tool_server() -> MCPServer:
    """A server with one tool that does nothing."""
    server = MCPServer("tools")

    @server.tool()
    def shell(path: str, url: str, timeout: int, notes: list[str], dry_run: bool = False) -> str:
        return "done"

    return server


async def around_a_tool_call() -> None:
    """A tool call without middleware, with it on the server, and on the client."""
    print("a tool call in memory, the request judged by the same 13 interceptors")
    chain = Chain()
    chain.add_engine(engine(policies(MUTATORS)))
    guarded, plain = tool_server(), tool_server()
    install_server(guarded, chain)
    client = Client(plain)
    install_client(client, chain)
    async with Client(plain) as bare, Client(guarded) as served, client as sending:
        costs = {}
        for name, one in {"bare": bare, "server": served, "client": sending}.items():
            costs[name] = await median_of(lambda one=one: one.call_tool("shell", ARGUMENTS), 50)
    row("without middleware", costs["bare"])
    for name in ("server", "client"):
        row(f"middleware on the {name}", costs[name], f"+{costs[name] - costs['bare']:.1f}")


async def over_http() -> None:
    """One `interceptor/invoke` by the lean client and by the SDK's."""
    print("one interceptor/invoke over HTTP: processor time of the client")
    params = {"name": "v0", "event": "tools/call", "phase": "request", "payload": CALL}
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "bench.yaml").write_text(policies(MUTATORS))
        command = [str(Path(sys.executable).with_name("policyd")), "serve", directory]
        process = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[-1]
            await compare_clients(url, params)
        finally:
            process.terminate()
            process.communicate()


class InvokeParams(types.RequestParams, extra="allow"):
    """Whatever the method takes."""


async def compare_clients(url: str, params: dict[str, Any]) -> None:
    """Print what a call costs with each client."""
    port = open_port(url)
    lean = await processor(lambda: port.call("interceptor/invoke", params, 5.0))
    await port.aclose()
    row("lean client", lean)
    raw: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
    request = types.Request[InvokeParams, str](
        method="interceptor/invoke", params=InvokeParams(**params)
    )
    for mode in ("auto", "legacy"):
        async with Client(url, mode=mode) as client:
            cost = await processor(lambda c=client: c.session.send_request(request, raw), 60)
        row(f"SDK client, mode {mode}", cost, f"{cost / lean:.1f} times the lean one")


async def main() -> None:
    """Print everything."""
    await in_process()
    await around_a_tool_call()
    await over_http()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    with suppress(KeyboardInterrupt):
        anyio.run(main)
