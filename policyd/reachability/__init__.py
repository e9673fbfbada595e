"""Whether a policy can do what it says: what of it never happens, and what is said in vain.

    Program -> fold (variables in, constants computed) -> facts -> search -> a Diagnostic

Interval and set reasoning over single conditions; a contradiction is a proof, and where there is
none nothing is said.  Evaluates nothing on a payload.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from policyd.diagnostics import Report
from policyd.expression import Expression
from policyd.interceptor import Interceptor, Mutator, Validator
from policyd.policy import Policy, Rule
from policyd.reachability.conditions import Conditions
from policyd.reachability.duplicates import check_match, check_policies, check_rules
from policyd.reachability.paths import check_paths
from policyd.rules.drop import Drop
from policyd.rules.predicate import Condition

_ANNOTATIONS: Final = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "description", "examples", "title"}
)
"""The words of JSON Schema that ask for nothing."""

__all__ = ["check_policies", "check_reachability"]


def check_reachability(policy: Policy, made: Interceptor, report: Report) -> None:
    """Report what of *policy*, of which *made* was made, can never happen.

    Never raises, and ends soon: what would take long is taken to be possible.
    """
    check_match(policy, report)
    check_paths(policy, report)
    for rule in policy.rules:
        _check_schema(rule, report)
    # nesting is limited, so to recurse too deep takes many variables within one another
    with suppress(RecursionError):
        _check_conditions(policy, made, report)


def _check_schema(rule: Rule, report: Report) -> None:
    """Refuse a schema that every payload meets; below a `path` it asks that there is a value."""
    if rule.kind == "schema" and not rule.node.value.get("path"):
        node = rule.node["schema"]
        if not node.value.keys() - _ANNOTATIONS:
            text = "`schema` accepts every payload, so the rule does nothing"
            report.error("never-fires", node.span, text)


def _check_conditions(policy: Policy, made: Interceptor, report: Report) -> None:
    conditions = Conditions(policy, made.variables, report)
    if policy.hook.when is not None:
        when = conditions.take("when", True, policy.hook.when, made.guard.when)
        if when is not None:
            conditions.guard(when)
    same: list[tuple[Rule, Any]] = []
    for rule, word, fires_on, expression in _rules(policy, made):
        condition = conditions.take(word, fires_on, rule.node[word], expression)
        does = None
        if condition is not None:
            conditions.rule(condition)
            places = (rule.node.value.get("from"), rule.node.value.get("path"))
            does = (conditions.identity(condition), *places)
        same.append((rule, does))
    check_rules(same, report)


def _rules(
    policy: Policy, made: Interceptor
) -> Iterable[tuple[Rule, str, bool, Expression | None]]:
    """The rules of *policy*, each with the word, the outcome and the program of its condition."""
    if isinstance(made, Validator):
        for rule, placed in zip(policy.rules, made.checks, strict=True):
            check = placed.check
            if isinstance(check, Condition):
                yield rule, rule.kind, check.fires_on, check.expression
            else:
                yield rule, rule.kind, True, None
    elif isinstance(made, Mutator) and isinstance(made.placed.step, Drop):
        for rule, dropping in zip(policy.rules, made.placed.step.droppings, strict=True):
            yield rule, "where", True, dropping.where
