"""`detect`: secrets and personal data, wherever in the payload they hide.

    - id: no-secrets
      detect: [secrets]
      path: /arguments              # optional: look only there
      message: a credential must not be passed to a tool
    - id: no-lists-of-addresses
      detect: [email]
      in: [/content]                # `in`, `except` and `tools` as in a redaction
      min: 10                       # from ten on
      message: this is a list of people

One finding for each place.  Neither the message nor the path ever holds what was found.
"""

from __future__ import annotations

from dataclasses import replace

from policyd.activation import Activation
from policyd.expression import Budget
from policyd.model import Finding
from policyd.pointer import PointerPattern, parse_pattern
from policyd.policy import Node, Rule
from policyd.redaction import Literal, Scope, ScopedRedaction, TextRedaction, find_places
from policyd.rules.kinds import Check, finding_maker
from policyd.rules.reach import Reach, build_reach
from policyd.site import Site

MAX_PLACES = 20
"""Findings of one rule on one payload; one is enough to block, a thousand help nobody."""


def build(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where a detector fires."""
    names = site.detectors(rule.node["detect"])
    maker = finding_maker(rule, site)
    reach = build_reach(rule.node, site)
    if not _fits(rule.node, site) or names is None or maker is None or reach is None:
        return None
    finder = site.policy.detectors.scanner(names)
    scope = _scope(rule.node.get("path"), reach)
    search = (ScopedRedaction(TextRedaction(rule.id, finder, Literal("")), scope),)
    least: int = rule.node.value.get("min", 1)

    def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        if not reach.covers(activation, budget):
            return ()
        places: dict[str, None] = {}
        count = 0
        for place, times in find_places(activation["payload"], search, budget):
            places[place] = None
            count += times
            if count >= least and len(places) >= MAX_PLACES:
                break
        if count < least:
            return ()
        return tuple([maker(activation, budget, place) for place in list(places)[:MAX_PLACES]])

    return check


def _scope(path: Node | None, reach: Reach) -> Scope:
    """Where to look: at `path` and below, where there is one."""
    pattern = None if path is None else parse_pattern(path.text)
    if not isinstance(pattern, PointerPattern):
        return reach.scope  # what is wrong with the path has been told
    return replace(reach.scope, within=(pattern,))


def _fits(node: Node, site: Site) -> bool:
    within = node.get("in")
    if within is not None and "path" in node.value:
        text = "`in` and `path` both say where to look: leave one out"
        site.report.error("unused-field", within.key_span, text)
        return False
    return True
