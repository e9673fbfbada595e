"""Loops of the exact path: what each macro does with the elements of a list or a map.

Knows closures and frames, and when an error counts.  Knows no tree: `interpret` makes the
closures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import operators, values
from policyd.expr.cel.bounds import bound_list
from policyd.expr.cel.ordering import ordered
from policyd.expression import Budget


class Frame:
    """What one evaluation works on: names, variables of macros, budget."""

    __slots__ = ("activation", "budget", "slots")

    def __init__(self, activation: Mapping[str, Any], budget: Budget, slots: int) -> None:
        self.activation = activation
        self.budget = budget
        self.slots: list[Any] = [None] * slots


Closure = Callable[[Frame], Any]
Visits = Callable[[Frame], Iterator[Any]]
"""Goes through the elements of a loop, setting its variables."""


def at(offset: int, operation: Callable[..., Any], *operands: Any) -> Any:
    """Do one operation, whose operands are values already; its error is at *offset*."""
    try:
        return operation(*operands)
    except EvaluationError as error:
        error.offset = offset
        raise


class Verdict:
    """Gathers bools until one decides, and keeps the first error in case none does."""

    __slots__ = ("_decisive", "_error")

    def __init__(self, decisive: bool) -> None:
        self._decisive = decisive
        self._error: EvaluationError | None = None

    def decided(self, closure: Closure, offset: int, frame: Frame) -> bool:
        """True when the value of *closure* decides the outcome."""
        try:
            return at(offset, values.boolean, closure(frame)) is self._decisive
        except EvaluationError as error:
            if error.cause is not Cause.ERROR:
                raise
            if self._error is None:
                self._error = error
            return False

    def undecided(self) -> bool:
        """The outcome where nothing decided it.  Raises the first error if there was one."""
        if self._error is not None:
            raise self._error
        return not self._decisive


def visits(
    source: Closure,
    slots: tuple[int, ...],
    offset: int,
    elements: Callable[[Any, Budget], Iterable[Any]] = operators.elements,
) -> Visits:
    """Goes through what *source* yields, which is at *offset* of the text.

    elements: what is visited of it where there is one variable.
    """

    def one(frame: Frame) -> Iterator[Any]:
        (slot,) = slots
        for item in at(offset, elements, source(frame), frame.budget):
            frame.slots[slot] = item
            yield item

    def two(frame: Frame) -> Iterator[Any]:
        first, second = slots
        for key, value in at(offset, operators.pairs, source(frame), frame.budget):
            frame.slots[first] = key
            frame.slots[second] = value
            yield key

    return one if len(slots) == 1 else two


def quantifier(visits: Visits, test: Closure, offset: int, decisive: bool) -> Closure:
    """`all` and `exists`; `exists` is decided by True.  The test is at *offset*."""

    def decide(frame: Frame) -> bool:
        verdict = Verdict(decisive)
        for _ in visits(frame):
            if verdict.decided(test, offset, frame):
                return decisive
        return verdict.undecided()

    return decide


def exists_one(visits: Visits, test: Closure) -> Closure:
    """`exists_one` looks at every element, so every error counts."""
    return lambda frame: sum(test(frame) for _ in visits(frame)) == 1


Made = Callable[[Frame], Iterator[Any]]
"""What a macro makes of the elements, one after the other."""


def made(visits: Visits, test: Closure, result: Closure) -> Made:
    """The results of the elements that pass the test, each with its element or key."""
    return lambda frame: ((item, result(frame)) for item in visits(frame) if test(frame))


def gathered(made: Made, offset: int) -> Closure:
    """`map` and `filter`: a list."""

    def gather(frame: Frame) -> list[Any]:
        gathered: list[Any] = []
        for _, result in made(frame):
            gathered.append(result)
            at(offset, bound_list, len(gathered))
        return gathered

    return gather


def keyed(made: Made, offset: int) -> Closure:
    """`transformMap`: a map with the keys of the source."""
    return lambda frame: at(offset, operators.make_map, list(made(frame)))


def merged(made: Made, offset: int) -> Closure:
    """`transformMapEntry`: a map of the entries of all results."""

    def merge(frame: Frame) -> Any:
        maps = [result for _, result in made(frame)]
        return at(offset, operators.merge_maps, maps, frame.budget)

    return merge


def sorted_by(made: Made, offset: int) -> Closure:
    """`sortBy`: the elements in the order of their keys."""

    def sort(frame: Frame) -> Any:
        pairs = list(made(frame))
        items, keys = [item for item, _ in pairs], [key for _, key in pairs]
        return at(offset, ordered, items, keys, frame.budget)

    return sort
