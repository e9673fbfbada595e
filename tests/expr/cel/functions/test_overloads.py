from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "part", "inside"),
    [("Straße", "aß", True), ("abc", "", True), ("abc", "B", False), ("", "a", False)],
)
def test_a_text_contains_its_parts(call: Call, text: str, part: str, inside: bool) -> None:
    assert call("contains", text, part) is inside


def test_contains_refuses_what_holds_nothing(call: Call, refuse: Call) -> None:
    network = call("cidr", "10.0.0.0/8")
    assert refuse("contains", ["a"], "a") == "`contains` does not take list and string"
    assert refuse("contains", "abc", 1) == "`contains` does not take string and int"
    assert refuse("contains", network, "host") == "the text is not an IP address"
    assert refuse("contains", network, 1) == "`contains` does not take net.cidr and int"


def test_texts_and_lists_are_reversed(call: Call, refuse: Call) -> None:
    assert call("reverse", "a😀") == "😀a"
    assert call("reverse", [1, "a"]) == ["a", 1]
    assert refuse("reverse", 1) == "`reverse` does not take int"
