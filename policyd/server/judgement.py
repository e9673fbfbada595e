"""One `interceptor/invoke` while it is judged, and what became of it.

The latter is for whoever watches: logs, counters, spans.  Knows no watcher and no transport.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from policyd.expression import Budget
from policyd.model import Outcome
from policyd.snapshot import Snapshot
from policyd.wire import Call


class Running:
    """The budgets of a call that is judged in a thread, so that another can end it."""

    def __init__(self) -> None:
        self._budgets: list[Budget] = []
        self._over = False

    def add(self, budget: Budget) -> None:
        """Take in a budget that is about to be spent."""
        self._budgets.append(budget)
        if self._over:
            budget.deadline = -math.inf

    def end(self) -> None:
        """Let nothing more be spent: whoever tries has passed its deadline."""
        self._over = True
        for budget in self._budgets:
            budget.deadline = -math.inf


class Judgement(NamedTuple):
    """One call and its answer.

    said: what is answered.
    ran: the outcomes of those that ran for it: one, none for a retired name, several for a
        call that stands for many.
    seconds: how long it took, from the reading of the call on.
    """

    snapshot: Snapshot
    call: Call
    said: Outcome
    ran: tuple[Outcome, ...]
    seconds: float


Observer = Callable[[Judgement], None]
"""Told of every judgement, on the event loop: it must return at once and not raise."""
