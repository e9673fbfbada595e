"""Servers and functions that mean harm, or that are broken in ways that look like it."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import anyio
import pytest
from mcp.server.lowlevel.server import Server

from policyd.chain import Around, Chain, ServerError, Terms
from policyd.chain.remote import MAX_PAGES, SHOWN
from policyd.engine import INLINE_SIZE
from policyd.errors import Cause, InvocationError
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import Invocation
from policyd.wire import MAX_ENTRIES
from tests.chain.others import Others, denied, validation
from tests.chain.support import NO_RM, call, engine, run

ENVELOPE = {"method": "x", "params": {"a": 1}, "id": "hidden"}


class Pages(Others):
    """Lists these pages, one after the other."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        super().__init__([], denied)
        self.pages = pages

    async def list_(self, context: Any, params: Any) -> dict[str, Any]:
        self.lists += 1
        return self.pages[int((context.params or {}).get("cursor", 0))]


def test_an_empty_page_of_go_does_not_end_the_list() -> None:
    pages = Pages(
        {"interceptors": None, "nextCursor": "1"},
        {"interceptors": [validation("last")], "nextCursor": ""},
    )

    async def body(chain: Chain) -> None:
        await chain.add_server(pages.server)
        assert [descriptor.name for descriptor in chain.descriptors] == ["last"]

    run(body)


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([{"interceptors": [], "nextCursor": 1}], "`nextCursor` must be a string"),
        (
            [{"interceptors": [validation("a")] * (MAX_ENTRIES // 2 + 1), "nextCursor": "0"}],
            f"the list has more than {MAX_ENTRIES} entries",
        ),
    ],
)
def test_a_list_that_would_lose_pages_or_never_end_is_refused(
    pages: list[dict[str, Any]], reason: str
) -> None:
    others = Pages(*pages)

    async def body(chain: Chain) -> None:
        with pytest.raises(ServerError) as caught:
            await chain.add_server(others.server)
        assert caught.value.reason == reason
        assert others.lists < MAX_PAGES

    run(body)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        nested(60),
        {"properties": {}, "additionalProperties": False, "required": [[1]]},
        {"$defs": {str(n): {"$ref": "#"} for n in range(1_000)}},
    ],
    ids=["deep", "odd", "references"],
)
def test_a_config_schema_that_cannot_be_compiled_is_left_to_its_server(
    schema: dict[str, Any],
) -> None:
    others = Others([validation("a", configSchema=schema)])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", {}, config={"a": {"k": 1}})
        assert (decision.allowed, others.asked[0]["config"]) == (True, {"k": 1})

    run(body)


def test_types_that_are_not_run_are_told_once_and_not_at_length(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sinks = [{**validation(f"s{n}\n" + "x" * 500), "type": "sink"} for n in range(SHOWN + 3)]
    others = Others(sinks)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms(refresh_every=0))
        for _ in range(3):
            await chain.execute("x", "request", {})

    with caplog.at_level(logging.WARNING, "policyd"):
        run(body)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("`others` lists types that are not run: 's0\\nxxx")
    assert message.endswith("and 3 more")
    assert len(message) < 1_000


def test_a_large_payload_is_looked_at_in_a_thread_and_refused_all_the_same() -> None:
    odd: Any = {"l": [0] * (INLINE_SIZE + 1), "x": math.nan}

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        with pytest.raises(InvocationError, match="Invalid params"):
            await chain.execute("tools/call", "request", odd)

    run(body)


def test_a_server_without_interceptors_is_told_from_one_that_is_gone() -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(ServerError) as caught:
            await chain.add_server(Server("tools only"))
        assert caught.value.reason == "it hosts no interceptors (error -32601)"

    run(body)


class Slow(Others):
    """Its list takes *seconds* from the second time on."""

    seconds = 0.3

    async def list_(self, context: Any, params: Any) -> dict[str, Any]:
        answer = await super().list_(context, params)
        if self.lists > 1:
            await anyio.sleep(self.seconds)
        return answer


def test_a_list_that_takes_longer_than_any_message_is_there_in_the_end() -> None:
    others = Slow([validation("a")], denied)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms(refresh_every=0.01))
        others.listing = [validation("b")]
        with anyio.fail_after(10):
            while [descriptor.name for descriptor in chain.descriptors] != ["b"]:
                await chain.execute("y", "request", {}, timeout=0.05)
                await anyio.sleep(0.001)

    run(body)


def test_a_chain_that_is_closed_gives_up_reading_a_list() -> None:
    others = Slow([validation("a")], denied)
    others.seconds = 60.0

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, terms=Terms(refresh_every=0.01, timeout=60))
        await anyio.sleep(0.02)
        await chain.execute("y", "request", {}, timeout=0.05)
        with anyio.fail_after(10):
            await chain.aclose()

    run(body)


@pytest.mark.parametrize("enveloped", [True, False])
def test_a_bare_payload_is_judged_whole_whatever_it_looks_like(enveloped: bool) -> None:
    interceptors = Interceptors()
    seen: list[Any] = []
    interceptors.validator("v", events=["x"], phase="request")(
        lambda invocation: seen.append(invocation.payload)
    )

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        await chain.execute("x", "request", ENVELOPE, enveloped=enveloped)

    run(body)
    assert seen == [{"a": 1} if enveloped else ENVELOPE]


def test_a_server_is_not_asked_about_what_it_would_take_for_an_envelope() -> None:
    others = Others([validation("a")])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", ENVELOPE, enveloped=False)
        (failure,) = decision.failures
        assert failure.reason == "the payload reads as a JSON-RPC envelope"
        assert (decision.allowed, others.asked) == (False, [])
        assert (await chain.execute("x", "request", ENVELOPE)).allowed

    run(body)


async def cancelled_within(*arguments: Any) -> Any:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


@pytest.mark.parametrize(("fail_open", "allowed"), [(True, True), (False, False)])
def test_a_function_that_lets_a_cancellation_out_has_failed(fail_open: bool, allowed: bool) -> None:
    interceptors = Interceptors()
    interceptors.validator("v", events=["x"], phase="request", fail_open=fail_open)(
        cancelled_within
    )

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {})
        (failure,) = decision.failures
        assert (failure.cause, failure.reason) == (
            Cause.ERROR,
            "the function was cancelled from within",
        )
        assert decision.allowed is allowed

    run(body)


def test_a_hook_that_lets_a_cancellation_out_has_failed() -> None:
    around: Around = cancelled_within

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        decision = await chain.execute("tools/call", "request", call("ls"))
        (failure,) = decision.failures
        assert failure.reason == "the hook around it was cancelled"

    run(body, around=around)


@pytest.mark.parametrize("hooked", [True, False])
def test_a_message_that_is_cancelled_is_cancelled(hooked: bool) -> None:
    interceptors = Interceptors()
    started = asyncio.Event()

    async def hang(*arguments: Any) -> Any:
        started.set()
        await asyncio.sleep(60)

    interceptors.validator("v", events=["x"], phase="request", timeout=60)(hang)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        message = asyncio.ensure_future(chain.execute("x", "request", {}))
        await started.wait()
        message.cancel()
        with pytest.raises(asyncio.CancelledError):
            await message

    run(body, around=hang if hooked else None)


@pytest.mark.parametrize("timeout", [math.inf, None])
def test_no_limit_may_be_spelt_as_an_infinite_one(timeout: float | None) -> None:
    others = Others([validation("a")])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        assert (await chain.execute("x", "request", {}, timeout=timeout)).allowed
        assert "timeoutMs" not in others.asked[0]

    run(body)


@pytest.mark.parametrize("timeout", ["50ms", math.nan, True])
def test_a_timeout_that_is_no_number_is_refused(timeout: Any) -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(ValueError, match="`timeout` is a number of seconds"):
            await chain.execute("x", "request", {}, timeout=timeout)

    run(body)
    with pytest.raises(ValueError, match="`timeout` is a number of seconds greater than 0"):
        Chain(timeout=timeout)


def test_what_a_chain_cannot_use_is_refused_where_it_is_given() -> None:
    anything: Any = "policies/"

    async def body(chain: Chain) -> None:
        with pytest.raises(TypeError, match=r"what is added is an Engine, as `policyd\.load"):
            chain.add_engine(anything)
        with pytest.raises(TypeError, match="what is added is the Interceptors"):
            chain.add_functions(anything)
        with pytest.raises(InvocationError) as caught:
            await chain.execute("x", "request", {}, direction=anything)
        assert caught.value.data == {"reason": "the direction is `sending` or `receiving`"}

    run(body)
    for wrong in (0, -1, anything):
        with pytest.raises(ValueError, match="is a number of seconds"):
            Terms(timeout=wrong)
    for wrong in (-1, anything):
        with pytest.raises(ValueError, match="is a number of seconds"):
            Terms(refresh_every=wrong)


def test_a_config_that_nobody_takes_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        for _ in range(2):
            await chain.execute("x", "request", {})

    with caplog.at_level(logging.WARNING, "policyd"):
        run(body, config={"no-mr": {}})
    assert [record.getMessage() for record in caplog.records] == [
        "there is a config for 'no-mr', and no interceptor of that name"
    ]


def test_why_an_interceptor_failed_is_logged_without_any_middleware(
    caplog: pytest.LogCaptureFixture,
) -> None:
    interceptors = Interceptors()

    @interceptors.validator("v", events=["x"], phase="request", fail_open=True)
    async def odd(invocation: Invocation) -> int:
        return 7

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        assert (await chain.execute("x", "request", {})).status is Status.SUCCESS

    with caplog.at_level(logging.WARNING, "policyd"):
        run(body)
    assert [record.getMessage() for record in caplog.records] == [
        "interceptor 'v' failed: the function answered neither a message nor findings"
    ]


def test_the_generation_of_a_decision_is_the_one_that_made_it() -> None:
    policies = engine("validators:" + NO_RM)
    interceptors = Interceptors()
    newer = engine("validators:" + NO_RM.replace("no-rm", "newer")).current

    @interceptors.validator("v", events=["tools/call"], phase="request")
    async def swaps(invocation: Invocation) -> None:
        policies.install(newer)

    async def body(chain: Chain) -> None:
        chain.add_engine(policies)
        chain.add_functions(interceptors)
        before = policies.current.generation
        decision = await chain.execute("tools/call", "request", call("ls"))
        assert decision.generation == before != newer.generation

    run(body)
