"""The time of one interceptor, the time of the whole chain, and who pays for being late."""

from __future__ import annotations

import threading
import time
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp.shared.exceptions import MCPError

from policyd.chain import Chain, Overrides, Terms
from policyd.chain.entry import Entry
from policyd.chain.route import Route
from policyd.chain.run import TICK, Run
from policyd.errors import Cause
from policyd.execution import Decision, Status
from policyd.functions import Interceptors
from policyd.model import Descriptor, Failure, Invocation, Kind, Outcome, Phase, ValidationResult
from tests.chain.others import Others, valid, validation
from tests.chain.support import engine, run

LONG = 60.0
"""Seconds that no test waits for."""

PAYLOAD: dict[str, Any] = {"l": list(range(400))}


async def hang(params: dict[str, Any]) -> Any:
    await anyio.sleep_forever()


def refuses_late(params: dict[str, Any]) -> Any:
    raise MCPError(-32000, "Interceptor execution timeout", {"interceptor": "v"})


def hanging(**metadata: Any) -> Interceptors:
    """A validator `v` that never answers."""
    interceptors = Interceptors()

    @interceptors.validator("v", events=["x"], phase="request", **metadata)
    async def v(invocation: Invocation) -> None:
        await anyio.sleep_forever()

    return interceptors


ENDLESS = """
validators:
  - name: v
    match: {{events: [x], phase: request}}
    mode: {mode}
    rules:
      - id: r
        deny: payload.l.exists(a, payload.l.exists(b, payload.l.exists(c, a + b + c < 0)))
        message: m
"""


CHANGE = """
  - name: deny
    match: {events: [x], phase: request}
    rules: [{id: r, deny: "size(payload.l) == 0", message: m}]
mutators:
  - name: change
    match: {events: [x], phase: request}
    patch: [{op: add, path: /changed, value: true}]
"""


SHORT = 0.01
"""Seconds that one call may take."""

READING = 0.3
"""Seconds that reading a list may take as well, on a busy machine."""


async def add_slow(chain: Chain, host: str, changes: dict[str, Any]) -> None:
    """Add a validator `v` that would take for ever and has not the time for it."""
    overrides = {"v": Overrides(**changes)}
    limited = {"v": Overrides(**changes, timeout=SHORT)}
    if host == "function":
        chain.add_functions(hanging(timeout=SHORT), overrides=overrides)
    elif host == "engine":
        chain.add_engine(engine(ENDLESS.format(mode="enforce")), overrides=limited)
    elif host == "remote":
        terms = Terms("others", timeout=READING)
        others = Others([validation("v")], hang)
        await chain.add_server(others.server, overrides=overrides, terms=terms)
    elif host == "remote by override":
        await chain.add_server(Others([validation("v")], hang).server, overrides=limited)
    else:
        others = Others([validation("v")], refuses_late)
        await chain.add_server(others.server, overrides=overrides)


@pytest.mark.parametrize(
    ("changes", "proceeds"),
    [({}, False), ({"fail_open": True}, True), ({"mode": "audit"}, True)],
    ids=["closed", "open", "audit"],
)
@pytest.mark.parametrize(
    "host", ["function", "engine", "remote", "remote by override", "remote that says so"]
)
def test_who_takes_too_long_has_failed_with_a_timeout(
    host: str, changes: dict[str, Any], proceeds: bool
) -> None:
    async def body(chain: Chain) -> None:
        await add_slow(chain, host, changes)
        with anyio.fail_after(5):
            decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.status is (Status.SUCCESS if proceeds else Status.TIMEOUT)
        assert decision.payload is PAYLOAD
        assert [cause_of(outcome) for outcome in decision.outcomes] == [Cause.DEADLINE]
        if not proceeds:
            aborted = decision.to_json()["abortedAt"]
            assert (aborted["interceptor"], aborted["type"]) == ("v", "timeout")

    run(body)


def cause_of(outcome: Outcome) -> Cause | None:
    return outcome.cause


def test_a_server_is_told_how_long_it_has() -> None:
    others = Others([validation("plain"), validation("own")])

    async def told(chain: Chain, **options: Any) -> dict[str, Any]:
        others.asked.clear()
        assert (await chain.execute("x", "request", {}, **options)).allowed
        return {params["name"]: params.get("timeoutMs") for params in others.asked}

    async def body(chain: Chain) -> None:
        overrides = {"own": Overrides(timeout=0.25)}
        await chain.add_server(others.server, overrides=overrides)
        assert await told(chain) == {"plain": None, "own": 250}
        limited = await told(chain, timeout=20.0)
        assert (10_000 < limited["plain"] <= 20_000, limited["own"]) == (True, 250)

    run(body)


def test_an_override_may_give_an_interceptor_elsewhere_more_time_than_is_usual() -> None:
    async def slowly(params: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep(READING + 0.1)
        return valid(params)

    others = Others([validation("slow"), validation("other")], slowly)

    async def body(chain: Chain) -> None:
        terms = Terms("others", timeout=READING)
        overrides = {"slow": Overrides(timeout=LONG)}
        await chain.add_server(others.server, overrides=overrides, terms=terms)
        decision = await chain.execute("x", "request", {})
        assert [failure.interceptor for failure in decision.failures] == ["other"]

    run(body)


def test_what_a_server_still_works_on_is_cancelled() -> None:
    cancelled = anyio.Event()

    async def answer(params: dict[str, Any]) -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    async def body(chain: Chain) -> None:
        await chain.add_server(Others([validation("v")], answer).server)
        assert (await chain.execute("x", "request", {})).status is Status.TIMEOUT
        with anyio.fail_after(5):
            await cancelled.wait()

    run(body, timeout=0.2)


def test_whoever_gives_up_waiting_for_a_chain_cancels_its_functions() -> None:
    interceptors = Interceptors()
    begun, ended = anyio.Event(), anyio.Event()

    @interceptors.mutator("m", events=["x"], phase="request", timeout=LONG)
    async def m(invocation: Invocation) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(chain.execute, "x", "request", {})
                await begun.wait()
                group.cancel_scope.cancel()
        assert ended.is_set()

    run(body)


@pytest.mark.parametrize("fail_open", [False, True])
def test_a_mutator_that_the_chain_cuts_ends_it_as_a_timeout_and_undoes_the_others(
    fail_open: bool,
) -> None:
    interceptors = Interceptors()
    ran: list[str] = []
    interceptors.mutator("a", events=["x"], phase="request")(lambda invocation: {"other": 1})

    @interceptors.mutator("b", events=["x"], phase="request", timeout=LONG, fail_open=fail_open)
    async def b(invocation: Invocation) -> None:
        await anyio.sleep_forever()

    interceptors.mutator("c", events=["x"], phase="request")(lambda invocation: ran.append("c"))

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", PAYLOAD, timeout=0.1)
        assert decision.status is Status.TIMEOUT
        assert decision.payload is PAYLOAD
        assert ran == []
        assert decision.to_json()["abortedAt"] == {
            "interceptor": "b",
            "reason": "the chain ran out of time",
            "type": "timeout",
        }

    run(body)


async def mixed(chain: Chain, host: str) -> Decision:
    """What a chain says in which an auditing `v` hangs and others take a moment."""
    interceptors = Interceptors()

    @interceptors.mutator("m", events=["x"], phase="request", timeout=LONG)
    async def m(invocation: Invocation) -> dict[str, Any]:
        await anyio.sleep(0)
        return {"changed": True}

    if host == "function":
        chain.add_functions(hanging(mode="audit", timeout=LONG))
    elif host == "engine":
        audit = {"v": Overrides(timeout=LONG)}
        chain.add_engine(engine(ENDLESS.format(mode="audit")), overrides=audit)
    else:
        await chain.add_server(Others([validation("v", mode="audit")], hang).server)
    chain.add_functions(interceptors)
    return await chain.execute("x", "request", PAYLOAD, timeout=0.2)


@pytest.mark.parametrize("host", ["function", "engine", "remote"])
def test_an_auditing_interceptor_does_not_use_up_the_time_of_those_that_count(host: str) -> None:
    async def body(chain: Chain) -> None:
        decision = await mixed(chain, host)
        assert (decision.status, decision.payload) == (Status.SUCCESS, {"changed": True})
        assert cause_of(decision.outcomes[0]) is Cause.DEADLINE

    run(body)


def test_slow_audits_in_one_process_leave_time_for_what_counts() -> None:
    slow = ENDLESS.format(mode="audit").replace("mode: audit", "mode: audit\n    timeout: 60s")
    others = "".join(
        slow.removeprefix("\nvalidators:").replace("name: v", f"name: v{n}") for n in "12"
    )
    policies = slow + others + CHANGE

    async def body(chain: Chain) -> None:
        chain.add_engine(engine(policies))
        decision = await chain.execute("x", "request", PAYLOAD, timeout=0.2)
        assert decision.status is Status.SUCCESS
        assert decision.payload == {**PAYLOAD, "changed": True}
        audits = [
            one for one in decision.outcomes if isinstance(one, ValidationResult) and one.audited
        ]
        assert [outcome.cause for outcome in audits] == [Cause.DEADLINE] * 3

    run(body)


@pytest.mark.parametrize("host", ["engine", "engine and others"])
def test_a_policy_that_takes_long_does_not_hold_the_event_loop(host: str) -> None:
    turns = 0

    async def body(chain: Chain) -> None:
        nonlocal turns
        chain.add_engine(engine(ENDLESS.format(mode="enforce")))
        if host != "engine":
            chain.add_functions(Interceptors())
            await chain.add_server(Others([validation("w")], valid).server)
        async with anyio.create_task_group() as group:

            async def late() -> None:
                decision = await chain.execute("x", "request", PAYLOAD, timeout=0.3)
                assert decision.status is Status.TIMEOUT
                group.cancel_scope.cancel()

            group.start_soon(late)
            while True:
                turns += 1
                await anyio.sleep(0.001)

    run(body)
    assert turns > 5  # two or three if the event loop were held until the end


def test_a_chain_that_waits_for_a_thread_ends_in_time() -> None:
    release = threading.Event()

    def hold() -> None:
        release.wait()

    async def body(chain: Chain) -> None:
        to_thread.current_default_thread_limiter().total_tokens = 1
        chain.add_engine(engine(ENDLESS.format(mode="enforce")))
        async with anyio.create_task_group() as group:
            group.start_soon(to_thread.run_sync, hold)
            await anyio.sleep(0)
            decision = await chain.execute("x", "request", PAYLOAD, timeout=0.1)
            release.set()
        assert decision.status is Status.TIMEOUT
        assert [failure.cause for failure in decision.failures] == [Cause.CHAIN_DEADLINE]

    run(body)


def test_nobody_is_asked_any_more_once_the_time_is_up() -> None:
    interceptors = Interceptors()
    ran: list[str] = []
    interceptors.validator("v", events=["x"], phase="request", mode="audit", timeout=LONG)(
        lambda invocation: time.sleep(0.03)
    )
    interceptors.mutator("m", events=["x"], phase="request")(lambda invocation: ran.append("m"))

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {}, timeout=0.02)
        assert decision.status is Status.TIMEOUT
        assert ran == []

    run(body)


def test_who_gives_up_a_moment_before_the_chain_does_was_ended_by_the_chain() -> None:
    descriptor = Descriptor("v", Kind.VALIDATION, ("x",), (Phase.REQUEST,), fail_open=True)

    async def asked(invocation: Invocation, timeout: float | None) -> Outcome:
        assert timeout is not None
        await anyio.sleep(timeout - TICK / 2)
        return Failure("v", Kind.VALIDATION, Phase.REQUEST, Cause.DEADLINE, "no answer in time")

    async def status() -> Status:
        route = Route((Entry(descriptor, None, asked),), (), here=None)
        ends = time.monotonic() + 0.02
        return (await Run(Invocation("x", "request", {}), ends, None, False).verdict(route)).status

    assert anyio.run(status) is Status.TIMEOUT


def test_an_execution_has_a_limit_of_its_own() -> None:
    async def body(chain: Chain) -> None:
        chain.add_functions(hanging(timeout=0.02))
        # the chain's own limit would have been over before
        decision = await chain.execute("x", "request", {}, timeout=LONG)
        assert [failure.cause for failure in decision.failures] == [Cause.DEADLINE]

    run(body, timeout=0.001)
