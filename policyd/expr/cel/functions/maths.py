"""math.*: numbers compared, rounded and taken apart into bits.

Source: the CEL math extension.  Where that takes only doubles (`math.ceil` and the like), ints
are taken too, because JSON does not tell `3` from `3.0`; the result is a double all the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import watched
from policyd.expr.cel.function import Function
from policyd.expr.cel.values import (
    INT_MAX,
    NUMBERS,
    UINT_MAX,
    UInt,
    checked_int,
    greater,
    less,
    no_overload,
)
from policyd.expression import Budget

_MAX_ARGUMENTS: Final = 16
_INTEGERS: Final = frozenset({int, UInt})


def _extreme(name: str, better: Callable[[Any, Any], bool]) -> Function:
    def call(budget: Budget, *arguments: Any) -> Any:
        numbers: Sequence[Any] = arguments
        if len(arguments) == 1 and type(arguments[0]) is list:
            numbers = arguments[0]
            budget.spend(len(numbers))
        if not numbers:
            raise EvaluationError(f"`{name}` needs at least one number")
        best = numbers[0]
        for number in watched(numbers, budget):
            if type(number) not in NUMBERS:
                raise no_overload(name, *arguments)
            if better(number, best):
                best = number
        return best

    return Function(name, call, tuple(range(1, _MAX_ARGUMENTS + 1)), (), budgeted=True)


def _double(name: str, value: Any) -> float:
    """A number as double.  Raises EvaluationError for anything else."""
    if type(value) not in NUMBERS:
        raise no_overload(name, value)
    try:
        return float(value)
    except OverflowError:
        raise EvaluationError("the number is too large for a double") from None


def _rounding(name: str, whole: Callable[[float], int]) -> Function:
    def call(value: Any) -> float:
        number = _double(name, value)
        if not math.isfinite(number):
            return number
        return math.copysign(float(whole(number)), number)

    return Function(name, call, (1,), ())


def _half_away_from_zero(number: float) -> int:
    cut = math.trunc(number)
    if abs(number - cut) < 0.5:
        return cut
    return cut + (1 if number > 0 else -1)


def _question(name: str, ask: Callable[[float], bool]) -> Function:
    def call(value: Any) -> bool:
        return ask(_double(name, value))

    return Function(name, call, (1,), (), returns_bool=True)


def _abs(value: Any) -> Any:
    if type(value) is int:
        return checked_int(abs(value))
    if type(value) not in NUMBERS:
        raise no_overload("math.abs", value)
    return UInt(value) if type(value) is UInt else abs(value)


def _sign(value: Any) -> Any:
    if type(value) not in NUMBERS:
        raise no_overload("math.sign", value)
    if value != value:
        return value
    return type(value)((value > 0) - (value < 0))


def _sqrt(value: Any) -> float:
    number = _double("math.sqrt", value)
    return math.sqrt(number) if number >= 0 else math.nan


# Bits: int is a 64-bit two's complement number, uint 64 plain bits


def _from_bits(bits: int, kind: type) -> int:
    bits &= UINT_MAX
    if kind is UInt:
        return UInt(bits)
    return bits if bits <= INT_MAX else bits - UINT_MAX - 1


def _bitwise(name: str, combine: Callable[[int, int], int]) -> Function:
    def call(left: Any, right: Any) -> int:
        if type(left) is not type(right) or type(left) not in _INTEGERS:
            raise no_overload(name, left, right)
        return _from_bits(combine(int(left), int(right)), type(left))

    return Function(name, call, (2,), ())


def _bit_not(value: Any) -> int:
    if type(value) not in _INTEGERS:
        raise no_overload("math.bitNot", value)
    return _from_bits(~int(value), type(value))


def _shift(name: str, shift: Callable[[int, int], int]) -> Function:
    def call(value: Any, by: Any) -> int:
        if type(value) not in _INTEGERS or type(by) is not int:
            raise no_overload(name, value, by)
        if by < 0:
            raise EvaluationError(f"`{name}` does not take a negative number of bits")
        return _from_bits(shift(int(value) & UINT_MAX, min(by, 64)), type(value))

    return Function(name, call, (2,), ())


FUNCTIONS: Final = (
    _extreme("math.greatest", greater),
    _extreme("math.least", less),
    _rounding("math.ceil", math.ceil),
    _rounding("math.floor", math.floor),
    _rounding("math.round", _half_away_from_zero),
    _rounding("math.trunc", math.trunc),
    Function("math.abs", _abs, (1,), ()),
    Function("math.sign", _sign, (1,), ()),
    Function("math.sqrt", _sqrt, (1,), ()),
    _question("math.isInf", math.isinf),
    _question("math.isNaN", math.isnan),
    _question("math.isFinite", math.isfinite),
    _bitwise("math.bitAnd", operator.and_),
    _bitwise("math.bitOr", operator.or_),
    _bitwise("math.bitXor", operator.xor),
    Function("math.bitNot", _bit_not, (1,), ()),
    _shift("math.bitShiftLeft", operator.lshift),
    _shift("math.bitShiftRight", operator.rshift),
)
"""The functions of this library."""
