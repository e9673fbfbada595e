"""What the function libraries share: how arguments are checked and results are bounded.

Knows no function.  One finer row above the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policyd.errors import EvaluationError
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.values import NUMBERS, no_overload


def whole(name: str, value: Any) -> int:
    """A number that counts or indexes: an int, an uint, or a double without fraction.

    JSON does not tell `1` from `1.0`, so neither does an index.
    """
    if type(value) in NUMBERS and value == value // 1 and abs(value) <= 2**63:
        return int(value)
    raise no_overload(name, value)


def texts(name: str, *values: Any) -> None:
    """Raise EvaluationError unless all *values* are strings."""
    for value in values:
        if type(value) is not str:
            raise no_overload(name, *values)


def refusal(call: Callable[..., Any]) -> Callable[[tuple[Any, ...]], str | None]:
    """A load-time check: where all arguments are literals, what *call* has against them."""

    def check(arguments: tuple[Any, ...]) -> str | None:
        if any(argument is NOT_LITERAL for argument in arguments):
            return None
        try:
            call(*arguments)
        except EvaluationError as error:
            return error.reason
        return None

    return check
