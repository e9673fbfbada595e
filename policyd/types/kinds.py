"""The types of values: what is known about a value before there is one.

Knows JSON values and the few CEL adds (times, bytes, types, optionals, addresses).  Knows no
event and no expression.  A type says what a value *may* be; `ANYTHING` is the answer whenever
nothing is known, and nothing is ever refused because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Type:
    """What a value may be."""


@dataclass(frozen=True, slots=True)
class Anything(Type):
    """Nothing is known."""


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """A value that holds no others.

    name: `bool`, `number`, `string`, `null`, `bytes`, `timestamp`, `duration`, `type`, `ip` or
        `cidr`.  Numbers are JSON numbers: an integer is told by *integer*.
    values: all there are, where a schema lists them (`enum`, `const`); else None.
    """

    name: str
    values: frozenset[Any] | None = None
    integer: bool = False


@dataclass(frozen=True, slots=True)
class ListOf(Type):
    """A list; *item* is what each element may be."""

    item: Type


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object; *required* when it is always there."""

    type: Type
    required: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ObjectOf(Type):
    """A map with named members.

    name: what the schema calls it, such as `CallToolResult`; an empty text for none.
    rest: what any other member may be; None where there is no other.
    """

    name: str
    members: Mapping[str, Member]
    rest: Type | None = None


@dataclass(frozen=True, slots=True)
class OptionalOf(Type):
    """What CEL calls an optional: *value*, or nothing."""

    value: Type


@dataclass(frozen=True, slots=True)
class OneOf(Type):
    """Any of several types, none of which is itself a OneOf or Anything."""

    options: tuple[Type, ...]


ANYTHING = Anything()
BOOL, NUMBER, STRING, NULL = (Scalar(name) for name in ("bool", "number", "string", "null"))
BYTES, TIMESTAMP, DURATION = (Scalar(name) for name in ("bytes", "timestamp", "duration"))
TYPE, IP, CIDR = (Scalar(name) for name in ("type", "ip", "cidr"))
INTEGER = Scalar("number", integer=True)
LIST = ListOf(ANYTHING)
OPTIONAL = OptionalOf(ANYTHING)
OPEN_MAP = ObjectOf("", {}, ANYTHING)
"""A map of which nothing is known: `arguments`, `_meta`, `claims`."""
