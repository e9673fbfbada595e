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
class Dropping:
    """One entry of `drop`; on_item: `where` is JMESPath, whose root is the item itself."""

    rule: str
    pointer: Pointer
    path: str
    where: Expression
    on_item: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """The step of `drop`."""

    droppings: tuple[Dropping, ...]

    def __call__(
        self, payload: Any, activation: Activation, budget: Budget
    ) -> tuple[Any, tuple[Change, ...]]:
        """Carry out each entry on what the one before left."""
        changes: list[Change] = []
        for dropping in self.droppings:
            payload, dropped = _apply(dropping, payload, activation, budget)
            if dropped:
                change = Change(dropping.rule, dropping.path, "drop", count=dropped)
                changes.append(change)
        return payload, tuple(changes)


def build(rules: tuple[Rule, ...], site: Site) -> Step | None:
    """A step that takes out of each list what its `where` says."""
    droppings = [_dropping(rule, site) for rule in rules]
    ready = tuple(dropping for dropping in droppings if dropping is not None)
    return Drop(ready) if len(ready) == len(droppings) else None


def _dropping(rule: Rule, site: Site) -> Dropping | None:
    pointer = site.pointer(rule.node["from"])
    where = site.with_item(pointer).condition(rule.node["where"])
    if pointer is None or where is None:
        return None
    on_item = isinstance(rule.node["where"].value, dict)
    return Dropping(rule.id, pointer, rule.node["from"].value, where, on_item)


def _apply(
    dropping: Dropping, payload: Any, activation: Activation, budget: Budget
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


def _drops(dropping: Dropping, item: Any, activation: Activation, budget: Budget) -> bool:
    if dropping.on_item:
        return holds(dropping.where, {"payload": item}, budget)
    activation["item"] = item
    return holds(dropping.where, activation, budget)
