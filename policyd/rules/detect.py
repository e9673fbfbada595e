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

from typing import Any

from policyd.activation import Activation
from policyd.detectors import scanner
from policyd.expression import Budget
from policyd.model import Finding
from policyd.pointer import Pointer, PointerError, get
from policyd.policy import Node, Rule
from policyd.redaction import Literal, ScopedRedaction, TextRedaction, find_places
from policyd.rules.kinds import Check, finding_maker
from policyd.rules.reach import build_reach
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
    pointer = site.pointer(rule.node.get("path")) or ()
    least: int = rule.node.value.get("min", 1)
    search = (ScopedRedaction(TextRedaction(rule.id, scanner(names), Literal("")), reach.scope),)

    def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        if not reach.covers(activation, budget):
            return ()
        value, there = _at(activation["payload"], pointer)
        if not there:
            return ()
        places: dict[str, None] = {}
        count = 0
        for place, times in find_places(value, search, budget, pointer):
            places[place] = None
            count += times
            if count >= least and len(places) >= MAX_PLACES:
                break
        if count < least:
            return ()
        return tuple([maker(activation, budget, place) for place in list(places)[:MAX_PLACES]])

    return check


def _at(payload: Any, pointer: Pointer) -> tuple[Any, bool]:
    try:
        return get(payload, pointer), True
    except PointerError:
        return None, False


def _fits(node: Node, site: Site) -> bool:
    within = node.get("in")
    if within is not None and "path" in node.value:
        text = "`in` and `path` both say where to look: leave one out"
        site.report.error("unused-field", within.key_span, text)
        return False
    return True
