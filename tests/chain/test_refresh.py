"""Lists that change while a chain runs: of a policyd server, and of others."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from policyd.chain import Chain, Overrides, Terms
from policyd.chain.remote import told_name
from policyd.engine import Engine
from policyd.execution import Decision, Status
from policyd.functions import Interceptors
from policyd.model import Invocation
from policyd.server.methods import Methods
from policyd.server.protocol import build_server
from policyd.wire import Dialect
from tests.chain.others import Others, denied, validation
from tests.chain.support import NO_RM, call, engine, run, snapshot

NO_LS = NO_RM.replace("no-rm", "no-ls").replace("'rm'", "'ls'")


def policyd_server(text: str, dialect: Dialect) -> tuple[Server[Any], Engine]:
    policies = engine(text)
    return build_server(Methods(policies, dialect)), policies


def names(chain: Chain) -> list[str]:
    return [d.name for d in chain.descriptors if "catch-up" not in d.name]


def found(decision: Decision) -> list[str]:
    return [finding.interceptor.split("@")[0] for finding in decision.findings]


@pytest.mark.parametrize(
    ("dialect", "first"),
    [(Dialect.UNIVERSAL, ["policyd/catch-up-validators"]), (Dialect.SEP, [])],
)
def test_policies_that_were_added_to_a_server_count_once_an_answer_has_told_of_them(
    dialect: Dialect, first: list[str]
) -> None:
    hosted, policies = policyd_server("validators:" + NO_RM, dialect)

    async def ask(chain: Chain) -> list[str]:
        return found(await chain.execute("tools/call", "request", call("ls")))

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        assert await ask(chain) == []
        policies.install(snapshot("validators:" + NO_RM + NO_LS))
        assert await ask(chain) == first
        assert await ask(chain) == ["no-ls"]
        policies.install(snapshot("validators:" + NO_RM))
        await ask(chain)
        assert await ask(chain) == []
        assert names(chain) == ["no-rm"]

    run(body)


@pytest.mark.parametrize("dialect", Dialect)
def test_a_list_is_not_read_again_without_a_reason(dialect: Dialect) -> None:
    hosted, _ = policyd_server("validators:" + NO_RM, dialect)
    lists: list[str] = []

    async def count(ctx: Any, call_next: Any) -> Any:
        lists.append(ctx.method)
        return await call_next(ctx)

    hosted.middleware.append(count)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        for command in ("ls", "rm", "ls"):
            await chain.execute("tools/call", "request", call(command))
        assert lists.count("interceptors/list") == 1

    run(body)


def test_a_name_that_is_gone_fails_closed_once_and_then_is_not_asked_any_more() -> None:
    hosted, policies = policyd_server("validators:" + NO_RM + NO_LS, Dialect.SEP)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        policies.install(snapshot("validators:" + NO_LS))
        gone = await chain.execute("tools/call", "request", call("rm"))
        assert gone.status is Status.VALIDATION_FAILED
        assert [failure.interceptor for failure in gone.failures] == ["no-rm"]
        assert (await chain.execute("tools/call", "request", call("rm"))).allowed
        assert names(chain) == ["no-ls"]

    run(body)


def test_a_list_is_read_again_after_an_interval() -> None:
    others = Others([validation("a")], denied)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms("others", refresh_every=0.0))
        others.listing = [validation("b")]
        assert found(await chain.execute("x", "request", {})) == ["b"]
        assert others.lists == 2

    run(body)


BROKEN: list[Any] = [
    [validation("b"), {"name": "c"}],
    [validation("b"), validation("b")],
    "none",
    MCPError(-32603, "quite private"),
]


@pytest.mark.parametrize("listing", BROKEN, ids=["entry", "twice", "shape", "error"])
def test_the_last_list_stays_while_the_next_cannot_be_read(
    listing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    others = Others([validation("a")], denied)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms("theirs", refresh_every=0.0))
        others.listing = listing
        assert found(await chain.execute("x", "request", {})) == ["a"]
        others.listing = [validation("b")]
        assert found(await chain.execute("x", "request", {})) == ["b"]

    with caplog.at_level(logging.WARNING, "policyd"):
        run(body)
    assert "the interceptors of `theirs` cannot be listed: " in caplog.text
    assert "private" not in caplog.text


def not_found(params: dict[str, Any]) -> Any:
    raise MCPError(-32602, "not found")


def test_a_list_that_could_not_be_read_is_not_asked_for_with_every_message() -> None:
    others = Others([validation("a")], not_found)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        others.listing = [{}]
        for _ in range(3):
            assert not (await chain.execute("y", "request", {})).outcomes
        assert others.lists == 1
        await chain.execute("x", "request", {})  # the name is gone: the list is due
        for _ in range(3):
            await chain.execute("y", "request", {})
        assert others.lists == 2

    run(body)


class Held(Others):
    """Its second list is held back until `release` is set."""

    def __init__(self) -> None:
        super().__init__([validation("a")], denied)
        self.reading = anyio.Event()
        self.release = anyio.Event()

    async def list_(self, context: Any, params: Any) -> dict[str, Any]:
        answer = await super().list_(context, params)
        if self.lists == 2:
            self.reading.set()
            await self.release.wait()
        return answer


def test_messages_that_come_while_a_list_is_read_use_the_one_there_is() -> None:
    others = Held()
    first: list[list[str]] = []

    async def body(chain: Chain) -> None:
        async def reads() -> None:
            first.append(found(await chain.execute("x", "request", {})))

        await chain.add_server(others.server, terms=Terms("others", refresh_every=0.0))
        others.listing = [validation("b")]
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(reads)
                await others.reading.wait()
                for _ in range(2):
                    assert found(await chain.execute("x", "request", {})) == ["a"]
                assert others.lists == 2
                others.release.set()
        assert first == [["b"]]

    run(body)


def test_a_list_that_does_not_come_leaves_time_for_the_message() -> None:
    others = Held()
    interceptors = Interceptors()

    @interceptors.validator("here", events=["y"], phase="request", timeout=60)
    async def here(invocation: Invocation) -> None:
        await anyio.sleep(0)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms("others", refresh_every=0.0))
        chain.add_functions(interceptors)
        with anyio.fail_after(5):
            decision = await chain.execute("y", "request", {}, timeout=0.2)
        assert (decision.status, len(decision.outcomes)) == (Status.SUCCESS, 1)
        others.release.set()

    run(body)


def test_a_message_that_is_given_up_while_a_list_is_read_does_not_end_the_reading() -> None:
    others = Held()

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms("others", refresh_every=0.0))
        others.listing = [validation("b")]
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(chain.execute, "x", "request", {})
                await others.reading.wait()
                group.cancel_scope.cancel()
            others.release.set()
            while names(chain) != ["b"]:
                await anyio.sleep(0.001)
        assert others.lists == 2

    run(body)


NARROW = Overrides(hooks=[(["tools/call"], "request")])

ELSEWHERE = NO_RM.replace("tools/call", "tools/list").replace("args.command == 'rm'", "true")


@pytest.mark.parametrize("remote", [False, True])
def test_an_override_that_no_longer_fits_narrows_still_and_holds_nothing_back(
    remote: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hosted, policies = policyd_server("validators:" + NO_RM, Dialect.SEP)
    terms = Terms("theirs", refresh_every=0.0)

    async def body(chain: Chain) -> None:
        if remote:
            await chain.add_server(hosted, overrides={"no-rm": NARROW}, terms=terms)
        else:
            chain.add_engine(policies, overrides={"no-rm": NARROW})
        policies.install(snapshot("validators:" + ELSEWHERE + NO_LS))
        assert found(await chain.execute("tools/call", "request", call("ls"))) == ["no-ls"]
        # the override said: at `tools/call` only
        assert (await chain.execute("tools/list", "request", {})).outcomes == ()
        policies.install(snapshot("validators:" + NO_LS))
        assert found(await chain.execute("tools/call", "request", call("ls"))) == ["no-ls"]

    with caplog.at_level(logging.WARNING, "policyd.chain"):
        run(body)
    assert "no longer fits" in caplog.text


SECRET = "pass" + "word"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (f"http://user:{SECRET}@127.0.0.1:9/{SECRET}?key={SECRET}", "http://127.0.0.1:9"),
        (["serve", f"--key={SECRET}"], "serve"),
        (Server("theirs"), "theirs"),
        (object(), "session"),
    ],
)
def test_the_log_calls_a_server_by_what_is_no_secret(target: Any, told: str) -> None:
    assert told_name(target) == told
