"""The operators of CEL, but for those that compare.

Knows what they do to values of each type, and which types they refuse.  Knows no expression, no
name and no position.  Source: the CEL language definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import (
    CHUNK,
    FREE_COPY,
    MAX_LIST,
    bound_list,
    bound_text,
    charge_copy,
    slices,
    watched,
)
from policyd.expr.cel.ordering import ordered
from policyd.expr.cel.values import (
    KEYS,
    MISSING,
    NONE,
    NUMBERS,
    OptionalValue,
    UInt,
    checked_duration,
    checked_int,
    checked_uint,
    described,
    equal,
    lookup,
    no_overload,
)
from policyd.expression import Budget

FREE_SCAN: Final = 16
"""Elements; to charge for so short a scan takes longer than the scan."""


_SCAN: Final = 512  # elements between two looks at the clock, where each is compared by Python


def add(left: Any, right: Any, budget: Budget) -> Any:
    """`left + right`: numbers of one type, texts, bytes, lists, durations, timestamps."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked_int(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes or kind is list:
            length = len(left) + len(right)
            if length > FREE_COPY:
                (bound_list if kind is list else bound_text)(length)
                charge_copy(length, budget)
            return left + right
        if kind is UInt:
            return checked_uint(int(left) + int(right))
    return _add_time("+", left, right)


def _add_time(symbol: str, left: Any, right: Any) -> Any:
    kinds = (type(left), type(right))
    try:
        if kinds == (timedelta, timedelta):
            return checked_duration(left + right)
        if kinds in ((datetime, timedelta), (timedelta, datetime)):
            return left + right
    except OverflowError:
        raise EvaluationError("the timestamp is out of range") from None
    raise no_overload(symbol, left, right)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`: numbers of one type, durations, timestamps."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked_int(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return checked_uint(int(left) - int(right))
        if kind is datetime:
            return checked_duration(left - right)
    if type(right) is timedelta:
        return _add_time("-", left, -right)
    raise no_overload("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    """`left * right`: numbers of one type."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            # the product of two numbers with a million digits takes seconds
            return checked_int(checked_int(left) * checked_int(right))
        if kind is float:
            return left * right
        if kind is UInt:
            return checked_uint(int(left) * int(right))
    raise no_overload("*", left, right)


def divide(left: Any, right: Any) -> Any:
    """`left / right`: integers are cut towards zero, doubles follow IEEE 754."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return _divide_floats(left, right)
        if kind is int or kind is UInt:
            if right == 0:
                raise EvaluationError("division by zero")
            if kind is int:
                checked_int(left)
            quotient = abs(int(left)) // abs(int(right))
            if (left < 0) != (right < 0):
                quotient = -quotient
            return checked_int(quotient) if kind is int else UInt(quotient)
    raise no_overload("/", left, right)


def _divide_floats(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def modulo(left: Any, right: Any) -> Any:
    """`left % right`: integers of one type; the sign is that of *left*."""
    kind = type(left)
    if kind is type(right) and (kind is int or kind is UInt):
        if right == 0:
            raise EvaluationError("modulus by zero")
        if kind is int:
            checked_int(left)
        rest = abs(int(left)) % abs(int(right))
        if kind is UInt:
            return UInt(rest)
        return checked_int(rest if left >= 0 else -rest)
    raise no_overload("%", left, right)


def negate(value: Any) -> Any:
    """`-value`: an int or a double."""
    kind = type(value)
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    raise no_overload("-", value)


def invert(value: Any) -> bool:
    """`!value`: a bool."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_overload("!", value)


def contains(element: Any, container: Any, budget: Budget) -> bool:
    """`element in container`: an element of a list or a key of a map.  A text is no container."""
    kind = type(container)
    if kind is list:
        if len(container) > FREE_SCAN:
            budget.spend(len(container))
        if type(element) is str:
            if len(container) <= _SCAN:
                return element in container
            return any(element in piece for piece in slices(container, budget, _SCAN))
        return any(equal(element, item, budget) for item in watched(container, budget))
    if kind is dict and type(element) in KEYS:
        return lookup(container, element) is not MISSING
    raise no_overload("in", element, container)


def index(container: Any, key: Any) -> Any:
    """`container[key]`: a list by number (`1.0` counts as 1), a map by key."""
    kind = type(container)
    if kind is dict and type(key) in KEYS:
        value = lookup(container, key)
        if value is MISSING:
            raise EvaluationError("no such key")
        return value
    if kind is list and type(key) in NUMBERS:
        if 0 <= key < len(container) and key == int(key):
            return container[int(key)]
        raise EvaluationError("the index is outside of the list")
    if kind is OptionalValue:
        return optional_index(container, key)
    raise no_overload("[]", container, key)


def optional_index(container: Any, key: Any) -> OptionalValue:
    """`container[?key]`: empty where there is no such element or key, and of an empty optional."""
    container = _unwrapped(container)
    kind = type(container)
    if container is MISSING:
        return NONE
    if kind is dict and type(key) in KEYS:
        value = lookup(container, key)
        return NONE if value is MISSING else OptionalValue(value)
    if kind is list and type(key) in NUMBERS:
        found = 0 <= key < len(container) and key == int(key)
        return OptionalValue(container[int(key)]) if found else NONE
    raise no_overload("[?]", container, key)


def select(container: Any, field: str) -> Any:
    """`container.field`.  *field* is part of the policy, so the error may name it."""
    if type(container) is dict:
        try:
            return container[field]
        except KeyError:
            raise EvaluationError(f"no such key `{field}`") from None
    if type(container) is OptionalValue:
        return optional_select(container, field)
    raise _no_map(container, field)


def optional_select(container: Any, field: str) -> OptionalValue:
    """`container.?field`: empty where there is no such key, and of an empty optional."""
    container = _unwrapped(container)
    if type(container) is dict:
        return OptionalValue(container[field]) if field in container else NONE
    if container is MISSING:
        return NONE
    raise _no_map(container, field)


def has_field(container: Any, field: str) -> bool:
    """`has(container.field)`.  Raises EvaluationError where *container* is not a map."""
    container = _unwrapped(container)
    if type(container) is dict:
        return field in container
    if container is MISSING:
        return False
    raise _no_map(container, field)


def _unwrapped(value: Any) -> Any:
    """What *value* holds where it is an optional, MISSING where that is empty; else itself."""
    while type(value) is OptionalValue:
        value = value.value
    return value


def _no_map(container: Any, field: str) -> EvaluationError:
    return EvaluationError(f"`{field}` is a key of a map, but this is {described(container)}")


def make_map(entries: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map of *entries*.  Raises EvaluationError for a key that no map can hold.

    A map with both `true` and `1` as keys, which CEL allows, is refused: a dict has no room
    for both.
    """
    result: dict[Any, Any] = {}
    for key, value in entries:
        if type(key) not in KEYS or type(key) is float:
            raise EvaluationError(f"a key of a map cannot be {described(key)}")
        if type(key) is int:
            checked_int(key)  # hashes of larger ones can be made to collide
        if key in result:
            raise EvaluationError("a key is in the map twice")
        result[key] = value
        bound_list(len(result))
    return result


def merge_maps(maps: Iterable[Any], budget: Budget) -> dict[Any, Any]:
    """One map of the entries of all *maps*.  Raises EvaluationError for a key that is twice."""
    return make_map(_entries(maps, budget))


def _entries(maps: Iterable[Any], budget: Budget) -> Iterator[tuple[Any, Any]]:
    for entries in maps:
        if type(entries) is not dict:
            raise EvaluationError(f"a map is needed here, not {described(entries)}")
        budget.spend(len(entries))
        yield from entries.items()


def elements(container: Any, budget: Budget) -> Any:
    """What a loop over a list (its items) or a map (its keys) visits; pays for the loop."""
    if type(container) is list or type(container) is dict:
        budget.spend(len(container))
        return container if len(container) <= CHUNK else watched(container, budget)
    _no_loop(container)


def pairs(container: Any, budget: Budget) -> Iterable[tuple[Any, Any]]:
    """What a loop with two variables visits: index and item, or key and value."""
    if type(container) is list:
        budget.spend(len(container))
        return enumerate(watched(container, budget))
    if type(container) is dict:
        budget.spend(len(container))
        return watched(container.items(), budget)
    _no_loop(container)


def few_elements(container: Any, budget: Budget) -> Any:
    """`elements`, where a list is made of them.  Raises OverflowError for very many."""
    if type(container) in (list, dict) and len(container) > MAX_LIST:
        raise OverflowError
    return elements(container, budget)


def few_pairs(container: Any, budget: Budget) -> Iterable[tuple[Any, Any]]:
    """`pairs`, where a list or a map is made of them.  Raises OverflowError for very many."""
    if type(container) in (list, dict) and len(container) > MAX_LIST:
        raise OverflowError
    return pairs(container, budget)


def listed(container: Any, budget: Budget) -> list[Any]:
    """What `sortBy` visits: a list; pays for it."""
    if type(container) is not list:
        raise EvaluationError(f"a list is needed here, not {described(container)}")
    bound_list(len(container))
    budget.spend(len(container))
    return container


def sort_by(container: Any, key: Callable[[Any], Any], budget: Budget) -> list[Any]:
    """`container.sortBy(x, key)`."""
    items = listed(container, budget)
    return ordered(items, [key(item) for item in watched(items, budget)], budget)


def _no_loop(container: Any) -> NoReturn:
    raise EvaluationError(f"a list or a map is needed here, not {described(container)}")


# Guards of the fast path, which sorts nothing out itself: they raise, and the exact path decides


def number(value: Any) -> Any:
    """*value* itself where it is a number.  Raises TypeError for anything else."""
    if type(value) in NUMBERS:
        return value
    raise TypeError


def truth(value: Any) -> bool:
    """*value* itself where it is a bool.  Raises TypeError for anything else."""
    if value is True or value is False:
        return value is True
    raise TypeError
