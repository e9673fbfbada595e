"""Domains are sets, seen from outside: what is in one is never said not to be."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.values import UInt
from policyd.reachability.domain import (
    ANYTHING,
    Domain,
    Interval,
    Texts,
    matching,
    of_kinds,
    one_of,
    other_than,
    scalar,
)

WORDS = st.sampled_from(["", "a", "b", "ab", "ba", "aba", "abab"])
WORD_SETS = st.frozensets(WORDS.filter(bool), max_size=2)
BOUNDS = st.none() | st.sampled_from([-1, 0, 1, 1.5, 2, 3.0])
NUMBERS = st.sampled_from([-2, -1, 0, 0.5, 1, 1.0, 1.5, 2, 2.5, 3])


TEXTS = st.builds(Texts, *[WORD_SETS] * 6)
INTERVALS = st.builds(Interval, BOUNDS, BOUNDS, st.booleans(), st.booleans())


@given(TEXTS, TEXTS, WORDS)
def test_a_text_is_in_what_two_sets_have_in_common_when_it_is_in_both(
    one: Texts, other: Texts, word: str
) -> None:
    both = one.meet(other)
    assert both.holds(word) == (one.holds(word) and other.holds(word))
    assert not (both.empty and both.holds(word))


@given(INTERVALS, INTERVALS, NUMBERS)
def test_a_number_is_between_both_bounds_when_it_is_between_each(
    one: Interval, other: Interval, number: float
) -> None:
    both = one.meet(other)
    assert both.holds(number) == (one.holds(number) and other.holds(number))
    assert not (both.empty and both.holds(number))
    if number == int(number):
        assert both.whole().holds(number) == both.holds(number)


@pytest.mark.parametrize(
    ("domain", "empty"),
    [
        (ANYTHING, False),
        (one_of([]), True),
        (of_kinds("bool").meet(other_than([("bool", True)])), False),
        (of_kinds("bool").meet(other_than([("bool", True), ("bool", False)])), True),
        (of_kinds("null").meet(other_than([("null", None)])), True),
        (of_kinds("number").meet(of_kinds("string")), True),
        (one_of([("number", 1)]).meet(one_of([("number", 1.0)])), False),
        (one_of([("number", 1)]).meet(one_of([("bool", True)])), True),
        (Domain(frozenset({"number"}), bounds={"number": Interval(3, 2)}), False),
        (Domain(frozenset({"number"}), bounds={"number": Interval(3, 2)}, nan=False), True),
        (Domain(frozenset({"number"}), nan=False, integer=True), False),
        (matching(["a*", "b"]).meet(one_of([("string", "c")])), True),
        (matching(["a*", "b"]).meet(one_of([("string", "ax")])), False),
        (Domain(frozenset({"string"}), texts=Texts(tails=frozenset({"a", "b"}))), True),
        (matching(["a*b"]).meet(Domain(texts=Texts(heads=frozenset("b")))), True),
        (matching(["a*b", "c"]).meet(Domain(texts=Texts(tails=frozenset("d")))), True),
        (matching(["a*b", "c"]).meet(Domain(texts=Texts(tails=frozenset("c")))), False),
    ],
)
def test_a_domain_is_empty_where_that_is_sure(domain: Domain, empty: bool) -> None:
    assert domain.empty is empty


def test_a_domain_holds_what_is_in_it_and_nothing_that_it_rules_out() -> None:
    domain = one_of([("number", 1), ("string", "a")]).meet(other_than([("string", "a")]))
    assert domain.holds(("number", 1.0))
    assert not domain.holds(("number", 2))
    assert not domain.holds(("string", "a"))
    assert not domain.holds(("bool", True))
    assert domain.members() == [("number", 1)]
    assert ANYTHING.members() is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (UInt(1), ("number", 1)),
        (True, ("bool", True)),
        (None, ("null", None)),
        (math.nan, None),
        ([1], None),
        ({}, None),
        (object(), None),
    ],
)
def test_containers_and_nan_are_no_scalars(value: Any, expected: Any) -> None:
    assert scalar(value) == expected
