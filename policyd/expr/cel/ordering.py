"""Sorting that can be stopped.

Knows how a list is put in the order of `<` piece by piece, so that the deadline holds.  Knows no
function and no expression.
"""

from __future__ import annotations

import heapq
from typing import Any, Final

from policyd.expr.cel.bounds import COPY_PER_STEP, bound_list, chunks, watched
from policyd.expr.cel.values import less
from policyd.expression import Budget

_RUN: Final = 1024
"""Elements that are sorted at once: a few milliseconds, also for long texts that begin alike."""


def ordered(items: list[Any], keys: list[Any], budget: Budget) -> list[Any]:
    """*items* in the order of *keys*, one for each; equal ones stay as they stand.

    Raises EvaluationError where two keys have no order, and for more than MAX_LIST items.
    """
    bound_list(len(items))
    budget.spend(2 * len(items))
    length = 0
    for key in watched(keys, budget):
        less(keys[0], key)  # raises where the two have no order
        length += len(key) if type(key) in (str, bytes) else 0
    budget.spend(length // COPY_PER_STEP)
    places = range(len(items))
    runs = [_sorted(places[at : at + _RUN], keys, budget) for at in places[::_RUN]]
    merged = runs[0] if len(runs) == 1 else heapq.merge(*runs, key=keys.__getitem__)
    return [items[place] for chunk in chunks(merged, budget) for place in chunk]


def _sorted(places: range, keys: list[Any], budget: Budget) -> list[int]:
    budget.spend(0)
    return sorted(places, key=keys.__getitem__)
