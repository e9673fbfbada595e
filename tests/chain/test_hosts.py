"""Hosts of every kind in one chain."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from policyd.chain import Chain
from policyd.errors import Cause
from policyd.functions import Interceptors
from policyd.model import (
    Invocation,
)
from tests.chain.support import CALL, HEAD, NO_RM, appends, call, engine, run, server


def test_one_chain_runs_every_kind_of_host(serve: type[Any], tmp_path: Path) -> None:
    Path(tmp_path, "p.yaml").write_text(HEAD + "mutators:" + appends("over-http", 3))
    running = serve([str(tmp_path), "--http", "127.0.0.1:0"])
    interceptors = Interceptors()

    @interceptors.mutator("function", events=["tools/*"], phase="request", priority=1)
    async def function(invocation: Invocation) -> None:
        invocation.payload["arguments"]["trail"] += "function;"

    hosted, _ = server("mutators:" + appends("in-memory", 2))
    owned, _ = server("mutators:" + appends("session", 4))

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("mutators:" + appends("engine", 0)))
        chain.add_functions(interceptors)
        await chain.add_server(hosted)
        await chain.add_server(running.url)
        before = copy.deepcopy(CALL)
        async with Client(owned) as client:
            await chain.add_server(client)
            decision = await chain.execute("tools/call", "request", CALL)
        assert decision.allowed
        assert decision.payload["arguments"]["trail"] == (
            "engine;function;in-memory;over-http;session;"
        )
        assert before == CALL

    try:
        run(body)
    finally:
        running.stop()


def test_a_dead_server_is_a_failing_interceptor(serve: type[Any], tmp_path: Path) -> None:
    Path(tmp_path, "p.yaml").write_text(
        HEAD + "validators:" + NO_RM + NO_RM.replace("no-rm", "open") + "    failOpen: true\n"
    )
    running = serve([str(tmp_path), "--http", "127.0.0.1:0"])

    async def body(chain: Chain) -> None:
        await chain.add_server(running.url)
        assert (await chain.execute("tools/call", "request", call("ls"))).allowed
        await anyio.to_thread.run_sync(running.stop)
        closed = await chain.execute("tools/call", "request", call("ls"), names=["no-rm"])
        assert [failure.cause for failure in closed.failures] == [Cause.UNREACHABLE]
        assert not closed.allowed
        assert (await chain.execute("tools/call", "request", call("ls"), names=["open"])).allowed

    run(body)
