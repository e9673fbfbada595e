"""Who runs for a message, in which order, and what they are told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from policyd.chain import Chain
from policyd.errors import InvocationError
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import (
    Direction,
    Failure,
    ValidationResult,
)
from tests.chain.others import Others, denied, validation
from tests.chain.support import CALL, NO_RM, call, engine, run, server


@pytest.mark.parametrize(
    ("event", "phase", "names", "expected"),
    [
        ("tools/call", "request", None, ["all", "exact", "space"]),
        ("tools/list", "request", None, ["all", "space"]),
        ("toolsx/list", "request", None, ["all"]),
        ("tools/call", "response", None, []),
        ("tools/call", "request", ["space", "space"], ["space"]),
        ("tools/call", "request", [], []),
        ("tools/call", "request", "space", ["space"]),
    ],
)
def test_event_phase_and_names_say_who_runs(
    event: str, phase: str, names: Collection[str] | None, expected: list[str]
) -> None:
    interceptors = Interceptors()
    for name, events in {"all": ["*"], "exact": ["tools/call"], "space": ["tools/*"]}.items():
        interceptors.validator(name, events=events, phase="request")(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute(event, phase, CALL, names=names)
        assert [outcome.interceptor for outcome in decision.outcomes] == expected

    run(body)


@pytest.mark.parametrize("names", [["al"], "al", ("space", "al")])
def test_a_name_that_nobody_has_is_refused_instead_of_asking_nobody(
    names: Collection[str],
) -> None:
    interceptors = Interceptors()
    for name in ("all", "space"):
        interceptors.validator(name, events=["*"], phase="request")(lambda invocation: "no")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        with pytest.raises(InvocationError) as caught:
            await chain.execute("x", "request", {}, names=names)
        reason = "no interceptor is called `al`; did you mean `all`?"
        assert (caught.value.code, caught.value.data) == (-32602, {"reason": reason})

    run(body)


@pytest.mark.parametrize(
    ("direction", "status"),
    [
        (None, Status.VALIDATION_FAILED),
        (Direction.RECEIVING, Status.VALIDATION_FAILED),
        (Direction.SENDING, Status.SUCCESS),
    ],
)
def test_a_redactor_makes_safe_what_is_sent_and_not_what_is_received(
    direction: Direction | None, status: Status
) -> None:
    policies = """
validators:
  - name: guard
    match: {events: [tools/call], phase: request}
    rules: [{id: r, deny: "args.command.contains('pin')", message: a pin}]
mutators:
  - name: redactor
    match: {events: [tools/call], phase: request}
    redact: [{pattern: "pin", replace: "[p]"}]
"""
    hosted, _ = server(policies)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        decision = await chain.execute("tools/call", "request", call("pin"), direction=direction)
        assert decision.status is status
        expected = "[p]" if status is Status.SUCCESS else "pin"
        assert decision.payload["arguments"]["command"] == expected

    run(body)


@pytest.mark.parametrize(
    ("protocol", "allowed"),
    [
        (None, True),
        ("2025-06-18", True),
        ("2025-11-25", True),
        ("2024-11-05", False),
        ("2026-07-28", False),
    ],
)
def test_an_interceptor_out_of_its_bounds_has_failed(protocol: str | None, allowed: bool) -> None:
    interceptors = Interceptors()
    bounds = {"minProtocol": "2025-03-26", "maxProtocol": "2025-11-25"}
    interceptors.validator("v", events=["*"], phase="both", compat=bounds)(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {}, protocol=protocol)
        assert decision.allowed is allowed
        assert [type(outcome) for outcome in decision.outcomes] == [
            ValidationResult if allowed else Failure
        ]

    run(body)


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [({}, False), ({"failOpen": True}, True), ({"mode": "audit"}, True)],
    ids=["closed", "open", "audit"],
)
def test_an_interceptor_elsewhere_that_is_out_of_its_bounds_is_not_asked(
    entry: dict[str, Any], allowed: bool
) -> None:
    others = Others([validation("v", compat={"minProtocol": "2026-07-28"}, **entry)], denied)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", {}, protocol="2025-11-25")
        assert decision.allowed is allowed
        assert len(decision.failures) == 1
        assert others.asked == []
        asked = await chain.execute("x", "request", {}, protocol="2026-07-28")
        assert (asked.failures, len(others.asked)) == ((), 1)

    run(body)


@pytest.mark.parametrize(
    ("event", "names", "expected"),
    [
        ("tools/call", None, ["engine", "remote", "wide", "function"]),
        ("tools/list", None, ["remote", "wide"]),
        ("prompts/get", None, ["wide"]),
        ("tools/call", ("function", "remote"), ["remote", "function"]),
        ("tools/call", {"engine"}, ["engine"]),
        ("tools/call", [], []),
    ],
)
def test_the_filter_is_the_same_for_every_kind_of_host(
    event: str, names: Collection[str] | None, expected: list[str]
) -> None:
    space = [{"events": ["tools/*"], "phase": "request"}]
    wide = [{"events": ["*"], "phase": "request"}]
    others = Others([validation("remote", hooks=space), validation("wide", hooks=wide)])
    interceptors = Interceptors()
    interceptors.validator("function", events=["tools/call"], phase="request")(lambda i: None)

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM.replace("no-rm", "engine")))
        await chain.add_server(others.server)
        chain.add_functions(interceptors)
        decision = await chain.execute(event, "request", CALL, names=names)
        assert [outcome.interceptor for outcome in decision.outcomes] == expected
        assert [asked["name"] for asked in others.asked] == [
            name for name in expected if name in ("remote", "wide")
        ]
        assert (await chain.execute(event, "response", CALL, names=names)).outcomes == ()

    run(body)


def test_an_interceptor_for_newer_messages_only_says_from_when_on() -> None:
    interceptors = Interceptors()
    bounds = {"minProtocol": "2025-11-25"}
    interceptors.validator("v", events=["*"], phase="both", compat=bounds)(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {}, protocol="2025-06-18")
        (failure,) = decision.failures
        assert failure.reason == (
            "it is made for MCP 2025-11-25 and newer, and the message is of 2025-06-18"
        )

    run(body)


def test_who_asks_reaches_every_host() -> None:
    policies = """
validators:
  - name: who
    match: {events: [tools/call], phase: request}
    rules:
      - id: r
        require: principal.id == 'u' && session == 's' && trace == 't' && has(context.timestamp)
        message: somebody else
"""
    seen: list[Any] = []
    interceptors = Interceptors()
    interceptors.validator("f", events=["*"], phase="both")(
        lambda invocation: seen.append(invocation.context)
    )

    async def body(chain: Chain) -> None:
        await chain.add_server(server(policies)[0])
        chain.add_functions(interceptors)
        context = {"principal": {"type": "user", "id": "u"}, "sessionId": "s", "traceId": "t"}
        assert (await chain.execute("tools/call", "request", CALL, context=context)).allowed
        assert not (await chain.execute("tools/call", "request", CALL)).allowed
        assert {**seen[0], "timestamp": None} == {**context, "timestamp": None}

    run(body)
