"""JSON within a text: where it is, and the strings and numbers that it is made of.

Knows JSON and places in a text.  Knows nothing of what is looked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policyd.detectors.detector import compiled

MAX_FAILURES: Final = 16
"""How many brackets of a text may turn out to open no JSON before the rest is plain text."""


@dataclass(frozen=True, slots=True)
class Token:
    """A string or a whole number of a JSON text.

    start, end: what may be rewritten: the inside of a string without its quotes, or the number.
    value: what it stands for.
    key: the name of the member whose value it is, where it is one.
    is_key: it is the name of a member itself.
    escaped: it or its key is written with escapes, so the text does not show what they say.
    """

    start: int
    end: int
    value: str | int
    key: str | None
    is_key: bool
    escaped: bool


@dataclass(frozen=True, slots=True)
class Embedded:
    """A stretch of a text that is JSON."""

    start: int
    end: int
    tokens: tuple[Token, ...]


def embedded_json(text: str) -> list[Embedded]:
    """The objects and arrays in *text*, or all of it where it is a string in quotes."""
    found: list[Embedded] = []
    at = failures = 0
    while failures < MAX_FAILURES:
        start = _opening(text, at)
        if start < 0:
            break
        end = _end_of_json(text, start)
        if end is None or (text[start] == '"' and text[end:].strip()):
            failures += 1
            at = start + 1
        else:
            found.append(Embedded(start, end, tuple(_tokens(text, start, end))))
            at = end
    return found


def _opening(text: str, at: int) -> int:
    """Where JSON may begin next; -1 where nowhere."""
    if at == 0 and text.lstrip()[:1] == '"':
        return text.index('"')
    places = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
    return min(places, default=-1)


_DECODER = json.JSONDecoder(strict=False)


def _end_of_json(text: str, start: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


_TOKEN = compiled(r'"(?:[^"\\]|\\(?s:.))*"(?:\s*:)?|-?[0-9][0-9.eE+-]*|[\[{]')


def _tokens(text: str, start: int, end: int) -> Iterator[Token]:
    key: str | None = None
    key_escaped = False
    for first, last in _TOKEN.iter_spans(text[start:end]):
        token = text[start + first : start + last]
        if token[0] != '"':
            if token.lstrip("-").isdigit():
                place = (start + first, start + last)
                yield Token(*place, int(token), key, False, key_escaped)
            key, key_escaped = None, False
            continue
        close = token.rindex('"')
        escaped = "\\" in token
        value = json.loads(token[: close + 1], strict=False) if escaped else token[1:close]
        is_key = token[-1] == ":"
        place = (start + first + 1, start + first + close)
        yield Token(*place, value, key, is_key, escaped or key_escaped)
        key, key_escaped = (value, escaped) if is_key else (None, False)
