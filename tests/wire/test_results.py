from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from policyd.errors import Cause, InvocationError
from policyd.model import (
    Change,
    Failure,
    Finding,
    Invocation,
    Kind,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)
from policyd.wire import (
    RETIRED,
    Dialect,
    chain_result_to_json,
    failure_to_error,
    outcome_to_json,
)

UNIVERSAL, SEP = Dialect.UNIVERSAL, Dialect.SEP
BARE = Invocation("tools/call", Phase.REQUEST, {"name": "shell", "arguments": {"command": "x"}})
ENVELOPE = replace(BARE, payload={"method": "tools/call", "params": BARE.payload})
ERROR = Finding(
    "no-rm", "no-rm-rf", Severity.ERROR, "denied by policy", "/arguments/command", "name files"
)
WARN = Finding("no-rm", "short", Severity.WARN, "the command is long")
PASS = ValidationResult("no-rm", Phase.REQUEST, True, duration=0.0014)
DENY = ValidationResult("no-rm", Phase.REQUEST, False, (WARN, ERROR), duration=0.0026)
EVAL_REASON = "policies/a.yaml:3:5: no such key"


def to_json(outcome: Outcome, invocation: Invocation = BARE, dialect: Dialect = SEP) -> Any:
    return outcome_to_json(outcome, invocation, "9f3a", dialect)


def test_a_pass_in_the_sep_dialect() -> None:
    assert list(to_json(PASS).items()) == [
        ("type", "validation"),
        ("interceptor", "no-rm"),
        ("phase", "request"),
        ("durationMs", 1),
        ("valid", True),
        ("info", {"policy": {"generation": "9f3a"}}),
    ]


def test_a_denial_satisfies_every_reader() -> None:
    messages = [
        {
            "path": "arguments.command",
            "message": "denied by policy (name files)",
            "severity": "error",
        },
        {"message": "the command is long", "severity": "warn"},
    ]
    assert list(to_json(DENY, dialect=UNIVERSAL).items()) == [
        ("type", "validation"),
        ("interceptor", "no-rm"),
        ("phase", "request"),
        ("durationMs", 3),
        ("valid", False),
        ("severity", "error"),
        ("messages", messages),
        ("info", {"policy": {"generation": "9f3a", "rules": ["short", "no-rm-rf"]}}),
        ("validation", {"valid": False, "severity": "error", "messages": messages}),
    ]


def test_a_warning_is_valid_and_told() -> None:
    answer = to_json(PASS._replace(findings=(WARN,)))
    assert (answer["valid"], answer["severity"]) == (True, "warn")
    assert answer["messages"] == [{"message": "the command is long", "severity": "warn"}]


def test_a_duration_is_an_integer_in_every_dialect() -> None:
    for dialect in Dialect:
        for outcome in (PASS, MutationResult("m", Phase.REQUEST, False, None, duration=1.5)):
            assert type(to_json(outcome, dialect=dialect)["durationMs"]) is int


def test_what_an_audit_finds_is_recorded_where_no_reader_blocks_on_it() -> None:
    answer = to_json(DENY._replace(valid=True, audited=True, findings=(ERROR,)), dialect=UNIVERSAL)
    message = {
        "path": "arguments.command",
        "message": "denied by policy (name files)",
        "severity": "error",
    }
    assert answer == {
        "type": "validation",
        "interceptor": "no-rm",
        "phase": "request",
        "durationMs": 3,
        "valid": True,
        "info": {
            "policy": {"generation": "9f3a", "rules": ["no-rm-rf"]},
            "audit": {"valid": False, "severity": "error", "messages": [message]},
        },
        "validation": {"valid": True},
    }


def test_an_audited_warning_is_told_as_in_enforce() -> None:
    answer = to_json(PASS._replace(audited=True, findings=(WARN,)))
    verdict = {
        "valid": True,
        "severity": "warn",
        "messages": [{"message": "the command is long", "severity": "warn"}],
    }
    assert {key: answer[key] for key in verdict} == verdict
    assert answer["info"]["audit"] == verdict


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (Cause.ERROR, "the policy could not be evaluated"),
        (Cause.BUDGET, "the policy used up its step budget"),
        (Cause.DEADLINE, "the policy ran out of time"),
        (None, "the policy could not be evaluated"),
    ],
)
def test_a_peer_is_told_the_class_of_a_failure_only(cause: Cause | None, told: str) -> None:
    outcome = PASS._replace(audited=True, failure=EVAL_REASON, cause=cause)
    assert to_json(outcome)["info"] == {
        "policy": {"generation": "9f3a"},
        "failure": told,
        "audit": {"valid": True},
    }


def test_what_was_skipped_says_why() -> None:
    info = to_json(PASS._replace(skipped="not_hooked"))["info"]
    assert info == {"policy": {"generation": "9f3a"}, "skipped": "not_hooked"}


def test_what_is_retired_says_so() -> None:
    info = to_json(PASS._replace(skipped=RETIRED))["info"]
    assert info == {"policy": {"generation": "9f3a"}, "retired": True}


CHANGES = (
    Change("patch-1", "/arguments/limit", "replace"),
    Change("redact-1", "/arguments/text", "redact", "aws-access-key-id", 2),
)
CHANGES_JSON = [
    {"rule": "patch-1", "path": "/arguments/limit", "op": "replace", "count": 1},
    {
        "rule": "redact-1",
        "path": "/arguments/text",
        "op": "redact",
        "detector": "aws-access-key-id",
        "count": 2,
    },
]


def test_a_mutation_tells_the_payload_and_what_changed() -> None:
    outcome = MutationResult("redact", Phase.RESPONSE, True, {"a": 1}, CHANGES)
    info = {
        "policy": {"generation": "9f3a", "rules": ["patch-1", "redact-1"]},
        "changes": CHANGES_JSON,
    }
    assert list(to_json(outcome, dialect=UNIVERSAL).items()) == [
        ("type", "mutation"),
        ("interceptor", "redact"),
        ("phase", "response"),
        ("durationMs", 0),
        ("modified", True),
        ("payload", {"a": 1}),
        ("info", info),
        ("mutation", {"modified": True, "info": info}),
    ]
    assert "mutation" not in to_json(outcome)


def test_an_unmodified_mutation_echoes_the_very_payload() -> None:
    answer = to_json(MutationResult("redact", Phase.REQUEST, False, BARE.payload))
    assert answer["payload"] is BARE.payload
    assert answer["info"] == {"policy": {"generation": "9f3a"}}


def test_an_audited_mutation_tells_what_it_would_change() -> None:
    outcome = MutationResult("redact", Phase.REQUEST, False, {}, CHANGES, audited=True)
    answer = to_json(outcome)
    assert answer["modified"] is False
    assert answer["info"]["audit"] == {"modified": True, "changes": CHANGES_JSON}
    assert "changes" not in answer["info"]


PLACES: dict[str, Any] = {
    "list": [{"name": 1}, [2]],
    "object": {"0": 1, "x.y": 2, "content-type": 3, "$ref": 4, "größe": 5, 'q"': 6, "a b": 7},
}


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("", None),
        ("/list", "list"),
        ("/list/0/name", "list[0].name"),
        ("/list/1/0", "list[1][0]"),
        ("/list/9/x", "list[9].x"),
        ("/list/99999999999", 'list["99999999999"]'),
        ("/object/0", 'object["0"]'),
        ("/object/x.y", 'object["x.y"]'),
        ("/object/content-type", "object.content-type"),
        ("/object/$ref", "object.$ref"),
        ("/object/größe", "object.größe"),
        ('/object/q"', 'object["q\\""]'),
        ("/object/a b", 'object["a b"]'),
        ("/missing/3/x", "missing[3].x"),
        ("/a~1b/c~0d", '["a/b"]["c~d"]'),
        ("as.it[0].came", "as.it[0].came"),
    ],
)
def test_a_path_is_dotted_and_relative_to_what_came(pointer: str, path: str | None) -> None:
    outcome = DENY._replace(findings=(replace(ERROR, path=pointer),))
    (message,) = to_json(outcome, replace(BARE, payload=PLACES))["messages"]
    assert message.get("path") == path


def test_a_path_names_the_envelope_that_came() -> None:
    (message, _) = to_json(DENY, ENVELOPE)["messages"]
    assert message["path"] == "params.arguments.command"
    (root,) = to_json(DENY._replace(findings=(replace(ERROR, path=""),)), ENVELOPE)["messages"]
    assert root["path"] == "params"
    response = Invocation("tools/call", Phase.RESPONSE, {"result": {"content": []}})
    finding = replace(ERROR, path="/content/0/text")
    (message,) = to_json(DENY._replace(findings=(finding,)), response)["messages"]
    assert message["path"] == "result.content[0].text"


def failure(cause: Cause) -> Failure:
    return Failure("no-rm", Kind.VALIDATION, Phase.REQUEST, cause, EVAL_REASON, 0.0996)


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (Cause.ERROR, "the policy could not be evaluated"),
        (Cause.BUDGET, "the policy used up its step budget"),
    ],
)
def test_a_failure_is_an_error_that_tells_no_internals(cause: Cause, reason: str) -> None:
    with pytest.raises(InvocationError) as caught:
        to_json(failure(cause))
    error = caught.value
    assert (error.code, error.message) == (-32603, "Interceptor execution failed")
    assert error.data == {"interceptor": "no-rm", "phase": "request", "reason": reason}


@pytest.mark.parametrize(("asked", "told"), [(0.25, 250), (None, 100)])
def test_a_deadline_is_the_timeout_of_the_sep(asked: float | None, told: int) -> None:
    error = failure_to_error(failure(Cause.DEADLINE), asked)
    assert (error.code, error.message) == (-32000, "Interceptor execution timeout")
    assert error.data == {"interceptor": "no-rm", "phase": "request", "timeoutMs": told}


@dataclass(frozen=True)
class Verdict:
    culprit: Outcome | None = None


@dataclass(frozen=True)
class Decision:
    allowed: bool
    status: str
    outcomes: tuple[Outcome, ...]
    verdict: Verdict
    payload: Any = None
    invocation: Invocation = BARE
    generation: str = "9f3a"
    duration: float = 0.0041


def test_what_another_server_added_is_passed_on() -> None:
    outcome = DENY._replace(
        findings=(ERROR,), info={"seen": 1}, suggestions=({"path": "a", "value": 2},)
    )
    answer = to_json(outcome)
    assert (answer["info"], answer["suggestions"]) == ({"seen": 1}, [{"path": "a", "value": 2}])


def test_a_chain_without_policies_has_no_generation() -> None:
    decision = Decision(True, "success", (), Verdict(), generation="")
    assert "generation" not in chain_result_to_json(decision)


def test_an_allowed_chain_result_carries_the_final_payload() -> None:
    warned = PASS._replace(findings=(WARN, replace(WARN, severity=Severity.INFO)))
    audited = DENY._replace(valid=True, audited=True)
    decision = Decision(True, "success", (warned, audited), Verdict(), {"name": "ls"})
    assert list(chain_result_to_json(decision).items()) == [
        ("status", "success"),
        ("event", "tools/call"),
        ("phase", "request"),
        ("allowed", True),
        ("results", [to_json(warned), to_json(audited)]),
        ("generation", "9f3a"),
        ("finalPayload", {"name": "ls"}),
        ("validationSummary", {"errors": 0, "warnings": 1, "infos": 1}),
        ("totalDurationMs", 4),
    ]


def test_a_denied_chain_result_says_who_stopped_it_and_hands_on_nothing() -> None:
    deny = DENY._replace(findings=(ERROR, WARN))
    decision = Decision(False, "validation_failed", (deny,), Verdict(deny), {"name": "rm"})
    answer = chain_result_to_json(decision)
    assert "finalPayload" not in answer
    assert answer["validationSummary"] == {"errors": 1, "warnings": 1, "infos": 0}
    assert answer["abortedAt"] == {
        "interceptor": "no-rm",
        "reason": "denied by policy (name files)",
        "type": "validation",
    }


@pytest.mark.parametrize(
    ("cause", "kind", "code", "message", "reason"),
    [
        (
            Cause.ERROR,
            "validation",
            -32603,
            "Interceptor execution failed",
            "the policy could not be evaluated",
        ),
        (
            Cause.DEADLINE,
            "timeout",
            -32000,
            "Interceptor execution timeout",
            "the policy ran out of time",
        ),
    ],
)
def test_a_failure_stands_among_the_results_of_a_chain(
    cause: Cause, kind: str, code: int, message: str, reason: str
) -> None:
    failed = failure(cause)
    answer = chain_result_to_json(Decision(False, "timeout", (failed,), Verdict(failed)))
    assert answer["results"] == [
        {
            "type": "validation",
            "interceptor": "no-rm",
            "phase": "request",
            "durationMs": 100,
            "error": {"code": code, "message": message},
        }
    ]
    assert answer["abortedAt"] == {"interceptor": "no-rm", "reason": reason, "type": kind}


def test_a_culprit_without_findings_has_an_empty_reason() -> None:
    result = MutationResult("m", Phase.REQUEST, True, {})
    answer = chain_result_to_json(Decision(False, "mutation_failed", (result,), Verdict(result)))
    assert answer["abortedAt"]["reason"] == ""
