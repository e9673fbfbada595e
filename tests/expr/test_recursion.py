from __future__ import annotations

from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.recursion import branching, endless
from policyd.expr.shape import Shape, compile_shape

NODE = {"$ref": "#/$defs/node"}
FILTER = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "oneOf": [
                {"type": "string"},
                {"type": "object", "required": ["and"], "properties": {"and": NODE, "not": NODE}},
                {
                    "type": "object",
                    "required": ["and", "not"],
                    "properties": {"and": NODE, "not": NODE},
                },
            ]
        }
    },
}
TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "#"}, ()),
        ({"allOf": [{"$ref": "#"}]}, ("allOf", 0)),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            ("$defs", "b"),
        ),
        ({"not": {"if": {"$ref": "#/not"}}}, ("not", "if")),
        (TREE, None),
        (FILTER, None),
        ({"allOf": [{"$ref": "#/$defs/a~1b"}], "$defs": {"a/b": {"type": "string"}}}, None),
        ({"properties": {"a": {"anyOf": [True, {"$ref": "#"}]}}}, None),
        ({"$ref": "#/allOf/0", "allOf": [{"type": "object"}]}, None),
        ({"$ref": "#/allOf/x", "allOf": [{"type": "object"}]}, None),
        ({"$ref": "#/type/x", "type": "object"}, None),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}, None),
        ({"$ref": "#here", "$anchor": "here"}, ()),
        ({"$ref": "#nowhere"}, None),
        ({"$ref": "http://example.com/"}, None),
        (True, None),
    ],
)
def test_a_schema_that_judges_the_same_value_for_ever_is_found(schema: Any, place: Any) -> None:
    assert endless(schema) == place


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        (True, 1),
        ({"type": "object"}, 1),
        (TREE, 1),
        (FILTER, 4),
        ({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}, 2),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}, 1),
        ({"items": {"$ref": "#here"}, "$anchor": "here"}, 1),
        (
            {
                "items": {"$ref": "#"},
                "not": {"$ref": "#/$defs/leaf"},
                "propertyNames": {"$ref": "#/$defs/leaf"},
                "$defs": {"leaf": {}},
            },
            1,
        ),
        (
            {
                "$defs": {
                    "a": {"items": {"$ref": "#/$defs/b"}},
                    "b": {"items": {"$ref": "#/$defs/c"}},
                    "c": {"items": {"$ref": "#/$defs/b"}},
                }
            },
            2,
        ),
    ],
)
def test_the_ways_back_of_a_schema_are_counted(schema: Any, count: int) -> None:
    assert branching(schema) == count


def test_a_value_too_deep_for_a_schema_with_many_ways_back_is_not_judged() -> None:
    shape = compile_shape(FILTER)
    assert isinstance(shape, Shape)
    value: Any = "x"
    for _ in range(6):
        value = {"and": value}
    assert shape.breaches(value) == ()
    for _ in range(34):
        value = {"and": value, "not": "x"}
    with pytest.raises(EvaluationError):
        shape.breaches(value)


def test_a_schema_with_one_way_back_takes_any_depth_that_is_admitted() -> None:
    shape = compile_shape(TREE)
    assert isinstance(shape, Shape)
    value: Any = {}
    for _ in range(100):
        value = {"children": [value]}
    assert shape.breaches(value) == ()
