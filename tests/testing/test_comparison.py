"""Differences between what a case expects and what came, as an author reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.diagnostics import Diagnostic, Level, Span
from policyd.errors import Cause
from policyd.execution import Decision, Status, Verdict
from policyd.model import (
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
from policyd.testing.comparison import (
    MAX_DIFFERENCES,
    answer_problems,
    decision_problems,
    diagnostic_problems,
    output_problems,
    same,
)

PAYLOAD = {"name": "shell", "arguments": {"command": "rm -rf /", "n": 1}}

RM = Finding("shell", "no-rm-rf", Severity.ERROR, "no recursive delete", "/arguments/command")
RM_ELSEWHERE = Finding("shell", "no-rm-rf", Severity.ERROR, "no recursive delete", "/name")
LONG = Finding("shell", "short", Severity.WARN, "too long", None, "shorten it")


def decision(
    *findings: Finding,
    audited: tuple[Finding, ...] = (),
    outcomes: tuple[Outcome, ...] = (),
    payload: Any = PAYLOAD,
) -> Decision:
    blocked = any(finding.severity is Severity.ERROR for finding in findings)
    validators = (
        ValidationResult("shell", Phase.REQUEST, not blocked, findings),
        ValidationResult("watch", Phase.REQUEST, True, audited, audited=True),
    )
    status = Status.VALIDATION_FAILED if blocked else Status.SUCCESS
    verdict = Verdict(status, payload, (*validators, *outcomes))
    return Decision(Invocation("tools/call", "request", PAYLOAD), verdict, "abc")


@pytest.mark.parametrize(
    ("then", "found"),
    [
        ({"allowed": True}, decision()),
        ({"allowed": False}, decision(RM)),
        ({"findings": []}, decision()),
        ({"findings": [{"rule": "short"}, {"rule": "no-rm-rf"}]}, decision(RM, LONG)),
        ({"findings": [{"rule": "short", "hint": "shorten it"}]}, decision(LONG)),
        ({"audited": [{"rule": "short", "severity": "warn"}]}, decision(audited=(LONG,))),
        ({"payload": PAYLOAD}, decision()),
        ({"unchanged": True}, decision()),
        ({"contains": ["rm -rf", '"n": 1', "command"]}, decision()),
        ({"lacks": ["sudo"]}, decision()),
        (
            {"findings": [{"rule": "no-rm-rf"}, {"rule": "no-rm-rf", "path": "/name"}]},
            decision(RM_ELSEWHERE, RM),
        ),
    ],
)
def test_what_is_as_expected_is_no_problem(then: dict[str, Any], found: Decision) -> None:
    assert decision_problems(then, found) == ()


@pytest.mark.parametrize(
    ("then", "found", "problems"),
    [
        (
            {"allowed": False},
            decision(LONG),
            ("expected the payload to be denied, it is allowed",),
        ),
        (
            {"allowed": True},
            decision(RM, LONG),
            (
                "expected the payload to be allowed, it is denied",
                "denied by `no-rm-rf` at /arguments/command: no recursive delete",
            ),
        ),
        (
            {"findings": []},
            decision(RM),
            (
                "expected no finding of `no-rm-rf`, there is one at /arguments/command: "
                "no recursive delete",
            ),
        ),
        (
            {"findings": [{"rule": "no-rm-rf", "path": "/arguments/command"}]},
            decision(),
            ("expected a finding of `no-rm-rf` at /arguments/command, there is none",),
        ),
        (
            {"findings": [{"rule": "short", "severity": "error", "path": "/a"}]},
            decision(LONG),
            (
                'expected a finding of `short` with the severity "error", it is "warn"',
                'expected a finding of `short` with the path "/a", it is null',
            ),
        ),
        (
            {"findings": [{"rule": "short", "severity": "warn", "hint": "ask"}]},
            decision(LONG),
            ('expected a finding of `short` with the hint "ask", it is "shorten it"',),
        ),
        (
            {"findings": [{"rule": "no-rm-rf"}, {"rule": "no-rm-rf"}]},
            decision(RM),
            ("expected a finding of `no-rm-rf`, there is none",),
        ),
        (
            {"findings": [{"rule": "no-rm-rf"}]},
            decision(RM, RM_ELSEWHERE),
            ("expected no finding of `no-rm-rf`, there is one at /name: no recursive delete",),
        ),
        (
            {"audited": [{"rule": "no-rm-rf"}]},
            decision(audited=(LONG,)),
            (
                "expected an audited finding of `no-rm-rf`, there is none",
                "expected no audited finding of `short`, there is one: too long",
            ),
        ),
        (
            {"payload": {"name": "shell", "arguments": {"command": "ls", "n": True}, "x/y": []}},
            decision(payload={**PAYLOAD, "more": None}),
            (
                'at /arguments/command: expected "ls", there is "rm -rf /"',
                "at /arguments/n: expected true, there is 1",
                "expected [] at /x~1y, there is nothing",
                "expected nothing at /more, there is null",
            ),
        ),
        (
            {"unchanged": True},
            decision(payload=[]),
            (
                'at the top: expected {"name": "shell", "arguments": {"command": "rm -rf /", '
                '"n": 1}}, there is []',
            ),
        ),
        (
            {"contains": ["sudo"], "lacks": ["rm -rf", '"n": 1']},
            decision(),
            (
                "expected the payload to contain `sudo`, it does not",
                "expected the payload to lack `rm -rf`, it stands at /arguments/command",
                'expected the payload to lack `"n": 1`, it stands at its JSON text',
            ),
        ),
    ],
)
def test_what_differs_is_told_in_the_words_of_a_policy(
    then: dict[str, Any], found: Decision, problems: tuple[str, ...]
) -> None:
    assert decision_problems(then, found) == problems


FAILED: tuple[Outcome, ...] = (
    Failure("limits", Kind.VALIDATION, Phase.REQUEST, Cause.ERROR, "p.yaml:3:5: no such key"),
    MutationResult("trim", Phase.REQUEST, False, PAYLOAD, failure="p.yaml:9:5: no list"),
)


def test_a_failure_is_a_problem_unless_it_is_expected() -> None:
    found = decision(outcomes=FAILED)
    assert decision_problems({"allowed": True}, found) == (
        "`limits` could not be evaluated: p.yaml:3:5: no such key",
        "`trim` could not be evaluated: p.yaml:9:5: no list",
    )
    assert decision_problems({"failed": ["trim", "limits"]}, found) == ()


def test_a_failure_that_does_not_happen_is_a_problem() -> None:
    assert decision_problems({"failed": ["shell", "gone"]}, decision()) == (
        "expected `shell` to fail, it was evaluated",
        "expected `gone` to fail, it did not run",
    )


def test_only_the_first_differences_of_a_payload_are_told() -> None:
    problems = decision_problems({"payload": [0] * 20}, decision(payload=[1] * 20))
    assert len(problems) == MAX_DIFFERENCES + 1
    assert problems[-1] == "there are more differences"


def test_a_long_value_is_cut() -> None:
    (problem,) = decision_problems({"payload": "a" * 500}, decision(payload="b"))
    assert problem == f'at the top: expected "{"a" * 76}..., there is "b"'


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ([1, {"a": "b"}], [1, {"a": "b"}], True),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_values_are_the_same_only_with_the_same_types(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_value_is_the_same_as_itself_and_as_no_wrapped_one(value: Any) -> None:
    assert same(value, value)
    assert not same(value, [value])
    assert not same({"a": value}, value)


def diagnostic(line: int, code: str = "bad-value") -> Diagnostic:
    return Diagnostic(Level.ERROR, code, Span("p.yaml", line, 3, line, 9), "it is bad")


def test_diagnostics_are_compared_in_any_order() -> None:
    lines = ["p.yaml:2:3 error[bad-value] it is bad", "p.yaml:1:3 error[bad-value] it is bad"]
    assert diagnostic_problems(lines, [diagnostic(1), diagnostic(2)]) == ()


def test_missing_and_surplus_diagnostics_are_told() -> None:
    lines = ["p.yaml:1:3 error[bad-value] it is bad", "p.yaml:9:3 error[bad-value] it is bad"]
    assert diagnostic_problems(lines, [diagnostic(1), diagnostic(2)]) == (
        "expected the diagnostic `p.yaml:9:3 error[bad-value] it is bad`, there is none",
        "expected no diagnostic `p.yaml:2:3 error[bad-value] it is bad`, there is one",
    )


@pytest.mark.parametrize(
    ("then", "answer", "problems"),
    [
        ({"result": {"valid": True}}, {"result": {"valid": True, "type": "validation"}}, ()),
        ({"result": {"a": [{"b": 1}]}}, {"result": {"a": [{"b": 1, "c": 2}]}}, ()),
        (
            {"result": {"a": [{"b": 1}]}},
            {"result": {"a": [{"b": 1}, {}]}},
            ('at /result/a: expected [{"b": 1}], there is [{"b": 1}, {}]',),
        ),
        (
            {"result": {"durationMs": 3}},
            {"result": {"durationMs": 3.0}},
            ("at /result/durationMs: expected 3, there is 3.0",),
        ),
        (
            {"result": {}},
            {"error": {"code": -32602}},
            ('expected a member `result`, the answer is {"error": {"code": -32602}}',),
        ),
        (
            {"error": {"code": -32602}, "lacks": ["rm -rf"]},
            {"error": {"code": -32603, "message": "rm -rf"}},
            (
                "at /error/code: expected -32602, there is -32603",
                "expected the answer to lack `rm -rf`, it stands at /error/message",
            ),
        ),
    ],
)
def test_an_answer_must_hold_what_is_expected(
    then: dict[str, Any], answer: dict[str, Any], problems: tuple[str, ...]
) -> None:
    assert answer_problems(then, answer) == problems


@pytest.mark.parametrize(
    ("then", "stdout", "stderr", "problems"),
    [
        ({"exit": 0}, "anything", "at all", ()),
        ({"exit": 0, "stdout": ["one", "three"]}, "one\ntwo\nthis is three\n", "", ()),
        ({"exit": 0, "stdout": []}, "", "", ()),
        ({"exit": 3}, "", "", ("expected exit code 3, it is 0",)),
        ({"exit": 3}, "", "boom\n", ("expected exit code 3, it is 0", "stderr says: boom")),
        (
            {"exit": 0, "stdout": []},
            "surprise",
            "",
            ("expected nothing on stdout, there is `surprise`",),
        ),
        (
            {"exit": 0, "stdout": ["three", "one"]},
            "one\nthree",
            "",
            ("expected `one` on stdout, it stands there, but not in this order",),
        ),
        ({"exit": 0, "stdout": ["one"]}, "two\n", "", ("expected `one` on stdout, it says: two",)),
        ({"exit": 0, "stderr": ["one"]}, "", "", ("expected `one` on stderr, it is empty",)),
    ],
)
def test_output_is_compared_line_by_line(
    then: dict[str, Any], stdout: str, stderr: str, problems: tuple[str, ...]
) -> None:
    assert output_problems(then, {"exit": 0, "stdout": stdout, "stderr": stderr}) == problems
