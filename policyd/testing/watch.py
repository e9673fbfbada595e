"""Case files, run while the policies are watched: which rules fire in which cases.

Knows what counts as firing and as not firing.  Knows neither faults nor branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policyd.model import Kind
from policyd.observation import Seen, Watched, watch_policies
from policyd.policy import Node, Policy, Rule
from policyd.snapshot import make_snapshot
from policyd.testing.cases import Case, CaseFile, CaseKind
from policyd.testing.run import CaseResult, run_case


@dataclass(frozen=True, slots=True)
class Run:
    """One case, run: how it went, and what each policy of its files did meanwhile."""

    case: Case
    result: CaseResult
    seen: tuple[tuple[Policy, Seen], ...]


def watch_cases(case_file: CaseFile) -> Iterator[Run]:
    """Run the cases of a file that are about decisions."""
    if not any(case.kind is CaseKind.DECIDE for case in case_file.cases):
        return
    watched = watch_policies(case_file.bundle)
    interceptors = tuple([one for each in watched for one in each.interceptors])
    snapshot = make_snapshot(case_file.bundle.revision, interceptors)
    watched_file = replace(case_file, snapshot=snapshot)
    for case in case_file.cases:
        if case.kind is CaseKind.DECIDE:
            result = run_case(watched_file, case)
            yield Run(case, result, tuple([_taken(each) for each in watched]))


def _taken(watched: Watched) -> tuple[Policy, Seen]:
    seen = watched.seen
    watched.forget()
    return watched.policy, seen


def fired(policy: Policy, rule: Rule, seen: Seen) -> bool | None:
    """Whether a rule fired; None where it was not evaluated, or could not be.

    A rule of a validator fires when it finds something, an entry of a mutator when it changes
    something.  One without a condition of its own did not fire where `match` said no.
    """
    if _skipped(policy.hook.when, seen):
        return False if is_unconditional(rule) else None
    if policy.kind is Kind.VALIDATION:
        run = seen.rules.get(rule.id)
        return None if run is None or run.error is not None else bool(run.findings)
    if seen.changes is None:
        return None
    return any(change.rule == rule.id for change in seen.changes)


def is_unconditional(rule: Rule) -> bool:
    """True for a rule whose only condition is the `match` of its policy."""
    return rule.kind == "patch" or rule.node.value.get(rule.kind) in ("true", "false")


def _skipped(when: Node | None, seen: Seen) -> bool:
    """True when `match` said that the policy is not for this payload."""
    asked = [] if when is None else seen.expressions.get(when.path, [])
    return seen.tool_admitted is False or any(each.value is False for each in asked)
