"""`matches` and regex.*: texts and patterns.

Knows what to do with the matches of a pattern; the patterns themselves are RE2's.  Sources: CEL
language definition, and the CEL regex extension.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import (
    COPY_PER_STEP,
    FREE_WORK,
    begin_work,
    bound_list,
    bound_text,
    charge_copy,
)
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.functions.arguments import texts, whole
from policyd.expr.cel.values import NONE, OptionalValue, no_overload
from policyd.expression import Budget, Flaw
from policyd.pattern import Match, Pattern, compile_pattern

MAX_PATTERN: Final = 10_000
"""Code points that a pattern may have."""

_TOO_LONG: Final = f"the pattern has more than {MAX_PATTERN} characters"
_COST: Final = 100  # steps; a pattern that is not a literal may have to be compiled

_MATCH_COST: Final = 8  # steps; a match takes some microseconds


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Pattern | Flaw:
    return compile_pattern(text)


def _pattern(budget: Budget, name: str, text: Any, pattern: Any) -> Pattern:
    """The compiled *pattern*, for *text*; pays for both."""
    texts(name, text, pattern)
    if len(pattern) > MAX_PATTERN:
        raise EvaluationError(_TOO_LONG)
    budget.spend(_COST + len(pattern))
    compiled = _compiled(pattern)
    if isinstance(compiled, Flaw):
        raise EvaluationError("the text is not a pattern")
    return compiled


def _matches(budget: Budget, text: Any, pattern: Any) -> bool:
    return _search(_pattern(budget, "matches", text, pattern))(budget, text)


def _search(pattern: Pattern) -> Callable[..., bool]:
    search = pattern.search

    def found(budget: Budget, text: Any) -> bool:
        if type(text) is not str:
            raise no_overload("matches", text, "")
        if len(text) <= FREE_WORK:
            charge_copy(len(text), budget)
            return search(text)
        return _is_in_stretch(budget, pattern, text) or search(text)

    return found


def _is_in_stretch(budget: Budget, pattern: Pattern, text: str, until: bool = True) -> bool:
    """Search *text* in stretches; refuse where a search of the whole would take too long.

    Few patterns are slow, and those only on some texts; but a search cannot be interrupted.
    With *until* the first match ends it.
    """
    charge_copy(len(text), budget)
    started = time.monotonic()
    for found in pattern.stretches(text):
        budget.spend(0)
        if found and until:
            return True
    begin_work(time.monotonic() - started, budget)
    return False


def _check_pattern(arguments: tuple[Any, ...]) -> str | None:
    if type(arguments[1]) is not str:
        return None
    if len(arguments[1]) > MAX_PATTERN:
        return _TOO_LONG
    flaw = compile_pattern(arguments[1])
    if not isinstance(flaw, Flaw):
        return None
    return flaw.text if flaw.help is None else f"{flaw.text}; {flaw.help}"


def _check_one_group(arguments: tuple[Any, ...]) -> str | None:
    text = _check_pattern(arguments)
    if text is None and type(arguments[1]) is str:
        pattern = compile_pattern(arguments[1])
        return _too_many_groups(pattern) if isinstance(pattern, Pattern) else None
    return text


def _too_many_groups(pattern: Pattern) -> str | None:
    return None if pattern.groups <= 1 else "the pattern has more than one group; write `(?:...)`"


def _specialise_matches(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    text, pattern = arguments
    if text is not NOT_LITERAL or type(pattern) is not str or len(pattern) > MAX_PATTERN:
        return None
    compiled = compile_pattern(pattern)
    return None if isinstance(compiled, Flaw) else _search(compiled)


# regex.*


def _found(budget: Budget, pattern: Pattern, text: str) -> Iterator[Match]:
    """The matches, each paid for."""
    if len(text) > FREE_WORK:
        _is_in_stretch(budget, pattern, text, until=False)
    at = 0
    for match in pattern.iter_groups(text):
        budget.spend(_MATCH_COST + (match.end - at) // COPY_PER_STEP)
        at = match.end
        yield match


def _one_group(budget: Budget, name: str, text: Any, pattern: Any) -> Pattern:
    compiled = _pattern(budget, name, text, pattern)
    refusal = _too_many_groups(compiled)
    if refusal is not None:
        raise EvaluationError(refusal)
    return compiled


def _extract(budget: Budget, text: Any, pattern: Any) -> OptionalValue:
    compiled = _one_group(budget, "regex.extract", text, pattern)
    match = next(_found(budget, compiled, text), None)
    return NONE if match is None else OptionalValue(match.groups[-1])


def _extract_all(budget: Budget, text: Any, pattern: Any) -> list[str]:
    compiled = _one_group(budget, "regex.extractAll", text, pattern)
    found: list[str] = []
    for match in _found(budget, compiled, text):
        if match.groups[-1] or not compiled.groups:
            found.append(match.groups[-1])
            bound_list(len(found))
    return found


def _replace(budget: Budget, text: Any, pattern: Any, new: Any, limit: Any = -1) -> str:
    texts("regex.replace", text, pattern, new)
    compiled = _pattern(budget, "regex.replace", text, pattern)
    pieces = _pieces(new, compiled.groups)
    most = whole("regex.replace", limit)
    made: list[str] = []
    at = length = 0
    for count, match in enumerate(_found(budget, compiled, text) if most else ()):
        if count == most:
            break
        filled = [match.groups[piece] if type(piece) is int else piece for piece in pieces]
        made += [text[at : match.start], *filled]
        length += match.start - at + sum(map(len, filled))
        bound_text(length)
        at = match.end
    bound_text(length + len(text) - at)
    return "".join([*made, text[at:]])


def _pieces(new: str, groups: int) -> list[Any]:
    """What is put for a match: texts, and the numbers of groups."""
    pieces: list[Any] = []
    at = 0
    for escape in _ESCAPE.finditer(new):
        pieces.append(new[at : escape.start()])
        pieces.append(_escaped(escape[1], groups))
        at = escape.end()
    return [*pieces, new[at:]]


def _escaped(char: str, groups: int) -> str | int:
    if char == "\\":
        return char
    if char not in _DIGITS:
        raise EvaluationError("a backslash in a replacement stands before a digit or another")
    if int(char) > groups:
        raise EvaluationError("the replacement names a group that the pattern does not have")
    return int(char)


_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_DIGITS: Final = frozenset("0123456789")


FUNCTIONS: Final = (
    Function(
        "matches",
        _matches,
        (2,),
        (2,),
        returns_bool=True,
        literal=_check_pattern,
        budgeted=True,
        specialise=_specialise_matches,
    ),
    Function("regex.extract", _extract, (2,), (), literal=_check_one_group, budgeted=True),
    Function("regex.extractAll", _extract_all, (2,), (), literal=_check_one_group, budgeted=True),
    Function("regex.replace", _replace, (3, 4), (), literal=_check_pattern, budgeted=True),
)
"""The functions of this library."""
