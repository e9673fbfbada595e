"""glob, json and detect: what policies ask of a text as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NoReturn

from policyd.detectors import DETECTORS, GROUPS, Scanner, scanner
from policyd.diagnostics import did_you_mean
from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import MAX_LIST, MAX_TEXT, begin, bound_list, charge_copy
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.functions.arguments import texts
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget
from policyd.pattern import MAX_GLOB, compile_glob

MAX_JSON_DEPTH: Final = 64
"""How deep lists and maps in a text given to `json` may be nested."""

_SCAN_PER_STEP: Final = 64  # characters that detectors scan in about the time of one step

# characters a second in the worst case that was measured, on a busy machine
_JSON_RATE: Final = 5_000_000
_SCAN_RATE: Final = 8_000_000
_MARK_RATE: Final = 20_000_000  # of a text, times the `?` of the glob

# glob


@lru_cache(maxsize=1024)
def _compiled_glob(pattern: str) -> Callable[[str], bool]:
    return compile_glob(pattern)


def _glob(budget: Budget, text: Any, pattern: Any) -> bool:
    texts("glob", text, pattern)
    if len(pattern) > MAX_GLOB:
        raise EvaluationError(f"the glob has more than {MAX_GLOB} characters")
    budget.spend(1 + len(pattern))
    return _glob_test(pattern)(budget, text)


def _glob_test(pattern: str) -> Callable[..., bool]:
    matches, marks = _compiled_glob(pattern), pattern.count("?")

    def test(budget: Budget, text: Any) -> bool:
        if type(text) is not str:
            raise no_overload("glob", text, "")
        charge_copy(len(text), budget)
        begin(len(text) * marks, _MARK_RATE, budget)
        return matches(text)

    return test


def _check_glob(arguments: tuple[Any, ...]) -> str | None:
    pattern = arguments[1]
    if type(pattern) is str and len(pattern) > MAX_GLOB:
        return f"the glob has more than {MAX_GLOB} characters"
    return None


def _specialise_glob(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    text, pattern = arguments
    if text is not NOT_LITERAL or type(pattern) is not str or len(pattern) > MAX_GLOB:
        return None
    return _glob_test(pattern)


# json


class _NotStrict(ValueError):
    """JSON that two readers may read differently."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _NotStrict
    return members


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NotStrict
    return number


def _constant(text: str) -> NoReturn:
    raise _NotStrict  # NaN and the infinities


def _json(budget: Budget, text: Any) -> Any:
    if type(text) is not str:
        raise no_overload("json", text)
    if len(text) > MAX_TEXT:
        raise EvaluationError(f"the JSON text has more than {MAX_TEXT} characters")
    budget.spend(1 + len(text) // 8)
    begin(len(text), _JSON_RATE, budget)
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_float=_number, parse_constant=_constant
        )
    except (ValueError, RecursionError):
        raise EvaluationError("the text is not JSON, or not unambiguous") from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH or len(text) > MAX_LIST:
        _check_shape(value)
    return value


def _check_shape(value: Any) -> None:
    """Refuse *value* where it is nested too deep or has too long a list."""
    level, depth = [value], 0
    while level:
        containers = [item for item in level if type(item) in (list, dict)]
        if containers and depth == MAX_JSON_DEPTH:
            raise EvaluationError(f"the JSON text is nested deeper than {MAX_JSON_DEPTH}")
        level, depth = [], depth + 1
        for container in containers:
            bound_list(len(container))
            level += container if type(container) is list else container.values()


# detect


def _scanner(name: Any) -> Scanner:
    """The scanner for a detector or a group.  Raises EvaluationError where there is none."""
    try:
        return scanner((name,))
    except KeyError:
        raise EvaluationError("no such detector or group") from None


def _detect(budget: Budget, value: Any, name: Any) -> bool:
    if type(name) is not str:
        raise no_overload("detect", value, name)
    return _detection(_scanner(name))(budget, value)


def _detection(detectors: Scanner) -> Callable[..., bool]:
    def test(budget: Budget, value: Any) -> bool:
        if type(value) not in (str, list, dict):
            raise no_overload("detect", value, "")
        return any(map(detectors.found, _texts_in(value, budget)))

    return test


def _texts_in(value: Any, budget: Budget) -> Iterator[str]:
    """All strings of *value*, keys of maps among them; pays for each before it is scanned."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if type(value) is str:
            budget.spend(1 + len(value) // _SCAN_PER_STEP)
            begin(len(value), _SCAN_RATE, budget)
            yield value
        elif type(value) is list:
            waiting += value
        elif type(value) is dict:
            waiting += value.values()
            waiting += value


def _check_detect(arguments: tuple[Any, ...]) -> str | None:
    name = arguments[1]
    if type(name) is not str or name in DETECTORS or name in GROUPS:
        return None
    meant = did_you_mean(name, (*GROUPS, *DETECTORS))
    groups = "groups: " + ", ".join(f"`{group}`" for group in GROUPS)
    return f"no detector or group `{name}`; {meant or groups}"


def _specialise_detect(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    value, name = arguments
    if value is not NOT_LITERAL or type(name) is not str or _check_detect(arguments) is not None:
        return None
    return _detection(_scanner(name))


FUNCTIONS: Final = (
    Function(
        "glob",
        _glob,
        (2,),
        (),
        returns_bool=True,
        literal=_check_glob,
        budgeted=True,
        specialise=_specialise_glob,
    ),
    Function("json", _json, (1,), (), budgeted=True),
    Function(
        "detect",
        _detect,
        (2,),
        (),
        returns_bool=True,
        literal=_check_detect,
        budgeted=True,
        specialise=_specialise_detect,
    ),
)
"""The functions of this library."""
