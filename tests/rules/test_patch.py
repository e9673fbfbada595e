from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel.values import UInt
from policyd.rules.patch import json_value


@pytest.mark.parametrize(
    "value", [None, True, 0, 2**70, 1.5, -0.0, "text", [], {}, [{"a": [None, {"b": "c"}]}]]
)
def test_a_json_value_is_itself(value: Any) -> None:
    assert repr(json_value(value)) == repr(value)


def test_an_unsigned_number_is_a_number() -> None:
    assert type(json_value([UInt(3)])[0]) is int


@pytest.mark.parametrize(
    "value",
    [
        datetime.now(UTC),
        timedelta(1),
        b"x",
        float("nan"),
        float("inf"),
        {1: 2},
        [{"a": b"x"}],
    ],
)
def test_what_json_has_no_form_for_is_refused(value: Any) -> None:
    with pytest.raises(EvaluationError):
        json_value(value)
