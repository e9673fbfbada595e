from __future__ import annotations

from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.recursion import MAX_REFERENCES
from policyd.expr.shape import MAX_BREACHES, MAX_DEPTH, SchemaFlaw, Shape, compile_shape


def compiled(schema: Any) -> Shape:
    shape = compile_shape(schema)
    assert isinstance(shape, Shape)
    return shape


COMMAND = {
    "type": "object",
    "required": ["command"],
    "properties": {"command": {"type": "string"}, "flags": {"items": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("schema", "value", "places"),
    [
        (COMMAND, {"command": "ls"}, ()),
        (COMMAND, {}, ((),)),
        (COMMAND, {"command": 1, "flags": ["a", 2]}, (("command",), ("flags", 1))),
        (False, {"command": "ls"}, ((),)),
        ({"const": 1}, True, ((),)),
        ({"const": 1}, 1.0, ()),
        ({"format": "date"}, "2026-02-30", ((),)),
        ({"multipleOf": 0.01}, 19.99, ()),
        ({"pattern": "^(a+)+$"}, "a" * 5000 + "b", ((),)),
    ],
)
def test_each_place_that_breaks_the_schema_is_told(schema: Any, value: Any, places: Any) -> None:
    assert set(compiled(schema).breaches(value)) == set(places)


def test_no_more_than_the_first_places_are_told() -> None:
    shape = compiled({"items": {"type": "string"}})
    assert len(shape.breaches(list(range(1000)))) == MAX_BREACHES


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$ref": "#"}},
        {"additionalProperties": {"$ref": "#"}},
    ],
)
def test_a_payload_nested_too_deep_is_not_given_to_the_engine(schema: Any) -> None:
    shape = compiled(schema)
    deep: Any = []
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    assert shape.breaches(deep) == ()
    for _ in range(100_000):
        deep = {"a": [deep]}
    with pytest.raises(EvaluationError):
        shape.breaches(deep)


def test_a_lone_surrogate_is_not_judged_and_so_not_passed() -> None:
    with pytest.raises(EvaluationError):
        compiled({"type": "string"}).breaches("\ud800")


@pytest.mark.parametrize(
    ("schema", "flaw"),
    [
        (
            {"type": "strng"},
            SchemaFlaw("`strng` is not a type", ("type",), "did you mean `string`?"),
        ),
        (
            {"propertiez": {}},
            SchemaFlaw(
                "`propertiez` is not a keyword of JSON Schema",
                ("propertiez",),
                "did you mean `properties`?",
                True,
            ),
        ),
        (
            {"anyOf": [{}, {"not": {"$defs": {"a": {"requird": []}}}}]},
            SchemaFlaw(
                "`requird` is not a keyword of JSON Schema",
                ("anyOf", 1, "not", "$defs", "a", "requird"),
                "did you mean `required`?",
                True,
            ),
        ),
        (
            {"format": "emial"},
            SchemaFlaw(
                "`emial` is not a format that is checked", ("format",), "did you mean `email`?"
            ),
        ),
        (
            {"pattern": "(?=a)"},
            SchemaFlaw(
                "in this pattern: look-ahead `(?=` is not supported",
                ("pattern",),
                "test the two conditions separately",
            ),
        ),
        (
            {"$ref": "http://example.com/x.json"},
            SchemaFlaw(
                "`http://example.com/x.json` is outside of this schema, "
                "and policyd fetches nothing",
                ("$ref",),
                "copy it to `$defs` and write `#/$defs/NAME`",
            ),
        ),
        (
            {"properties": {"path": {}}, "required": ["pth"], "additionalProperties": False},
            SchemaFlaw(
                "`pth` is required and not allowed at once, so no value can be valid",
                ("required", 0),
                "did you mean `path`?",
            ),
        ),
        (
            {"items": {"$dynamicRef": "http://example.com/x.json"}},
            SchemaFlaw(
                "`http://example.com/x.json` is outside of this schema, "
                "and policyd fetches nothing",
                ("items", "$dynamicRef"),
                "copy it to `$defs` and write `#/$defs/NAME`",
            ),
        ),
        (
            {"$ref": "#/x-a", "x-a": {"$ref": "http://example.com/x.json"}},
            SchemaFlaw(
                "a reference leads outside of this schema",
                (),
                "copy it to `$defs` and write `#/$defs/NAME`",
            ),
        ),
        (
            {
                "properties": {"path": {}},
                "required": ["path", "pth"],
                "additionalProperties": False,
            },
            SchemaFlaw(
                "`pth` is required and not allowed at once, so no value can be valid",
                ("required", 1),
                "did you mean `path`?",
            ),
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            SchemaFlaw(
                "policyd reads JSON Schema 2020-12",
                ("$schema",),
                "write `https://json-schema.org/draft/2020-12/schema`",
            ),
        ),
        (
            {"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}},
            SchemaFlaw(
                "the schema refers to itself for the same value, so it says nothing",
                ("properties", "a", "allOf", 0),
            ),
        ),
        (
            {"pattern": "\\Qa.b\\E"},
            SchemaFlaw("this pattern cannot run in linear time", ("pattern",)),
        ),
        (
            {"properties": {"a": {"minimum": "x"}}},
            SchemaFlaw("`x` is not of type `number`", ("properties", "a", "minimum")),
        ),
        ({"const": "\ud800"}, SchemaFlaw("this is no JSON Schema", ())),
        (
            {"$defs": {str(number): {"$ref": "#"} for number in range(MAX_REFERENCES + 1)}},
            SchemaFlaw("the schema has more than 200 references", ()),
        ),
        (
            {"properties": {"a": {"type": "string", "required": True}}},
            SchemaFlaw(
                "`required` is a list of members, beside `properties`",
                ("properties", "a", "required"),
                "write `required: [NAME]`",
                True,
            ),
        ),
    ],
)
def test_a_schema_that_cannot_do_what_it_says_is_refused(schema: Any, flaw: SchemaFlaw) -> None:
    assert compile_shape(schema) == (flaw,)


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#/$defs/nope"}, {"$id": "http://example.com/a", "$ref": "#b"}, {"x-note": 1}],
)
def test_a_reference_to_nothing_is_refused_and_extension_keywords_are_not(schema: Any) -> None:
    assert isinstance(compile_shape(schema), Shape) == ("x-note" in schema)
