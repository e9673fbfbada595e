from __future__ import annotations

import copy
import logging
import time
from dataclasses import replace
from typing import Any

import anyio
import pytest

from policyd.errors import Cause, InvocationError
from policyd.functions import Interceptors
from policyd.model import (
    Change,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)

PAYLOAD: dict[str, Any] = {"name": "x", "arguments": {"a": [1]}}
CALL = Invocation("tools/call", "request", PAYLOAD)
WARNING = Finding("me", "r", Severity.WARN, "careful", path="/a", hint="do not")


def ask(kind: str, answer: Any, invocation: Invocation = CALL, **metadata: Any) -> Outcome:
    """What a function says that answers *answer*, or what *answer* makes of the invocation."""
    interceptors = Interceptors()

    def function(invocation: Invocation) -> Any:
        return answer(invocation) if callable(answer) else answer

    register = interceptors.validator if kind == "validator" else interceptors.mutator
    register("f", events=["tools/*"], phase="request", **metadata)(function)
    outcome = anyio.run(interceptors.invoke, "f", invocation)
    if isinstance(outcome, Failure):
        return outcome
    return outcome._replace(duration=0.0)


def validated(valid: bool, *findings: Finding, **more: Any) -> ValidationResult:
    return ValidationResult("f", Phase.REQUEST, valid, findings, info={}, **more)


def found(message: str) -> Finding:
    return Finding("f", "", Severity.ERROR, message)


OWN = Finding("f", "r", Severity.WARN, "careful", path="/a", hint="do not")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, validated(True)),
        ((), validated(True)),
        ("no", validated(False, found("no"))),
        (WARNING, validated(True, OWN)),
        ([WARNING, "no"], validated(False, found("no"), OWN)),
    ],
)
def test_a_validator_answers_with_nothing_a_text_or_findings(
    answer: Any, expected: ValidationResult
) -> None:
    assert ask("validator", answer) == expected


@pytest.mark.parametrize("answer", [True, False, 0, {"valid": True}, [1], ["no", None]])
def test_what_is_neither_text_nor_finding_is_a_failure_and_no_pass(answer: Any) -> None:
    outcome = ask("validator", answer)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "the function answered neither a message nor findings"


def in_place(invocation: Invocation) -> None:
    invocation.payload["arguments"]["a"].append(2)


@pytest.mark.parametrize(
    ("answer", "payload"),
    [
        ({"name": "y"}, {"name": "y"}),
        (in_place, {"name": "x", "arguments": {"a": [1, 2]}}),
        (lambda invocation: {**invocation.payload, "z": 1}, {**PAYLOAD, "z": 1}),
    ],
)
def test_a_mutator_answers_a_payload_or_changes_its_own(answer: Any, payload: Any) -> None:
    before = copy.deepcopy(PAYLOAD)
    outcome = ask("mutator", answer)
    changes = (Change("", "", "replace"),)
    assert outcome == MutationResult("f", Phase.REQUEST, True, payload, changes, info={})
    assert before == PAYLOAD


@pytest.mark.parametrize("answer", [None, copy.deepcopy(PAYLOAD), lambda i: i.payload])
def test_what_was_not_changed_is_the_very_object(answer: Any) -> None:
    outcome = ask("mutator", answer)
    assert isinstance(outcome, MutationResult)
    assert (outcome.modified, outcome.payload is PAYLOAD) == (False, True)


@pytest.mark.parametrize("answer", [{1: 2}, (1, 2), float("nan"), {"a": {1, 2}}])
def test_a_payload_that_is_not_json_is_a_failure(answer: Any) -> None:
    outcome = ask("mutator", answer)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "the function answered a payload that is not JSON"


def crash(invocation: Invocation) -> None:
    raise ValueError("of the payload: {name}".format(**invocation.payload))


@pytest.mark.parametrize("kind", ["validator", "mutator"])
def test_what_a_function_raises_is_told_by_its_type_alone(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        outcome = ask(kind, crash)
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.reason) == (Cause.ERROR, "the function raised ValueError")
    assert "of the payload: x" not in caplog.text


def test_audit_records_and_changes_nothing() -> None:
    assert ask("validator", "no", mode="audit") == validated(True, found("no"), audited=True)
    failed = ask("validator", crash, mode="audit")
    reason = "the function raised ValueError"
    assert failed == validated(True, audited=True, failure=reason, cause=Cause.ERROR)
    shadow = ask("mutator", {"name": "y"}, mode="audit")
    changes = (Change("", "", "replace"),)
    same = MutationResult("f", Phase.REQUEST, False, PAYLOAD, changes, audited=True, info={})
    assert shadow == same
    broken = ask("mutator", crash, mode="audit")
    assert broken == same._replace(changes=(), failure=reason, cause=Cause.ERROR)


def test_an_async_function_is_waited_for_and_interrupted() -> None:
    interceptors = Interceptors()

    @interceptors.validator("slow", events=["*"], phase="both", timeout=0.01)
    async def slow(invocation: Invocation) -> None:
        await anyio.sleep_forever()

    @interceptors.validator("quick", events=["*"], phase="both")
    async def quick(invocation: Invocation) -> str:
        return "no"

    late = anyio.run(interceptors.invoke, "slow", CALL)
    assert isinstance(late, Failure)
    assert (late.cause, late.duration > 0) == (Cause.DEADLINE, True)
    told = anyio.run(interceptors.invoke, "quick", CALL)
    assert isinstance(told, ValidationResult)
    assert [finding.message for finding in told.findings] == ["no"]


def test_a_payload_comes_back_in_the_envelope_that_came() -> None:
    sent = {"method": "tools/call", "params": PAYLOAD}
    outcome = ask("mutator", {"name": "y"}, Invocation("tools/call", "request", sent))
    assert isinstance(outcome, MutationResult)
    assert outcome.payload == {"method": "tools/call", "params": {"name": "y"}}


def test_a_function_is_not_asked_where_it_is_not_hooked() -> None:
    outcome = ask("validator", "no", Invocation("tools/call", "response", {}))
    assert isinstance(outcome, ValidationResult)
    assert (outcome.valid, outcome.skipped) == (True, "not_hooked")


SCHEMA = {"type": "object", "properties": {"most": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("name", "more", "reason"),
    [
        ("g", {}, "Interceptor not found: g"),
        ("f", {"phase": "both"}, "the phase is `request` or `response`"),
        ("f", {"config": {"f": {"most": "1"}}}, "does not meet its configSchema at `/most`"),
    ],
)
def test_what_a_caller_gets_wrong_is_said(name: str, more: dict[str, Any], reason: str) -> None:
    interceptors = Interceptors()
    interceptors.validator("f", events=["*"], phase="both", config_schema=SCHEMA)(lambda i: None)
    invocation = Invocation(**{"event": "x", "phase": "request", "payload": {}, **more})
    with pytest.raises(InvocationError) as caught:
        anyio.run(interceptors.invoke, name, invocation)
    assert reason in str(caught.value)


def test_other_priorities_in_other_phases_make_two_interceptors() -> None:
    interceptors = Interceptors()
    priority = {"request": -5, "response": 7}
    interceptors.mutator("m", events=["*"], phase="both", priority=priority)(lambda i: None)
    assert [(d.name, d.kind, d.phases, d.priority) for d in interceptors.descriptors] == [
        ("m/request", Kind.MUTATION, (Phase.REQUEST,), -5),
        ("m/response", Kind.MUTATION, (Phase.RESPONSE,), 7),
    ]


def test_a_function_says_of_itself_what_a_policy_would() -> None:
    interceptors = Interceptors()
    interceptors.validator(
        "v",
        events=["tools/*"],
        phase="both",
        mode="audit",
        fail_open=True,
        timeout=2.0,
        version="1",
        description="d",
        config_schema=SCHEMA,
        compat={"minProtocol": "2025-11-25"},
    )(lambda invocation: None)
    (descriptor,) = interceptors.descriptors
    assert descriptor.mode is Mode.AUDIT
    assert (descriptor.fail_open, descriptor.timeout, descriptor.version) == (True, 2.0, "1")
    assert (descriptor.description, descriptor.compat) == ("d", {"minProtocol": "2025-11-25"})
    assert descriptor.config_schema == SCHEMA


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"events": ["*"], "phase": "never"}, "`phase` is `request`, `response` or `both`"),
        ({"events": [], "phase": "both"}, "`events` is a list of event names"),
        ({"events": "*", "phase": "both"}, "`events` is a list of event names"),
        ({"events": ["*"], "phase": "both", "mode": "off"}, "`mode` is `enforce` or `audit`"),
        ({"events": ["*"], "phase": "both", "timeout": 0}, "a number of seconds greater than 0"),
        ({"events": ["*"], "phase": "both", "priority": {"requests": 1}}, "`priority` is a number"),
        (
            {"events": ["*"], "phase": "both", "config_schema": {"typ": "x"}},
            "the config schema is none that is read here",
        ),
    ],
)
def test_a_registration_that_cannot_be_meant_is_refused(metadata: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Interceptors().validator("v", **metadata)(lambda invocation: None)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"events": ["*"]}, "`phase` is missing"),
        ({"phase": "both"}, "`events` is missing"),
        ({"events": ["*"], "phase": "both", "failopen": True}, "did you mean `fail_open`"),
        ({"events": ["*"], "phase": "both", "x": True}, "unknown metadata `x`"),
        ({"events": ["*"], "phase": "both", "fail_open": "false"}, "`fail_open` is True or False"),
    ],
)
def test_a_slip_in_a_registration_is_not_overlooked(metadata: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Interceptors().validator("v", **metadata)(lambda invocation: None)


def test_a_registration_needs_a_name() -> None:
    with pytest.raises(TypeError, match="a registration needs a name"):
        Interceptors().validator(crash)  # type: ignore[arg-type, call-arg]


def test_a_name_is_registered_once() -> None:
    interceptors = Interceptors()
    interceptors.validator("v", events=["*"], phase="both")(lambda invocation: None)
    with pytest.raises(ValueError, match="there is an interceptor `v` already"):
        interceptors.mutator("v", events=["*"], phase="both")(lambda invocation: None)


def test_a_name_that_is_taken_in_one_phase_registers_nothing() -> None:
    interceptors = Interceptors()
    interceptors.validator("m/response", events=["*"], phase="both")(lambda invocation: None)
    before = interceptors.descriptors
    priority = {"request": 1, "response": 2}
    with pytest.raises(ValueError, match="there is an interceptor `m/response` already"):
        interceptors.mutator("m", events=["*"], phase="both", priority=priority)(lambda i: None)
    assert interceptors.descriptors == before


def test_each_half_of_a_split_interceptor_runs_in_its_own_phase() -> None:
    interceptors = Interceptors()
    priority = {"request": 1, "response": 2}
    interceptors.mutator("m", events=["*"], phase="both", priority=priority)(
        lambda invocation: {"seen": invocation.phase}
    )
    for phase, other in (("request", "response"), ("response", "request")):
        asked = Invocation("x", phase, {})
        told = anyio.run(interceptors.invoke, f"m/{phase}", asked)
        assert isinstance(told, MutationResult)
        assert (told.interceptor, told.payload) == (f"m/{phase}", {"seen": phase})
        skipped = anyio.run(interceptors.invoke, f"m/{other}", asked)
        assert isinstance(skipped, MutationResult)
        assert (skipped.modified, skipped.skipped) == (False, "not_hooked")


def test_the_decorated_function_stays_what_it_is() -> None:
    assert Interceptors().validator("v", events=["*"], phase="both")(crash) is crash


def test_an_async_mutator_answers_like_another() -> None:
    interceptors = Interceptors()

    @interceptors.mutator("m", events=["*"], phase="both")
    async def m(invocation: Invocation) -> None:
        await anyio.sleep(0)
        invocation.payload["arguments"]["a"].append(2)

    before = copy.deepcopy(PAYLOAD)
    outcome = anyio.run(interceptors.invoke, "m", CALL)
    assert isinstance(outcome, MutationResult)
    assert outcome.payload == {"name": "x", "arguments": {"a": [1, 2]}}
    assert before == PAYLOAD


@pytest.mark.parametrize("kind", ["validator", "mutator"])
@pytest.mark.parametrize("mode", ["enforce", "audit"])
def test_whatever_a_function_does_to_what_it_is_given_its_caller_keeps_what_it_has(
    kind: str, mode: str
) -> None:
    given = Invocation(
        "tools/call",
        "request",
        {"deep": [{"er": [1]}]},
        context={"principal": {"claims": {"roles": ["viewer"]}}},
        config={"f": {"list": []}, "other": {"token": 1}},
    )
    before = copy.deepcopy(given)

    seen: list[Invocation] = []

    def meddle(invocation: Any) -> None:
        seen.append(copy.deepcopy(invocation))
        invocation.payload["deep"][0]["er"].clear()
        invocation.context["principal"]["claims"]["roles"].append("admin")
        invocation.config["f"]["list"].append(1)
        invocation.context.clear()

    outcome = ask(kind, meddle, given, mode=mode)
    assert not isinstance(outcome, Failure)
    assert outcome.failure is None
    # of the configs it is given its own
    assert seen == [replace(before, config={"f": {"list": []}}, bare=True)]
    assert given == before


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(
    ("kind", "answer", "late"),
    [
        ("validator", None, True),
        ("validator", [WARNING], True),
        ("validator", "no", False),
        ("mutator", {"name": "y"}, True),
    ],
)
def test_an_answer_that_comes_too_late_counts_only_where_it_denies(
    kind: str, answer: Any, late: bool, limited: bool
) -> None:
    def slow(invocation: Invocation) -> Any:
        time.sleep(0.02)
        return answer

    # its own limit, or its caller's
    asked = Invocation("tools/call", "request", PAYLOAD, timeout=0.01 if limited else None)
    outcome = ask(kind, slow, asked, timeout=60.0 if limited else 0.01)
    if late:
        assert isinstance(outcome, Failure)
        assert outcome.cause is Cause.DEADLINE
        assert outcome.duration >= 0.02
    else:
        assert outcome == validated(False, found("no"))


@pytest.mark.parametrize(("severity", "valid"), [("error", False), ("warn", True), ("info", True)])
def test_a_severity_may_be_a_text(severity: Any, valid: bool) -> None:
    outcome = ask("validator", Finding("", "", severity, "m"))
    assert outcome == validated(valid, Finding("f", "", Severity(severity), "m"))


def test_a_severity_that_is_none_is_a_failure() -> None:
    grave: Any = "grave"
    assert isinstance(ask("validator", Finding("", "", grave, "m")), Failure)
