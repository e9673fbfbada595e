from __future__ import annotations

from typing import Any

import pytest

from policyd.types import (
    ANYTHING,
    BOOL,
    INTEGER,
    LIST,
    NULL,
    NUMBER,
    OPEN_MAP,
    STRING,
    ListOf,
    ObjectOf,
    OneOf,
    Scalar,
    Type,
    join,
    member_names,
    member_of,
    type_of_schema,
)
from policyd.types.schema import MAX_REFERENCES

WORDS = Scalar("string", frozenset({"a", "b"}))


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        (True, ANYTHING),
        ({}, ANYTHING),
        ({"description": "what"}, ANYTHING),
        ({"type": "string"}, STRING),
        ({"type": "integer"}, INTEGER),
        ({"type": "number"}, NUMBER),
        ({"type": "boolean"}, BOOL),
        ({"type": "null"}, NULL),
        ({"type": "file"}, ANYTHING),
        ({"type": 5}, ANYTHING),
        ({"type": ["string", "null"]}, OneOf((STRING, NULL))),
        ({"type": "array"}, LIST),
        ({"type": "array", "items": {"type": "string"}}, ListOf(STRING)),
        ({"type": "array", "items": [{"type": "string"}]}, LIST),
        ({"items": {"type": "string"}}, ListOf(STRING)),
        ({"type": "array", "items": {"type": "string"}, "prefixItems": [{}]}, LIST),
        ({"enum": ["a", "b"]}, WORDS),
        ({"type": "string", "enum": ["a", "b"]}, WORDS),
        ({"enum": "a"}, ANYTHING),
        ({"enum": []}, ANYTHING),
        ({"const": "a"}, Scalar("string", frozenset({"a"}))),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, OneOf((STRING, NULL))),
        ({"oneOf": [{"enum": ["a"]}, {"const": "b"}]}, WORDS),
        ({"anyOf": [{"type": "string"}, {}]}, ANYTHING),
        ({"anyOf": "what"}, ANYTHING),
        ({"type": "string", "anyOf": [{"minLength": 1}]}, STRING),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}, WORDS),
        ({"allOf": [{"type": "integer"}, {"type": "number"}]}, INTEGER),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, INTEGER),
        ({"allOf": [{"enum": ["a", "b"]}, {"type": "string"}]}, WORDS),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, ANYTHING),
        ({"allOf": [{"type": "array"}, {"items": {"type": "string"}}]}, ListOf(STRING)),
        ({"type": "object"}, OPEN_MAP),
        ({"type": "object", "properties": 5}, OPEN_MAP),
        ({"$ref": "other.json"}, ANYTHING),
        ({"$ref": "#/$defs/none"}, ANYTHING),
        ({"$ref": "#/type/none", "type": "string"}, STRING),
        ({"$ref": 5}, ANYTHING),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, STRING),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, ANYTHING),
        ({"$ref": "#"}, ANYTHING),
    ],
)
def test_a_schema_says_what_its_values_are_at_least(schema: Any, type: Type) -> None:
    assert type_of_schema(schema) == type


def members(schema: Any) -> tuple[dict[str, tuple[Type, bool]], Type | None]:
    found = type_of_schema(schema)
    assert isinstance(found, ObjectOf)
    return {name: (one.type, one.required) for name, one in found.members.items()}, found.rest


A, B = {"a": {"type": "string"}}, {"b": {"type": "null"}}


@pytest.mark.parametrize(
    ("schema", "named", "rest"),
    [
        ({"properties": A}, {"a": (STRING, False)}, None),
        ({"type": "object", "properties": A, "required": ["a"]}, {"a": (STRING, True)}, None),
        ({"properties": A, "additionalProperties": False}, {"a": (STRING, False)}, None),
        ({"properties": A, "additionalProperties": True}, {"a": (STRING, False)}, ANYTHING),
        ({"type": "object", "additionalProperties": False}, {}, None),
        ({"properties": A, "additionalProperties": {"type": "null"}}, {"a": (STRING, False)}, NULL),
        ({"properties": A, "patternProperties": {"^x": {}}}, {"a": (STRING, False)}, ANYTHING),
        ({"properties": A, "if": {"properties": B}}, {"a": (STRING, False)}, ANYTHING),
        (
            {"allOf": [{"properties": A}, {"properties": {**A, **B}, "required": ["a"]}]},
            {"a": (STRING, True), "b": (NULL, False)},
            None,
        ),
        ({"allOf": [{"type": "object"}, {"properties": A}]}, {"a": (STRING, False)}, None),
        ({"allOf": [{"properties": A}, {"type": "object"}]}, {"a": (STRING, False)}, None),
        (
            {"properties": A, "allOf": [{"properties": B, "additionalProperties": True}]},
            {"a": (STRING, False), "b": (NULL, False)},
            ANYTHING,
        ),
        ({"properties": A, "anyOf": [{"required": ["a"]}]}, {"a": (STRING, False)}, None),
    ],
)
def test_an_object_has_the_members_that_its_schema_names(
    schema: Any, named: dict[str, tuple[Type, bool]], rest: Type | None
) -> None:
    assert members(schema) == (named, rest)


def test_an_object_that_is_referred_to_has_a_name_and_is_made_once() -> None:
    found = type_of_schema(
        {
            "properties": {"one": {"$ref": "#/$defs/Point"}, "two": {"$ref": "#/$defs/Point"}},
            "$defs": {"Point": {"properties": A}},
        }
    )
    one, two = member_of(found, "one"), member_of(found, "two")
    assert isinstance(one, ObjectOf)
    assert one.name == "Point"
    assert one is two


def test_a_schema_that_refers_to_itself_ends_in_anything() -> None:
    tree = {
        "$ref": "#/$defs/Tree",
        "$defs": {
            "Tree": {"properties": {"children": {"items": {"$ref": "#/$defs/Tree"}}, **A}},
        },
    }
    found = type_of_schema(tree)
    assert member_names(found) == ("children", "a")
    assert member_of(found, "children") == LIST


def test_references_that_lead_on_and_on_end_in_anything() -> None:
    count = MAX_REFERENCES + 1
    chain: dict[str, Any] = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(count)}
    chain[str(count)] = {"type": "string"}
    assert type_of_schema({"$ref": "#/$defs/0", "$defs": chain}) == ANYTHING
    assert type_of_schema({"$ref": "#/$defs/2", "$defs": chain}) == STRING


def test_the_parts_of_a_union_keep_their_members() -> None:
    found = type_of_schema({"anyOf": [{"properties": A}, {"properties": B}, {"type": "string"}]})
    assert member_names(found) == ("a", "b")
    assert found != join((STRING, NULL))
