"""Why a set of policies decides about a payload as it does: each policy, each rule, each value.

    explanation = explain(bundle, invocation)

Knows how to put in words why a rule fired, did not, was skipped, or could not be evaluated.  The
decision is the one that `Snapshot.decide` makes, with the policies watched.  Prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from policyd.diagnostics import Span
from policyd.errors import EvaluationError
from policyd.execution import Decision
from policyd.explanation.terms import NOT_SHOWN, Reader, Secrets, Term, deciding, failing
from policyd.model import Finding, Invocation, Kind, Severity, reason_of
from policyd.observation import Evaluation, Seen, Watched, watch_policies
from policyd.policy import Node, Policy, Rule, place_of
from policyd.rules.patch import computed_value
from policyd.snapshot import make_snapshot
from policyd.source import Bundle

__all__ = [
    "NOT_SHOWN",
    "Account",
    "Explanation",
    "PolicyAccount",
    "RuleAccount",
    "Term",
    "explain",
]


MAX_ITEMS = 3
"""Items of a `drop` for which its condition is told, those that it drops first."""


class Account(StrEnum):
    """What became of a rule or a policy.

    FIRED: a rule found or changed something; of a policy, one of its rules did.
    SILENT: it was evaluated, and there was nothing to say.
    SKIPPED: `match` says that it is not for this payload.
    FAILED: it could not be evaluated.
    NOT_RUN: the chain ended before.
    """

    FIRED = "fired"
    SILENT = "did not fire"
    SKIPPED = "skipped"
    FAILED = "could not be evaluated"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class RuleAccount:
    """What became of one rule.

    reason: why, in words.
    severity: of a rule of a validator.
    details: what it found, or what it changed, a line for each place.
    expressions: its condition, or the value that it computes; of a `drop` the condition for
        MAX_ITEMS items.
    """

    id: str
    kind: str
    span: Span
    account: Account
    reason: str
    severity: Severity | None = None
    details: tuple[str, ...] = ()
    expressions: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyAccount:
    """What became of one policy.

    hooked: False for a policy that is about other events or the other phase.
    when: the precondition, evaluated; variables: those that were needed, by name.
    rules: empty where none was evaluated.
    """

    name: str
    kind: Kind
    mode: str
    span: Span
    account: Account
    reason: str
    hooked: bool
    when: Term | None = None
    variables: tuple[tuple[str, Term], ...] = ()
    rules: tuple[RuleAccount, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, and what became of each policy, in the order of files and entries."""

    decision: Decision
    policies: tuple[PolicyAccount, ...]


def explain(bundle: Bundle, invocation: Invocation) -> Explanation:
    """What the policies of a bundle that compiles make of one payload, and why.

    Raises InvocationError as `Snapshot.decide` does.
    """
    watched = watch_policies(bundle)
    interceptors = tuple([one for each in watched for one in each.interceptors])
    decision = make_snapshot(bundle.revision, interceptors).decide(invocation)
    return Explanation(decision, tuple([_Teller(each, decision).account() for each in watched]))


class _Teller:
    """Tells of one policy what became of it."""

    def __init__(self, watched: Watched, decision: Decision) -> None:
        self._policy: Policy = watched.policy
        self._seen: Seen = watched.seen
        self._programs = {node.path: program for node, program in watched.programs}
        self._secrets = Secrets()
        self._decision = decision
        names = {one.descriptor.name for one in watched.interceptors}
        self._hooked = any(
            one.descriptor.matches(decision.invocation.event, decision.invocation.phase)
            for one in watched.interceptors
        )
        self._outcome = next((o for o in decision.outcomes if o.interceptor in names), None)

    def account(self) -> PolicyAccount:
        """The account of the policy."""
        variables = tuple(self._variables())
        when_node = self._policy.hook.when
        when = next(iter(self._terms(when_node)), None) if when_node is not None else None
        account, reason = self._skipped() or self._ended()
        rules: tuple[RuleAccount, ...] = ()
        if account not in (Account.SKIPPED, Account.NOT_RUN) and self._was_admitted():
            rules = tuple([self._rule(rule) for rule in self._policy.rules])
            if account is Account.SILENT and any(r.account is Account.FIRED for r in rules):
                account = Account.FIRED
        policy = self._policy
        return PolicyAccount(
            policy.name,
            policy.kind,
            policy.mode.value,
            policy.node["name"].span,
            account,
            reason,
            self._hooked,
            when,
            variables,
            rules,
        )

    def _skipped(self) -> tuple[Account, str] | None:
        invocation = self._decision.invocation
        if not self._hooked:
            events = ", ".join(f"`{event}`" for event in self._policy.hook.events)
            phases = " and ".join(phase.value for phase in self._policy.hook.phases)
            asked = f"not `{invocation.event}` in the {invocation.phase} phase"
            return Account.SKIPPED, f"`match` names {events} in the {phases} phase, {asked}"
        if self._outcome is None:
            culprit = self._decision.verdict.culprit
            ender = "" if culprit is None else f": `{culprit.interceptor}` stopped it"
            return Account.NOT_RUN, f"the chain ended before{ender}"
        if self._seen.tool_admitted is False:
            return Account.SKIPPED, "`tools` has no glob for the tool that is called"
        node = self._policy.hook.when
        evaluation = None if node is None else self._last(node)
        if node is not None and evaluation is not None and evaluation.value is False:
            return Account.SKIPPED, f"`when` is false: {self._why(node, evaluation)}"
        return None

    def _ended(self) -> tuple[Account, str]:
        assert self._outcome is not None, "what did not run is told before"
        failure = reason_of(self._outcome)
        if failure is not None:
            return Account.FAILED, failure
        return Account.SILENT, ""

    def _was_admitted(self) -> bool:
        seen = self._seen
        return bool(seen.rules) or seen.changes is not None or seen.error is not None

    def _variables(self) -> Iterator[tuple[str, Term]]:
        for node in self._policy.node.get("variables") or ():
            name = str(node.path[-1])
            for evaluation in self._seen.expressions.get(node.path, ()):
                if evaluation.visit is None:
                    # what could not be watched may be made from a secret
                    self._secrets.variables.add(f"variables.{name}")
                    continue
                reader = Reader(node, self._programs[node.path], self._secrets)
                yield name, reader.term(evaluation.visit)
                if reader.is_made(evaluation.visit):
                    self._secrets.variables.add(f"variables.{name}")

    def _terms(self, node: Node) -> Iterator[Term]:
        evaluations = self._seen.expressions.get(node.path, [])
        # of the items of a `drop`, those that it drops are news
        told = [each for each in evaluations if each.value is not False] or evaluations
        for evaluation in told[:MAX_ITEMS]:
            if evaluation.visit is not None:
                yield Reader(node, self._programs[node.path], self._secrets).term(evaluation.visit)

    def _last(self, node: Node) -> Evaluation | None:
        return next(reversed(self._seen.expressions.get(node.path, [])), None)

    def _why(self, node: Node, evaluation: Evaluation) -> str:
        """Which part of a condition decided."""
        visit = evaluation.visit
        if visit is None:
            return f"the expression is {_truth(evaluation.value)}"
        reader = Reader(node, self._programs[node.path], self._secrets)
        part = deciding(visit)
        if part.node is visit.node:
            return f"the condition is {_truth(visit.value)}"
        return f"`{reader.text_of(part.node)}` is {_truth(part.value)}"

    def _rule(self, rule: Rule) -> RuleAccount:
        if self._policy.kind is Kind.MUTATION:
            return self._step(rule)
        run = self._seen.rules[rule.id]
        node = rule.node[rule.kind]
        condition = rule.kind in ("deny", "require")
        severity = Severity(rule.node.value.get("severity", "error"))
        terms = tuple(self._terms(node)) if condition else ()
        if run.error is not None:
            account, reason = Account.FAILED, self._error(node, run.error)
        else:
            account = Account.FIRED if run.findings else Account.SILENT
            evaluation = self._last(node) if condition else None
            reason = (
                _found(rule, run.findings) if evaluation is None else self._why(node, evaluation)
            )
        details = tuple([_told(finding) for finding in run.findings])
        return RuleAccount(
            rule.id, rule.kind, place_of(rule), account, reason, severity, details, terms
        )

    def _error(self, node: Node, error: EvaluationError) -> str:
        evaluation = self._last(node)
        if evaluation is None or evaluation.visit is None or evaluation.visit.error is None:
            return error.reason
        reader = Reader(node, self._programs[node.path], self._secrets)
        return f"{error.reason}, in `{reader.text_of(failing(evaluation.visit).node)}`"

    def _step(self, rule: Rule) -> RuleAccount:
        node = computed_value(rule.node) if rule.kind == "patch" else rule.node.get("where")
        terms = () if node is None else tuple(self._terms(node))
        span = place_of(rule)
        if self._seen.error is not None:
            reason = "nothing of the policy is applied"
            return RuleAccount(rule.id, rule.kind, span, Account.FAILED, reason, expressions=terms)
        changes = [change for change in self._seen.changes or () if change.rule == rule.id]
        details = []
        for change in changes:
            by = "" if change.detector is None else f" ({change.detector})"
            times = "" if change.count == 1 else f", {change.count} times"
            details.append(f"{change.detail} at {change.path or 'the whole payload'}{by}{times}")
        account = Account.FIRED if changes else Account.SILENT
        reason = "" if changes else "it changed nothing"
        return RuleAccount(rule.id, rule.kind, span, account, reason, None, tuple(details), terms)


def _truth(value: object) -> str:
    return "true" if value is True else "false" if value is False else "no boolean"


def _found(rule: Rule, findings: tuple[Finding, ...]) -> str:
    where = rule.node.value.get("path")
    place = "in the payload" if not where else f"at {where}"
    if rule.kind == "detect":
        return f"a detector found something {place}" if findings else f"nothing was found {place}"
    met = "does not have" if findings else "has"
    return f"what stands {place} {met} the shape"


def _told(finding: Finding) -> str:
    place = "" if finding.path is None else f" at {finding.path or 'the whole payload'}"
    return f"{finding.severity}{place}: {finding.message}"
