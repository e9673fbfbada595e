from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel.bounds import charge_copy
from policyd.expr.cel.values import (
    DURATION_MAX,
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    CelType,
    UInt,
    boolean,
    checked_duration,
    checked_int,
    checked_uint,
    described,
    equal,
    less,
    less_equal,
    lookup,
    no_overload,
    type_name,
)
from policyd.expression import Budget

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def budget(steps: int = 1000) -> Budget:
    return Budget(steps, time.monotonic() + 60)


class Address:
    """What a function library may add."""

    cel_type = "net.IP"


@pytest.mark.parametrize(
    ("value", "name", "spoken"),
    [
        (None, "null_type", "null"),
        (True, "bool", "a bool"),
        (1, "int", "an int"),
        (UInt(1), "uint", "a uint"),
        (1.0, "double", "a double"),
        ("a", "string", "a string"),
        (b"a", "bytes", "a bytes"),
        ([], "list", "a list"),
        ({}, "map", "a map"),
        (NOW, "google.protobuf.Timestamp", "a timestamp"),
        (timedelta(1), "google.protobuf.Duration", "a duration"),
        (CelType("int"), "type", "a type"),
        (Address(), "net.IP", "a net.ip"),
        (object(), "dyn", "a dyn"),
    ],
)
def test_each_value_has_a_type(value: Any, name: str, spoken: str) -> None:
    assert (type_name(value), described(value)) == (name, spoken)


def test_an_error_of_types_names_the_types_and_nothing_else() -> None:
    error = no_overload("+", "secret", 17)
    assert (error.reason, error.cause, error.offset) == (
        "`+` does not take string and int",
        Cause.ERROR,
        None,
    )


DIFFERENT = [
    None,
    True,
    False,
    0,
    1,
    2.5,
    math.inf,
    10**400,
    "",
    "1",
    b"",
    b"1",
    [],
    [1],
    [True],
    ["1"],
    [[1]],
    {},
    {"a": 1},
    {"a": True},
    {"b": 1},
    {1: 1},
    {True: 1},
    {"1": 1},
    NOW,
    timedelta(0),
    CelType("int"),
    CelType("1"),
]


@pytest.mark.parametrize("place", range(len(DIFFERENT)))
def test_different_values_are_unequal_whatever_their_types(place: int) -> None:
    found = [equal(DIFFERENT[place], other, budget()) for other in DIFFERENT]
    assert found == [i == place for i in range(len(DIFFERENT))]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (UInt(1), 1),
        (1.0, UInt(1)),
        (0.0, -0.0),
        ([1, [2]], [1.0, [UInt(2)]]),
        ({"a": [1]}, {"a": [1.0]}),
        ({1: "a"}, {UInt(1): "a"}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({True: "a", 2: "b"}, {2: "b", True: "a"}),
    ],
)
def test_equal_numbers_are_equal_whatever_their_types(left: Any, right: Any) -> None:
    assert equal(left, right, budget())
    assert equal(right, left, budget())


def test_not_a_number_equals_nothing() -> None:
    nan = math.nan
    assert not equal(nan, nan, budget())
    assert not equal([nan], [nan], budget())
    assert not equal({"a": nan}, {"a": nan}, budget())


@given(st.integers(-(2**70), 2**70), st.floats(allow_nan=False))
def test_ints_and_doubles_compare_on_the_number_line(whole: int, real: float) -> None:
    exact = math.isfinite(real) and real.is_integer() and whole == int(real)
    assert equal(whole, real, budget()) == exact
    if math.isfinite(real):
        fraction = real.as_integer_ratio()
        assert less(whole, real) == (whole * fraction[1] < fraction[0])
        assert less_equal(real, whole) == (fraction[0] <= whole * fraction[1])
    else:
        assert less(whole, real) == (real > 0)


def test_a_comparison_pays_for_each_element() -> None:
    left = budget(100)
    assert equal([[1, 2], {"a": [3]}], [[1, 2], {"a": [3]}], left)
    assert left.steps == 100 - 2 - 2 - 1 - 1
    with pytest.raises(EvaluationError) as caught:
        equal([0] * 50, [0] * 50, budget(49))
    assert caught.value.cause is Cause.BUDGET


def test_values_of_different_size_cost_nothing_to_compare() -> None:
    left = budget(0)
    assert not equal([0] * 50, [0] * 51, left)
    assert not equal({"a": 1}, {}, left)


@pytest.mark.parametrize(
    ("container", "key", "value"),
    [
        ({"a": 1}, "a", 1),
        ({1: "x"}, 1.0, "x"),
        ({0: "x", True: "y"}, True, "y"),
        ({False: "y"}, False, "y"),
        ({2: "x"}, UInt(2), "x"),
    ],
)
def test_a_key_is_found_by_value_and_type(container: Any, key: Any, value: str) -> None:
    assert lookup(container, key) == value


@pytest.mark.parametrize(
    ("container", "key"),
    [({"a": 1}, "b"), ({True: 1}, 1), ({1: 1}, True), ({0: 1}, False), ({False: 1}, 0.0)],
)
def test_a_bool_key_is_no_number(container: Any, key: Any) -> None:
    assert equal(lookup(container, key), 1, budget()) is False


def test_a_bool_is_nothing_but_a_bool() -> None:
    assert boolean(True) is True
    assert boolean(False) is False
    others: list[Any] = [1, 0, "true", None, []]
    for value in others:
        with pytest.raises(EvaluationError):
            boolean(value)


@pytest.mark.parametrize("value", [INT_MIN, -1, 0, INT_MAX])
def test_an_int_in_range_is_kept(value: int) -> None:
    assert checked_int(value) == value


@pytest.mark.parametrize("value", [INT_MIN - 1, INT_MAX + 1, 10**400])
def test_an_int_out_of_range_overflows(value: int) -> None:
    with pytest.raises(EvaluationError, match=r"^integer overflow$"):
        checked_int(value)


def test_an_unsigned_int_has_its_own_range() -> None:
    assert type(checked_uint(UINT_MAX)) is UInt
    for value in (-1, UINT_MAX + 1):
        with pytest.raises(EvaluationError, match=r"^unsigned integer overflow$"):
            checked_uint(value)


def test_a_duration_has_a_range() -> None:
    assert checked_duration(-DURATION_MAX) == -DURATION_MAX
    for value in (DURATION_MAX + timedelta(0, 0, 1), -DURATION_MAX - timedelta(0, 0, 1)):
        with pytest.raises(EvaluationError, match=r"^the duration is out of range$"):
            checked_duration(value)


def test_what_is_copied_is_paid_for_by_the_length() -> None:
    left = budget(100)
    charge_copy(256, left)
    assert left.steps == 100
    charge_copy(6400, left)
    assert left.steps == 0
