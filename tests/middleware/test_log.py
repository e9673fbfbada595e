"""What the log of whoever installed a chain holds."""

from __future__ import annotations

import logging

import pytest

from policyd import Failure, Finding, Invocation
from policyd.errors import Cause
from policyd.execution import Decision, Status, Verdict
from policyd.middleware.log import log_findings
from policyd.model import Change, Kind, MutationResult, Outcome, Phase, Severity, ValidationResult

PRIVATE = "what is nobody else's business"


def found(severity: str, path: str | None = None, rule: str = "r") -> Finding:
    return Finding("v", rule, Severity(severity), PRIVATE, path, PRIVATE)


def logged(caplog: pytest.LogCaptureFixture, *outcomes: Outcome) -> list[tuple[str, str]]:
    verdict = Verdict(Status.SUCCESS, {}, outcomes)
    invocation = Invocation("tools/call", Phase.REQUEST, {})
    with caplog.at_level(logging.DEBUG, "policyd"):
        log_findings(Decision(invocation, verdict, ""))
    assert PRIVATE not in caplog.text
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_every_finding_is_one_line_by_rule_and_place(caplog: pytest.LogCaptureFixture) -> None:
    findings = (found("error", "/a/0"), found("warn"), found("info"))
    watched = ValidationResult("watched", Phase.REQUEST, True, findings, audited=True)
    warned = ValidationResult("warned", Phase.REQUEST, True, (found("warn", "/b"),))
    where = "'tools/call' request"
    assert logged(caplog, watched, warned) == [
        (
            "WARNING",
            f"{where}: audit: interceptor 'watched' found severity error, rule 'r', path '/a/0'",
        ),
        ("WARNING", f"{where}: audit: interceptor 'watched' found severity warn, rule 'r'"),
        ("INFO", f"{where}: audit: interceptor 'watched' found severity info, rule 'r'"),
        (
            "WARNING",
            f"{where}: enforce: interceptor 'warned' found severity warn, rule 'r', path '/b'",
        ),
    ]


def test_what_an_auditing_mutator_would_change_is_told(caplog: pytest.LogCaptureFixture) -> None:
    changes = (Change("m-1", "/a", "redact"),)
    outcomes = [
        MutationResult("watched", Phase.REQUEST, False, {}, changes, audited=True),
        MutationResult("mask", Phase.REQUEST, True, {}, changes),
    ]
    text = "'tools/call' request: audit: interceptor 'watched' would redact, rule 'm-1', path '/a'"
    assert logged(caplog, *outcomes) == [("WARNING", text)]


def test_a_message_cannot_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    many = ValidationResult("v", Phase.REQUEST, True, (found("warn"),) * 1000, audited=True)
    lines = logged(caplog, many)
    assert len(lines) == 21
    assert lines[-1] == ("WARNING", "'tools/call' request: and 980 more")


def test_names_of_others_stay_on_their_line(caplog: pytest.LogCaptureFixture) -> None:
    result = ValidationResult("a\nb", Phase.REQUEST, True, (found("warn", "/\u2028", "r" * 300),))
    failed = Failure("c\nd", Kind.VALIDATION, Phase.REQUEST, Cause.ERROR, "why")
    assert logged(caplog, result, failed) == [
        (
            "WARNING",
            "'tools/call' request: enforce: interceptor 'a\\nb' found severity warn, "
            f"rule '{'r' * 256}...', path '/\\u2028'",
        ),
    ]
