"""Policies that tell what they do: which rules ran, what came of each, and of every part of it.

    watched = watch_policies(bundle)
    interceptors = [one for each in watched for one in each.interceptors]
    make_snapshot(bundle.revision, tuple(interceptors)).decide(invocation)
    watched[0].seen        # what the first policy did

Knows how an interceptor is put together, and rebuilds it so that each part notes what it is asked
and what it answers.  What is decided stays the same.  Knows neither cases nor how things are shown.
Not for traffic: it is slow, and serves one invocation at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policyd.activation import Activation
from policyd.compiler import compile_policy, read_policies
from policyd.diagnostics import Report
from policyd.document import Path
from policyd.errors import EvaluationError
from policyd.expr.cel import Program
from policyd.expr.cel.trace import Trace, Visit
from policyd.expression import Budget, Expression
from policyd.interceptor import Guard, Interceptor, Mutator, PlacedCheck, PlacedStep, Validator
from policyd.model import Change, Finding
from policyd.policy import Node, Policy, Rule
from policyd.rules import Step
from policyd.rules.drop import Drop
from policyd.rules.patch import Patch
from policyd.rules.predicate import Condition
from policyd.settings import override_policies
from policyd.source import Bundle


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of one expression.

    value: what it gave, None where it gave an error.
    visit: the same for each of its parts; None for JMESPath, and where it nests too deep.
    """

    value: Any
    error: EvaluationError | None
    visit: Visit | None


@dataclass(frozen=True, slots=True)
class RuleRun:
    """One rule of a validator, evaluated once: what it found, or why it could not tell."""

    findings: tuple[Finding, ...] = ()
    error: EvaluationError | None = None


@dataclass(slots=True)
class Seen:
    """What one policy did with one payload.

    tool_admitted: what `tools` said; None where it was not asked.
    expressions: the evaluations of each, by where it stands in the document; `where` of a `drop`
        has one for each item.
    rules: of a validator, those that ran, by id.
    changes: of a mutator; None where its step was not carried out.
    error: why the step could not be carried out.
    """

    tool_admitted: bool | None = None
    expressions: dict[Path, list[Evaluation]] = field(default_factory=dict)
    rules: dict[str, RuleRun] = field(default_factory=dict)
    changes: tuple[Change, ...] | None = None
    error: EvaluationError | None = None


class Watched:
    """One policy, and its interceptors rebuilt so that they tell what they do.

    seen: what they did since `forget`.
    """

    def __init__(self, policy: Policy, interceptors: Iterable[Interceptor]) -> None:
        self.policy = policy
        self.seen = Seen()
        self._programs: dict[Path, tuple[Node, Program]] = {}
        self.interceptors = tuple([self._rebuilt(one) for one in interceptors])

    @property
    def programs(self) -> tuple[tuple[Node, Program], ...]:
        """Every CEL expression but those in messages, and where it stands."""
        return tuple(self._programs.values())

    def forget(self) -> None:
        """Make ready for the next invocation."""
        self.seen = Seen()

    def _rebuilt(self, interceptor: Interceptor) -> Interceptor:
        guard = self._guard(interceptor.guard)
        variables = {
            key: self._watch(self.policy.node["variables"][_own_name(key)], expression)
            for key, expression in interceptor.variables.items()
        }
        common = replace(interceptor, guard=guard, variables=variables)
        if isinstance(common, Validator):
            pairs = zip(self.policy.rules, common.checks, strict=True)
            checks = tuple([self._check(rule, placed) for rule, placed in pairs])
            return replace(common, checks=checks)
        assert isinstance(common, Mutator), "there are two kinds of interceptors"
        return replace(common, placed=self._step(common.placed))

    def _guard(self, guard: Guard) -> Guard:
        tools, when, node = guard.tools, guard.when, self.policy.hook.when
        if when is not None and node is not None:
            when = self._watch(node, when)
        return Guard(guard.where, None if tools is None else self._tools(tools), when)

    def _tools(self, asked: Callable[[str], bool]) -> Callable[[str], bool]:
        def tools(name: str) -> bool:
            self.seen.tool_admitted = asked(name)
            return self.seen.tool_admitted

        return tools

    def _check(self, rule: Rule, placed: PlacedCheck) -> PlacedCheck:
        asked = placed.check
        if isinstance(asked, Condition):
            node = rule.node[rule.kind]
            asked = replace(asked, expression=self._watch(node, asked.expression))

        def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
            try:
                findings = asked(activation, budget)
            except EvaluationError as error:
                self.seen.rules[rule.id] = RuleRun(error=error)
                raise
            self.seen.rules[rule.id] = RuleRun(findings)
            return findings

        return PlacedCheck(placed.where, check)

    def _step(self, placed: PlacedStep) -> PlacedStep:
        asked = self._watched_step(placed.step)

        def step(
            payload: Any, activation: Activation, budget: Budget
        ) -> tuple[Any, tuple[Change, ...]]:
            try:
                changed, changes = asked(payload, activation, budget)
            except EvaluationError as error:
                self.seen.error = error
                raise
            self.seen.changes = changes
            return changed, changes

        return PlacedStep(placed.where, step)

    def _watched_step(self, step: Step) -> Step:
        nodes = [rule.node for rule in self.policy.rules]
        if isinstance(step, Drop):
            droppings = [
                replace(dropping, where=self._watch(node["where"], dropping.where))
                for node, dropping in zip(nodes, step.droppings, strict=True)
            ]
            return Drop(tuple(droppings))
        if isinstance(step, Patch):
            computed = {
                i: self._watch(nodes[i]["value"]["cel"], expression)
                for i, expression in step.computed.items()
            }
            return replace(step, computed=computed)
        return step

    def _watch(self, node: Node, expression: Expression) -> Expression:
        trace = None
        if isinstance(expression, Program):
            trace = Trace(expression)
            self._programs[node.path] = (node, expression)

        def watched(activation: Mapping[str, Any], budget: Budget) -> Any:
            visit = None
            if trace is not None:
                visit = trace(activation, Budget(budget.steps, budget.deadline))
            evaluations = self.seen.expressions.setdefault(node.path, [])
            try:
                value = expression(activation, budget)
            except EvaluationError as error:
                evaluations.append(Evaluation(None, error, visit))
                raise
            evaluations.append(Evaluation(value, None, visit))
            return value

        return watched


def watch_policies(bundle: Bundle) -> tuple[Watched, ...]:
    """The policies of a bundle that compiles, ready to be watched, overridden as it says."""
    policies = read_policies(bundle, Report())
    overridden = override_policies(bundle.settings, policies, Report())
    watched = []
    for policy in policies:
        changed = overridden.get(policy.name)
        watched.append(Watched(changed or policy, compile_policy(policy, Report(), changed)))
    return tuple(watched)


def _own_name(key: str) -> str:
    return key.removeprefix("variables.")
