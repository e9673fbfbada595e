"""What the operators take and give, as types.

Knows the arithmetic of CEL: numbers, texts, bytes, lists, times.  Knows no tree and no flaw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policyd.types import (
    BOOL,
    BYTES,
    DURATION,
    INTEGER,
    LIST,
    NUMBER,
    STRING,
    TIMESTAMP,
    Anything,
    ListOf,
    Scalar,
    Type,
    join,
    options,
    overlap,
)

ORDERED: Final = (NUMBER, STRING, TIMESTAMP, DURATION, BYTES, BOOL)
"""What `<` and its like compare, each only with its own kind."""

KEYS: Final = join((STRING, NUMBER, BOOL))
"""What a map may be asked for."""

_Row = tuple[Type, Type, Type]

_PRODUCT: Final[tuple[_Row, ...]] = ((NUMBER, NUMBER, NUMBER),)
_ARITHMETIC: Final[Mapping[str, tuple[_Row, ...]]] = {
    "+": (
        (NUMBER, NUMBER, NUMBER),
        (STRING, STRING, STRING),
        (LIST, LIST, LIST),
        (TIMESTAMP, DURATION, TIMESTAMP),
        (DURATION, TIMESTAMP, TIMESTAMP),
        (DURATION, DURATION, DURATION),
        (BYTES, BYTES, BYTES),
    ),
    "-": (
        (NUMBER, NUMBER, NUMBER),
        (TIMESTAMP, TIMESTAMP, DURATION),
        (TIMESTAMP, DURATION, TIMESTAMP),
        (DURATION, DURATION, DURATION),
    ),
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
}


def computed(operator: str, left: Type, right: Type) -> Type | None:
    """The type of `left operator right` for `+ - * / %`; None where it cannot be computed."""
    rows = _ARITHMETIC[operator]
    found = [gives for one, other, gives in rows if overlap(left, one) and overlap(right, other)]
    if not found:
        return None
    if found == [NUMBER] and _integral(left) and _integral(right):
        return INTEGER
    if found == [LIST]:
        return join((_list_of(left), _list_of(right)))
    return join(found)


def _integral(type: Type) -> bool:
    return all(isinstance(option, Scalar) and option.integer for option in options(type))


def _list_of(type: Type) -> Type:
    return type if isinstance(type, ListOf) else LIST


def ordered(left: Type, right: Type) -> bool:
    """True where `left < right` may be computed."""
    if isinstance(left, Anything) and isinstance(right, Anything):
        return True
    return any(overlap(left, kind) and overlap(right, kind) for kind in ORDERED)


def without_values(type: Type) -> Type:
    """The kind of *type*: what is left when the values that it lists are forgotten."""
    return join(Scalar(o.name) if isinstance(o, Scalar) else o for o in options(type))
