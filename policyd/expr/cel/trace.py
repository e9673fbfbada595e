"""A traced evaluation: the exact path of an expression, with the value of every part kept.

Knows how to see each part while the exact path evaluates it: a part is replaced by a name, and
whoever reads that name evaluates the part and notes what came of it.  So what is seen is what the
exact path does, by its own lines.  Knows neither why it is wanted nor how a value is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.errors import EvaluationError
from policyd.expr.cel.interpret import Frame, interpret
from policyd.expr.cel.parts import with_parts
from policyd.expr.cel.program import Program
from policyd.expr.cel.tree import Entry, Free, Literal, Node, walk
from policyd.expression import Budget

MAX_VISITS = 5_000
"""Visits that are kept of one evaluation; a loop may have any number."""

_PLAIN = (Literal, Entry)
"""Nodes that are no values of their own, or always the same one."""


@dataclass(slots=True)
class Visit:
    """One part of an expression, evaluated once.

    node: as in the checked tree.
    value: what it gave, None where it gave an error.
    error: why it has no value.
    below: its parts that were evaluated, in order; those of a loop once for each element.
    """

    node: Node
    value: Any = None
    error: EvaluationError | None = None
    below: list[Visit] = field(default_factory=list)

    def of(self, node: Node) -> list[Visit]:
        """The visits directly below of one part of the node."""
        return [visit for visit in self.below if visit.node is node]

    def walk(self) -> Iterator[Visit]:
        """This visit and all below."""
        pending = [self]
        while pending:
            visit = pending.pop()
            yield visit
            pending += reversed(visit.below)


class Trace:
    """A program that can be watched.  For one thread."""

    def __init__(self, program: Program) -> None:
        self._slots = program.checked.slots
        self._closures: dict[str, tuple[Node, Callable[[Frame], Any]]] = {}
        root = program.checked.root
        watched: dict[int, Node] = {}
        for node, _ in reversed(list(walk(root))):  # parts first, so that nothing here recurses
            watched[id(node)] = self._watched(node, watched)
        self._root = interpret(watched[id(root)])

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> Visit | None:
        """What was evaluated for *activation*; None where that nests too deep to be watched.

        Never raises: what went wrong is in the visits.
        """
        reading = _Reading(activation, self._closures)
        frame = reading.frame = Frame(reading, budget, self._slots)
        try:
            self._root(frame)
        except EvaluationError:
            pass
        except (RecursionError, MemoryError):
            return None
        return next(iter(reading.top.below), None)

    def _watched(self, node: Node, watched: Mapping[int, Node]) -> Node:
        inner = with_parts(node, lambda part: watched[id(part)])
        if isinstance(node, _PLAIN):
            return inner
        key = f"#{len(self._closures)}"  # no name of CEL begins like this
        self._closures[key] = (node, interpret(inner))
        return Free(node.offset, node.length, key)


class _Reading(Mapping[str, Any]):
    """The names of one evaluation: those of the activation, and those that stand for parts."""

    frame: Frame

    def __init__(
        self,
        activation: Mapping[str, Any],
        closures: Mapping[str, tuple[Node, Callable[[Frame], Any]]],
    ) -> None:
        self.top = Visit(Literal(0, 0, None))
        self._activation = activation
        self._closures = closures
        self._current = self.top
        self._left = MAX_VISITS

    def __getitem__(self, key: str) -> Any:
        if key not in self._closures:
            return self._activation[key]
        node, closure = self._closures[key]
        visit, above = Visit(node), self._current
        if self._left > 0:
            above.below.append(visit)
            self._left -= 1
        self._current = visit
        try:
            visit.value = closure(self.frame)
        except EvaluationError as error:
            visit.error = error
            raise
        finally:
            self._current = above
        return visit.value

    def __iter__(self) -> Iterator[str]:
        return iter(self._activation)

    def __len__(self) -> int:
        return len(self._activation)
