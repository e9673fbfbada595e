"""Equality of CEL values by hash, for functions that would otherwise compare each with each.

Knows when two values are equal without comparing them.  One finer row above the libraries.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from policyd.expr.cel.values import NUMBERS, equal
from policyd.expression import Budget

_HASHED: Final = frozenset({str, bytes, bool, type(None), datetime, timedelta})


class Bag:
    """Values to look others up in; numbers are one number line, `true` is not `1`.

    Texts, numbers and the like are found by hash, lists and maps by comparing with each.
    """

    __slots__ = ("_compared", "_keys")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._keys: set[Any] = set()
        self._compared: list[Any] = []
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """Put *value* in."""
        key = _key(value)
        if key is not None:
            self._keys.add(key)
        else:
            self._compared.append(value)

    def holds(self, value: Any, budget: Budget) -> bool:
        """True when a value equal to *value* is in.  Pays for the comparisons."""
        key = _key(value)
        if key is not None:
            return key in self._keys
        if self._compared:
            budget.spend(len(self._compared))
        return any(equal(value, other, budget) for other in self._compared)


def _key(value: Any) -> tuple[Any, Any] | None:
    """What is equal exactly where the values are, or None for what has to be compared.

    NaN, which equals nothing, is compared.
    """
    kind = type(value)
    if kind in NUMBERS:
        return (float, value) if value == value else None
    return (kind, value) if kind in _HASHED else None
