"""What is found in texts: the finders, and what each found stretch claims.

Knows detectors and patterns.  Knows neither documents nor what becomes of a stretch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from policyd.detectors import DETECTORS, Evidence
from policyd.expression import Budget
from policyd.pattern import Pattern
from policyd.redaction.strategy import NAMES, Strategy

Found = tuple[int, int, str | None]
"""A stretch of a text to redact (code points, end exclusive) and the detector that found it."""


class Finder(Protocol):
    """Finds what is to be redacted.  A `Scanner` is one, a `PatternFinder` another."""

    def find(self, text: str, budget: Budget) -> Sequence[Found]:
        """What is in a text, from left to right.  Raises EvaluationError."""
        ...

    def found(self, text: str, budget: Budget) -> bool:
        """False when there is nothing in a text; quicker than `find`.  Raises EvaluationError."""
        ...

    def suspects(self, texts: Sequence[str], budget: Budget) -> Sequence[int]:
        """The indexes of those texts in which something may be.  Raises EvaluationError."""
        ...


@dataclass(frozen=True, slots=True)
class PatternFinder:
    """Finds *group* in each match of *pattern*; each match costs a step of the budget."""

    pattern: Pattern
    group: int = 0

    def find(self, text: str, budget: Budget) -> list[Found]:
        """The places of the group, those where it took no part left out."""
        found: list[Found] = []
        for start, end in self.pattern.iter_spans(text, self.group):
            budget.spend(1)
            found.append((start, end, None))
        return found

    def found(self, text: str, budget: Budget) -> bool:
        """True when the pattern matches."""
        return self.pattern.search(text)

    def suspects(self, texts: Sequence[str], budget: Budget) -> list[int]:
        """The indexes of the texts in which the pattern matches."""
        # all at once where the pattern does not ask for the edges of a text: to every other
        # pattern NUL is what an edge is
        if self.pattern.edgeless and not self.pattern.search("\0".join(texts)):
            return []
        return [index for index, text in enumerate(texts) if self.pattern.search(text)]


@dataclass(frozen=True, slots=True)
class TextRedaction:
    """What to find in every text, and what becomes of it.

    rule: named in the changes.
    keys: map keys are texts too, and a value is searched together with its key, as in
        `password: ...`.  They should be for what only secrets look like; a pattern of ordinary
        words would rename the members that a protocol is made of.
    retype: what is found in a number becomes a text; else the number becomes 0.
    names: of the detectors that a placeholder may have been made for.
    """

    rule: str
    finder: Finder
    replace: Strategy
    keys: bool = True
    retype: bool = False
    names: tuple[str, ...] = NAMES


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a text that must not be seen.

    rank: which redaction found it.
    secret: what was found, with its encoding undone.
    """

    start: int
    end: int
    rank: int
    detector: str | None
    secret: str

    @property
    def claim(self) -> tuple[int, int, int, int]:
        """Where stretches meet, the greatest claim says what becomes of them.

        The strongest evidence, then the redaction that comes first, then the longest.
        """
        return _evidence(self.detector), -self.rank, self.end - self.start, -self.start

    def at(self, start: int, end: int) -> Stretch:
        """The same finding as the stretch from *start* to *end* of another text."""
        return Stretch(start, end, self.rank, self.detector, self.secret)


def _evidence(detector: str | None) -> int:
    """The evidence of a detector; what an author has written a pattern for has its own shape."""
    known = DETECTORS.get(detector or "")
    return Evidence.SHAPE if known is None else known.evidence


def strongest(stretches: Iterable[Stretch]) -> Stretch:
    """The stretch with the greatest claim."""
    return max(stretches, key=lambda stretch: stretch.claim)


def merged(text: str, stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Stretches of *text* from left to right, those that overlap or touch as one."""
    group: list[Stretch] = []
    end = -1
    for stretch in sorted(stretches, key=lambda stretch: (stretch.start, stretch.end)):
        if stretch.start > end and group:
            yield _as_one(text, group, end)
            group = []
        group.append(stretch)
        end = max(end, stretch.end) if len(group) > 1 else stretch.end
    if group:
        yield _as_one(text, group, end)


def _as_one(text: str, group: list[Stretch], end: int) -> Stretch:
    if len(group) == 1:
        return group[0]  # nearly always
    owner, start = strongest(group), group[0].start
    if (owner.start, owner.end) == (start, end):
        return owner
    return Stretch(start, end, owner.rank, owner.detector, text[start:end])
