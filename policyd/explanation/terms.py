"""An evaluated expression as people read it: the text of each part, and its value beside it.

Knows which parts are worth showing, which one decided, and what must not be shown: a value is
printed as a message prints it, without secrets, and a text that was made from a secret, of which
a part would be no secret to a detector, is not printed at all.  Knows no policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from policyd.detectors import scanner
from policyd.diagnostics import Span
from policyd.expr.cel import Program
from policyd.expr.cel.parts import Stretch, Written, parts
from policyd.expr.cel.trace import MAX_VISITS, Visit
from policyd.expr.cel.tree import (
    And,
    Apply,
    Bind,
    Conditional,
    Free,
    Has,
    Index,
    Literal,
    Local,
    Loop,
    Node,
    OptionalIndex,
    OptionalMap,
    OptionalSelect,
    Or,
    Select,
)
from policyd.expr.cel.values import MISSING, CelType, OptionalValue
from policyd.expr.message import printable
from policyd.policy import Node as Place

MAX_TEXT = 100
"""Code points of the text of a part, and of a printed value."""

MAX_ELEMENTS = 3
"""Elements of a list for which the body of a macro is shown, the last one besides."""

NOT_SHOWN = "(not shown: made from a secret)"

_PATHS = (Free, Local, Select, Index, Has, OptionalSelect, OptionalIndex)
"""Nodes whose value stood in the payload as it is."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of an expression.

    text: as written, on one line, cut.
    value: as it may be shown; None where there is none.
    error: why there is none; None with it, too, where the part was not needed.
    parts: what it was made from; of a macro for the first elements, and the last.
    """

    text: str
    span: Span
    value: str | None = None
    error: str | None = None
    parts: tuple[Term, ...] = ()
    elided: int = 0

    @property
    def needed(self) -> bool:
        """False for a part that was not evaluated, because the rest decided."""
        return self.value is not None or self.error is not None


@dataclass(slots=True)
class Secrets:
    """What is known to be made from secrets while one policy is explained.

    variables: the keys of variables whose value is.
    """

    variables: set[str] = field(default_factory=set)
    _held: dict[int, tuple[Any, bool]] = field(default_factory=dict)

    def held_by(self, value: Any) -> bool:
        """True when a detector finds a secret in a text of *value*."""
        known = self._held.get(id(value))
        if known is None:
            find = scanner(("secrets",)).find
            known = self._held[id(value)] = (value, any(find(text) for text in _texts(value)))
        return known[1]


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, OptionalValue):
            value = value.value
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, list):
            pending += value


class Reader:
    """Reads the evaluations of one expression."""

    def __init__(self, place: Place, program: Program, secrets: Secrets) -> None:
        self._text = place.text
        self._written = Written(program.text)
        self._secrets = secrets
        self._made: set[int] = set()
        self._slots: set[int] = set()
        self._cut = False  # where not every part was seen, any may hold a secret

    def term(self, visit: Visit) -> Term:
        """The expression with the value of each part that is worth showing."""
        self._cut = sum(1 for _ in visit.walk()) >= MAX_VISITS
        for _ in range(2):  # `cel.bind` works its value out where its variable is first read
            self._mark(visit)
        return self._term(visit, self.text_of(visit.node))

    def is_made(self, visit: Visit) -> bool:
        """True when a value that `term` has seen was made from a secret."""
        return id(visit) in self._made

    def text_of(self, node: Node) -> str:
        """The text of a part, on one line, cut."""
        return _line(self._written.of(node))

    def _mark(self, visit: Visit) -> None:
        """Note which values were made from a secret; sources come before what uses them."""
        for child in sorted(visit.below, key=lambda child: _order(visit.node, child.node)):
            self._mark(child)
            slots = _slots(visit.node)
            if slots and child.node is next(parts(visit.node)) and self._taints(child):
                self._slots.update(slots)
        node = visit.node
        if isinstance(node, Free):
            made = node.key in self._secrets.variables
        elif isinstance(node, Local):
            made = node.slot in self._slots or any(self.is_made(child) for child in visit.below)
            if made:
                self._slots.add(node.slot)
        elif isinstance(node, _PATHS):
            made = any(self.is_made(child) for child in visit.below)
        else:
            made = self._cut or any(self._taints(child, whole=True) for child in visit.below)
        if made:
            self._made.add(id(visit))

    def _taints(self, visit: Visit, *, whole: bool = False) -> bool:
        return self.is_made(visit) or (whole and self._secrets.held_by(visit.value))

    def _term(self, visit: Visit, text: str | None = None) -> Term:
        node = visit.node
        below = self._loop_parts(visit) if isinstance(node, Loop) else self._parts(visit)
        shown, elided = below
        return Term(
            self._short_text(node) if text is None else text,
            self._span(node),
            None if visit.error is not None else self._shown(visit),
            None if visit.error is None else visit.error.reason,
            tuple(shown),
            elided,
        )

    def _short_text(self, node: Node) -> str:
        """The text of a part; of a call in a chain of calls only its own link."""
        receiver = next(parts(node), None)
        if isinstance(node, (Apply, Loop)) and isinstance(receiver, (Apply, Loop)):
            start, end = self._stretch(node)
            inner, link = self._stretch(receiver)
            if inner == start:
                return _line("(...)" + self._written.text[link:end].strip())
        return self.text_of(node)

    def _parts(self, visit: Visit) -> tuple[list[Term], int]:
        if isinstance(visit.node, Local):
            return [self._term(each) for each in visit.below], 0
        if isinstance(visit.node, _PATHS) and visit.error is None:
            return [], 0
        return [term for part in parts(visit.node) for term in self._part(visit, part)], 0

    def _part(self, visit: Visit, part: Node) -> list[Term]:
        if isinstance(part, Literal):
            return self._constant(part)
        seen = visit.of(part)
        if seen:
            return [self._term(each) for each in seen]
        inner = list(parts(part))
        if not isinstance(visit.node, (And, Or, Conditional)):
            # an entry of a list or a map is no value of its own; a part after an error is no news
            return [term for child in inner for term in self._part(visit, child)]
        return [Term(self.text_of(part), self._span(part))]

    def _constant(self, node: Literal) -> list[Term]:
        text = self.text_of(node)
        if not text.startswith("constants."):
            return []
        return [Term(text, self._span(node), _printed(node.value))]

    def _loop_parts(self, visit: Visit) -> tuple[list[Term], int]:
        """The source, and the body for some elements."""
        source, *bodies = parts(visit.node)
        shown = self._part(visit, source)
        turns = [child for child in visit.below if any(child.node is body for body in bodies)]
        first = MAX_ELEMENTS * len(bodies)
        elided = max(0, len(turns) - first - len(bodies))
        kept = turns[:first] + turns[first:][elided:]
        return [*shown, *[self._term(turn) for turn in kept]], elided

    def _span(self, node: Node) -> Span:
        start, end = self._stretch(node)
        return self._text.at(start, end - start)

    def _stretch(self, node: Node) -> Stretch:
        return self._written.stretches.get(node.offset, (node.offset, node.offset + node.length))

    def _shown(self, visit: Visit) -> str:
        node, value = visit.node, visit.value
        told = isinstance(value, (bool, CelType)) or value is None
        told = told or (isinstance(node, Apply) and node.function.name == "size")
        return _printed(value) if told or not self.is_made(visit) else NOT_SHOWN


def deciding(visit: Visit) -> Visit:
    """The part that decided the value: the operand of `&&` or `||`, the branch of `?:`."""
    while True:
        node = visit.node
        if isinstance(node, (And, Or)) and visit.value is isinstance(node, Or):
            deciders = [child for child in visit.below if child.value is visit.value]
        elif isinstance(node, Conditional):
            deciders = [*visit.of(node.then), *visit.of(node.otherwise)]
        else:
            return visit
        if not deciders:
            return visit
        visit = deciders[-1]


def failing(visit: Visit) -> Visit:
    """The innermost part that gave the error."""
    while True:
        failed = [child for child in visit.below if child.error is not None]
        if not failed:
            return visit
        visit = failed[0]


def _order(node: Node, part: Node) -> int:
    return next((i for i, each in enumerate(parts(node)) if each is part), 0)


def _slots(node: Node) -> tuple[int, ...]:
    """The variables of macros that a node sets."""
    if isinstance(node, Loop):
        return node.slots
    return (node.slot,) if isinstance(node, (Bind, OptionalMap)) else ()


def _printed(value: Any) -> str:
    if isinstance(value, CelType):
        return value.name
    if isinstance(value, OptionalValue):
        return "no value" if value.value is MISSING else _printed(value.value)
    text = _cut(printable(value))
    return f'"{text}"' if isinstance(value, str) else text


def _line(text: str) -> str:
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
