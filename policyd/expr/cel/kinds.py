"""What is known about the value of an expression without knowing any variable.

Shallow on purpose: it tells a condition from a number or a text, so that the fast path may leave
out a test.  What it says holds for any payload whatever, which the types of `infer` do not: they
come from schemas, and a payload may break its schema.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Bind,
    Conditional,
    Has,
    Index,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    Negate,
    Node,
    Not,
    OptionalIndex,
    OptionalMap,
    OptionalOr,
    OptionalSelect,
    Or,
    Select,
)
from policyd.expr.cel.values import UInt


class Kind(StrEnum):
    """What sort of value a part yields, if it yields one."""

    BOOL = "a bool"
    NUMBER = "a number"
    STRING = "a string"
    TIME = "a time"
    LIST = "a list"
    MAP = "a map"
    NULL = "null"
    OPTIONAL = "an optional"
    OTHER = "no bool"
    UNKNOWN = "anything"


COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
"""The operators that yield a bool."""

_OF_VALUES: Final[dict[type, Kind]] = {
    bool: Kind.BOOL,
    int: Kind.NUMBER,
    UInt: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    datetime: Kind.TIME,
    timedelta: Kind.TIME,
    list: Kind.LIST,
    dict: Kind.MAP,
    type(None): Kind.NULL,
}

_OF_FUNCTIONS: Final = {
    "size": Kind.NUMBER,
    "int": Kind.NUMBER,
    "uint": Kind.NUMBER,
    "double": Kind.NUMBER,
    "string": Kind.STRING,
    "timestamp": Kind.TIME,
    "duration": Kind.TIME,
    "bytes": Kind.OTHER,
    "type": Kind.OTHER,
    "optional.of": Kind.OPTIONAL,
    "optional.ofNonZeroValue": Kind.OPTIONAL,
    "optional.none": Kind.OPTIONAL,
    "first": Kind.OPTIONAL,
    "last": Kind.OPTIONAL,
}

_OF_MACROS: Final = {
    "all": Kind.BOOL,
    "exists": Kind.BOOL,
    "exists_one": Kind.BOOL,
    "filter": Kind.LIST,
    "map": Kind.LIST,
    "sortBy": Kind.LIST,
    "transformMap": Kind.MAP,
    "transformMapEntry": Kind.MAP,
}


def kind_of(node: Node) -> Kind:
    """The kind of *node*, a part of a checked tree."""
    rule = _RULES.get(type(node))
    return rule(node) if rule is not None else Kind.UNKNOWN


def _literal(node: Literal) -> Kind:
    return _OF_VALUES.get(type(node.value), Kind.OTHER)


def _apply(node: Apply) -> Kind:
    if node.function.returns_bool:
        return Kind.BOOL
    return _OF_FUNCTIONS.get(node.function.name, Kind.UNKNOWN)


def _field(node: Select | Index) -> Kind:
    return Kind.OPTIONAL if kind_of(node.operand) is Kind.OPTIONAL else Kind.UNKNOWN


def _bind(node: Bind) -> Kind:
    return kind_of(node.body)


def _optional_or(node: OptionalOr) -> Kind:
    return Kind.UNKNOWN if node.unwrapped else Kind.OPTIONAL


def _loop(node: Loop) -> Kind:
    return _OF_MACROS[node.macro]


def _binary(node: Binary) -> Kind:
    if node.operator in COMPARISONS:
        return Kind.BOOL
    if node.operator in "*/%" or Kind.NUMBER in (kind_of(node.left), kind_of(node.right)):
        return Kind.NUMBER
    return Kind.OTHER


def _conditional(node: Conditional) -> Kind:
    then, otherwise = kind_of(node.then), kind_of(node.otherwise)
    if then is otherwise:
        return then
    known = then is not Kind.UNKNOWN and otherwise is not Kind.UNKNOWN
    return Kind.OTHER if known and Kind.BOOL not in (then, otherwise) else Kind.UNKNOWN


def _always(kind: Kind) -> Callable[[Any], Kind]:
    return lambda node: kind


_RULES: Final[dict[type[Node], Callable[[Any], Kind]]] = {
    Literal: _literal,
    Apply: _apply,
    Loop: _loop,
    Select: _field,
    Index: _field,
    Bind: _bind,
    OptionalOr: _optional_or,
    OptionalSelect: _always(Kind.OPTIONAL),
    OptionalIndex: _always(Kind.OPTIONAL),
    OptionalMap: _always(Kind.OPTIONAL),
    Binary: _binary,
    Conditional: _conditional,
    Not: _always(Kind.BOOL),
    And: _always(Kind.BOOL),
    Or: _always(Kind.BOOL),
    Has: _always(Kind.BOOL),
    Negate: _always(Kind.NUMBER),
    ListLiteral: _always(Kind.LIST),
    MapLiteral: _always(Kind.MAP),
}
