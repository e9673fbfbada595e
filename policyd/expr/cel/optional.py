"""Optionals: what is done with a value that may be missing.

Knows what holds a value and what does not, and that a wrong type is an error.  Selection from
optionals is with the other selections, in `operators`.  Source: the CEL optionals extension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policyd.errors import EvaluationError
from policyd.expr.cel.values import MISSING, NONE, OptionalValue, described


def checked(name: str, value: Any) -> OptionalValue:
    """*value* itself where it is an optional.  Raises EvaluationError for anything else.

    name: of the function that needs it.
    """
    if type(value) is OptionalValue:
        return value
    raise EvaluationError(f"`{name}` needs an optional, not {described(value)}")


def present(value: Any) -> tuple[Any, ...]:
    """What `?value` adds to a list: nothing where it is empty."""
    held = checked("?", value).value
    return () if held is MISSING else (held,)


def present_entry(key: Any, value: Any) -> tuple[tuple[Any, Any], ...]:
    """What `?key: value` adds to a map: nothing where the value is empty."""
    return tuple([(key, held) for held in present(value)])


def mapped(value: Any, change: Callable[[Any], Any]) -> OptionalValue:
    """`value.optMap(x, change)`."""
    held = checked("optMap", value).value
    return NONE if held is MISSING else OptionalValue(change(held))


def flat_mapped(value: Any, change: Callable[[Any], Any]) -> OptionalValue:
    """`value.optFlatMap(x, change)`."""
    held = checked("optFlatMap", value).value
    return NONE if held is MISSING else checked("optFlatMap", change(held))


def or_value(value: Any, otherwise: Callable[[], Any]) -> Any:
    """`value.orValue(otherwise)`."""
    held = checked("orValue", value).value
    return otherwise() if held is MISSING else held


def or_optional(value: Any, otherwise: Callable[[], Any]) -> OptionalValue:
    """`value.or(otherwise)`."""
    if checked("or", value).value is MISSING:
        return checked("or", otherwise())
    return value  # type: ignore[no-any-return]
