"""How types relate: what two have in common, what covers both, what a member of one is.

Knows no schema, no event and no expression.  Every answer errs on the side of "may be".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from policyd.types.kinds import (
    ANYTHING,
    BOOL,
    NULL,
    NUMBER,
    STRING,
    Anything,
    ListOf,
    Member,
    ObjectOf,
    OneOf,
    OptionalOf,
    Scalar,
    Type,
)

MAX_VALUES: Final = 64
"""Values that a type lists; of more, only the kind is remembered."""

_WORDS: Final = {
    "bool": "a bool",
    "number": "a number",
    "string": "a string",
    "null": "null",
    "bytes": "bytes",
    "timestamp": "a timestamp",
    "duration": "a duration",
    "type": "a type",
    "ip": "an IP address",
    "cidr": "a network",
}


def options(type: Type) -> tuple[Type, ...]:
    """What *type* may be: the options of a OneOf, else *type* alone."""
    return type.options if isinstance(type, OneOf) else (type,)


def join(types: Iterable[Type]) -> Type:
    """The type of a value that is of any of *types*; ANYTHING for none."""
    scalars: dict[str, Scalar] = {}
    items: list[Type] = []
    optionals: list[Type] = []
    objects: dict[int, ObjectOf] = {}
    for type in types:
        for option in options(type):
            if isinstance(option, Scalar):
                known = scalars.get(option.name)
                scalars[option.name] = option if known is None else _either(known, option)
            elif isinstance(option, ListOf):
                items.append(option.item)
            elif isinstance(option, ObjectOf):
                objects[id(option)] = option
            elif isinstance(option, OptionalOf):
                optionals.append(option.value)
            else:
                return ANYTHING
    joined: list[Type] = [*scalars.values(), *objects.values()]
    joined += [ListOf(join(items))] if items else []
    joined += [OptionalOf(join(optionals))] if optionals else []
    if len(joined) == 1:
        return joined[0]
    return OneOf(tuple(joined)) if joined else ANYTHING


def _either(one: Scalar, other: Scalar) -> Scalar:
    if one == other:
        return one
    values = None
    if one.values is not None and other.values is not None:
        values = _listed(one.values | other.values)
    return Scalar(one.name, values, one.integer and other.integer)


def _listed(values: frozenset[Any]) -> frozenset[Any] | None:
    return values if len(values) <= MAX_VALUES else None


def overlap(one: Type, other: Type) -> bool:
    """True unless no value can be of both types."""
    return any(_overlap(a, b) for a in options(one) for b in options(other))


def _overlap(one: Type, other: Type) -> bool:
    if isinstance(one, Anything) or isinstance(other, Anything):
        return True
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return one.name == other.name and _share_values(one, other)
    return not isinstance(one, Scalar) and type(one) is type(other)


def _share_values(one: Scalar, other: Scalar) -> bool:
    if one.values is not None and other.values is not None:
        return not one.values.isdisjoint(other.values)
    for integer, listed in ((one.integer, other.values), (other.integer, one.values)):
        if integer and listed is not None and all(value % 1 for value in listed):
            return False
    return True


def member_of(type: Type, name: str) -> Type | None:
    """What the member *name* of a value of *type* may be; None where none can have it."""
    found = [member for option in options(type) for member in _members(option, name)]
    return join(found) if found else None


def _members(option: Type, name: str) -> Iterator[Type]:
    if isinstance(option, Anything):
        yield ANYTHING
    elif isinstance(option, ObjectOf):
        known = option.members.get(name)
        if known is not None:
            yield known.type
        elif option.rest is not None:
            yield option.rest


def member_names(type: Type) -> tuple[str, ...]:
    """The names of the members that values of *type* are known to have."""
    objects = (option for option in options(type) if isinstance(option, ObjectOf))
    return tuple({name: None for option in objects for name in option.members})


def type_of_value(value: Any) -> Type:
    """The type of a JSON value that is known: a literal, a constant."""
    if value is None:
        return NULL
    kind = type(value)
    if kind is bool:
        return BOOL
    if kind is str:
        return Scalar("string", frozenset((value,)))
    if kind is int or kind is float:
        return Scalar("number", frozenset((value,)), kind is int)
    if kind is list:
        return ListOf(_items(value))
    if kind is dict:
        members = {key: Member(type_of_value(item), True) for key, item in value.items()}
        return ObjectOf("", members)
    return ANYTHING


def _items(values: list[Any]) -> Type:
    kinds = set(map(type, values))
    if kinds == {str}:
        listed = _listed(frozenset(values))
        return STRING if listed is None else Scalar("string", listed)
    if kinds <= {int, float} and len(values) > MAX_VALUES:
        return NUMBER
    return join(type_of_value(value) for value in values)


def spoken(type: Type) -> str:
    """*type* as a sentence says it: `a string`, `a list or a map`."""
    words = dict.fromkeys(_word(option) for option in options(type))
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _word(option: Type) -> str:
    if isinstance(option, Scalar):
        return _WORDS[option.name]
    if isinstance(option, ListOf):
        return "a list"
    if isinstance(option, OptionalOf):
        return "an optional"
    return "a map" if isinstance(option, ObjectOf) else "anything"
