"""`detect`: secrets and personal data, wherever in the payload a text holds them.

    - id: no-secrets
      detect: [secrets]
      path: /arguments              # optional: look only there
      message: a credential must not be passed to a tool

One finding for each place.  Neither the message nor the path ever holds what was found.
"""

from __future__ import annotations

from typing import Any

from policyd.activation import Activation
from policyd.detectors import scanner
from policyd.expression import Budget
from policyd.model import Finding
from policyd.pointer import PointerError, get
from policyd.policy import Rule
from policyd.redaction import places_of
from policyd.rules.kinds import Check, finding_maker
from policyd.site import Site

MAX_PLACES = 20
"""Findings of one rule on one payload; one is enough to block, a thousand help nobody."""


def build(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where a detector fires."""
    names = site.detectors(rule.node["detect"])
    maker = finding_maker(rule, site)
    if names is None or maker is None:
        return None
    pointer = site.pointer(rule.node.get("path"))
    finder = scanner(names)

    def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        try:
            value: Any = activation["payload"]
            if pointer is not None:
                value = get(value, pointer)
        except PointerError:
            return ()
        places = places_of(value, finder, budget, prefix=tuple(pointer or ()), limit=MAX_PLACES)
        return tuple(maker(activation, budget, place) for place in places)

    return check
