"""The working group's interceptor fixtures, restated, against the server and the chain.

Fixtures of both generations of the upstream suite are read; the runner is shown to fail where
it must.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from pydantic import TypeAdapter

from policyd.chain import Chain
from policyd.engine import Engine
from policyd.functions import Interceptors
from policyd.model import Direction
from policyd.server import add_interceptors
from policyd.wire import Dialect
from tests.interop.fixtures.behaviours import engine, functions, policies
from tests.interop.fixtures.runner import GENERATIONS, SUITE, Call, Fixture, fixtures, passes

_RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


class Params(types.RequestParams, extra="allow"):
    """Whatever the method takes."""


def served(client: Client) -> Call:
    """`list` and `invoke` of a server."""

    async def call(what: str, given: dict[str, Any]) -> Any:
        method = "interceptors/list" if what == "list" else "interceptor/invoke"
        params = Params(**{key: value for key, value in given.items() if value is not None})
        request = types.Request[Params, str](method=method, params=params)
        return await client.session.send_request(request, _RAW)

    return call


def applied(chain: Chain, posture: dict[str, Direction]) -> Call:
    """`apply` of a chain."""

    async def call(what: str, given: dict[str, Any]) -> tuple[bool, Any]:
        assert what == "apply"
        session = given["session"]
        decision = await chain.execute(
            given["event"],
            given["phase"],
            given["payload"],
            direction=posture[given["phase"]],
            context={} if session is None else {"sessionId": session},
        )
        return decision.allowed, decision.payload

    return call


CLIENT = {"request": Direction.SENDING, "response": Direction.RECEIVING}
SERVER = {"request": Direction.RECEIVING, "response": Direction.SENDING}

Subject = Callable[[Fixture], AbstractAsyncContextManager[Call]]
Make = Callable[[Fixture], Engine | Interceptors]
Add = Callable[[Chain, Fixture], Awaitable[None]]


def hosted(source: Engine | Interceptors, dialect: Dialect = Dialect.SEP) -> MCPServer:
    server = MCPServer("fixtures")
    add_interceptors(server, source, dialect)
    return server


def in_memory(make: Make, mode: str, dialect: Dialect) -> Subject:
    @asynccontextmanager
    async def subject(fixture: Fixture) -> Any:
        async with Client(hosted(make(fixture), dialect), mode=mode) as client:
            yield served(client)

    return subject


def chained(add: Add, posture: dict[str, Direction]) -> Subject:
    @asynccontextmanager
    async def subject(fixture: Fixture) -> Any:
        async with Chain() as chain:
            await add(chain, fixture)
            yield applied(chain, posture)

    return subject


async def add_policies(chain: Chain, fixture: Fixture) -> None:
    chain.add_engine(engine(fixture))


async def add_functions(chain: Chain, fixture: Fixture) -> None:
    chain.add_functions(functions(fixture))


async def add_strawman(chain: Chain, fixture: Fixture) -> None:
    chain.add_functions(functions(fixture, security=False))


async def add_served_functions(chain: Chain, fixture: Fixture) -> None:
    await chain.add_server(hosted(functions(fixture)))


async def add_served_policies(chain: Chain, fixture: Fixture) -> None:
    await chain.add_server(hosted(engine(fixture), Dialect.UNIVERSAL))


def failures(subject: Subject, generation: str, *calls: str) -> list[str]:
    """The fixtures that fail, of those whose steps are all among *calls*."""

    async def run() -> list[str]:
        failed = []
        for fixture in fixtures(generation):
            if all(step["call"] in calls for step in fixture["steps"]):
                async with subject(fixture) as call:
                    if not await passes(fixture, call):
                        failed.append(fixture["id"])
        return failed

    return anyio.run(run)


LEAKS = [fixture["id"] for fixture in SUITE["fixtures"] if "relaybleed-" in fixture["id"]]
REDACTIONS = [fixture["id"] for fixture in SUITE["fixtures"] if "/redaction-" in fixture["id"]]
ORDER = [f["id"] for f in SUITE["fixtures"] if "-order-" in f["id"]]
COMPOSITION = "behavior/redaction-defuses-relaybleed"


def test_the_suite_is_whole() -> None:
    ids = [fixture["id"] for fixture in SUITE["fixtures"]]
    assert (len(ids), sum(i.startswith("protocol/") for i in ids)) == (24, 14)
    assert (len(LEAKS), len(REDACTIONS), len(ORDER)) == (3, 4, 2)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("make", [engine, functions], ids=["policies", "functions"])
def test_a_server_answers_as_the_fixtures_say(make: Make, mode: str, generation: str) -> None:
    subject = in_memory(make, mode, Dialect.SEP)
    assert failures(subject, generation, "list", "invoke") == []


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_policyd_serve_answers_as_the_fixtures_say(
    transport: str, serve: type[Any], tmp_path: Path
) -> None:
    @asynccontextmanager
    async def subject(fixture: Fixture) -> Any:
        (tmp_path / "p.yaml").write_text(policies(fixture), "utf-8")
        arguments = [str(tmp_path), "--dialect", "sep"]
        if transport == "stdio":
            command = ["-m", "policyd", "serve", *arguments, "--stdio", "--log-level", "error"]
            async with Client(
                StdioServerParameters(command=sys.executable, args=command)
            ) as client:
                yield served(client)
            return
        running = serve([*arguments, "--http", "127.0.0.1:0"])
        try:
            async with Client(running.url) as client:
                yield served(client)
        finally:
            running.stop()

    assert failures(subject, "newer", "list", "invoke") == []


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(
    ("add", "posture", "expected"),
    [
        (add_functions, CLIENT, []),
        (add_served_functions, CLIENT, []),
        (add_policies, CLIENT, LEAKS),
        (add_served_policies, CLIENT, LEAKS),
        (add_functions, SERVER, [*ORDER, COMPOSITION]),
        (add_served_functions, SERVER, [*ORDER, COMPOSITION]),
        (add_strawman, CLIENT, [*LEAKS, *REDACTIONS]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_chain_comes_to_what_the_fixtures_say(
    add: Add,
    posture: dict[str, Direction],
    expected: list[str],
    generation: str,
) -> None:
    assert failures(chained(add, posture), generation, "apply") == expected


def test_the_runner_sees_members_that_do_not_belong() -> None:
    subject = in_memory(engine, "auto", Dialect.UNIVERSAL)
    failed = failures(subject, "restated", "list", "invoke")
    assert failed == [
        fixture["id"]
        for fixture in SUITE["fixtures"]
        if fixture["steps"][0]["call"] in ("list", "invoke") and "unknown" not in fixture["id"]
    ]
