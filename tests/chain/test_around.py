"""The hook around each interceptor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from policyd.chain import Chain, Overrides, Proceed
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import (
    Descriptor,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)
from tests.chain.others import Others, marked, mutation, validation
from tests.chain.support import NO_RM, call, engine, run


def answers(outcome: Any) -> Callable[[Descriptor, Invocation, Proceed], Awaitable[Any]]:
    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return await proceed(outcome(invocation)) if callable(outcome) else outcome

    return around


PASS = ValidationResult("no-rm", Phase.REQUEST, True)


@pytest.mark.parametrize(
    ("outcome", "command", "status"),
    [
        (lambda invocation: invocation, "rm", Status.VALIDATION_FAILED),
        (lambda i: Invocation(i.event, i.phase, call("rm")), "ls", Status.VALIDATION_FAILED),
        (PASS, "rm", Status.SUCCESS),
        (ValueError("secret"), "ls", Status.VALIDATION_FAILED),
        (None, "ls", Status.VALIDATION_FAILED),
        (
            MutationResult("no-rm", Phase.REQUEST, False, {}),
            "ls",
            Status.VALIDATION_FAILED,
        ),
    ],
    ids=["inspects", "changes", "answers", "raises", "says nothing", "answers in another kind"],
)
def test_a_hook_stands_around_each_interceptor(outcome: Any, command: str, status: Status) -> None:
    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        decision = await chain.execute("tools/call", "request", call(command))
        assert decision.status is status
        assert "secret" not in str(decision.to_json())

    run(body, around=answers(outcome))


def test_a_hook_is_told_who_is_asked_what_and_answers_in_place_of_any_host() -> None:
    others = Others([validation("remote", mode="audit"), mutation("m")], marked)
    interceptors = Interceptors()
    interceptors.validator("function", events=["x"], phase="request")(lambda invocation: "no")
    seen: list[tuple[str, Mode, Any]] = []

    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Outcome:
        seen.append((descriptor.name, descriptor.mode, invocation.payload))
        if descriptor.kind is Kind.VALIDATION:
            return ValidationResult(descriptor.name, Phase.REQUEST, True)
        return MutationResult(descriptor.name, Phase.REQUEST, True, {"made": "here"})

    async def body(chain: Chain) -> None:
        overrides = {"remote": Overrides(mode="enforce"), "m": Overrides(priority=3)}
        await chain.add_server(others.server, overrides=overrides)
        chain.add_functions(interceptors)
        envelope = {"method": "x", "params": {"a": 1}}
        decision = await chain.execute("x", "request", envelope)
        assert decision.allowed
        assert decision.payload == {"method": "x", "params": {"made": "here"}}
        assert seen == [
            ("remote", Mode.ENFORCE, {"a": 1}),
            ("function", Mode.ENFORCE, {"a": 1}),
            ("m", Mode.ENFORCE, {"a": 1}),
        ]
        assert others.asked == []

    run(body, around=around)


def test_what_a_hook_changes_is_seen_by_that_interceptor_alone() -> None:
    others = Others([mutation("a"), mutation("b")])
    others.answer = lambda p: {"modified": False} if p["name"] == "a" else marked(p)

    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Outcome:
        if descriptor.name == "a":
            invocation = replace(invocation, payload={"trail": ["changed"]}, context={"x": 1})
        return await proceed(invocation)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", {"trail": []})
        assert [asked["payload"]["trail"] for asked in others.asked] == [["changed"], []]
        assert others.asked[0]["context"] == {"x": 1}
        assert decision.payload == {"trail": ["b"]}

    run(body, around=around)


def test_a_hook_may_change_the_answer() -> None:
    async def lenient(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Outcome:
        outcome = await proceed(invocation)
        assert isinstance(outcome, ValidationResult)
        return outcome._replace(valid=True, findings=())

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        assert (await chain.execute("tools/call", "request", call("rm"))).allowed

    run(body, around=lenient)


@pytest.mark.parametrize(("mode", "fail_open"), [("enforce", True), ("audit", False)])
def test_a_hook_that_breaks_is_a_failure_of_the_interceptor_and_its_text_goes_nowhere(
    mode: str, fail_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    interceptors = Interceptors()
    interceptors.mutator("m", events=["x"], phase="request", mode=mode, fail_open=fail_open)(
        lambda invocation: {"other": 1}
    )

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {})
        assert (decision.allowed, decision.payload) == (True, {})
        assert [failure.reason for failure in decision.failures] == ["the hook around it failed"]

    run(body, around=answers(ValueError("quite private")))
    assert "private" not in caplog.text


def test_a_hook_that_hangs_is_cut_by_the_chain() -> None:
    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Outcome:
        await anyio.sleep_forever()
        raise AssertionError

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        decision = await chain.execute("tools/call", "request", call("ls"), timeout=0.02)
        assert decision.status is Status.TIMEOUT

    run(body, around=around)
