from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policyd.errors import Cause
from policyd.model import (
    Descriptor,
    Failure,
    Finding,
    Kind,
    Mode,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)
from policyd.wire import (
    RETIRED,
    failure_from_error,
    outcome_from_json,
)
from policyd.wire.answers import REPORTED

PAYLOAD: dict[str, Any] = {"name": "echo", "arguments": {"note": "hello"}}

VALIDATOR = Descriptor("v", Kind.VALIDATION, ("tools/call",), (Phase.REQUEST,))
AUDITOR = replace(VALIDATOR, mode=Mode.AUDIT)

PASS = ValidationResult("v", Phase.REQUEST, True)
BY_NAME = Finding("v", "", Severity.ERROR, "denied by `v`")


def judged(answer: object, descriptor: Descriptor = VALIDATOR) -> Outcome:
    return outcome_from_json(answer, descriptor, Phase.REQUEST, PAYLOAD)


def denied(*findings: Finding) -> ValidationResult:
    return ValidationResult("v", Phase.REQUEST, False, findings)


def message(text: str, severity: object = "error", **more: object) -> dict[str, object]:
    return {"message": text, "severity": severity, **more}


def found(text: str, severity: Severity = Severity.ERROR, path: str | None = None) -> Finding:
    return Finding("v", "", severity, text, path)


def failed(reason: str, descriptor: Descriptor = VALIDATOR) -> Failure:
    return Failure(descriptor.name, descriptor.kind, Phase.REQUEST, Cause.ERROR, reason)


DENIAL = {"valid": False, "severity": "error", "messages": [message("no")]}


@pytest.mark.parametrize(
    "answer",
    [
        {"valid": True},
        {"type": "validation", "interceptor": "x", "phase": "response", "valid": True},
        {"type": None, "validation": {"valid": True}},
        {"type": "validation", "valid": True, "validation": {"valid": True}},
        {"valid": None, "validation": {"valid": True, "messages": None}},
        {"valid": True, "validation": None, "severity": "error", "messages": []},
    ],
)
def test_a_pass_is_read_in_every_spelling(answer: object) -> None:
    assert judged(answer) == PASS


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "validation", **DENIAL},
        {"type": "validation", "validation": DENIAL},
        {"type": "validation", **DENIAL, "validation": DENIAL},
        {"type": "validation", "valid": True, "validation": DENIAL},
        {"type": "validation", **DENIAL, "validation": {"valid": True}},
        {"valid": False, "messages": [message("no")]},
        {"valid": False, "severity": "warn", "messages": [message("no")]},
        {"valid": False, "severity": "info", "validation": {"messages": [message("no")]}},
    ],
)
def test_a_denial_is_read_in_every_spelling_and_the_stricter_counts(answer: object) -> None:
    assert judged(answer) == denied(found("no"))


@pytest.mark.parametrize(
    "verdict",
    [
        {"severity": "error"},
        {},
        {"messages": []},
        {"severity": None, "messages": None},
        {"severity": "fatal"},
        {"severity": ""},
        {"severity": ["info"]},
        {"severity": "info", "validation": {"severity": "error"}},
    ],
)
def test_a_denial_without_a_message_names_the_interceptor(verdict: dict[str, object]) -> None:
    assert judged({"valid": False, **verdict}) == denied(BY_NAME)


@pytest.mark.parametrize("top", ["error", "ERROR"])
def test_a_severe_denial_with_lesser_messages_stays_a_denial(top: str) -> None:
    answer = {"valid": False, "severity": top, "messages": [message("hm", "warn")]}
    assert judged(answer) == denied(found("hm", Severity.WARN))


@pytest.mark.parametrize(
    ("verdict", "findings"),
    [
        ({"severity": "warn"}, ()),
        ({"severity": "info", "messages": []}, ()),
        ({"messages": [message("hm", "warn")]}, (found("hm", Severity.WARN),)),
        (
            {"severity": "warn", "messages": [message("a", "info"), message("b", "warn")]},
            (found("b", Severity.WARN), found("a", Severity.INFO)),
        ),
    ],
)
def test_invalid_without_an_error_does_not_block(
    verdict: dict[str, object], findings: tuple[Finding, ...]
) -> None:
    assert judged({"valid": False, **verdict}) == PASS._replace(findings=findings)


def test_messages_of_a_pass_are_told() -> None:
    answer = {"valid": True, "messages": [message("hm", "info"), message("odd")]}
    findings = (found("odd"), found("hm", Severity.INFO))
    assert judged(answer) == PASS._replace(findings=findings)


@pytest.mark.parametrize(
    ("entry", "finding"),
    [
        (message("no", path="arguments.note"), found("no", path="arguments.note")),
        (message("no", path="/arguments/note"), found("no", path="/arguments/note")),
        (message("no", path=""), found("no")),
        (message("no", path=7), found("no")),
        (message("no", path="x" * 2000), found("no", path="x" * 2000)),
        (message("no", path="x" * 2001), found("no")),
        (message("no", "warning"), found("no")),
        (message("no", None), found("no")),
        ({"message": "no"}, found("no")),
        ({"severity": "error"}, found("no reason given")),
        (message(""), found("no reason given")),
        ({"message": 7}, found("no reason given")),
        ("no", found("no reason given")),
        (None, found("no reason given")),
        (message("x" * 2000), found("x" * 2000)),
        (message("x" * 2001), found("x" * 1999 + "…")),
    ],
)
def test_an_odd_message_is_an_error(entry: object, finding: Finding) -> None:
    assert judged({"valid": False, "messages": [entry]}) == denied(finding)


@pytest.mark.parametrize("messages", ["no", {}, 7, False])
def test_messages_that_are_no_list_are_an_error(messages: object) -> None:
    answer = {"valid": False, "severity": "warn", "messages": messages}
    assert judged(answer) == denied(found("no reason given"))


def test_a_hundred_findings_are_kept_errors_first() -> None:
    messages = [message(str(number), "info") for number in range(150)] + [message("no")]
    outcome = judged({"valid": False, "messages": messages})
    infos = [found(str(number), Severity.INFO) for number in range(99)]
    assert outcome == denied(found("no"), *infos)


def test_two_equal_messages_of_one_answer_are_two_findings() -> None:
    twice = {"valid": False, "messages": [message("no"), message("no")]}
    assert judged({**twice, "validation": twice}) == denied(found("no"), found("no"))


def test_info_suggestions_and_duration_are_kept() -> None:
    answer = {
        "valid": True,
        "durationMs": 1.5,
        "info": {"model": "x"},
        "suggestions": [
            {"path": "arguments.note", "value": None, "why": "ignored"},
            {"path": "arguments.note"},
            {"value": 7},
            {"path": 7, "value": 7},
            "arguments.note",
        ],
    }
    assert judged(answer) == PASS._replace(
        duration=0.0015,
        info={"model": "x"},
        suggestions=({"path": "arguments.note", "value": None},),
    )


def test_info_and_suggestions_may_be_nested() -> None:
    nested = {"valid": True, "info": {"a": 1}, "suggestions": [{"path": "b", "value": 2}] * 101}
    expected = PASS._replace(info={"a": 1}, suggestions=({"path": "b", "value": 2},) * 100)
    assert judged({"validation": nested, "info": 7, "suggestions": None}) == expected


@pytest.mark.parametrize("duration", [None, -1, 0, "3", True, []])
def test_a_duration_that_is_none_is_zero(duration: object) -> None:
    assert judged({"valid": True, "durationMs": duration}) == PASS


@pytest.mark.parametrize(
    ("info", "skipped"),
    [
        ({"retired": True}, RETIRED),
        ({"retired": "yes"}, None),
        ({"skipped": "not_hooked"}, "not_hooked"),
        ({"skipped": True}, None),
        ({"skipped": "x" * 2001}, "x" * 1999 + "…"),
    ],
)
def test_an_interceptor_may_say_that_it_was_skipped(
    info: dict[str, object], skipped: str | None
) -> None:
    assert judged({"valid": True, "info": info}) == PASS._replace(info=info, skipped=skipped)


NO_VALID = "`valid` of the answer must be true or false"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "the answer is not an object"),
        ([{"valid": True}], "the answer is not an object"),
        ("ok", "the answer is not an object"),
        ({}, NO_VALID),
        ({"type": "validation"}, NO_VALID),
        ({"valid": "true"}, NO_VALID),
        ({"valid": 1}, NO_VALID),
        ({"valid": True, "validation": {"valid": 0}}, NO_VALID),
        ({"info": {"audit": {"valid": True}}}, NO_VALID),
        ({"valid": True, "type": "mutation"}, "`type` of the answer is not `validation`"),
        ({"valid": True, "type": ["validation"]}, "`type` of the answer is not `validation`"),
        ({"valid": True, "validation": True}, "`validation` of the answer is not an object"),
        ({"valid": True, "info": {1: 2}}, "`answer` has a key that is not a string"),
        ({"valid": True, "x": "\ud800"}, "`answer` holds a lone surrogate"),
        ({"valid": True, "durationMs": 10**400}, "`answer` holds a number that is not finite"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(answer: object, reason: str) -> None:
    assert judged(answer) == failed(reason)
    assert judged(answer, AUDITOR) == failed(reason)


def audit_of(**verdict: object) -> dict[str, object]:
    return {"audit": verdict}


DENYING = audit_of(valid=False, severity="error", messages=[message("no")])
WARNING = audit_of(valid=True, severity="warn", messages=[message("hm", "warn")])


@pytest.mark.parametrize(
    ("answer", "findings"),
    [
        ({"valid": True}, ()),
        (DENIAL, (found("no"),)),
        ({"valid": False}, (BY_NAME,)),
        ({"valid": False, "messages": [message("hm", "warn")]}, (found("hm", Severity.WARN),)),
        ({"valid": True, "validation": {"valid": True}, "info": DENYING}, (found("no"),)),
        (
            {
                "valid": True,
                "severity": "warn",
                "messages": [message("hm", "warn")],
                "info": WARNING,
            },
            (found("hm", Severity.WARN),),
        ),
    ],
)
def test_an_audited_validator_never_blocks(
    answer: dict[str, Any], findings: tuple[Finding, ...]
) -> None:
    expected = PASS._replace(findings=findings, audited=True, info=answer.get("info"))
    assert judged(answer, AUDITOR) == expected


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        (DENYING, denied(found("no"))),
        (audit_of(valid=False), denied(BY_NAME)),
        (audit_of(valid=False, severity="info"), PASS),
        (audit_of(valid=True), PASS),
        (WARNING, PASS._replace(findings=(found("hm", Severity.WARN),))),
        # not our shape: the answer itself counts
        (audit_of(valid="no", severity="error"), PASS),
        ({"audit": True}, PASS),
    ],
)
def test_an_audit_is_enforced_where_the_invoker_says_so(
    audit: dict[str, object], expected: ValidationResult
) -> None:
    answer = {"valid": True, "info": audit}
    assert judged(answer) == expected._replace(info=audit)


def test_a_denial_is_not_outweighed_by_an_audit_that_passes() -> None:
    info = audit_of(valid=True)
    assert judged({**DENIAL, "info": info}) == denied(found("no"))._replace(info=info)


CANNOT_JUDGE = "the server only audits and could not judge the payload"


def test_a_failure_of_an_audited_validator_is_recorded() -> None:
    info = {**audit_of(valid=True), "failure": "out of steps"}
    expected = PASS._replace(audited=True, failure=REPORTED, cause=Cause.ERROR, info=info)
    assert judged({"valid": True, "info": info}, AUDITOR) == expected


def test_an_audit_that_could_not_judge_is_a_failure_when_enforced() -> None:
    info = {**audit_of(valid=True), "failure": "out of steps"}
    assert judged({"valid": True, "info": info}) == failed(CANNOT_JUDGE)
    denying = {**DENYING, "failure": "out of steps"}
    expected = denied(found("no"))._replace(failure=REPORTED, cause=Cause.ERROR, info=denying)
    assert judged({"valid": True, "info": denying}) == expected


def test_the_failure_that_a_foreign_pass_mentions_is_its_own_affair() -> None:
    info = {"failure": "none"}
    assert judged({"valid": True, "info": info}) == PASS._replace(info=info)


@pytest.mark.parametrize(
    ("code", "cause"),
    [(-32000, Cause.DEADLINE), (-32603, Cause.ERROR), (-32602, Cause.ERROR), (0, Cause.ERROR)],
)
def test_an_error_is_a_failure_with_its_code_alone(code: int, cause: Cause) -> None:
    reason = f"the server answered error {code}"
    assert failure_from_error(code, VALIDATOR, Phase.RESPONSE) == Failure(
        "v", Kind.VALIDATION, Phase.RESPONSE, cause, reason
    )
