from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.values import NONE, UInt, equal
from policyd.expression import Budget

Call = Callable[..., Any]
NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("slice", ([1, 2, 3], 1, 3), [2, 3]),
        ("slice", ([1, 2, 3], 3, 3.0), []),
        ("flatten", ([1, [2, [3]], []],), [1, 2, [3]]),
        ("flatten", ([1, [2, [3, [4]]]], 2), [1, 2, 3, [4]]),
        ("flatten", ([1, [2]], 0), [1, [2]]),
        ("flatten", ([[[]]], 99), []),
        ("distinct", ([1, 1.0, UInt(1), True, "1", "1", None, None],), [1, True, "1", None]),
        ("distinct", ([[1], [1.0], {"a": 1}, {"a": 1}],), [[1], {"a": 1}]),
        ("sort", ([3, 1.5, UInt(2)],), [1.5, 2, 3]),
        ("sort", (["b", "B", "a"],), ["B", "a", "b"]),
        ("sort", ([True, False],), [False, True]),
        ("sort", ([],), []),
        ("lists.range", (3,), [0, 1, 2]),
        ("sort", ([*range(5000, 0, -1)],), [*range(1, 5001)]),
        ("lists.range", (0,), []),
    ],
)
def test_a_function_of_lists(call: Call, name: str, arguments: tuple[Any, ...], value: Any) -> None:
    assert call(name, *arguments) == value


def test_nan_is_distinct_from_itself(call: Call) -> None:
    assert len(call("distinct", [NAN, NAN])) == 2


OUTSIDE = "`slice`: the range is outside of the list"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("slice", ([1], 0, 2), OUTSIDE),
        ("slice", ([1], -1, 1), OUTSIDE),
        ("slice", ([1, 2], 2, 1), OUTSIDE),
        ("slice", ("ab", 0, 1), "`slice` does not take string and int and int"),
        ("flatten", ("ab",), "`flatten` does not take string"),
        ("flatten", ([], -1), "`flatten` does not take a negative depth"),
        ("distinct", ("ab",), "`distinct` does not take string"),
        ("sort", ("ab",), "`sort` does not take string"),
        ("sort", ([1, "a"],), "`<` does not take int and string"),
        ("sort", ([None],), "`<` does not take null and null"),
        ("sort", ([True, 1],), "`<` does not take bool and int"),
        ("lists.range", (-1,), "`lists.range` does not take a negative number"),
        ("lists.range", ("3",), "`lists.range` does not take string"),
    ],
)
def test_a_function_of_lists_refuses(
    refuse: Call, name: str, arguments: tuple[Any, ...], reason: str
) -> None:
    assert refuse(name, *arguments) == reason


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, UInt(1), 2, "", "1", b"1", NAN]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=3,
)


@given(st.lists(VALUES, max_size=8))
def test_distinct_keeps_the_first_of_what_is_equal(items: list[Any]) -> None:
    budget = Budget(10**6, float("inf"))
    kept: list[Any] = []
    for item in items:
        if not any(equal(item, other, budget) for other in kept):
            kept.append(item)
    result = FUNCTIONS["distinct"].call(budget, items)
    assert [id(item) for item in result] == [id(item) for item in kept]


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5))
def test_sets_agree_with_equality(left: list[Any], right: list[Any]) -> None:
    budget = Budget(10**6, float("inf"))

    def holds(items: list[Any], item: Any) -> bool:
        return any(equal(item, other, budget) for other in items)

    within = all(holds(left, item) for item in right)
    around = all(holds(right, item) for item in left)
    assert FUNCTIONS["sets.contains"].call(budget, left, right) is within
    assert FUNCTIONS["sets.equivalent"].call(budget, left, right) is (within and around)
    assert FUNCTIONS["sets.intersects"].call(budget, left, right) is any(
        holds(left, item) for item in right
    )


def test_the_ends_of_a_list(call: Call, refuse: Callable[..., str]) -> None:
    assert [call("first", [1, 2]).value, call("last", [1, 2]).value] == [1, 2]
    assert call("first", []) is call("last", []) is NONE
    assert refuse("first", "a") == "`first` does not take string"
    assert refuse("last", {}) == "`last` does not take map"


def test_numbers_whose_hashes_collide_take_no_longer(call: Call, budget: Budget) -> None:
    colliding = [number * (2**61 - 1) for number in range(30_000)]
    assert call("distinct", [*colliding, *colliding]) == colliding
    assert call("distinct", [1e30, 10**30, int(1e30), float("inf"), 2**64, 2.0**64]) == [
        1e30, 10**30, float("inf"), 2**64,
    ]  # fmt: skip
    assert call("sets.contains", colliding, [colliding[-1]]) is True
