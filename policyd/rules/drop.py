"""`drop`: take elements out of a list.

    drop:
      - {from: /tools, where: item.name.startsWith("admin_")}

`from` points at a list, `where` is asked for each `item`.  Where there is no list at `from`,
there is nothing to drop; where something else stands there, the policy fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policyd.activation import Activation
from policyd.errors import EvaluationError
from policyd.expression import Budget, Expression
from policyd.model import Change
from policyd.pointer import Pointer, PointerError, get, replace
from policyd.policy import Rule
from policyd.rules.kinds import Step
from policyd.site import Site, holds


@dataclass(frozen=True, slots=True)
class _Dropping:
    rule: str
    pointer: Pointer
    path: str
    where: Expression
    on_item: bool


def build(rules: tuple[Rule, ...], site: Site) -> Step | None:
    """A step that takes out of each list what its `where` says."""
    droppings = [_dropping(rule, site.with_names("item")) for rule in rules]
    ready = tuple(dropping for dropping in droppings if dropping is not None)
    if len(ready) < len(droppings):
        return None

    def step(
        payload: Any, activation: Activation, budget: Budget
    ) -> tuple[Any, tuple[Change, ...]]:
        changes: list[Change] = []
        for dropping in ready:
            payload, dropped = _apply(dropping, payload, activation, budget)
            if dropped:
                change = Change(dropping.rule, dropping.path, "drop", count=dropped)
                changes.append(change)
        return payload, tuple(changes)

    return step


def _dropping(rule: Rule, site: Site) -> _Dropping | None:
    pointer = site.pointer(rule.node["from"])
    where = site.condition(rule.node["where"])
    if pointer is None or where is None:
        return None
    on_item = isinstance(rule.node["where"].value, dict)
    return _Dropping(rule.id, pointer, rule.node["from"].value, where, on_item)


def _apply(
    dropping: _Dropping, payload: Any, activation: Activation, budget: Budget
) -> tuple[Any, int]:
    try:
        items = get(payload, dropping.pointer)
    except PointerError:
        return payload, 0
    if type(items) is not list:
        raise EvaluationError(f"no list at `{dropping.path}`")
    budget.spend(len(items))
    try:
        kept = [item for item in items if not _drops(dropping, item, activation, budget)]
    finally:
        activation.pop("item", None)
    if len(kept) == len(items):
        return payload, 0
    return replace(payload, dropping.pointer, kept), len(items) - len(kept)


def _drops(dropping: _Dropping, item: Any, activation: Activation, budget: Budget) -> bool:
    if dropping.on_item:
        # JMESPath knows no names: its root is the item itself
        return holds(dropping.where, {"payload": item}, budget)
    activation["item"] = item
    return holds(dropping.where, activation, budget)
