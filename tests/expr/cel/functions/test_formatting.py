from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.functions.addresses import parse_ip
from policyd.expr.cel.values import CelType, UInt

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("nothing", [], "nothing"),
        ("%%%s%% of %d", ["x", 5], "%x% of 5"),
        ("%s", ["a", "left over"], "a"),
        ("%s %s %s %s", [None, True, 1.5, UInt(7)], "null true 1.5 7"),
        ("%s", [b"x\xffz"], "x\ufffdz"),
        ("%s", [datetime(2026, 1, 31, tzinfo=UTC)], "2026-01-31T00:00:00Z"),
        ("%s", [timedelta(hours=2)], "7200s"),
        ("%s", [CelType("int")], "int"),
        ("%s", [parse_ip("10.0.0.1")], "10.0.0.1"),
        ("%s", [["a", [1, 2.5], {}]], "[a, [1, 2.5], {}]"),
        ("%s", [{"b": 1, "a": [True], 3: None}], "{3: null, a: [true], b: 1}"),
        ("%d %d %d", [-5, UInt(5), 2.0], "-5 5 2"),
        ("%d %d", [math.nan, -math.inf], "NaN -Infinity"),
        ("%f %.0f %.3f", [2, 2.5, 1.2345], "2.000000 2 1.234"),
        ("%e %.2e", [2.71828, UInt(1234)], "2.718280e+00 1.23e+03"),
        ("%f %e", [math.inf, math.nan], "Infinity NaN"),
        ("%b %b %b", [5, True, -5], "101 1 -101"),
        ("%o %x %X", [11, 30, UInt(30)], "13 1e 1E"),
        ("%x %X %x", ["Hi", b"\xff", "é"], "4869 FF c3a9"),
        ("%.100f", [0.5], "0.5" + "0" * 99),
    ],
)
def test_format_fills_a_template(call: Call, template: str, values: list[Any], text: str) -> None:
    assert call("format", template, values) == text


KNOWN = "unknown clause in a format; known are %s %d %f %e %b %x %X %o %%"
PRECISION = "a precision in a format goes from 0 to 100"


@pytest.mark.parametrize(
    ("template", "values", "reason"),
    [
        ("%a", [1], KNOWN),
        ("%5d", [1], KNOWN),
        ("%", [1], KNOWN),
        ("%.3", [1], KNOWN),
        ("%.f", [1.5], PRECISION),
        ("%.101f", [1.5], PRECISION),
        ("%.0001f", [1.5], PRECISION),
        ("%d %d", [1], "the format has more clauses than values"),
        ("%d", ["1"], "`%d` does not take string"),
        ("%d", [1.5], "`%d` does not take double"),
        ("%d", [True], "`%d` does not take bool"),
        ("%f", [None], "`%f` does not take null"),
        ("%e", [10**400], "the number is too large for a double"),
        ("%b", ["1"], "`%b` does not take string"),
        ("%o", [True], "`%o` does not take bool"),
        ("%x", [0.5], "`%x` does not take double"),
        ("%s", [10**2000], "the number is too large"),
        ("%x", [10**2000], "the number is too large"),
        (1, [], "`format` does not take int and list"),
        ("%s", "a", "`format` does not take string and string"),
    ],
)
def test_format_refuses(refuse: Call, template: Any, values: Any, reason: str) -> None:
    assert refuse("format", template, values) == reason


def test_what_is_nested_too_deep_is_not_formatted(refuse: Call) -> None:
    value: list[Any] = []
    for _ in range(201):
        value = [value]
    reason = "the value is nested too deep to be formatted"
    assert refuse("format", "%s", [value]) == reason


def test_a_literal_template_is_checked_at_load() -> None:
    check = FUNCTIONS["format"].literal
    assert check is not None
    assert check(("%q", NOT_LITERAL)) == KNOWN
    assert check(("%s %s", ["a"])) == "the format has more clauses than values"
    assert check(("%s", ["a"])) is None
    assert check((NOT_LITERAL, ["a"])) is None


def test_a_bad_template_is_not_specialised() -> None:
    specialise = FUNCTIONS["format"].specialise
    assert specialise is not None
    assert specialise(("%q", NOT_LITERAL)) is None
