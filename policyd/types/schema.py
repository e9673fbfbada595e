"""From a JSON Schema to a type.

Liberal: what is not understood may be anything, and so is what it touches.  One thing is read
more strictly than JSON Schema means it: an object that names its members and says nothing of
others (`additionalProperties`) has no others.  That is how such schemas are meant, and it is
what makes a slip in a name show.  Judges no schema and no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Final

from policyd.types.kinds import (
    ANYTHING,
    BOOL,
    INTEGER,
    LIST,
    NULL,
    NUMBER,
    OPEN_MAP,
    STRING,
    Anything,
    ListOf,
    Member,
    ObjectOf,
    Scalar,
    Type,
)
from policyd.types.relations import join, options, overlap, type_of_value

MAX_REFERENCES: Final = 32
"""References within one another that are followed; what is deeper may be anything."""

_OPENING: Final = ("if", "then", "else", "not", "dependentSchemas", "dependencies", "$dynamicRef")

_SCALARS: Final = {
    "string": STRING,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": BOOL,
    "null": NULL,
}


def type_of_schema(schema: Any) -> Type:
    """The type of the values that meet *schema* (draft 2020-12), at least.

    An object that is referred to as `#/$defs/NAME` is called NAME.  References elsewhere than
    into *schema* itself are not followed.
    """
    return SchemaReader(schema).type_of(schema)


class SchemaReader:
    """Reads parts of one schema; what is referred to twice is read once."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._read: dict[str, Type] = {}
        self._open: list[str] = []

    def type_of(self, schema: Any) -> Type:
        """The type of *schema*, a part of the root."""
        if not isinstance(schema, dict):
            return ANYTHING
        parts = [self._own(schema)]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            parts.append(self._referred(reference))
        parts += map(self.type_of, _listed(schema.get("allOf")))
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                parts.append(join(map(self.type_of, _listed(schema[word]))))
        return reduce(_both, parts)

    def _referred(self, reference: str) -> Type:
        if reference in self._open or len(self._open) >= MAX_REFERENCES:
            return ANYTHING
        if reference not in self._read:
            self._open.append(reference)
            found = self.type_of(_at(self._root, reference))
            self._open.pop()
            if isinstance(found, ObjectOf) and not found.name:
                found = ObjectOf(reference.rpartition("/")[2], found.members, found.rest)
            self._read[reference] = found
        return self._read[reference]

    def _own(self, schema: Mapping[str, Any]) -> Type:
        """What the schema says itself, without what it refers to."""
        if "const" in schema:
            return type_of_value(schema["const"])
        if isinstance(schema.get("enum"), list):
            return join(map(type_of_value, schema["enum"]))
        written = schema.get("type")
        if written is None:
            return self._unnamed(schema)
        names = written if isinstance(written, list) else [written]
        return join(self._typed(name, schema) for name in names)

    def _unnamed(self, schema: Mapping[str, Any]) -> Type:
        """The type of a schema that gives none: what its other words are about."""
        if "properties" in schema:
            return self._object(schema)
        return self._typed("array", schema) if "items" in schema else ANYTHING

    def _typed(self, name: Any, schema: Mapping[str, Any]) -> Type:
        if name == "object":
            return self._object(schema)
        if name == "array":
            items = schema.get("items")
            plain = isinstance(items, dict) and "prefixItems" not in schema
            return ListOf(self.type_of(items)) if plain else LIST
        return _SCALARS.get(name, ANYTHING) if isinstance(name, str) else ANYTHING

    def _object(self, schema: Mapping[str, Any]) -> Type:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            properties = {}
        required = _listed(schema.get("required"))
        members = {
            name: Member(self.type_of(part), name in required) for name, part in properties.items()
        }
        rest = self._rest(schema, bool(properties))
        return ObjectOf("", members, rest) if members or rest != ANYTHING else OPEN_MAP

    def _rest(self, schema: Mapping[str, Any], named: bool) -> Type | None:
        """What the members are that `properties` does not name."""
        if any(word in schema for word in _OPENING):
            return ANYTHING
        others = schema.get("additionalProperties", not named)
        patterns = schema.get("patternProperties")
        found = [] if others is False else [self.type_of(others)]
        if isinstance(patterns, dict):
            found += map(self.type_of, patterns.values())
        return join(found) if found else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(root: Any, reference: str) -> Any:
    """What a reference into *root* leads to; None where that is nowhere, which says nothing."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    for token in reference[2:].split("/"):
        if not isinstance(root, dict):
            return None
        root = root.get(token.replace("~1", "/").replace("~0", "~"))
    return root


def _both(one: Type, other: Type) -> Type:
    """The type of a value that is of both types, at least."""
    if isinstance(one, Anything) or isinstance(other, Anything):
        return other if isinstance(one, Anything) else one
    pairs = [(a, b) for a in options(one) for b in options(other) if overlap(a, b)]
    # a contradiction is for those who judge schemas: here it says nothing
    return join(_both_of(a, b) for a, b in pairs)


def _both_of(one: Type, other: Type) -> Type:
    if isinstance(one, ObjectOf) and isinstance(other, ObjectOf):
        return _merged(one, other)
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return ListOf(_both(one.item, other.item))
    if isinstance(one, Scalar) and isinstance(other, Scalar) and one.values is None:
        return other if other.values is not None or not one.integer else one
    return one


def _merged(one: ObjectOf, other: ObjectOf) -> ObjectOf:
    if not one.members and one.rest == ANYTHING:
        return other
    if not other.members and other.rest == ANYTHING:
        return one
    members = dict(one.members)
    for name, member in other.members.items():
        own = members.get(name)
        if own is not None:
            member = Member(_both(own.type, member.type), own.required or member.required)
        members[name] = member
    return ObjectOf("", members, _rests(one.rest, other.rest))


def _rests(*rests: Type | None) -> Type | None:
    found: Iterable[Type] = [rest for rest in rests if rest is not None]
    return join(found) if found else None
