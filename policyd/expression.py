"""What an expression is, whatever its language: text and scope in, a program or flaws out.

Knows the names an expression may use, how a mistake in its text is reported, and the budget
that bounds its evaluation.  Knows no language: `expr/cel` and `expr/jmes` do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from policyd.errors import Cause, EvaluationError
from policyd.types import Moment, Type


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong in the text of an expression.

    `offset` and `length` count code points from the start of the text.
    """

    code: str
    text: str
    offset: int
    length: int = 1
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression may use, and what is known of their values.

    names: variables that the activation holds.
    absent: names that exist elsewhere, each with the reason why not here.
    constants: what `constants.NAME` stands for (plain JSON values).
    variables: the names usable as `variables.NAME`; the activation holds each under the
        key `variables.NAME`.
    types: what each name may be, `variables.NAME` among them; a name that is left out may be
        anything.
    moments: the events and phases in which the expression runs.  Those of one group count as
        one, of which nobody knows which it will be (`tools/*`); for a name that they know,
        they say more than `types`.
    tools: what the arguments of a tool may be, by its name.
    given: for each group of moments what a condition before has made known there; only the
        language that said so can read it.
    guarded: others ask for the value where it exists, so what is wrong in some moments only
        is no flaw.
    """

    names: frozenset[str]
    absent: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    types: Mapping[str, Type] = field(default_factory=dict)
    moments: tuple[tuple[Moment, ...], ...] = ()
    tools: Mapping[str, Type] = field(default_factory=dict)
    given: tuple[Any, ...] = ()
    guarded: bool = False


class Budget:
    """What one invocation may still spend: steps, and time until a deadline.

    `deadline` is a `time.monotonic()` value.  One budget is shared by all expressions of a
    policy and by the fast and the exact path of each.
    """

    __slots__ = ("deadline", "steps")

    def __init__(self, steps: int, deadline: float) -> None:
        self.steps = steps
        self.deadline = deadline

    def spend(self, steps: int) -> None:
        """Take *steps*, one for each element that a loop or a scan is about to visit.

        Raises EvaluationError when nothing is left or the deadline has passed.
        """
        self.steps -= steps
        if self.steps < 0:
            raise EvaluationError("the step budget is used up", Cause.BUDGET)
        if time.monotonic() > self.deadline:
            raise EvaluationError("the deadline has passed", Cause.DEADLINE)


class Expression(Protocol):
    """A compiled expression."""

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> Any:
        """The value for this activation.  Raises EvaluationError, and nothing else."""
        ...
