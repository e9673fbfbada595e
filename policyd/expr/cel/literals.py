"""What the literals of CEL stand for.

Knows numbers with their limits, and strings with their escapes.  Knows neither the expression
around a literal nor its place in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, Final

from policyd.expr.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_SIMPLE: Final = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))
_ESCAPE = re.compile(
    r"""\\(?: (?P<simple> [abfnrtv\\'"`?] )
            | [xX] (?P<byte> [0-9a-fA-F]{2} )
            | (?: u (?P<short> [0-9a-fA-F]{4} ) | U (?P<long> [0-9a-fA-F]{8} ) )
            | (?P<octal> [0-3][0-7]{2} )
            | (?P<bad> .? )
        )""",
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n?")


class FlawedLiteral(Exception):
    """A literal that stands for nothing: what is wrong, and where inside of it."""

    def __init__(self, text: str, offset: int, length: int, help: str | None) -> None:
        self.text = text
        self.offset = offset
        self.length = length
        self.help = help
        super().__init__(text)


def parse_number(word: str) -> tuple[str, Any]:
    """The terminal of the grammar and the value of a number.  Raises FlawedLiteral.

    An int has 64 bits with sign, a uint (`1u`) without.
    """
    digits = word.rstrip("uU")
    if "x" in digits:
        whole = int(digits, 16)
    elif digits.removeprefix("-").isdigit():
        whole = int(digits)
    elif digits and digits == word:
        return "FLOAT_LIT", float(word)
    else:
        raise FlawedLiteral("not a number", 0, len(word), None)
    if digits == word:
        if INT_MIN <= whole <= INT_MAX:
            return "INT_LIT", whole
        help = "an int lies between -9223372036854775808 and 9223372036854775807"
        raise FlawedLiteral("too large", 0, len(word), help)
    if 0 <= whole <= UINT_MAX:
        return "UINT_LIT", UInt(whole)
    raise FlawedLiteral("no uint", 0, len(word), "a uint lies between 0 and 18446744073709551615")


def parse_string(body: str, prefix: str) -> str | bytes:
    """The text or bytes between the quotes of a literal.  Raises FlawedLiteral.

    *prefix* is the lower-case prefix of the literal: `r` for raw, `b` for bytes.
    """
    if "r" in prefix or "\\" not in body:
        text = _LINE_END.sub("\n", body)
        return text.encode("utf-8", "surrogatepass") if "b" in prefix else text
    if "b" in prefix:
        return b"".join(_pieces(body, _byte_piece, _as_bytes))
    return "".join(_pieces(body, _text_piece, _as_text))


def _as_text(text: str) -> str:
    return _LINE_END.sub("\n", text)


def _as_bytes(text: str) -> bytes:
    return _as_text(text).encode("utf-8", "surrogatepass")


def _pieces(
    body: str, escaped: Callable[[re.Match[str]], AnyStr], plain: Callable[[str], AnyStr]
) -> list[AnyStr]:
    pieces = []
    position = 0
    for match in _ESCAPE.finditer(body):
        pieces.append(plain(body[position : match.start()]))
        pieces.append(escaped(match))
        position = match.end()
    pieces.append(plain(body[position:]))
    return pieces


def _byte_piece(match: re.Match[str]) -> bytes:
    if match["simple"]:
        return _SIMPLE[match["simple"]].encode()
    if match["byte"] or match["octal"]:
        return bytes([_code(match)])
    raise _bad_escape(match)


def _text_piece(match: re.Match[str]) -> str:
    if match["simple"]:
        return _SIMPLE[match["simple"]]
    if match["bad"] is not None:
        raise _bad_escape(match)
    code = _code(match)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise FlawedLiteral(f"`{match[0]}` is no character", match.start(), len(match[0]), None)
    return chr(code)


def _code(match: re.Match[str]) -> int:
    if match["octal"]:
        return int(match["octal"], 8)
    return int(match["byte"] or match["short"] or match["long"], 16)


def _bad_escape(match: re.Match[str]) -> FlawedLiteral:
    shown = match[0] if match[0].isprintable() else "\\"
    help = f"write `\\{shown}`, or a raw string such as r'...', where `\\` is only itself"
    return FlawedLiteral(f"`{shown}` is no escape", match.start(), len(match[0]), help)
