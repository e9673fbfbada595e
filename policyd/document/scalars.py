"""What a plain scalar means: the core schema of YAML 1.2, narrowed to what JSON can hold.

Knows the text of a scalar only, no place and no parser.  Numbers that YAML 1.1 or a tired
reader would see in a text, and the words yes, no, on and off, stay text and are pointed out.
Source: YAML 1.2.2 section 10.3; numbers with leading zeros are text (design section 3).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MAX_DIGITS = 40
"""A whole number of more digits is refused: no JSON reader keeps it."""

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_YES = frozenset(["yes", "Yes", "YES", "on", "On", "ON"])
_NO = frozenset(["no", "No", "NO", "off", "Off", "OFF"])
_NUMBER_ELSEWHERE = re.compile(
    r"[-+]?(?:"
    r"0[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"  # leading zero
    r"|[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|[0-9]+\.[0-9_]*_[0-9_]*"  # grouped digits
    r"|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"  # base sixty
    r"|0[bB][01_]+|0[oO][0-7_]+|0[xX][0-9a-fA-F_]+"  # other bases, with a sign or grouped
    r")"
)

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class BadNumber:
    """A number that JSON cannot hold; `text` says why."""

    text: str


def shown(text: str) -> str:
    """*text* in backticks for a message: one line, at most 60 characters."""
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= 60 else f"`{line[:59]}…`"


def resolve(text: str) -> Scalar | BadNumber:
    """The value of a plain scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _WHOLE.fullmatch(text):
        return _whole(text, 10)
    if _BASED.fullmatch(text):
        return _whole(text, 0)
    if _REAL.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else BadNumber(f"{shown(text)} is too large")
    if _NOT_FINITE.fullmatch(text):
        return BadNumber(f"{shown(text)} is not a number that JSON has")
    return text


def _whole(text: str, base: int) -> int | BadNumber:
    if len(text.lstrip("+-")) > MAX_DIGITS:
        return BadNumber(f"{shown(text)} has more than {MAX_DIGITS} digits")
    return int(text, base)


def ambiguity(text: str) -> tuple[str, str] | None:
    """What to say of a plain scalar that is text here and something else to many readers.

    The message and the help, or None.
    """
    if text in _YES or text in _NO:
        meant = "true" if text in _YES else "false"
        return f"`{text}` is text here, not a boolean", f"write `{meant}`, or quote the text"
    if len(text) <= MAX_DIGITS and _NUMBER_ELSEWHERE.fullmatch(text):
        message = f"{shown(text)} is text here, not a number"
        return message, "write a plain decimal number, or quote the text"
    return None


def open_quote(text: str) -> str | None:
    """The quote that *text*, read as an expression, opens and does not close, or None.

    An apostrophe within a word opens nothing.
    """
    opened: str | None = None
    before = ""
    for char in text:
        if before == "\\":
            before = ""
            continue
        if opened is None and char in "'\"" and not before.isalnum():
            opened = char
        elif char == opened:
            opened = None
        before = char
    return opened
