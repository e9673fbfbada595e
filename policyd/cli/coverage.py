"""How the coverage of cases looks: per file every rule, and what no case reaches.

Knows no case file; `policyd test --coverage` prints it after the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policyd.cli.render import DIM, GOOD, WARNING, counted, say, workflow_command
from policyd.diagnostics import Span
from policyd.testing import Branch, Coverage, RuleCount

_LONGEST = 60


def say_coverage(coverage: Coverage) -> None:
    """Print per file the count of each rule, then each rule and branch that is not covered."""
    for file in dict.fromkeys(rule.span.file for rule in coverage.rules):
        rules = [rule for rule in coverage.rules if rule.span.file == file]
        branches = [branch for branch in coverage.branches if branch.span.file == file]
        say(_headline(file, rules, branches), GOOD if _whole(rules, branches) else WARNING)
        width = max(len(_name(rule)) for rule in rules)
        for rule in rules:
            counts = f"fired {rule.fired}, did not {rule.silent}"
            say(f"  {_name(rule):{width}}  {counts}", "" if rule.covered else WARNING)
        for span, text in _gaps(rules, branches):
            say(f"  {_place(span)}: {text}", DIM)


def coverage_to_json(coverage: Coverage) -> dict[str, Any]:
    """The coverage as a JSON object: `rules` and `branches`, covered or not."""
    return {
        "rules": [
            {
                "policy": rule.policy,
                "rule": rule.rule,
                **_position(rule.span),
                "fired": rule.fired,
                "notFired": rule.silent,
                "covered": rule.covered,
            }
            for rule in coverage.rules
        ],
        "branches": [
            {
                "policy": branch.policy,
                **_position(branch.span),
                "text": branch.what,
                "of": branch.of,
                "true": branch.true,
                "false": branch.false,
                "covered": branch.covered,
            }
            for branch in coverage.branches
        ],
    }


def annotate_coverage(coverage: Coverage) -> None:
    """Print what is not covered as workflow commands for GitHub."""
    for span, text in _gaps(coverage.rules, coverage.branches):
        place = {"file": span.file, "line": span.line, "col": span.column, "title": "not-covered"}
        say(workflow_command("warning", place, text))


def _headline(file: str, rules: Sequence[RuleCount], branches: Sequence[Branch]) -> str:
    covered = sum(rule.covered for rule in rules)
    both = sum(branch.covered for branch in branches)
    of_branches = counted(len(branches), "branch")
    return f"{file}: {covered} of {counted(len(rules), 'rule')}, {both} of {of_branches} covered"


def _whole(rules: Sequence[RuleCount], branches: Sequence[Branch]) -> bool:
    return all(rule.covered for rule in rules) and all(branch.covered for branch in branches)


def _name(rule: RuleCount) -> str:
    return f"{rule.policy} / {rule.rule}"


def _gaps(rules: Sequence[RuleCount], branches: Sequence[Branch]) -> Iterator[tuple[Span, str]]:
    """What is not covered, by place, in words."""
    gaps = [(rule.span, _rule_gap(rule)) for rule in rules if not rule.covered]
    gaps += [(branch.span, _branch_gap(branch)) for branch in branches if not branch.covered]
    yield from sorted(gaps)


def _rule_gap(rule: RuleCount) -> str:
    if rule.fired:
        return f"`{rule.rule}` fires in every case"
    return f"`{rule.rule}` {'never fires' if rule.silent else 'is never evaluated'}"


def _branch_gap(branch: Branch) -> str:
    line = " ".join(branch.what.split())
    shown = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
    if branch.true or branch.false:
        missing = "is never false" if branch.true else "is never true"
    else:
        missing = "is never evaluated"
    return f"`{shown}` in `{branch.of}` {missing}"


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _position(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "column": span.column}
