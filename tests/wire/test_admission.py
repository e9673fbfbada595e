from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from policyd.errors import InvocationError
from policyd.wire import MAX_DEPTH, check_payload


def nested(depth: int, kind: str) -> Any:
    value: Any = 0
    for level in range(depth):
        as_list = kind == "list" or (kind == "mixed" and level % 2 == 0)
        value = [value] if as_list else {"k": value}
    return value


def doubling(times: int) -> list[Any]:
    """A small value that is huge to whoever walks it: each list holds the one before twice."""
    value: list[Any] = []
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize("kind", ["list", "dict", "mixed"])
def test_depth_is_bounded_exactly(kind: str) -> None:
    check_payload(nested(MAX_DEPTH, kind))
    with pytest.raises(InvocationError) as caught:
        check_payload(nested(MAX_DEPTH + 1, kind))
    assert caught.value.data == {"reason": "`payload` is nested more than 128 levels deep"}


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (float("nan"), "holds a number that is not finite"),
        ({"a": [float("inf")]}, "holds a number that is not finite"),
        ([-float("inf")], "holds a number that is not finite"),
        ([10**400], "holds a number that is not finite"),
        ([-(10**400)], "holds a number that is not finite"),
        (["fine", "x\ud800"], "holds a lone surrogate"),
        ({"\udfff": 1}, "holds a lone surrogate"),
        ({1: 1}, "has a key that is not a string"),
        ((1, 2), "holds a value that is not JSON"),
        ([datetime(2026, 1, 1)], "holds a value that is not JSON"),
        (["x" * 1000] * 20_000, "is too large"),
        (doubling(100), "is too large"),
    ],
)
def test_what_parsers_could_read_differently_is_refused(value: Any, flaw: str) -> None:
    # the inner list makes one more level, so that size is looked at before the end
    with pytest.raises(InvocationError) as caught:
        check_payload([value, [[]]], "context")
    error = caught.value
    assert (error.code, error.message, error.data) == (
        -32602,
        "Invalid params",
        {"reason": f"`context` {flaw}"},
    )


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (None, 1),
        (True, 1),
        ("four", 5),
        ("é€😀", 10),
        ([1, 1.5, -0.0, 2**64, 1.7e308, -(10**308)], 7),
        ({"key": {"é": []}}, 8),
    ],
)
def test_the_size_is_about_the_bytes_of_the_text(value: Any, size: int) -> None:
    assert check_payload(value) == size
