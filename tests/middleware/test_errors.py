"""A chain that stopped, as a JSON-RPC error."""

from __future__ import annotations

from typing import Any

import pytest

from policyd import Failure, Finding, Invocation, InvocationError
from policyd.errors import Cause
from policyd.execution import Decision, Status, Verdict
from policyd.middleware.errors import abort_error, crash_error, mutation_error, unreadable_error
from policyd.model import Kind, MutationResult, Outcome, Phase, Severity, ValidationResult

PAYLOAD: dict[str, Any] = {"name": "shell", "arguments": {"a": ["x"]}}


def decision(status: Status, *outcomes: Outcome, culprit: int = 0) -> Decision:
    invocation = Invocation("tools/call", "request", PAYLOAD, timeout=0.25)
    verdict = Verdict(status, PAYLOAD, outcomes, outcomes[culprit])
    return Decision(invocation, verdict, "0123456789ab")


def finding(severity: str, message: str, **more: Any) -> Finding:
    return Finding("v", "r", Severity(severity), message, **more)


def failure(kind: Kind, cause: Cause) -> Failure:
    return Failure("guard", kind, Phase.REQUEST, cause, "a reason for the log", duration=0.1)


def told(error: Any) -> tuple[int, str, Any]:
    return error.code, error.message, error.data


def test_every_finding_that_counts_is_told_errors_first() -> None:
    warned = ValidationResult("w", Phase.REQUEST, True, (finding("warn", "long"),))
    watched = ValidationResult("a", Phase.REQUEST, True, (finding("error", "seen"),), audited=True)
    denied = ValidationResult(
        "d",
        Phase.REQUEST,
        False,
        (
            finding("error", "no", path="/arguments/a/0", hint="ask first"),
            finding("info", "by the way"),
        ),
    )
    stopped = decision(Status.VALIDATION_FAILED, warned, watched, denied, culprit=2)
    assert told(abort_error(stopped)) == (
        -32602,
        "Interceptor validation failed: no (ask first)",
        {
            "validationErrors": [
                {
                    "interceptor": "d",
                    "severity": "error",
                    "message": "no",
                    "path": "arguments.a[0]",
                    "hint": "ask first",
                },
                {"interceptor": "w", "severity": "warn", "message": "long"},
                {"interceptor": "d", "severity": "info", "message": "by the way"},
            ]
        },
    )


def test_a_denial_without_a_finding_names_who_denied() -> None:
    silent = ValidationResult("d", Phase.REQUEST, False)
    entry = {"interceptor": "d", "severity": "error", "message": "no reason given"}
    assert told(abort_error(decision(Status.VALIDATION_FAILED, silent))) == (
        -32602,
        "Interceptor validation failed: no reason given",
        {"validationErrors": [entry]},
    )


PLACE = {"interceptor": "guard", "phase": "request"}


@pytest.mark.parametrize(
    ("status", "kind", "cause", "error"),
    [
        (
            Status.VALIDATION_FAILED,
            Kind.VALIDATION,
            Cause.ERROR,
            (
                -32603,
                "Interceptor execution failed",
                {**PLACE, "reason": "the policy could not be evaluated"},
            ),
        ),
        (
            Status.MUTATION_FAILED,
            Kind.MUTATION,
            Cause.BUDGET,
            (
                -32603,
                "Interceptor mutation failed",
                {
                    "failedInterceptor": "guard",
                    "reason": "the policy used up its step budget",
                },
            ),
        ),
        (
            Status.TIMEOUT,
            Kind.VALIDATION,
            Cause.DEADLINE,
            (-32000, "Interceptor execution timeout", {**PLACE, "timeoutMs": 100}),
        ),
        (
            Status.TIMEOUT,
            Kind.MUTATION,
            Cause.CHAIN_DEADLINE,
            (-32000, "Interceptor execution timeout", {**PLACE, "timeoutMs": 250}),
        ),
    ],
)
def test_a_failure_is_told_by_its_class_alone(
    status: Status, kind: Kind, cause: Cause, error: tuple[int, str, Any]
) -> None:
    assert told(abort_error(decision(status, failure(kind, cause)))) == error


def test_a_payload_that_is_no_object_is_laid_to_the_last_mutator_that_changed() -> None:
    outcomes = [
        MutationResult(name, Phase.REQUEST, modified, [])
        for name, modified in (("first", True), ("second", True), ("third", False))
    ]
    error = mutation_error(decision(Status.SUCCESS, *outcomes), "why")
    assert told(error) == (
        -32603,
        "Interceptor mutation failed",
        {"failedInterceptor": "second", "reason": "why"},
    )


@pytest.mark.parametrize(
    "raised", [RuntimeError("private"), InvocationError(-32602, "Invalid params")]
)
def test_why_a_chain_could_not_be_run_is_for_the_log(raised: Exception) -> None:
    assert told(crash_error(raised, Phase.RESPONSE)) == (
        -32603,
        "Interceptor execution failed",
        {"phase": "response", "reason": "the chain could not be run"},
    )


@pytest.mark.parametrize(("phase", "code"), [(Phase.RESPONSE, -32602), (Phase.REQUEST, -32603)])
def test_what_cannot_be_read_is_the_fault_of_whoever_wrote_it(phase: Phase, code: int) -> None:
    assert told(unreadable_error(phase, "why")) == (
        code,
        "Interceptor validation failed",
        {"reason": "why"},
    )
