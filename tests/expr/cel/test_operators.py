from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import operators
from policyd.expr.cel.values import INT_MAX, INT_MIN, UInt
from policyd.expression import Budget


def budget(steps: int = 1000) -> Budget:
    return Budget(steps, time.monotonic() + 60)


INTS = st.integers(INT_MIN, INT_MAX) | st.integers(-3, 3)


@given(INTS, INTS.filter(bool))
def test_division_cuts_towards_zero_and_the_rest_has_the_sign_of_the_dividend(
    left: int, right: int
) -> None:
    if (left, right) == (INT_MIN, -1):
        return
    quotient, rest = operators.divide(left, right), operators.modulo(left, right)
    assert quotient * right + rest == left
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) == (left < 0)
    assert quotient == 0 or (quotient < 0) == ((left < 0) != (right < 0))


@given(INTS, INTS)
def test_arithmetic_is_exact_or_overflows(left: int, right: int) -> None:
    exact: dict[Callable[[int, int], Any], int] = {
        operators.subtract: left - right,
        operators.multiply: left * right,
        lambda a, b: operators.add(a, b, budget()): left + right,
    }
    for operation, value in exact.items():
        if INT_MIN <= value <= INT_MAX:
            assert operation(left, right) == value
        else:
            with pytest.raises(EvaluationError, match=r"^integer overflow$"):
                operation(left, right)


@pytest.mark.parametrize(
    ("left", "right", "value"),
    [
        (1.0, 0.0, math.inf),
        (-1.0, 0.0, -math.inf),
        (1.0, -0.0, -math.inf),
        (math.inf, 0.0, math.inf),
        (1e308, 1e-308, math.inf),
        (1.0, 4.0, 0.25),
    ],
)
def test_doubles_divide_as_ieee_754_says(left: float, right: float, value: float) -> None:
    assert operators.divide(left, right) == value


@pytest.mark.parametrize("left", [0.0, -0.0, math.nan])
def test_nothing_divided_by_nothing_is_not_a_number(left: float) -> None:
    assert math.isnan(operators.divide(left, 0.0))


def test_times_stay_in_range() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    out_of_time: list[Callable[[], Any]] = [
        lambda: operators.add(last, timedelta(seconds=1), budget()),
        lambda: operators.add(timedelta(seconds=1), last, budget()),
        lambda: operators.subtract(datetime.min.replace(tzinfo=UTC), timedelta(seconds=1)),
    ]
    for call in out_of_time:
        with pytest.raises(EvaluationError, match=r"^the timestamp is out of range$"):
            call()
    too_long: list[Callable[[], Any]] = [
        lambda: operators.subtract(last, datetime.min.replace(tzinfo=UTC)),
        lambda: operators.add(timedelta(days=100_000), timedelta(days=100_000), budget()),
    ]
    for call in too_long:
        with pytest.raises(EvaluationError, match=r"^the duration is out of range$"):
            call()


@pytest.mark.parametrize("make", [lambda n: "a" * n, lambda n: b"a" * n, lambda n: [0] * n])
def test_what_is_added_together_is_paid_for(make: Any) -> None:
    left = budget(100)
    assert len(operators.add(make(3200), make(3200), left)) == 6400
    assert left.steps == 0
    with pytest.raises(EvaluationError) as caught:
        operators.add(make(3200), make(3200), left)
    assert caught.value.cause is Cause.BUDGET


def test_a_search_in_a_long_list_is_paid_for() -> None:
    left = budget(17)
    assert operators.contains("a", ["b"] * 16 + ["a"], left)
    assert left.steps == 0
    assert not operators.contains("a", ["b"] * 16, left)
    with pytest.raises(EvaluationError) as caught:
        operators.contains(1, [2] * 17, left)
    assert caught.value.cause is Cause.BUDGET


def test_a_loop_is_paid_for_when_it_starts() -> None:
    left = budget(8)
    assert operators.elements([1, 2], left) == [1, 2]
    assert list(operators.elements({"a": 1}, left)) == ["a"]
    assert list(operators.pairs(["x", "y"], left)) == [(0, "x"), (1, "y")]
    assert list(operators.pairs({"a": 1, "b": 2, "c": 3}, left)) == [("a", 1), ("b", 2), ("c", 3)]
    assert left.steps == 0
    for loop in (operators.elements, operators.pairs):
        with pytest.raises(EvaluationError) as caught:
            loop([1], left)
        assert caught.value.cause is Cause.BUDGET


@pytest.mark.parametrize("key", [True, None, "0", b"0", [], {}])
def test_a_list_is_indexed_by_numbers_only(key: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^`\[\]` does not take list and "):
        operators.index([1], key)


@pytest.mark.parametrize("key", [1, -1, 0.5, math.nan, math.inf, 10**400, UInt(1)])
def test_an_index_lies_inside_of_the_list(key: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^the index is outside of the list$"):
        operators.index([1], key)


def test_no_error_shows_a_part_of_a_value() -> None:
    secret = "hunter2"
    calls: list[Callable[[], Any]] = [
        lambda: operators.index({}, secret),
        lambda: operators.index(secret, secret),
        lambda: operators.make_map([(secret, 1), (secret, 1)]),
        lambda: operators.contains(secret, secret, budget()),
        lambda: operators.add(secret, 1, budget()),
        lambda: operators.select(secret, "field"),
        lambda: operators.select({secret: 1}, "field"),
        lambda: operators.elements(secret, budget()),
    ]
    for call in calls:
        with pytest.raises(EvaluationError) as caught:
            call()
        assert secret not in caught.value.reason
