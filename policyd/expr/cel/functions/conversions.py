"""size, type, dyn, and the conversions between types.

Source: CEL language definition, "type conversions" and "standard definitions".  Timestamps and
durations are exact to the microsecond.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.arguments import refusal
from policyd.expr.cel.functions.scalars import (
    bool_text,
    bytes_text,
    double_text,
    duration_text,
    int_text,
    parse_bool,
    parse_double,
    parse_duration,
    parse_int,
    parse_timestamp,
    parse_uint,
    timestamp_text,
)
from policyd.expr.cel.values import (
    TYPES,
    UINT_MAX,
    CelType,
    UInt,
    checked_int,
    checked_uint,
    no_overload,
    type_name,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SIZED: Final = frozenset({str, bytes, list, dict})


def _size(value: Any) -> int:
    if type(value) not in _SIZED:
        raise no_overload("size", value)
    return len(value)


def _type(value: Any) -> CelType:
    name = type_name(value)
    return TYPES.get(name) or CelType(name)


def _dyn(value: Any) -> Any:
    return value


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    str: lambda value: value,
    int: int_text,
    UInt: int_text,
    float: double_text,
    bool: bool_text,
    bytes: bytes_text,
    datetime: timestamp_text,
    timedelta: duration_text,
}


def _string(value: Any) -> str:
    convert = _TEXTS.get(type(value))
    if convert is not None:
        return convert(value)
    if hasattr(type(value), "cel_type"):
        return str(value)
    raise no_overload("string", value)


def _int(value: Any) -> int:
    kind = type(value)
    if kind is int or kind is UInt:
        return checked_int(int(value))
    if kind is float:
        # the definition leaves out both ends of the range, which no double is near to
        if -(2.0**63) < value < 2.0**63:
            return int(value)
        raise EvaluationError("integer overflow")
    if kind is str:
        return parse_int(value)
    if kind is datetime:
        seconds: int = (value - _EPOCH) // timedelta(seconds=1)
        return seconds
    raise no_overload("int", value)


def _uint(value: Any) -> UInt:
    kind = type(value)
    if kind is int or kind is UInt:
        return checked_uint(int(value))
    if kind is float:
        if 0 <= value < UINT_MAX:
            return checked_uint(int(value))
        raise EvaluationError("unsigned integer overflow")
    if kind is str:
        return parse_uint(value)
    raise no_overload("uint", value)


def _double(value: Any) -> float:
    kind = type(value)
    if kind is float or kind is int or kind is UInt:
        try:
            return float(value)
        except OverflowError:
            raise EvaluationError("the number is too large for a double") from None
    if kind is str:
        return parse_double(value)
    raise no_overload("double", value)


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str:
        return parse_bool(value)
    raise no_overload("bool", value)


def _bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is not str:
        raise no_overload("bytes", value)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise EvaluationError("the text holds half of a surrogate pair") from None


def _timestamp(value: Any) -> datetime:
    if type(value) is datetime:
        return value
    if type(value) is str:
        return parse_timestamp(value)
    if type(value) is not int:
        raise no_overload("timestamp", value)
    try:
        return _EPOCH + timedelta(seconds=value)
    except OverflowError:
        raise EvaluationError("the timestamp is out of range") from None


def _duration(value: Any) -> timedelta:
    if type(value) is timedelta:
        return value
    if type(value) is str:
        return parse_duration(value)
    raise no_overload("duration", value)


def _conversion(name: str, call: Callable[[Any], Any], returns_bool: bool = False) -> Function:
    return Function(
        name,
        call,
        function_arity=(1,),
        method_arity=(),
        returns_bool=returns_bool,
        literal=refusal(call),
    )


FUNCTIONS: Final = (
    Function("size", _size, function_arity=(1,), method_arity=(1,)),
    Function("type", _type, function_arity=(1,), method_arity=()),
    Function("dyn", _dyn, function_arity=(1,), method_arity=()),
    _conversion("string", _string),
    _conversion("int", _int),
    _conversion("uint", _uint),
    _conversion("double", _double),
    _conversion("bool", _bool, returns_bool=True),
    _conversion("bytes", _bytes),
    _conversion("timestamp", _timestamp),
    _conversion("duration", _duration),
)
"""The functions of this library."""
