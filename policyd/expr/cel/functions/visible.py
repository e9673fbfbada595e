"""`normalize`: text as a reader sees it.

Knows Unicode: compatibility forms, characters that show nothing, and characters that look like
a space or a dash.  Knows no spelling of words: look-alike letters of other scripts stay.
Sources: UAX #15 (NFKC, and the stream-safe limit on combining marks), UAX #44
(Default_Ignorable_Code_Point), ECMA-48 (escape sequences).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from policyd.expr.cel.bounds import COPY_PER_STEP, begin, bound_text
from policyd.expr.cel.function import Function
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget
from policyd.pattern import Pattern, compile_pattern

MAX_MARKS: Final = 30
"""Combining marks in a row that are kept.

NFKC takes quadratic time for a long row: measured, 3 s for 64,000 marks.
"""


def _compiled(text: str) -> Pattern:
    compiled = compile_pattern(text)
    assert isinstance(compiled, Pattern), compiled
    return compiled


_COLOURS: Final = _compiled(r"(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]")
"""Control sequences: colours and cursors.

Of other escape sequences only the control characters go: what a terminal would hide, such as a
title, a model reads, so a rule must see it.
"""

_MARKS: Final = _compiled(r"\pM{2,}")

_INVISIBLE: Final = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian selectors and separator
        (0x2065, 0x2065),
        (0x2800, 0x2800),  # Braille blank
        (0x3164, 0x3164),  # Hangul filler
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),  # half-width Hangul filler
        (0xFFF0, 0xFFF8),
        (0xE0000, 0xE0FFF),  # tags, more variation selectors
    )
    for code in range(first, last + 1)
)
_DASHES: Final = frozenset("\u2043\u2212\u2796")  # beside those of category Pd
_KEPT: Final = frozenset("\t\n\r")
_ASCII_CONTROLS: Final = frozenset(map(chr, (*range(32), 127))) - _KEPT


class _Folding(dict[int, str]):
    """What each character becomes; filled in as characters are met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded(chr(code))
        return folded


def _folded(char: str) -> str:
    category = unicodedata.category(char)
    if char in _KEPT:
        return char
    if char in _INVISIBLE or category in ("Cc", "Cf"):
        return "\n" if char == "\x85" else ""
    if category == "Cs":
        return "\ufffd"
    if category == "Zs":
        return " "
    if category in ("Zl", "Zp"):
        return "\n"
    return "-" if category == "Pd" or char in _DASHES else char


_FOLDING: Final = _Folding()

# characters a second in the worst case that was measured; some become eighteen
_RATE: Final = 3_000_000
_SLOW_RATE: Final = 250_000
_SLOW: Final = re.compile("[\u0300-\u036f\u2100-\u2bff\u3200-\u33ff\ufb00-\ufdff]")


def _without(pattern: Pattern, text: str, budget: Budget, keep: int = 0) -> str:
    """*text* without what *pattern* matches, but for the first *keep* characters of each match."""
    kept, last = [], 0
    for start, end in pattern.iter_spans(text):
        budget.spend(1)
        kept.append(text[last : min(start + keep, end)])
        last = end
    return "".join(kept) + text[last:] if kept else text


def _normalize(budget: Budget, text: Any) -> str:
    if type(text) is not str:
        raise no_overload("normalize", text)
    bound_text(len(text))
    if text.isascii() and _ASCII_CONTROLS.isdisjoint(text):
        return text
    budget.spend(1 + len(text) // (COPY_PER_STEP // 16))
    begin(len(text), _SLOW_RATE if _SLOW.search(text) else _RATE, budget)
    bare = _without(_COLOURS, text, budget).translate(_FOLDING)
    # marks are counted after the invisible characters between them are gone, and once more
    # because some decompose into two
    composed = unicodedata.normalize("NFKC", _without(_MARKS, bare, budget, MAX_MARKS))
    bound_text(len(composed))
    return _without(_MARKS, composed.translate(_FOLDING), budget, MAX_MARKS)


FUNCTIONS: Final = (Function("normalize", _normalize, (1,), (), budgeted=True),)
"""The functions of this library."""
