"""The values of CEL: their types, when two are equal, which is less, and how large they may be.

A value is a plain JSON value (dict, list, str, int, float, bool, None) or one of the types that
JSON lacks: `UInt`, bytes, a timestamp (datetime in UTC), a duration (timedelta), a `CelType`.  A
class that a function library adds names its CEL type in a class attribute `cel_type`.

Numbers live on one number line (`1 == 1.0`), a bool is never a number, and a wrong type is an
EvaluationError, never False.  Errors name types and operators, never a part of a value.
Knows no expression, no name and no position.  Source: the CEL language definition.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import watched
from policyd.expression import Budget

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
DURATION_MAX: Final = timedelta(microseconds=(2**63 - 1) // 1000)
"""About 292 years, what 64 bits of nanoseconds hold; the least duration is its negation."""


class UInt(int):
    """An unsigned 64-bit integer; equal to the int of the same value."""

    __slots__ = ()


MISSING: Final = object()
"""Stands for a value that is not there."""


class OptionalValue:
    """An optional: holds a value, or MISSING where it is empty."""

    __slots__ = ("value",)

    def __init__(self, value: Any = MISSING) -> None:
        self.value = value


NONE: Final = OptionalValue()
"""The empty optional, `optional.none()`."""


@dataclass(frozen=True, slots=True)
class CelType:
    """A type as a value: what `type(x)` and the name `int` stand for."""

    name: str


_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    OptionalValue: "optional_type",
    CelType: "type",
}

TYPES: Final[dict[str, CelType]] = {name: CelType(name) for name in _TYPE_NAMES.values()}
"""The types that an expression can name."""

NUMBERS: Final = frozenset({int, float, UInt})
"""The Python types of numbers; bool is not among them."""

KEYS: Final = frozenset({int, float, UInt, str, bool})
"""The Python types of values that a map may be asked for."""

_DEEP: Final = frozenset({list, dict, OptionalValue})
_ORDERED: Final = frozenset({int, float, UInt, str, bytes, bool, datetime, timedelta})


def type_name(value: Any) -> str:
    """The CEL name of the type of *value*."""
    kind = type(value)
    name = _TYPE_NAMES.get(kind)
    return name if name is not None else str(getattr(kind, "cel_type", "dyn"))


def no_overload(name: str, *values: Any) -> EvaluationError:
    """The error that says that operator or function *name* does not take these types."""
    kinds = [_spoken(value) for value in values]
    return EvaluationError(f"`{name}` does not take {' and '.join(kinds)}")


def _spoken(value: Any) -> str:
    return type_name(value).removeprefix("google.protobuf.").lower().removesuffix("_type")


def described(value: Any) -> str:
    """The type of *value* as a sentence says it: `a string`, `an int`, `null`."""
    kind = _spoken(value)
    if value is None:
        return kind
    return f"an {kind}" if kind in ("int", "optional") else f"a {kind}"


def boolean(value: Any) -> bool:
    """*value* itself where it is a bool.  Raises EvaluationError for anything else."""
    if value is True or value is False:
        return value is True
    raise EvaluationError(f"a bool is needed here, not {described(value)}")


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """`left == right`.  Values of different types are unequal, but numbers are numbers.

    Charges one step for each element of lists and maps that are compared.
    """
    kind = type(left)
    if kind is type(right):
        if kind in _DEEP:
            return _equal_deep(left, right, budget)
        return bool(left == right)
    return kind in NUMBERS and type(right) in NUMBERS and bool(left == right)


def _equal_deep(left: Any, right: Any, budget: Budget) -> bool:
    """Whether two lists, maps or optionals are equal; does not recurse, however deep they are."""
    waiting = [(left, right)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is OptionalValue:
            left, right = [left.value], [right.value]
        if len(left) != len(right):
            return False
        budget.spend(len(left))
        for one, other in _paired(left, right, budget):
            kind = type(one)
            if kind is not type(other):
                if kind not in NUMBERS or type(other) not in NUMBERS or one != other:
                    return False
            elif kind in _DEEP:
                waiting.append((one, other))
            elif one != other:
                return False
    return True


def _paired(left: Any, right: Any, budget: Budget) -> Iterable[tuple[Any, Any]]:
    """What has to be equal in two lists or two maps of one length."""
    if type(left) is list:
        return zip(watched(left, budget), right, strict=True)
    return [(value, lookup(right, key)) for key, value in watched(left.items(), budget)]


def _comparison(symbol: str, compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        # Python compares int with float exactly, so large integers need no special care
        kind = type(left)
        if kind is type(right):
            if kind in _ORDERED:
                return bool(compare(left, right))
        elif kind in NUMBERS and type(right) in NUMBERS:
            return bool(compare(left, right))
        raise no_overload(symbol, left, right)

    return compared


less = _comparison("<", operator.lt)
"""`left < right`; both numbers, or both of one ordered type."""
less_equal = _comparison("<=", operator.le)
"""`left <= right`."""
greater = _comparison(">", operator.gt)
"""`left > right`."""
greater_equal = _comparison(">=", operator.ge)
"""`left >= right`."""


def checked_int(value: int) -> int:
    """*value* where it fits 64 bits.  Raises EvaluationError otherwise."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def checked_uint(value: int) -> UInt:
    """*value* as UInt where it fits 64 bits.  Raises EvaluationError otherwise."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def checked_duration(value: timedelta) -> timedelta:
    """*value* where it is in range.  Raises EvaluationError otherwise."""
    if -DURATION_MAX <= value <= DURATION_MAX:
        return value
    raise EvaluationError("the duration is out of range")


def lookup(container: dict[Any, Any], key: Any) -> Any:
    """The value under *key*, or MISSING.  Python takes `true` for `1`; CEL does not."""
    value = container.get(key, MISSING)
    if value is MISSING or type(key) is str or key not in (0, 1):
        return value
    stored = next(other for other in container if other == key)
    return value if (type(stored) is bool) == (type(key) is bool) else MISSING
