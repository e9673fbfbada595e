"""Several outcomes told as one, and what is said for a policy that is gone.

Knows outcomes.  Knows neither the wire nor who asks.
"""

from __future__ import annotations

from dataclasses import replace

from policyd.execution import Verdict
from policyd.model import (
    Failure,
    Invocation,
    Kind,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)
from policyd.wire import RETIRED


def retired(name: str, kind: Kind, invocation: Invocation) -> Outcome:
    """The pass of a policy of *kind* that was listed once and is in force no more."""
    phase = Phase(invocation.phase)
    if kind is Kind.VALIDATION:
        return ValidationResult(name, phase, True, skipped=RETIRED)
    return MutationResult(name, phase, False, invocation.payload, skipped=RETIRED)


def merged(kind: Kind, name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """What several policies of one kind came to, as the outcome of the interceptor *name*."""
    culprit = verdict.culprit
    if isinstance(culprit, Failure):
        return replace(culprit, interceptor=name, policy=culprit.interceptor)
    if kind is Kind.VALIDATION:
        return _merged_validation(name, invocation, verdict)
    return _merged_mutation(name, invocation, verdict)


def _merged_validation(name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """A chain of validators as the outcome of the one interceptor *name*."""
    findings = [
        finding
        for outcome in verdict.outcomes
        if isinstance(outcome, ValidationResult) and not outcome.audited
        for finding in outcome.findings
    ]
    findings.sort(key=lambda finding: finding.severity.rank)
    valid = verdict.culprit is None
    return ValidationResult(name, Phase(invocation.phase), valid, tuple(findings))


def _merged_mutation(name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """A chain of mutators as the outcome of the one interceptor *name*."""
    changes = tuple(
        change
        for outcome in verdict.outcomes
        if isinstance(outcome, MutationResult) and outcome.modified
        for change in outcome.changes
    )
    phase = Phase(invocation.phase)
    return MutationResult(name, phase, bool(changes), verdict.payload, changes)
