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
    OPTIONAL,
    STRING,
    ListOf,
    Member,
    ObjectOf,
    OneOf,
    OptionalOf,
    Scalar,
    Type,
    join,
    member_names,
    member_of,
    overlap,
    spoken,
    type_of_value,
)
from policyd.types.relations import MAX_VALUES


def text(*values: str) -> Scalar:
    return Scalar("string", frozenset(values))


def number(*values: float) -> Scalar:
    return Scalar("number", frozenset(values))


POINT = ObjectOf("Point", {"x": Member(NUMBER, True), "label": Member(STRING)})
NAMED = ObjectOf("Named", {"label": Member(NULL)}, BOOL)


@pytest.mark.parametrize(
    ("types", "joined"),
    [
        ((), ANYTHING),
        ((STRING,), STRING),
        ((STRING, STRING), STRING),
        ((STRING, ANYTHING), ANYTHING),
        ((text("a"), text("b")), text("a", "b")),
        ((text("a"), STRING), STRING),
        ((INTEGER, INTEGER), INTEGER),
        ((INTEGER, NUMBER), NUMBER),
        ((STRING, NULL), OneOf((STRING, NULL))),
        ((OneOf((STRING, NULL)), BOOL), OneOf((STRING, NULL, BOOL))),
        ((ListOf(STRING), ListOf(NULL)), ListOf(OneOf((STRING, NULL)))),
        ((OptionalOf(STRING), OptionalOf(STRING)), OptionalOf(STRING)),
        ((POINT, POINT), POINT),
        ((POINT, NAMED, LIST), OneOf((POINT, NAMED, LIST))),
    ],
)
def test_a_join_covers_all_and_no_more(types: tuple[Type, ...], joined: Type) -> None:
    assert join(types) == joined


def test_a_join_of_very_many_values_remembers_the_kind_only() -> None:
    words = [text(str(index)) for index in range(MAX_VALUES + 1)]
    assert join(words) == STRING
    assert join(words[1:]) == text(*(str(index) for index in range(1, MAX_VALUES + 1)))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (STRING, STRING, True),
        (STRING, NUMBER, False),
        (STRING, ANYTHING, True),
        (text("a"), text("b"), False),
        (text("a", "b"), text("b"), True),
        (text("a"), STRING, True),
        (INTEGER, number(1.5), False),
        (INTEGER, number(1.5, 2.0), True),
        (number(0.5), INTEGER, False),
        (NUMBER, number(1.5), True),
        (LIST, ListOf(STRING), True),
        (ListOf(STRING), ListOf(NUMBER), True),
        (LIST, OPEN_MAP, False),
        (LIST, STRING, False),
        (OPEN_MAP, POINT, True),
        (OPTIONAL, STRING, False),
        (OPTIONAL, OptionalOf(STRING), True),
        (OneOf((STRING, NULL)), OneOf((NUMBER, NULL)), True),
        (OneOf((STRING, NULL)), OneOf((NUMBER, BOOL)), False),
    ],
)
def test_types_overlap_unless_no_value_is_of_both(one: Type, other: Type, meet: bool) -> None:
    assert overlap(one, other) is meet
    assert overlap(other, one) is meet


@pytest.mark.parametrize(
    ("type", "name", "found"),
    [
        (ANYTHING, "x", ANYTHING),
        (POINT, "x", NUMBER),
        (POINT, "y", None),
        (NAMED, "y", BOOL),
        (OneOf((POINT, NAMED)), "label", OneOf((STRING, NULL))),
        (OneOf((POINT, STRING)), "x", NUMBER),
        (STRING, "x", None),
        (LIST, "x", None),
    ],
)
def test_a_member_is_what_it_is_in_any_of_the_options(
    type: Type, name: str, found: Type | None
) -> None:
    assert member_of(type, name) == found


def test_the_names_of_members_are_those_of_all_options_once() -> None:
    assert member_names(OneOf((POINT, NAMED, STRING))) == ("x", "label")


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (None, NULL),
        (True, BOOL),
        ("a", text("a")),
        (1, Scalar("number", frozenset({1}), integer=True)),
        (1.5, number(1.5)),
        ([], LIST),
        (["a", "b"], ListOf(text("a", "b"))),
        (["a", None], ListOf(OneOf((text("a"), NULL)))),
        ([str(index) for index in range(MAX_VALUES + 1)], ListOf(STRING)),
        (list(range(MAX_VALUES + 1)), ListOf(NUMBER)),
        (b"a", ANYTHING),
    ],
)
def test_a_value_that_is_known_has_a_type(value: Any, type: Type) -> None:
    assert type_of_value(value) == type


def test_a_map_that_is_known_has_its_members_and_no_others() -> None:
    found = type_of_value({"a": {"b": 1}})
    assert isinstance(found, ObjectOf)
    inner = member_of(found, "a")
    assert inner is not None
    assert member_of(inner, "b") == type_of_value(1)
    assert member_of(found, "b") is None


@pytest.mark.parametrize(
    ("type", "words"),
    [
        (STRING, "a string"),
        (POINT, "a map"),
        (LIST, "a list"),
        (OPTIONAL, "an optional"),
        (ANYTHING, "anything"),
        (OneOf((STRING, NULL)), "a string or null"),
        (OneOf((POINT, NAMED, STRING, LIST)), "a map, a string or a list"),
    ],
)
def test_a_type_is_spoken_of_in_words_that_people_know(type: Type, words: str) -> None:
    assert spoken(type) == words
