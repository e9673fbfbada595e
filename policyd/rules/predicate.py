"""`deny` and `require`: a boolean expression on the payload.

- id: no-rm-rf
  deny: args.command.matches(r'\\brm\\s+-rf\\b')    # a finding where this is true
  message: recursive delete is not allowed
- id: short
  require: size(args.command) < 2000                # a finding where this is false
  message: the command is too long
"""

from __future__ import annotations

from policyd.activation import Activation
from policyd.errors import EvaluationError
from policyd.expression import Budget, Expression
from policyd.model import Finding
from policyd.policy import Rule
from policyd.rules.kinds import Check, FindingMaker, finding_maker
from policyd.site import NO_BOOLEAN, Site


def build_deny(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where `deny` is true."""
    return _build(rule, site, fires_on=True)


def build_require(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where `require` is false."""
    return _build(rule, site, fires_on=False)


def _build(rule: Rule, site: Site, *, fires_on: bool) -> Check | None:
    condition = site.condition(rule.node[rule.kind])
    maker = finding_maker(rule, site)
    if condition is None or maker is None:
        return None
    return _check(condition, maker, fires_on)


def _check(condition: Expression, maker: FindingMaker, fires_on: bool) -> Check:
    silent_on = not fires_on

    def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        # the common answer first: this runs once for each rule of each message
        value = condition(activation, budget)
        if value is silent_on:
            return ()
        if value is not fires_on:
            raise EvaluationError(NO_BOOLEAN)
        return (maker(activation, budget),)

    return check
