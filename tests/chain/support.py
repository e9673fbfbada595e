"""What the tests of the chain share: policies, servers that host them, and how a chain is run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer

from policyd.chain import Chain
from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.server import add_interceptors
from policyd.snapshot import Snapshot
from policyd.source import make_bundle
from policyd.wire import Dialect

CALL: dict[str, Any] = {"name": "shell", "arguments": {"command": "ls", "trail": ""}}

HEAD = "policyd: v1\n"

NO_RM = """
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules: [{id: rm, deny: "args.command == 'rm'", message: not this}]
"""


def snapshot(text: str) -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": HEAD + text}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot


def engine(text: str) -> Engine:
    return Engine(snapshot(text))


def server(text: str, dialect: Dialect = Dialect.UNIVERSAL) -> tuple[MCPServer, Engine]:
    """A server of the SDK that hosts policies, and their engine."""
    policies = engine(text)
    hosting = MCPServer("interceptors")
    add_interceptors(hosting, policies, dialect)
    return hosting, policies


def appends(name: str, priority: int = 0, phase: str = "request") -> str:
    return f"""
  - name: {name}
    match: {{events: [tools/call], phase: {phase}}}
    priority: {priority}
    patch: [{{op: replace, path: /arguments/trail, value: {{cel: "args.trail + '{name};'"}}}}]
"""


def run(body: Callable[[Chain], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with Chain(**options) as chain:
            await body(chain)

    anyio.run(within)


def call(command: str) -> dict[str, Any]:
    return {"name": "shell", "arguments": {"command": command, "trail": ""}}
