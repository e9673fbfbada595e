"""`format`: text from a template and a list of values.

Source: the CEL strings extension.  Clauses: `%s` any value, `%d` integers, `%f` and `%e`
numbers, `%b` integers and bools, `%x` and `%X` integers, strings and bytes, `%o` integers, `%%`;
`%.3f` sets the number of fractional digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import COPY_PER_STEP, bound_list, bound_text, watched
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.functions.scalars import (
    bool_text,
    double_text,
    duration_text,
    int_text,
    timestamp_text,
)
from policyd.expr.cel.ordering import ordered
from policyd.expr.cel.values import NUMBERS, CelType, OptionalValue, UInt, no_overload
from policyd.expression import Budget

MAX_PRECISION: Final = 100
"""Fractional digits that a clause may ask for."""

MAX_DEPTH: Final = 200
"""How deep lists and maps of a `%s` may be nested."""

_DEFAULT_PRECISION: Final = 6
_INTEGERS: Final = frozenset({int, UInt})


class _Piece(NamedTuple):
    """Text that stands for itself, and the clause behind it (empty at the end)."""

    text: str
    clause: str
    precision: int


def _parse(template: str) -> list[_Piece]:
    """The pieces of *template*.  Raises EvaluationError for a clause that does not exist."""
    pieces: list[_Piece] = []
    text, at = "", 0
    while (percent := template.find("%", at)) >= 0:
        text += template[at:percent]
        clause, precision, at = _parse_clause(template, percent + 1)
        if clause == "%":
            text += "%"
            continue
        pieces.append(_Piece(text, clause, precision))
        text = ""
    pieces.append(_Piece(text + template[at:], "", 0))
    return pieces


def _parse_clause(template: str, at: int) -> tuple[str, int, int]:
    """The letter at *at*, its precision, and where the template goes on."""
    precision = _DEFAULT_PRECISION
    if template.startswith(".", at):
        start = at + 1
        at = start
        while template[at : at + 1] in _DECIMALS:
            at += 1
        if not 1 <= at - start <= 3 or int(template[start:at]) > MAX_PRECISION:
            raise EvaluationError(f"a precision in a format goes from 0 to {MAX_PRECISION}")
        precision = int(template[start:at])
    clause = template[at : at + 1]
    if clause not in _CLAUSES and clause != "%":
        raise EvaluationError("unknown clause in a format; known are %s %d %f %e %b %x %X %o %%")
    return clause, precision, at + 1


_DECIMALS: Final = frozenset("0123456789")


def _format(budget: Budget, template: Any, arguments: Any) -> str:
    if type(template) is not str or type(arguments) is not list:
        raise no_overload("format", template, arguments)
    budget.spend(1 + len(template))
    return _fill(budget, _parse(template), arguments)


def _fill(budget: Budget, pieces: list[_Piece], arguments: list[Any]) -> str:
    if len(arguments) < len(pieces) - 1:
        raise EvaluationError("the format has more clauses than values")
    out = _Output(budget)
    for number, piece in enumerate(pieces):
        out.add(piece.text)
        if piece.clause:
            _CLAUSES[piece.clause](out, arguments[number], piece.precision)
    return "".join(out.texts)


class _Output:
    """The text so far; pays for what is added and refuses what is too much."""

    __slots__ = ("budget", "length", "texts")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.texts: list[str] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        bound_text(self.length)
        self.budget.spend(1 + len(text) // COPY_PER_STEP)
        self.texts.append(text)


def _misfit(clause: str, value: Any) -> EvaluationError:
    return no_overload(f"%{clause}", value)


# Clauses


def _add_text(out: _Output, value: Any, precision: int, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise EvaluationError("the value is nested too deep to be formatted")
    if type(value) is list:
        _add_list(out, value, depth)
    elif type(value) is dict:
        _add_map(out, value, depth)
    else:
        out.add(_scalar_text(value))


def _add_list(out: _Output, value: list[Any], depth: int) -> None:
    out.add("[")
    for number, item in enumerate(value):
        if number:
            out.add(", ")
        _add_text(out, item, 0, depth + 1)
    out.add("]")


def _add_map(out: _Output, value: dict[Any, Any], depth: int) -> None:
    out.budget.spend(len(value))
    out.add("{")
    bound_list(len(value))
    texts = {key: _scalar_text(key) for key in watched(value, out.budget)}
    for number, key in enumerate(ordered([*texts], [*texts.values()], out.budget)):
        text = texts[key]
        out.add(f", {text}: " if number else f"{text}: ")
        _add_text(out, value[key], 0, depth + 1)
    out.add("}")


_SCALARS: Final[dict[type, Callable[[Any], str]]] = {
    str: lambda value: value,
    bool: bool_text,
    int: int_text,
    UInt: int_text,
    float: double_text,
    type(None): lambda value: "null",
    bytes: lambda value: value.decode("utf-8", "replace"),
    datetime: timestamp_text,
    timedelta: duration_text,
    CelType: lambda value: value.name,
}


def _scalar_text(value: Any) -> str:
    if type(value) is OptionalValue:
        raise _misfit("s", value)
    return _SCALARS.get(type(value), str)(value)


def _add_decimal(out: _Output, value: Any, precision: int) -> None:
    if type(value) is float and (not math.isfinite(value) or value.is_integer()):
        text = int_text(int(value)) if math.isfinite(value) else double_text(value)
    elif type(value) in _INTEGERS:
        text = int_text(value)
    else:
        raise _misfit("d", value)
    out.add(text)


def _add_double(clause: str) -> Callable[[_Output, Any, int], None]:
    def add(out: _Output, value: Any, precision: int) -> None:
        if type(value) not in NUMBERS:
            raise _misfit(clause, value)
        try:
            number = float(value)
        except OverflowError:
            raise EvaluationError("the number is too large for a double") from None
        finite = math.isfinite(number)
        out.add(f"{number:.{precision}{clause}}" if finite else double_text(number))

    return add


def _add_digits(clause: str) -> Callable[[_Output, Any, int], None]:
    """`%b` and `%o`, and `%x` and `%X` of a number."""

    def add(out: _Output, value: Any, precision: int) -> None:
        number = int(value) if type(value) is bool and clause == "b" else value
        if type(number) not in _INTEGERS:
            raise _misfit(clause, value)
        int_text(number)  # refuses what is too large
        out.add(format(int(number), clause))

    return add


def _add_hex(clause: str) -> Callable[[_Output, Any, int], None]:
    add_number = _add_digits(clause)

    def add(out: _Output, value: Any, precision: int) -> None:
        if type(value) not in (str, bytes):
            add_number(out, value, precision)
            return
        bound_text(2 * len(value))
        data = value.encode("utf-8", "surrogatepass") if type(value) is str else value
        out.add(data.hex() if clause == "x" else data.hex().upper())

    return add


_CLAUSES: Final[dict[str, Callable[[_Output, Any, int], None]]] = {
    "s": _add_text,
    "d": _add_decimal,
    "f": _add_double("f"),
    "e": _add_double("e"),
    "b": _add_digits("b"),
    "o": _add_digits("o"),
    "x": _add_hex("x"),
    "X": _add_hex("X"),
}


# At load


def _check(arguments: tuple[Any, ...]) -> str | None:
    template, values = arguments
    if type(template) is not str:
        return None
    try:
        pieces = _parse(template)
    except EvaluationError as error:
        return error.reason
    if type(values) is list and len(values) < len(pieces) - 1:
        return "the format has more clauses than values"
    return None


def _specialise(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    template, values = arguments
    if type(template) is not str or values is not NOT_LITERAL or _check(arguments) is not None:
        return None
    pieces = _parse(template)

    def call(budget: Budget, values: Any) -> str:
        if type(values) is not list:
            raise no_overload("format", template, values)
        return _fill(budget, pieces, values)

    return call


FUNCTIONS: Final = (
    Function(
        "format",
        _format,
        (),
        (2,),
        literal=_check,
        budgeted=True,
        specialise=_specialise,
    ),
)
"""The functions of this library."""
