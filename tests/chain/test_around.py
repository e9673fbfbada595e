"""The hook around each interceptor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from policyd.chain import Chain, Proceed
from policyd.execution import Status
from policyd.model import (
    Descriptor,
    Invocation,
    MutationResult,
    Phase,
    ValidationResult,
)
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
