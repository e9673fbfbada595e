"""`schema`: a JSON Schema (2020-12) that the value at `path` must meet.

    - id: arguments-shape
      schema: {type: object, required: [command], properties: {command: {type: string}}}
      path: /arguments
      message: the arguments do not have the expected shape

One finding for each place that breaks the schema.  Where there is no value at `path`, the
finding is at `path`.
"""

from __future__ import annotations

from typing import Any

from policyd.activation import Activation
from policyd.expression import Budget
from policyd.model import Finding
from policyd.pointer import Pointer, PointerError, get
from policyd.policy import Rule
from policyd.redaction import safe_pointer
from policyd.rules.kinds import Check, finding_maker
from policyd.site import Site


def build(rule: Rule, site: Site) -> Check | None:
    """A check that finds something where the value breaks the schema."""
    shape = site.shape(rule.node["schema"])
    maker = finding_maker(rule, site)
    if shape is None or maker is None:
        return None
    pointer = site.pointer(rule.node.get("path"))

    def check(activation: Activation, budget: Budget) -> tuple[Finding, ...]:
        budget.spend(1)
        try:
            value = _at(pointer, activation["payload"])
        except PointerError:
            return (maker(activation, budget),)
        prefix: tuple[str | int, ...] = tuple(pointer or ())
        return tuple(
            maker(activation, budget, safe_pointer((*prefix, *place)))
            for place in shape.breaches(value)
        )

    return check


def _at(pointer: Pointer | None, payload: Any) -> Any:
    return payload if pointer is None else get(payload, pointer)
