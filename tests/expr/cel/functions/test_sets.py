from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "left", "right", "value"),
    [
        ("sets.contains", ["a", "b"], ["b"], True),
        ("sets.contains", ["a"], ["a", "b"], False),
        ("sets.contains", ["a"], [], True),
        ("sets.contains", [1, [2]], [1.0, [2.0]], True),
        ("sets.contains", [True], [1], False),
        ("sets.equivalent", [1, 2, 2], [2, 1.0], True),
        ("sets.equivalent", [1], [1, 2], False),
        ("sets.equivalent", [1, 2], [1], False),
        ("sets.intersects", ["a", "b"], ["c", "b"], True),
        ("sets.intersects", ["a"], ["b"], False),
        ("sets.intersects", [], [], False),
    ],
)
def test_lists_are_compared_as_sets(
    call: Call, name: str, left: list[Any], right: list[Any], value: bool
) -> None:
    assert call(name, left, right) is value


@pytest.mark.parametrize("name", ["sets.contains", "sets.equivalent", "sets.intersects"])
def test_only_lists_are_sets(refuse: Call, name: str) -> None:
    assert refuse(name, ["a"], "a") == f"`{name}` does not take list and string"
    assert refuse(name, {}, []) == f"`{name}` does not take map and list"
