"""`deny` and `require`: a boolean expression on the payload.

- id: no-rm-rf
  deny: args.command.matches(r'\\brm\\s+-rf\\b')    # a finding where this is true
  message: recursive delete is not allowed
- id: short
  require: size(args.command) < 2000                # a finding where this is false
  message: the command is too long
"""

from __future__ import annotations

from dataclasses import dataclass

from policyd.activation import Activation
from policyd.expression import Budget, Expression
from policyd.model import Finding
from policyd.policy import Rule
from policyd.rules.kinds import Check, FindingMaker, finding_maker
from policyd.site import Site, holds


def build_deny(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where `deny` is true."""
    return _build(rule, site, fires_on=True)


def build_require(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where `require` is false."""
    return _build(rule, site, fires_on=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """The check of `deny` and `require`.

    fires_on: the truth for which it finds something.
    """

    expression: Expression
    maker: FindingMaker
    fires_on: bool

    def __call__(self, activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        """One finding, or none."""
        if holds(self.expression, activation, budget) is self.fires_on:
            return (self.maker(activation, budget),)
        return ()


def _build(rule: Rule, site: Site, *, fires_on: bool) -> Check | None:
    expression = site.condition(rule.node[rule.kind])
    maker = finding_maker(rule, site)
    if expression is None or maker is None:
        return None
    return Condition(expression, maker, fires_on)
