"""Whether cases prove policies: each rule fires in one and stays silent in another, and each fault
that is put into a policy on purpose makes one fail.

Knows what a proof is, and says as diagnostics what is missing.  Reads no file and prints nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from policyd.diagnostics import Diagnostic, Report
from policyd.interceptor import Interceptor
from policyd.model import Kind
from policyd.policy import Policy, Rule, place_of
from policyd.snapshot import Snapshot, make_snapshot
from policyd.testing.cases import Case, CaseFile
from policyd.testing.faults import faults_in
from policyd.testing.run import run_case
from policyd.testing.watch import Run, fired, is_unconditional, watch_cases


@dataclass(frozen=True, slots=True)
class Proof:
    """What cases prove of policies.

    unproven: everything that no case shows, sorted by place.
    rules, proven: how many rules there are, and of how many nothing is unproven.
    faults, noticed: how many were tried, and how many of them made a case fail.
    untried: faults that were left out, because one expression has too many.
    failing: cases that fail without any fault; they prove nothing.
    """

    unproven: tuple[Diagnostic, ...]
    rules: int
    proven: int
    faults: int
    noticed: int
    untried: int
    failing: int


@dataclass(frozen=True, slots=True)
class _Ran:
    """A case file, and its cases that pass without a fault."""

    case_file: CaseFile
    passed: tuple[Run, ...]


@dataclass(slots=True)
class _Tally:
    faults: int = 0
    noticed: int = 0
    untried: int = 0
    proven: int = 0


def prove(policies: Iterable[Policy], case_files: Iterable[CaseFile]) -> Proof:
    """What the cases prove of *policies*; a file is about those that it was compiled with."""
    report, tally = Report(), _Tally()
    ran: list[_Ran] = []
    failing = rules = 0
    for case_file in case_files:
        runs = list(watch_cases(case_file))
        passed = tuple([run for run in runs if run.result.passed])
        failing += len(runs) - len(passed)
        ran += [_Ran(case_file, passed)] if runs else []
    for policy in policies:
        own = [each for each in ran if _is_about(each.case_file, policy)]
        rules += len(policy.rules)
        unproven, silent = _prove_rules(policy, own, report)
        unproven |= _try_faults(policy, silent, own, report, tally)
        tally.proven += len({rule.id for rule in policy.rules} - unproven)
    return Proof(
        report.diagnostics,
        rules,
        tally.proven,
        tally.faults,
        tally.noticed,
        tally.untried,
        failing,
    )


def _is_about(case_file: CaseFile, policy: Policy) -> bool:
    source = policy.node.document.source
    return any(
        file.content == source.content
        and os.path.basename(file.name) == os.path.basename(source.name)
        for file in case_file.bundle.files
    )


def _prove_rules(policy: Policy, ran: Sequence[_Ran], report: Report) -> tuple[set[str], set[str]]:
    """Report each rule of which no case shows that it fires, or that it does not.

    Returns the ids of those, and of those that never fire.
    """
    unproven: set[str] = set()
    silent: set[str] = set()
    for rule in policy.rules:
        outcomes = _outcomes(policy, rule, ran)
        missing = _missing(policy, rule, outcomes)
        if missing is not None:
            unproven.add(rule.id)
            report.error("unproven-rule", place_of(rule), missing, _advice(policy, ran))
            if True not in outcomes:
                silent.add(rule.id)
    return unproven, silent


def _outcomes(policy: Policy, rule: Rule, ran: Sequence[_Ran]) -> set[bool]:
    """What the rule did in the cases that pass."""
    outcomes = {_fired(policy, rule, run) for each in ran for run in each.passed}
    return {outcome for outcome in outcomes if outcome is not None}


def _fired(policy: Policy, rule: Rule, run: Run) -> bool | None:
    seen = next(seen for own, seen in run.seen if own.name == policy.name)
    return fired(policy, rule, seen)


def _missing(policy: Policy, rule: Rule, outcomes: set[bool]) -> str | None:
    """Which case is missing, in words."""
    wanted = {True, False}
    if is_unconditional(rule) and policy.hook.tools is None and policy.hook.when is None:
        wanted = {True}
    if wanted <= outcomes or (rule.kind == "patch" and rule.node.value["op"] == "test"):
        return None
    if not outcomes:
        return f"there is no case in which `{rule.id}` is evaluated"
    is_step = policy.kind is Kind.MUTATION
    verbs = ("changes something", "changes nothing") if is_step else ("fires", "does not fire")
    return f"there is no case in which `{rule.id}` {verbs[True in outcomes]}"


def _try_faults(
    policy: Policy, silent: set[str], ran: Sequence[_Ran], report: Report, tally: _Tally
) -> set[str]:
    """Report each fault that no case notices; the ids of the rules that have one.

    Those of the rules in *silent* are left out: a case in which the rule fires comes first.
    """
    unproven: set[str] = set()
    faults, untried = faults_in(policy)
    tally.untried += untried
    for fault in faults:
        broken = () if fault.rule in silent else fault.compile()
        if not broken:
            continue  # what would not load cannot go unnoticed
        tally.faults += 1
        rules = [rule for rule in policy.rules if fault.rule in (None, rule.id)]
        if any(_notices(each, _likely_first(policy, rules, each), broken) for each in ran):
            tally.noticed += 1
            continue
        unproven |= {rule.id for rule in rules}
        whose = f"`{policy.name}`" if fault.rule is None else f"`{fault.rule}`"
        text = f"no case notices a fault in {whose}: {fault.change}"
        report.error("unnoticed-fault", fault.span, text, _advice(policy, ran))
    return unproven


def _likely_first(policy: Policy, rules: Sequence[Rule], ran: _Ran) -> list[Case]:
    """The cases that passed; those in which a rule fired notice most faults, so they come first."""
    runs = sorted(ran.passed, key=lambda run: not any(_fired(policy, rule, run) for rule in rules))
    return [run.case for run in runs]


def _notices(ran: _Ran, cases: Iterable[Case], broken: Sequence[Interceptor]) -> bool:
    """True when a case that passed fails with the broken policy in place of the sound one."""
    assert ran.case_file.snapshot is not None, "cases that ran have one"
    faulty = replace(ran.case_file, snapshot=_with_fault(ran.case_file.snapshot, broken))
    return any(not run_case(faulty, case).passed for case in cases if _reaches(case, broken))


def _reaches(case: Case, broken: Iterable[Interceptor]) -> bool:
    event, phase = case.when["event"], case.when["phase"]
    return any(one.descriptor.matches(event, phase) for one in broken)


def _with_fault(snapshot: Snapshot, broken: Sequence[Interceptor]) -> Snapshot:
    by_name = {one.descriptor.name: one for one in broken}
    return make_snapshot(
        snapshot.revision,
        tuple([by_name.get(one.descriptor.name, one) for one in snapshot.interceptors]),
    )


def _advice(policy: Policy, ran: Sequence[_Ran]) -> str:
    if ran:
        return f"add a case to `{os.path.basename(ran[0].case_file.name)}`"
    stem, suffix = os.path.splitext(os.path.basename(policy.node.document.source.name))
    return f"there are no cases: write `{stem}_test{suffix}`"
