"""Functions of strings, but for `format` and patterns, and `contains` and `reverse`, which others
share.

Offsets count code points.  Source: CEL language definition and the CEL strings extension;
`lowerAscii`, `trim` and the like do exactly what they say and leave other characters alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import bound_list, bound_text, charge_copy, watched
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.arguments import texts, whole
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget

_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_QUOTED: Final = (
    ("\\", r"\\"),
    ("\a", r"\a"),
    ("\b", r"\b"),
    ("\f", r"\f"),
    ("\n", r"\n"),
    ("\r", r"\r"),
    ("\t", r"\t"),
    ("\v", r"\v"),
    ('"', r"\""),
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


# Tests


def _starts_with(text: Any, prefix: Any) -> bool:
    if type(text) is str and type(prefix) is str:
        return text.startswith(prefix)
    raise no_overload("startsWith", text, prefix)


def _ends_with(text: Any, suffix: Any) -> bool:
    if type(text) is str and type(suffix) is str:
        return text.endswith(suffix)
    raise no_overload("endsWith", text, suffix)


# Parts


def _position(name: str, text: str, offset: Any) -> int:
    at = whole(name, offset)
    if not 0 <= at <= len(text):
        raise EvaluationError(f"`{name}`: the index is outside of the string")
    return at


def _char_at(text: Any, index: Any) -> str:
    if type(text) is not str:
        raise no_overload("charAt", text, index)
    at = _position("charAt", text, index)
    return text[at : at + 1]


def _index_of(budget: Budget, text: Any, part: Any, offset: Any = 0) -> int:
    texts("indexOf", text, part)
    charge_copy(len(text), budget)
    return text.find(part, _position("indexOf", text, offset))  # type: ignore[no-any-return]


def _last_index_of(budget: Budget, text: Any, part: Any, offset: Any = None) -> int:
    texts("lastIndexOf", text, part)
    charge_copy(len(text), budget)
    last = len(text) if offset is None else _position("lastIndexOf", text, offset)
    return text.rfind(part, 0, last + len(part))  # type: ignore[no-any-return]


def _substring(budget: Budget, text: Any, start: Any, end: Any = None) -> str:
    texts("substring", text)
    first = _position("substring", text, start)
    last = len(text) if end is None else _position("substring", text, end)
    if first > last:
        raise EvaluationError("`substring`: the start is behind the end")
    bound_text(last - first)
    charge_copy(last - first, budget)
    return text[first:last]  # type: ignore[no-any-return]


def _split(budget: Budget, text: Any, separator: Any, limit: Any = -1) -> list[str]:
    texts("split", text, separator)
    pieces = whole("split", limit)
    if pieces == 0:
        return []
    count = text.count(separator) if separator else max(len(text) - 1, 0)
    count = count + 1 if pieces < 0 else min(count + 1, pieces)
    bound_list(count)
    budget.spend(count)
    charge_copy(len(text), budget)
    if separator:
        return text.split(separator, count - 1)  # type: ignore[no-any-return]
    return [*text[: count - 1], text[count - 1 :]]


# New strings


def _join(budget: Budget, pieces: Any, separator: Any = "") -> str:
    if type(pieces) is not list or type(separator) is not str:
        raise no_overload("join", pieces, separator)
    budget.spend(len(pieces))
    length = len(separator) * max(len(pieces) - 1, 0)
    for piece in watched(pieces, budget):
        texts("join", piece)
        length += len(piece)
    bound_text(length)
    charge_copy(length, budget)
    return separator.join(pieces)


def _replace(budget: Budget, text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    texts("replace", text, old, new)
    most = whole("replace", limit)
    charge_copy(len(text), budget)
    count = text.count(old) if most < 0 else min(text.count(old), most)
    length = len(text) + count * (len(new) - len(old))
    bound_text(length)
    charge_copy(length, budget)
    return text.replace(old, new, count)  # type: ignore[no-any-return]


def _mapped(name: str, change: Callable[[str], str], growth: int = 1) -> Callable[..., str]:
    """A function that changes a string, to one at most *growth* times as long."""

    def call(budget: Budget, text: Any) -> str:
        if type(text) is not str:
            raise no_overload(name, text)
        bound_text(len(text) * growth)
        charge_copy(len(text), budget)
        return change(text)

    return call


def _lower(text: str) -> str:
    # of bytes, Python knows no other letters than those of ASCII
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _upper(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").upper().decode("utf-8", "surrogatepass")


def _trim(text: str) -> str:
    return text.strip(_WHITE_SPACE)


def _quote(text: str) -> str:
    for plain, quoted in _QUOTED:
        text = text.replace(plain, quoted)
    text = _SURROGATE.sub("\ufffd", text)
    return f'"{text}"'


FUNCTIONS: Final = (
    Function("startsWith", _starts_with, (), (2,), returns_bool=True),
    Function("endsWith", _ends_with, (), (2,), returns_bool=True),
    Function("charAt", _char_at, (), (2,)),
    Function("indexOf", _index_of, (), (2, 3), budgeted=True),
    Function("lastIndexOf", _last_index_of, (), (2, 3), budgeted=True),
    Function("substring", _substring, (), (2, 3), budgeted=True),
    Function("split", _split, (), (2, 3), budgeted=True),
    Function("join", _join, (), (1, 2), budgeted=True),
    Function("replace", _replace, (), (3, 4), budgeted=True),
    Function("lowerAscii", _mapped("lowerAscii", _lower), (), (1,), budgeted=True),
    Function("upperAscii", _mapped("upperAscii", _upper), (), (1,), budgeted=True),
    Function("trim", _mapped("trim", _trim), (), (1,), budgeted=True),
    Function("strings.quote", _mapped("strings.quote", _quote, 2), (1,), (), budgeted=True),
)
"""The functions of this library."""
