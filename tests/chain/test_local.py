"""An engine in process and over the in-memory transport."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

import policyd
from policyd.chain import Chain
from policyd.engine import Engine
from policyd.execution import Decision
from policyd.model import (
    Direction,
    Invocation,
)
from policyd.server import add_interceptors
from tests.chain.support import call, run


@pytest.fixture(scope="module")
def examples() -> Engine:
    return policyd.load(Path(__file__).parents[2] / "policies")


PAYLOADS: list[tuple[str, str, Any]] = [
    ("tools/call", "request", call("ls")),
    ("tools/call", "request", call("rm -rf /")),
    ("tools/call", "request", {"name": "read_file", "arguments": {"path": "/etc/shadow"}}),
    ("tools/call", "request", {"method": "tools/call", "params": call("rm -rf /")}),
    ("tools/call", "request", None),
    ("tools/call", "response", {"content": [{"type": "text", "text": "mail a.b@example.com"}]}),
    ("tools/list", "response", {"tools": [{"name": "admin_x", "inputSchema": {}}]}),
    ("resources/read", "request", {"uri": "file:///etc/passwd"}),
    ("sampling/createMessage", "request", {"messages": [], "maxTokens": 10**9}),
    ("acme/unknown", "response", {"x": [1, 2.5, None, {"y": "z"}]}),
]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("event", "phase", "payload"), PAYLOADS)
def test_an_engine_decides_alike_directly_and_over_the_in_memory_transport(
    examples: Engine, event: str, phase: str, payload: Any, direction: Direction
) -> None:
    hosted = MCPServer("interceptors")
    add_interceptors(hosted, examples)

    def told(decision: Decision) -> Any:
        answer = decision.to_json()
        for result in answer["results"]:
            result.pop("durationMs")
            result.pop("info", None)
        answer["results"] = [r for r in answer["results"] if "catch-up" not in r["interceptor"]]
        return {**answer, "totalDurationMs": 0}

    invocation = Invocation(event, phase, payload, direction=direction)
    direct = told(examples.decide(invocation))

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        remote = told(await chain.execute(event, phase, payload, direction=direction))
        assert remote == direct

    async def local(chain: Chain) -> None:
        chain.add_engine(examples)
        assert told(await chain.execute(event, phase, payload, direction=direction)) == direct

    run(local)
    run(body)
