"""What an answer over HTTP costs the server, beside a bare application, in one run.

    python benchmarks/serve.py

Needs `wrk` and two cores: the server is pinned to one, the load to the other.  Each server
answers the same call of about a kilobyte with 32 connections; the processor time per request is
read from /proc.  Medians of five runs; the columns of one run compare, runs do not.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RUNS, SECONDS, CONNECTIONS = 5, 2, 32

TRIVIAL = """policyd: v1
validators:
  - name: judged
    match: {events: [tools/call], phase: request}
    rules: [{id: r, deny: "args.command == 'rm'", message: no rm}]
"""
TWENTY = TRIVIAL.replace(
    """rules: [{id: r, deny: "args.command == 'rm'", message: no rm}]""",
    "rules:"
    + "".join(
        f"""
      - {{id: r{n}, deny: "args.command.startsWith('rm{n}') || size(args.x) < {n}", message: m}}"""
        for n in range(20)
    ),
)

BARE = """
import orjson, uvicorn, sys

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return await send({"type": "lifespan.shutdown.complete"})
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body")
    asked = orjson.loads(body)
    result = {"type": "validation", "interceptor": "judged", "phase": "request", "durationMs": 0,
              "valid": True, "info": {"policy": {"generation": "0123456789ab"}},
              "validation": {"valid": True}}
    answer = orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False,
            server_header=False)
"""

SDK_ONLY = """
import sys
from policyd.server import lane
lane.Lane.takes = lambda self, message, modern: False
from policyd.cli import main
sys.argv = ["policyd", "serve", "--http", f"127.0.0.1:{sys.argv[1]}", sys.argv[2]]
main()
"""

SCRIPT = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["accept"] = "application/json, text/event-stream"
%s
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"interceptor/invoke","params":{"name":"judged",' ..
  '"event":"tools/call","phase":"request","payload":{"name":"shell","arguments":{"command":"ls",' ..
  '"x":"' .. string.rep("y", 640) .. '"}}%s}}'
"""
MODERN_HEADERS = """wrk.headers["mcp-protocol-version"] = "2026-07-28"
wrk.headers["mcp-method"] = "interceptor/invoke" """
MODERN_META = (
    ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{}}'
)


class Figures(NamedTuple):
    """Of one server: processor microseconds and milliseconds at the 99th percentile."""

    cpu: float
    rate: float
    p99: float


class Server:
    """A process pinned to the first core."""

    def __init__(self, *command: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        arguments = [part.replace("PORT", str(self.port)) for part in command]
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", sys.executable, *arguments], stderr=subprocess.DEVNULL
        )
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)

    def ticks(self) -> float:
        """Seconds of processor time so far."""
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().split()[13:15]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def load(self, script: Path) -> Figures:
        """Ask as fast as it answers."""
        before = self.ticks()
        command = f"taskset -c 1 wrk -t1 -c{CONNECTIONS} -d{SECONDS}s --latency -s {script}"
        address = f"http://127.0.0.1:{self.port}/mcp"
        done = subprocess.run([*command.split(), address], capture_output=True, text=True)
        spent = self.ticks() - before
        said = done.stdout
        if "Non-2xx" in said:
            raise SystemExit(f"a server refuses the call:\n{said}")
        count = int(_number(r"(\d+) requests in", said))
        unit = {"us": 1e-3, "ms": 1, "s": 1e3}
        p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
        late = float(p99[1]) * unit[p99[2]] if p99 else 0.0
        return Figures(spent / count * 1e6, float(_number(r"Requests/sec:\s+([\d.]+)", said)), late)


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"wrk says what is not understood:\n{text}")
    return found[1]


def policies(folder: Path, name: str, text: str) -> str:
    """A folder of policies."""
    (folder / name).mkdir()
    (folder / name / "p.yaml").write_text(text)
    return str(folder / name)


def main(folder: Path) -> None:
    """Start all servers, load them in turn, and print the table."""
    legacy, modern = folder / "legacy.lua", folder / "modern.lua"
    legacy.write_text(SCRIPT % ("", ""))
    modern.write_text(SCRIPT % (MODERN_HEADERS, MODERN_META))
    (folder / "bare.py").write_text(BARE)
    (folder / "sdk.py").write_text(SDK_ONLY)
    one, twenty = policies(folder, "one", TRIVIAL), policies(folder, "twenty", TWENTY)
    serve = ("-m", "policyd", "serve", "--http", "127.0.0.1:PORT")
    bare = Server(str(folder / "bare.py"), "PORT")
    ours, rules = Server(*serve, one), Server(*serve, twenty)
    sdk = Server(str(folder / "sdk.py"), "PORT", one)
    rows: Sequence[tuple[str, Server, Path]] = [
        ("bare ASGI application", bare, legacy),
        ("one rule, 2025-11-25", ours, legacy),
        ("one rule, 2026-07-28", ours, modern),
        ("twenty rules, 2026-07-28", rules, modern),
        ("one rule through the SDK, 2025-11-25", sdk, legacy),
        ("one rule through the SDK, 2026-07-28", sdk, modern),
    ]
    found: dict[str, list[Figures]] = {}
    for _ in range(RUNS):
        for name, server, script in rows:
            found.setdefault(name, []).append(server.load(script))
    base = statistics.median(figures.cpu for figures in found[rows[0][0]])
    print(f"{'':40}{'CPU us':>8}{'bare =':>8}{'a second':>10}{'p99 ms':>8}")
    for name, runs in found.items():
        cpu, rate, p99 = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"{name:40}{cpu:8.1f}{cpu / base:8.2f}{rate:10.0f}{p99:8.1f}")
    for server in (bare, ours, rules, sdk):
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()


if __name__ == "__main__":
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        raise SystemExit("benchmarks/serve.py needs `wrk` and `taskset`")
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
