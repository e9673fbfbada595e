"""sets.*: lists taken as sets.

Source: the CEL sets extension.  Equality is that of `==`.
"""

from __future__ import annotations

from typing import Any, Final

from policyd.expr.cel.bounds import watched
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.keys import Bag
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget


def _bags(name: str, budget: Budget, left: Any, right: Any) -> tuple[Bag, Bag]:
    if type(left) is not list or type(right) is not list:
        raise no_overload(name, left, right)
    budget.spend(len(left) + len(right))
    return Bag(watched(left, budget)), Bag(watched(right, budget))


def _contains(budget: Budget, whole: Any, part: Any) -> bool:
    bag, _ = _bags("sets.contains", budget, whole, part)
    return all(bag.holds(item, budget) for item in watched(part, budget))


def _equivalent(budget: Budget, left: Any, right: Any) -> bool:
    first, second = _bags("sets.equivalent", budget, left, right)
    return all(second.holds(item, budget) for item in watched(left, budget)) and all(
        first.holds(item, budget) for item in watched(right, budget)
    )


def _intersects(budget: Budget, left: Any, right: Any) -> bool:
    first, _ = _bags("sets.intersects", budget, left, right)
    return any(first.holds(item, budget) for item in watched(right, budget))


FUNCTIONS: Final = (
    Function("sets.contains", _contains, (2,), (), returns_bool=True, budgeted=True),
    Function("sets.equivalent", _equivalent, (2,), (), returns_bool=True, budgeted=True),
    Function("sets.intersects", _intersects, (2,), (), returns_bool=True, budgeted=True),
)
"""The functions of this library."""
