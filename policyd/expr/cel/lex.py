"""The words of an expression: names, fields, literals, operators, brackets.

Knows the lexical part of the CEL grammar: literals and their escapes, comments, where a minus
belongs to a number; and the slips that show in single words (`=`, `&`, `#`, a quote that is not
closed).  Knows no phrase: that is `parse`.  Time is linear in the text.

It stands in for the terminals of cel-python's grammar, whose string patterns take exponential
time on some texts and let a backslash end a raw string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from policyd.expr.cel.literals import FlawedLiteral, parse_number, parse_string
from policyd.expression import Flaw

MAX_LENGTH: Final = 4096
"""Code points that an expression may have."""

MAX_DEPTH: Final = 200
"""How deep brackets and operators may nest."""

MAX_FLAWS: Final = 8
"""Slips in words that are told of one expression."""

SPLIT: Final = "split it into several rules or variables"
"""What to do about an expression that is too large."""

NAME: Final = "IDENT"
FIELD: Final = "FIELD"
STRING: Final = "STRING_LIT"
BYTES: Final = "BYTES_LIT"
INT: Final = "INT_LIT"
UINT: Final = "UINT_LIT"
FLOAT: Final = "FLOAT_LIT"
BOOL: Final = "BOOL_LIT"
NULL: Final = "NULL_LIT"

LITERALS: Final = frozenset({STRING, BYTES, INT, UINT, FLOAT, BOOL, NULL})
_OPERAND_ENDS: Final = LITERALS | {NAME, FIELD, ")", "]", "}"}

_WORD = re.compile(
    r"""
      (?P<blank>   [ \t\n\r]+ | //[^\n\r]* )
    | (?P<string>  (?:[bB]?[rR]?) (?:'''|\"\"\"|'|\") )
    | (?P<number>  (?:0x[0-9a-fA-F]+ | [0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?
                      | [0-9]+(?:[eE][+-]?[0-9]+)? ) [uU]? )
    | (?P<name>    [A-Za-z_][A-Za-z0-9_]* )
    | (?P<field>   `[A-Za-z0-9_./\ -]+` )
    | (?P<sign>    \|\| | && | [<>=!]= | [-?:<>+*/%!.()\[\]{},] )
    """,
    re.VERBOSE,
)
_NUMBER_START = re.compile(r"[0-9]|\.[0-9]")
_NUMBER_TAIL = re.compile(r"[A-Za-z0-9_]+")

# what follows an opening quote, up to the closing one; unrolled, so that nothing backtracks
_BODIES = {
    quote: re.compile(
        rf"[^{quote}\\\n\r]*(?:\\[^\n\r][^{quote}\\\n\r]*)*"
        if len(quote) == 1
        else rf"[^{quote[0]}\\]*(?:(?:\\.|{quote[0]}(?!{quote[0]}{quote[0]}))[^{quote[0]}\\]*)*",
        re.DOTALL,
    )
    for quote in ("'", '"', "'''", '"""')
}
_RAW_BODIES = {
    quote: re.compile(
        rf"[^{quote}\n\r]*"
        if len(quote) == 1
        else rf"[^{quote[0]}]*(?:{quote[0]}(?!{quote[0]}{quote[0]})[^{quote[0]}]*)*"
    )
    for quote in ("'", '"', "'''", '"""')
}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_CLOSING = {"(": ")", "[": "]", "{": "}"}

# a slip, and what to write instead; longer ones first
_SLIPS: Final = (
    ("===", "write `==`"),
    ("=>", "write `>=`"),
    ("=<", "write `<=`"),
    ("=", "write `==` to compare"),
    ("&", "write `&&` for and"),
    ("|", "write `||` for or"),
    ("#", "a comment starts with `//`"),
    (
        "`",
        "write `['...']` for a key with other characters than letters, digits, blanks, _ . / -",
    ),
    (";", "an expression is one value, without `;`"),
    ("$", "names are written without `$`"),
    ("~", "write `text.matches('...')` to test a pattern"),
    ("\\", "a backslash belongs inside of a string"),
    ("@", None),
)
_CURLY_QUOTES: Final = "\u2018\u2019\u201c\u201d\u00ab\u00bb\u201e\u201a"


@dataclass(slots=True)
class Word:
    """One word.

    type: for a literal, a name or a field between backticks the terminal of the grammar, else
        the word itself.
    text: as written.
    offset: code points from the start of the expression.
    value: what a literal stands for; the field without its backticks.
    """

    type: str
    text: str
    offset: int
    value: Any = None


class Lexer:
    """One pass over one text; `words` and `flaws` hold what was found."""

    def __init__(self, text: str) -> None:
        self.words: list[Word] = []
        self.flaws: list[Flaw] = []
        self._text = text
        self._open: list[Word] = []

    def run(self) -> None:
        """Read the whole text, or stop where going on would only report the same thing again."""
        text = self._text
        if len(text) > MAX_LENGTH:
            self._flaw(
                f"an expression has at most {MAX_LENGTH} characters",
                MAX_LENGTH,
                code="cel-too-long",
                help=SPLIT,
            )
            return
        if control := _CONTROL.search(text):
            self._control(control.start())
            return
        position = 0
        while 0 <= position < len(text) and len(self.flaws) < MAX_FLAWS:
            position = self._word(position)
        if self._open and not self.flaws:
            opener = self._open[-1]
            self._flaw(
                f"`{opener.text}` is not closed",
                opener.offset,
                help=f"add the missing `{_CLOSING[opener.text]}`",
            )

    def _word(self, position: int) -> int:
        """Read the word at *position*; returns where the next one starts, -1 to stop."""
        match = _WORD.match(self._text, position)
        if match is None:
            return self._unknown(position)
        kind = match.lastgroup
        if kind == "blank":
            return match.end()
        if kind == "string":
            return self._string(match[0], position)
        if kind == "number":
            return self._number(match[0], position, position)
        if kind == "name":
            self._name(match[0], position)
            return match.end()
        if kind == "field":
            self._add(FIELD, match[0], position, match[0][1:-1])
            return match.end()
        return self._sign(match[0], position)

    def _name(self, text: str, position: int) -> None:
        if text == "in":
            self._add("in", text, position)
        elif text == "true" or text == "false":
            self._add(BOOL, text, position, text == "true")
        elif text == "null":
            self._add(NULL, text, position)
        else:
            self._add(NAME, text, position)

    def _sign(self, text: str, position: int) -> int:
        if text == "-" and not (self.words and self.words[-1].type in _OPERAND_ENDS):
            number = position + 1
            if _NUMBER_START.match(self._text, number):
                match = _WORD.match(self._text, number)
                assert match is not None, "a number starts there"
                return self._number(match[0], number, position)
        end = position + len(text)
        if text == "==" and self._text.startswith("=", end):
            return self._unknown(position)
        if text in "([{":
            return self._opened(text, position)
        if text in ")]}":
            return self._closed(text, position)
        self._add(text, text, position)
        return end

    def _opened(self, text: str, position: int) -> int:
        self._add(text, text, position)
        self._open.append(self.words[-1])
        if len(self._open) <= MAX_DEPTH:
            return position + 1
        self._flaw(
            f"brackets nest at most {MAX_DEPTH} deep", position, code="cel-too-deep", help=SPLIT
        )
        return -1

    def _closed(self, text: str, position: int) -> int:
        opener = self._open.pop() if self._open else None
        if opener is None or _CLOSING[opener.text] != text:
            advice = f"`{opener.text}` is open here" if opener else "nothing is open here"
            self._flaw(f"`{text}` closes nothing", position, help=advice)
            return -1
        before = [word.type for word in self.words[-2:]]
        if text != ")" and before[-1] == "," and before[0] not in (",", opener.type):
            self.words.pop()  # CEL allows this comma, cel-python's grammar does not
        self._add(text, text, position)
        return position + 1

    def _number(self, text: str, position: int, start: int) -> int:
        """Read a number whose digits start at *position* and whose sign, if any, at *start*."""
        tail = _NUMBER_TAIL.match(self._text, position + len(text))
        end = tail.end() if tail else position + len(text)
        word = self._text[start:end]
        try:
            type_, value = parse_number("" if tail else word)
        except FlawedLiteral as flawed:
            self._flaw(f"`{_short(word)}` is {flawed.text}", start, len(word), help=flawed.help)
            self._add(INT, word, start, 0)
        else:
            self._add(type_, word, start, value)
        return end

    def _string(self, opening: str, position: int) -> int:
        prefix = opening.rstrip("'\"").lower()
        quote = opening[len(prefix) :]
        start = position + len(opening)
        match = (_RAW_BODIES if "r" in prefix else _BODIES)[quote].match(self._text, start)
        assert match is not None, "a body may be empty"
        if not self._text.startswith(quote, match.end()):
            self._unclosed(quote, position, match.end())
            return -1
        try:
            value = parse_string(match[0], prefix)
        except FlawedLiteral as flawed:
            place = start + flawed.offset
            self._flaw(flawed.text, place, flawed.length, help=flawed.help)
            value = ""
        end = match.end() + len(quote)
        type_ = BYTES if "b" in prefix else STRING
        self._add(type_, self._text[position:end], position, value)
        return end

    def _unclosed(self, quote: str, position: int, end: int) -> None:
        if end < len(self._text) and len(quote) == 1:
            long = quote * 3
            help = f"a string ends on its line; one of several lines is written {long}...{long}"
        else:
            help = f"close it with {quote}; a quote inside of a string is written \\{quote[0]}"
        self._flaw("this string does not end", position, len(quote), help=help)

    def _unknown(self, position: int) -> int:
        text = self._text
        for slip, help in _SLIPS:
            if text.startswith(slip, position):
                self._flaw(f"`{slip}` means nothing here", position, len(slip), help=help)
                break
        else:
            slip = text[position]
            quotes = "strings are written with straight quotes, ' or \""
            help = quotes if slip in _CURLY_QUOTES else None
            shown = slip if slip.isprintable() else f"U+{ord(slip):04X}"
            self._flaw(f"`{shown}` means nothing here", position, help=help)
        self._add(slip, slip, position)
        return position + len(slip)

    def _control(self, position: int) -> None:
        self._flaw(
            f"the control character U+{ord(self._text[position]):04X} is in the expression",
            position,
            code="control-character",
            help="write the YAML string in single quotes, so that `\\` stays a backslash",
        )

    def _add(self, type_: str, text: str, offset: int, value: Any = None) -> None:
        self.words.append(Word(type_, text, offset, value))

    def _flaw(
        self,
        text: str,
        offset: int,
        length: int = 1,
        *,
        code: str = "cel-syntax",
        help: str | None = None,
    ) -> None:
        self.flaws.append(Flaw(code, text, offset, length, help))


def _short(word: str) -> str:
    return word if len(word) <= 24 else f"{word[:24]}..."
