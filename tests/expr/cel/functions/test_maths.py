from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("greatest", (3,), 3),
        ("greatest", (1, 2.5, UInt(2)), 2.5),
        ("greatest", ([1, 2.5],), 2.5),
        ("greatest", (1, 1.0), 1),
        ("least", (5.4, 10, UInt(3), -5.0), -5.0),
        ("least", (UInt(1), 1), UInt(1)),
        ("ceil", (1.2,), 2.0),
        ("ceil", (-0.5,), -0.0),
        ("ceil", (3,), 3.0),
        ("floor", (-1.2,), -2.0),
        ("floor", (math.inf,), math.inf),
        ("round", (1.5,), 2.0),
        ("round", (-1.5,), -2.0),
        ("round", (2.5,), 3.0),
        ("round", (0.49999999999999994,), 0.0),
        ("round", (4503599627370497.0,), 4503599627370497.0),
        ("trunc", (-1.9,), -1.0),
        ("abs", (-11,), 11),
        ("abs", (-1.5,), 1.5),
        ("abs", (UInt(1),), UInt(1)),
        ("sign", (-11,), -1),
        ("sign", (0.0,), 0.0),
        ("sign", (UInt(5),), UInt(1)),
        ("sqrt", (4,), 2.0),
        ("isInf", (-math.inf,), True),
        ("isInf", (1,), False),
        ("isNaN", (math.nan,), True),
        ("isFinite", (1.5,), True),
        ("isFinite", (math.nan,), False),
        ("bitAnd", (-1, 3), 3),
        ("bitOr", (4, -2), -2),
        ("bitXor", (UInt(1), UInt(3)), UInt(2)),
        ("bitNot", (1,), -2),
        ("bitNot", (UInt(0),), UInt(UINT_MAX)),
        ("bitShiftLeft", (1, 63), INT_MIN),
        ("bitShiftLeft", (1, 10**30), 0),
        ("bitShiftLeft", (UInt(3), 63), UInt(2**63)),
        ("bitShiftRight", (-1, 1), INT_MAX),
        ("bitShiftRight", (-1, 0), -1),
        ("bitShiftRight", (-1, 64), 0),
    ],
)
def test_a_function_of_numbers(
    call: Call, name: str, arguments: tuple[Any, ...], value: Any
) -> None:
    result = call(f"math.{name}", *arguments)
    assert (type(result), repr(result)) == (type(value), repr(value))


@pytest.mark.parametrize("name", ["ceil", "floor", "round", "trunc", "sign", "sqrt"])
def test_nan_stays_nan(call: Call, name: str) -> None:
    assert math.isnan(call(f"math.{name}", math.nan))


def test_the_root_of_a_negative_number_is_nan(call: Call) -> None:
    assert math.isnan(call("math.sqrt", -1))


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("greatest", ([],), "`math.greatest` needs at least one number"),
        ("greatest", (1, "a"), "`math.greatest` does not take int and string"),
        ("greatest", (True,), "`math.greatest` does not take bool"),
        ("least", (["a"],), "`math.least` does not take list"),
        ("ceil", ("1",), "`math.ceil` does not take string"),
        ("ceil", (True,), "`math.ceil` does not take bool"),
        ("floor", (10**400,), "the number is too large for a double"),
        ("isNaN", (True,), "`math.isNaN` does not take bool"),
        ("abs", (INT_MIN,), "integer overflow"),
        ("abs", ("1",), "`math.abs` does not take string"),
        ("sign", (True,), "`math.sign` does not take bool"),
        ("bitAnd", (1, UInt(1)), "`math.bitAnd` does not take int and uint"),
        ("bitOr", (1.0, 1.0), "`math.bitOr` does not take double and double"),
        ("bitNot", (True,), "`math.bitNot` does not take bool"),
        ("bitShiftLeft", (1, -1), "`math.bitShiftLeft` does not take a negative number of bits"),
        ("bitShiftRight", (1, 1.0), "`math.bitShiftRight` does not take int and double"),
        ("bitShiftRight", (b"1", 1), "`math.bitShiftRight` does not take bytes and int"),
    ],
)
def test_a_function_of_numbers_refuses(
    refuse: Call, name: str, arguments: tuple[Any, ...], reason: str
) -> None:
    assert refuse(f"math.{name}", *arguments) == reason


@given(st.floats())
def test_rounding_never_moves_a_number_by_more_than_a_half(number: float) -> None:
    rounded = FUNCTIONS["math.round"].call(number)
    if math.isfinite(number):
        assert rounded.is_integer()
        assert abs(rounded - number) <= 0.5


@given(st.integers(INT_MIN, INT_MAX), st.integers(INT_MIN, INT_MAX))
def test_bits_of_ints_are_those_of_python(left: int, right: int) -> None:
    assert FUNCTIONS["math.bitAnd"].call(left, right) == left & right
    assert FUNCTIONS["math.bitOr"].call(left, right) == left | right
    assert FUNCTIONS["math.bitXor"].call(left, right) == left ^ right
    assert FUNCTIONS["math.bitNot"].call(left) == ~left
