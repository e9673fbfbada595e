"""The parts of an expression, and the text that each of them is.

Knows what stands directly below a node, whatever its kind, and which stretch of the text a node
covers, brackets included.  Evaluates nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from policyd.expr.cel.lex import NAME, Lexer, Word
from policyd.expr.cel.parse import parse
from policyd.expr.cel.tree import Call, Index, Literal, Name, Node, walk

_N = TypeVar("_N", bound=Node)

Stretch = tuple[int, int]
"""Where a part begins and ends in the text, in code points; the end is exclusive."""


def parts(node: Node) -> Iterator[Node]:
    """What stands directly below *node*, in the order of writing."""
    for field in dataclasses.fields(node):
        yield from _nodes(getattr(node, field.name))


def with_parts(node: _N, change: Callable[[Node], Node]) -> _N:
    """*node* with *change* of each part in place of the part."""
    changed = {
        field.name: _changed(getattr(node, field.name), change)
        for field in dataclasses.fields(node)
    }
    return type(node)(**changed)


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    return tuple([_changed(item, change) for item in value]) if type(value) is tuple else value


class Written:
    """A text that is an expression, with the stretch of each of its parts.

    tree: as the parser gives it, names not resolved.
    """

    def __init__(self, text: str) -> None:
        """Raises ValueError where *text* is no expression."""
        tree = parse(text)
        if isinstance(tree, tuple):
            raise ValueError("no expression")
        lexer = Lexer(text)
        lexer.run()
        self.text = text
        self.tree: Node = tree
        self._words = lexer.words
        self._at = {word.offset: i for i, word in enumerate(self._words)}
        self._partners = _partners(self._words)
        self._ranges: dict[int, tuple[int, int]] = {}
        self._stretches: dict[int, Stretch] = {}
        for node, _ in reversed(list(walk(tree))):
            self._note(node)  # parts first, so that nothing here recurses

    @property
    def stretches(self) -> Mapping[int, Stretch]:
        """The stretch of each part by the offset that its node has, before and after checking."""
        return self._stretches

    def of(self, node: Node) -> str:
        """The text of a part, without brackets around it."""
        start, end = self._stretches.get(node.offset, (node.offset, node.offset + node.length))
        return self.text[start:end]

    def bracketed(self, node: Node) -> str:
        """The text of a part, with the brackets that stand around it."""
        first, last = self._around(self._range(node))
        return self.text[self._words[first].offset : _end(self._words[last])]

    def _note(self, node: Node) -> None:
        first, last = self._range(node)
        stretch = self._words[first].offset, _end(self._words[last])
        self._stretches[node.offset] = stretch
        # the checker makes one node of these two, and gives it the place of the inner one
        if isinstance(node, Call) and node.name == "has" and node.arguments:
            self._stretches[node.arguments[0].offset] = stretch
        key = node.index if isinstance(node, Index) else None
        if isinstance(key, Literal) and isinstance(key.value, str):
            self._stretches[key.offset] = stretch

    def _range(self, node: Node) -> tuple[int, int]:
        """The first and the last word of a part."""
        known = self._ranges.get(node.offset)
        if known is None:
            known = self._ranges[node.offset] = self._measured(node)
        return known

    def _measured(self, node: Node) -> tuple[int, int]:
        own = self._at[node.offset]
        below = [self._around(self._range(part)) for part in parts(node)]
        first = min(own, *(start for start, _ in below)) if below else own
        last = max(own, *(end for _, end in below)) if below else own
        opening = own + 1 if isinstance(node, Call) else own
        last = max(last, self._partners.get(opening, last))
        if isinstance(node, Name) and node.absolute:
            first = min(first, own - 1)
        # `(a && b) && c` is one node with three parts
        inside = [self._partners[i] for i in range(first, last + 1) if i in self._partners]
        return min([first, *inside]), max([last, *inside])

    def _around(self, stretch: tuple[int, int]) -> tuple[int, int]:
        """A range of words with all pairs of brackets that only group it."""
        first, last = stretch
        while self._groups(first - 1) and self._partners[first - 1] == last + 1:
            first, last = first - 1, last + 1
        return first, last

    def _groups(self, place: int) -> bool:
        """True for a bracket that opens no call."""
        if place < 0 or self._words[place].text != "(":
            return False
        return place == 0 or self._words[place - 1].type != NAME


def _end(word: Word) -> int:
    return word.offset + len(word.text)


def _partners(words: list[Word]) -> dict[int, int]:
    """The place of the other bracket of each pair."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for place, word in enumerate(words):
        if word.text[0] in "([{" and word.type == word.text:
            opened.append(place)
        elif word.type in (")", "]", "}"):
            partner = opened.pop()
            partners[partner], partners[place] = place, partner
    return partners
