"""Where each character of a YAML string stands in its file.

Knows how the scalar styles of YAML turn lines of a file into a value: folding, indentation,
quotes and escapes.  Knows no event, no node and no policy: it is given a value that was
already read, and the lines it was read from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyd.diagnostics import Span

Place = tuple[int, int, int]
"""What stands for one character: its line and column from 0, and the column behind it."""

_TOKEN = {
    "": re.compile(r"."),
    "'": re.compile(r"''|."),
    '"': re.compile(r"\\x..|\\u.{4}|\\U.{8}|\\.|."),
}
"""What stands for one character on a line, by the quote around the scalar."""

_NOWHERE = 1 << 30


class Text(str):
    """A string of a YAML file that still knows where it stands.

    `span` is the whole scalar, with its quotes or its block header.
    """

    __slots__ = ("_lines", "_places", "span")

    span: Span
    _lines: Sequence[str]
    _places: list[Place] | None

    def __new__(cls, value: str, span: Span, lines: Sequence[str]) -> Text:
        """*lines* are those of the whole file, without their line breaks."""
        text = super().__new__(cls, value)
        text.span = span
        text._lines = lines
        text._places = None
        return text

    def at(self, offset: int, length: int = 1) -> Span:
        """The place in the file of `self[offset:offset + length]`.

        An offset behind the end stands for the place behind the last character that can be
        seen, so that "unexpected end" does not point at an empty line.
        """
        if self._places is None:
            self._places = _places(self, self.span, self._lines)
        places, file = self._places, self.span.file
        if not places:
            return self.span
        offset = max(0, offset)
        if offset >= len(places):
            line, _, column = places[max(0, len(self.rstrip("\n")) - 1)]
            return Span(file, line + 1, column + 1, line + 1, column + 1)
        line, column, _ = places[offset]
        end_line, start, end = places[min(len(places), offset + max(1, length)) - 1]
        if length < 1:
            end = start
        return Span(file, line + 1, column + 1, end_line + 1, end + 1)


def _places(value: str, span: Span, lines: Sequence[str]) -> list[Place]:
    """One place for each character of *value*."""
    style = lines[span.line - 1][span.column - 1 : span.column]
    if style in ("|", ">"):
        return _block(value, span.line, lines, folded=style == ">")
    return _flow(span, lines, style if style in ("'", '"') else "")


def _flow(span: Span, lines: Sequence[str], quote: str) -> list[Place]:
    """The places of a plain or quoted scalar (YAML 1.2.2 section 7.3)."""
    places: list[Place] = []
    own_break: list[Place] = []
    empty: list[Place] = []
    for number in range(span.line - 1, span.end_line):
        first, last = number == span.line - 1, number == span.end_line - 1
        start = span.column - 1 + len(quote) if first else 0
        end = span.end_column - 1 - len(quote) if last else len(lines[number])
        tokens, joined = _tokens(lines[number][start:end], quote, first, last)
        if not (tokens or joined or first or last):
            empty.append((number, end, end + 1))
            continue
        # a line break alone is a space; before empty lines it is nothing, and they are breaks
        places += empty or own_break
        places += [(number, start + left, start + right) for left, right in tokens]
        stop = start + tokens[-1][1] if tokens else end
        own_break, empty = ([] if joined else [(number, stop, stop + 1)]), []
    return places


def _tokens(line: str, quote: str, first: bool, last: bool) -> tuple[list[tuple[int, int]], bool]:
    """The columns of what counts on a line, and whether its line break is escaped."""
    tokens = [match.span() for match in _TOKEN[quote].finditer(line)]
    blank = [line[left:right] in " \t" for left, right in tokens]
    start, stop = 0, len(tokens)
    joined = quote == '"' and not last and stop > 0 and line[slice(*tokens[-1])] == "\\"
    if joined:
        stop -= 1
    while not last and not joined and stop and blank[stop - 1]:
        stop -= 1
    while not first and start < stop and blank[start]:
        start += 1
    return tokens[start:stop], joined


def _block(value: str, first: int, lines: Sequence[str], folded: bool) -> list[Place]:
    """The places of a literal or folded scalar whose body begins on line *first*, from 0.

    Source: YAML 1.2.2 section 8.1, as libyaml reads it.
    """
    indent = _indent(value, first, lines)
    places: list[Place] = []
    breaks: list[Place] = []
    indented = True
    for number in range(first, len(lines)):
        line = lines[number]
        if _spaces(line) < min(indent, len(line)):
            break
        if len(line) <= indent:
            breaks.append((number, len(line), len(line) + 1))
            continue
        if folded and not indented and line[indent] not in " \t":
            breaks = breaks[1:] or breaks
        places += breaks
        places += [(number, column, column + 1) for column in range(indent, len(line))]
        breaks, indented = [(number, len(line), len(line) + 1)], line[indent] in " \t"
    return (places + breaks)[: len(value)]


def _indent(value: str, first: int, lines: Sequence[str]) -> int:
    """By how many columns the body is indented.

    The first line that is not empty shows it: each empty line before it is one line break.
    """
    body = value.lstrip("\n")
    if not body:
        return _NOWHERE
    line = lines[first + len(value) - len(body)]
    shown = body.split("\n", 1)[0]
    return _spaces(line) - _spaces(shown)


def _spaces(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
