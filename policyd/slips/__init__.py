"""What loads and is probably not meant: habits from other languages, and guards that leak.

Knows what people write who have globs, regular expressions or templates of another kind in mind.
Everything here is a warning: each of these may be meant.  What can never be is found by
`reachability`; what cannot be compiled is refused before.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyd.diagnostics import Report
from policyd.expr.cel import Program
from policyd.expression import Expression
from policyd.interceptor import Interceptor, Mutator, Validator
from policyd.policy import Node, Policy
from policyd.rules.drop import Drop
from policyd.rules.predicate import Condition
from policyd.slips.conditions import Purpose, condition_slips
from policyd.slips.texts import text_slips

__all__ = ["check_slips"]


def check_slips(policy: Policy, made: Interceptor, report: Report) -> None:
    """Warn of what in *policy*, of which *made* was made, is probably not meant."""
    for node, purpose, expression in _conditions(policy, made):
        if isinstance(expression, Program):
            text = node.text
            for flaw in condition_slips(expression.checked.root, purpose):
                report.warning(flaw.code, text.at(flaw.offset, flaw.length), flaw.text, flaw.help)
    for text, flaw in text_slips(policy):
        report.warning(flaw.code, text.at(flaw.offset, flaw.length), flaw.text, flaw.help)


def _conditions(
    policy: Policy, made: Interceptor
) -> Iterator[tuple[Node, Purpose, Expression | None]]:
    """Every condition of a policy and every variable, with what it is for."""
    if policy.hook.when is not None:
        yield policy.hook.when, Purpose.NARROW, made.guard.when
    for node in policy.node.get("variables") or ():
        yield node, Purpose.VALUE, made.variables[f"variables.{node.path[-1]}"]
    if isinstance(made, Validator):
        for rule, placed in zip(policy.rules, made.checks, strict=True):
            if isinstance(placed.check, Condition):
                purpose = Purpose.DENY if placed.check.fires_on else Purpose.REQUIRE
                yield rule.node[rule.kind], purpose, placed.check.expression
    elif isinstance(made, Mutator) and isinstance(made.placed.step, Drop):
        for rule, dropping in zip(policy.rules, made.placed.step.droppings, strict=True):
            yield rule.node["where"], Purpose.NARROW, dropping.where
