"""optional.*: values that may be missing, as values.

Knows optionals as `values.OptionalValue`.  What CEL writes with `.?`, `[?]`, `or`, `orValue` and
`optMap` is not here: those are parts of the language.  Source: the CEL optionals extension.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.function import Function
from policyd.expr.cel.optional import checked
from policyd.expr.cel.values import MISSING, NONE, OptionalValue

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _of(value: Any) -> OptionalValue:
    return OptionalValue(value)


def _none() -> OptionalValue:
    return NONE


def _of_non_zero_value(value: Any) -> OptionalValue:
    return NONE if _is_zero(value) else OptionalValue(value)


def _is_zero(value: Any) -> bool:
    return value is None or value == _EPOCH or value in (0, "", b"", [], {}, timedelta(0))


def _has_value(value: Any) -> bool:
    return checked("hasValue", value).value is not MISSING


def _value(value: Any) -> Any:
    held = checked("value", value).value
    if held is MISSING:
        raise EvaluationError("the optional has no value")
    return held


FUNCTIONS: Final = (
    Function("optional.of", _of, (1,), ()),
    Function("optional.none", _none, (0,), ()),
    Function("optional.ofNonZeroValue", _of_non_zero_value, (1,), ()),
    Function("hasValue", _has_value, (), (1,), returns_bool=True),
    Function("value", _value, (), (1,)),
)
"""The functions of this library."""
