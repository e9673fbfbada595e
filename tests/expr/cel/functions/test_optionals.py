from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.expr.cel.values import MISSING, NONE, OptionalValue, UInt

Call = Callable[..., Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, False, 0, UInt(0), 0.0, -0.0, "", b"", [], {}, timedelta(0), EPOCH]
)
def test_a_zero_value_makes_an_empty_optional(call: Call, value: Any) -> None:
    assert call("optional.ofNonZeroValue", value).value is MISSING
    assert call("optional.of", value).value == value


@pytest.mark.parametrize("value", [True, 1, 0.5, " ", [0], {"": 0}, NONE, timedelta(1)])
def test_any_other_value_is_kept(call: Call, value: Any) -> None:
    assert call("optional.ofNonZeroValue", value).value == value


def test_an_optional_is_asked_for_its_value(call: Call, refuse: Callable[..., str]) -> None:
    assert call("optional.none") is NONE
    assert call("hasValue", NONE) is False
    assert call("hasValue", OptionalValue(None)) is True
    assert call("value", OptionalValue(1)) == 1
    assert refuse("value", NONE) == "the optional has no value"
    assert refuse("value", 1) == "`value` needs an optional, not an int"
