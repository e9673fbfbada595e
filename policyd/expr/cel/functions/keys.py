"""Equality of CEL values by hash, for functions that would otherwise compare each with each.

Knows when two values are equal without comparing them.  One finer row above the libraries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from policyd.expr.cel.values import NUMBERS, UINT_MAX, equal
from policyd.expression import Budget

_INFINITE: Final = (math.inf, -math.inf)
_HASHED: Final = frozenset({str, bytes, bool, type(None), datetime, timedelta})


class Bag:
    """Values to look others up in; numbers are one number line, `true` is not `1`.

    Texts, numbers and the like are found by hash, lists and maps by comparing with each.
    """

    __slots__ = ("_compared", "_hashed")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._hashed: dict[type, set[Any]] = {}
        self._compared: list[Any] = []
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """Put *value* in."""
        kind, key = _key(value)
        if kind is None:
            self._compared.append(value)
        else:
            self._hashed.setdefault(kind, set()).add(key)

    def holds(self, value: Any, budget: Budget) -> bool:
        """True when a value equal to *value* is in.  Pays for the comparisons."""
        kind, key = _key(value)
        if kind is not None:
            return key in self._hashed.get(kind, ())
        if self._compared:
            budget.spend(len(self._compared))
        return any(equal(value, other, budget) for other in self._compared)


def _key(value: Any) -> tuple[type | None, Any]:
    """A type and what is equal, in it, exactly where the values are; no type where there is none.

    NaN, which equals nothing, is compared.
    """
    kind = type(value)
    if kind not in NUMBERS:
        return (kind if kind in _HASHED else None), value
    if abs(value) <= UINT_MAX or value in _INFINITE:
        return float, value
    # whoever sends numbers beyond 64 bits can make their hashes collide, but not those of texts
    return (None, value) if value != value else (int, hex(int(value)))
