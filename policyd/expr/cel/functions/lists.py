"""Functions of lists, but for `reverse`, which strings have too.

Source: the CEL lists extension.  `sortBy` is a macro.
"""

from __future__ import annotations

from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import bound_list, watched
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.arguments import whole
from policyd.expr.cel.functions.keys import Bag
from policyd.expr.cel.ordering import ordered
from policyd.expr.cel.values import NONE, OptionalValue, no_overload
from policyd.expression import Budget


def _slice(budget: Budget, items: Any, start: Any, end: Any) -> list[Any]:
    if type(items) is not list:
        raise no_overload("slice", items, start, end)
    first, last = whole("slice", start), whole("slice", end)
    if not 0 <= first <= last <= len(items):
        raise EvaluationError("`slice`: the range is outside of the list")
    bound_list(last - first)
    budget.spend(last - first)
    return items[first:last]


def _flatten(budget: Budget, items: Any, depth: Any = 1) -> list[Any]:
    if type(items) is not list:
        raise no_overload("flatten", items)
    levels = whole("flatten", depth)
    if levels < 0:
        raise EvaluationError("`flatten` does not take a negative depth")
    flat: list[Any] = items
    while levels > 0 and any(type(item) is list for item in watched(flat, budget)):
        flat = _flatten_once(budget, flat)
        levels -= 1
    return flat


def _flatten_once(budget: Budget, items: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        inner = item if type(item) is list else [item]
        budget.spend(1 + len(inner))
        flat += inner
        bound_list(len(flat))
    return flat


def _distinct(budget: Budget, items: Any) -> list[Any]:
    if type(items) is not list:
        raise no_overload("distinct", items)
    budget.spend(len(items))
    seen = Bag()
    distinct: list[Any] = []
    for item in watched(items, budget):
        if not seen.holds(item, budget):
            seen.add(item)
            distinct.append(item)
    bound_list(len(distinct))
    return distinct


def _sort(budget: Budget, items: Any) -> list[Any]:
    if type(items) is not list:
        raise no_overload("sort", items)
    return ordered(items, items, budget)


def _first(items: Any) -> OptionalValue:
    if type(items) is not list:
        raise no_overload("first", items)
    return OptionalValue(items[0]) if items else NONE


def _last(items: Any) -> OptionalValue:
    if type(items) is not list:
        raise no_overload("last", items)
    return OptionalValue(items[-1]) if items else NONE


def _range(budget: Budget, end: Any) -> list[int]:
    length = whole("lists.range", end)
    if length < 0:
        raise EvaluationError("`lists.range` does not take a negative number")
    bound_list(length)
    budget.spend(length)
    return list(range(length))


FUNCTIONS: Final = (
    Function("slice", _slice, (), (3,), budgeted=True),
    Function("flatten", _flatten, (), (1, 2), budgeted=True),
    Function("distinct", _distinct, (), (1,), budgeted=True),
    Function("sort", _sort, (), (1,), budgeted=True),
    Function("first", _first, (), (1,)),
    Function("last", _last, (), (1,)),
    Function("lists.range", _range, (1,), (), budgeted=True),
)
"""The functions of this library."""
