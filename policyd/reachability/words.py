"""Contradictions in the words of who wrote the conditions.

Knows how a fact is cut out of the text that it came from.  Judges nothing.
"""

from __future__ import annotations

import re
from typing import Final

from policyd.diagnostics import Span
from policyd.document import Text
from policyd.expr.cel.tree import Literal, Node
from policyd.reachability.facts import Fact
from policyd.reachability.fold import Broken, hull
from policyd.reachability.search import Conflict

_MAX_SHOWN: Final = 80
"""Characters of a condition that a diagnostic repeats."""

_HAS: Final = re.compile(r"\bhas\s*\(\s*$")

_OPENING: Final = {"(": ")", "[": "]", "{": "}"}


def extent(text: str, root: Node) -> tuple[int, int]:
    """The offset and the length of the part of *text* that *root* stands for."""
    start, length = hull(root)
    end = start + length
    while start > 0 and text[start - 1] == ".":
        start -= 1
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_"):
            start -= 1
    call = _HAS.search(text, 0, start)
    if call is not None:
        start = call.start()
    missing, open_ones = _unbalanced(text[start:end])
    while missing and start > 0:
        start -= 1
        missing -= text[start] in _OPENING
    while open_ones and end < len(text):
        open_ones -= _closes(text[end])
        end += 1
    return start, end - start


def _closes(char: str) -> bool:
    return char in _OPENING.values()


def _unbalanced(text: str) -> tuple[int, int]:
    """How many brackets are closed in *text* that were not opened, and opened but not closed."""
    missing = depth = 0
    quote = ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif _closes(char):
            missing, depth = (missing, depth - 1) if depth else (missing + 1, 0)
    return missing, depth


def excerpt(text: str, node: Node) -> str:
    """The part of *text* that *node* stands for, in one line."""
    offset, length = extent(text, node)
    shown = " ".join(text[offset : offset + length].split())
    return shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."


def place(text: Text, node: Node) -> Span:
    """Where in its file the part of *text* is that *node* stands for."""
    return text.at(*extent(text, node))


def why(conflict: Conflict, own: Text) -> str | None:
    """Why the facts of *conflict* cannot be; *own* is the text that the reader looks at."""
    first, second = conflict.fact, conflict.other
    if conflict.alone:
        return _alone(first)
    if second is None:
        return None
    if first.origin.text is not own:
        first, second = second, first
    if first.origin == second.origin and not first.wanted and not second.wanted:
        return f"{_written(second)} and {_written(first)} are never both false"
    return f"{_claim(first, own)} contradicts {_claim(second, own)}"


def _alone(fact: Fact) -> str | None:
    if type(fact.node) is Literal and isinstance(fact.node.value, bool):
        return None
    if isinstance(fact.node, Broken):
        return f"{_written(fact)} cannot be evaluated"
    return f"{_written(fact)} is never {'true' if fact.wanted else 'false'}"


def _written(fact: Fact) -> str:
    text = fact.origin.text
    return f"`{fact.origin.name}`" if text is None else f"`{excerpt(text, fact.node)}`"


def _claim(fact: Fact, own: Text) -> str:
    origin = fact.origin
    claim = _written(fact) if fact.wanted else f"that {_written(fact)} is false"
    if origin.text is own:
        return claim
    span = origin.span if origin.text is None else origin.text.span
    of = "" if origin.text is None else f" of `{origin.name}`"
    return f"{claim}{of}" if span is None else f"{claim}{of} in line {span.line}"
