"""How large a value may get that an expression builds, and how long one operation may take.

Knows limits and the budget; knows no operation.  What visits many elements looks at the clock
every CHUNK of them (`watched`); what one call into C does at once is begun only when it will be
done in time (`begin`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from policyd.errors import Cause, EvaluationError
from policyd.expression import Budget

MAX_TEXT: Final = 1 << 20
"""Characters (or bytes) that a text which an expression builds may have."""

MAX_LIST: Final = 100_000
"""Elements that a list or map which an expression builds may have."""

CHUNK: Final = 64
"""Elements between two looks at the clock; 64 runs of the dearest loop body take 2 ms."""

FREE_COPY: Final = 256
"""Characters; to charge for so short a copy takes longer than the copy."""

COPY_PER_STEP: Final = 64
"""Characters that are copied in about the time of one step."""

FREE_WORK: Final = 4096
"""Characters; so short a text is done with in a few milliseconds, whatever is done to it."""


def bound_text(length: int) -> None:
    """Refuse to build a text of *length* characters where that is too many."""
    if length > MAX_TEXT:
        raise EvaluationError(f"the result has more than {MAX_TEXT} characters")


def bound_list(length: int) -> None:
    """Refuse to build a list or map of *length* elements where that is too many."""
    if length > MAX_LIST:
        raise EvaluationError(f"the result has more than {MAX_LIST} elements")


def charge_copy(length: int, budget: Budget) -> None:
    """Take the steps for a text, byte string or list of *length* that is about to be made.

    Bounds memory as well as time: what a loop builds is paid for.
    """
    if length > FREE_COPY:
        budget.spend(length // COPY_PER_STEP)


def begin(length: int, rate: int, budget: Budget) -> None:
    """Refuse work on *length* characters, at *rate* a second, that would end after the deadline.

    For work that nothing can interrupt.  The rate is what was measured in the worst case.
    """
    if length > FREE_WORK:
        begin_work(length / rate, budget)


def begin_work(seconds: float, budget: Budget) -> None:
    """Refuse work of so many *seconds* that would end after the deadline."""
    if time.monotonic() + seconds > budget.deadline:
        raise EvaluationError("the deadline would pass before this is done", Cause.DEADLINE)


def watched(items: Collection[Any], budget: Budget) -> Iterable[Any]:
    """*items*, in order, as long as there is time."""
    if len(items) <= CHUNK:
        return items
    pieces = slices(items, budget) if type(items) is list else chunks(items, budget)
    return itertools.chain.from_iterable(pieces)


def slices(items: list[Any], budget: Budget, length: int = CHUNK) -> Iterator[list[Any]]:
    """*items*, in order and *length* at a time, as long as there is time."""
    clock = time.monotonic
    for start in range(0, len(items), length):
        if clock() > budget.deadline:
            budget.spend(0)
        yield items[start : start + length]


def chunks(items: Iterable[Any], budget: Budget) -> Iterator[list[Any]]:
    """*items*, in order and CHUNK at a time, as long as there is time."""
    clock = time.monotonic
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        if clock() > budget.deadline:
            budget.spend(0)
        yield chunk
