"""Runs detectors over a text.

Knows how candidates are found fast and how overlapping matches become one.  Knows no single
detector.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from policyd.detectors.detector import Detector, compiled
from policyd.expression import Budget
from policyd.pattern import Filter, Pattern

LONG = 512
"""Code points from which on a candidate costs a step for each."""

SHORTEST = 6
"""Code points of the shortest thing that any detector finds, an address such as `a@b.cd`."""

ROUNDS = 4
"""How often a text, and what is left of it, is searched; a bound keeps the time linear."""


class Match(NamedTuple):
    """A stretch of a text, in code points, end exclusive, and the name of what it is."""

    start: int
    end: int
    detector: str


class _Candidate(NamedTuple):
    """A match and its claim to the name: greater is better."""

    start: int
    end: int
    claim: tuple[int, int, int]
    name: str


class Scanner:
    """Finds what any of its detectors finds.

    One filter over all patterns decides which of them run at all.  Measured with every
    detector on clean text: 4 us for a word, 12 us for a kilobyte, 4 ms for 200 KB; making one
    takes 45 ms.
    """

    __slots__ = ("_filter", "_rows")

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._rows: list[tuple[Pattern, Detector, int]] = []
        for rank, detector in enumerate(detectors):
            for text in detector.patterns:
                self._rows.append((compiled(text), detector, -rank))
        self._filter = Filter([pattern.text for pattern, _, _ in self._rows])

    def find(self, text: str, budget: Budget | None = None) -> list[Match]:
        """All matches, from left to right, none overlapping another.

        Matches that overlap become one that covers them all, so that no rest of a secret is
        left over.  Its name is that of the match with the strongest evidence, then of the
        longest, then of the detector that was given first.  What is left around the matches is
        searched again, because one token may have hidden where the next began.

        Each candidate costs a step of the budget, if there is one; raises EvaluationError when
        it is used up.
        """
        matches: list[Match] = []
        parts = [(0, text)]
        for _ in range(ROUNDS):
            parts = [rest for part in parts for rest in self._scan(part, matches, budget)]
        matches.sort()
        return matches

    def _scan(
        self, part: tuple[int, str], matches: list[Match], budget: Budget | None
    ) -> list[tuple[int, str]]:
        """Add the matches in a part of the text, and give what is left around them.

        A part is where it starts, and its text.
        """
        offset, text = part
        hits = self._filter.hits(text) if len(text) >= SHORTEST else ()
        candidates = [found for index in hits for found in self._run(index, text, budget)]
        if not candidates:
            return []
        rest: list[tuple[int, str]] = []
        at = 0
        for start, end, name in _merge(candidates):
            matches.append(Match(offset + start, offset + end, name))
            rest.append((offset + at, text[at:start]))
            at = end
        return [*rest, (offset + at, text[at:])]

    def found(self, text: str, budget: Budget | None = None) -> bool:
        """True when there is a match anywhere; stops at the first.  The budget is as in `find`."""
        if len(text) < SHORTEST:
            return False
        return any(
            True for index in self._filter.hits(text) for _ in self._run(index, text, budget)
        )

    def suspects(self, texts: Sequence[str], budget: Budget | None = None) -> list[int]:
        """The indexes, ascending, of the texts that may hold a match; no other one does.

        All are searched at once, which takes a tenth of the time of one after the other.  NUL
        stands between them: to every pattern it is what the edge of a text is, so a match in
        a text is one in the whole as well, or lies within one that reaches across.
        """
        joined = "\0".join(texts)
        hits = self._filter.hits(joined)
        if not hits:
            return []
        starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        found: set[int] = set()
        for index in hits:
            for start, end in self._rows[index][0].iter_spans(joined):
                _spend(budget)
                found.update(range(bisect_right(starts, start) - 1, bisect_left(starts, end)))
        return sorted(found)

    def _run(self, index: int, text: str, budget: Budget | None) -> Iterator[_Candidate]:
        pattern, detector, rank = self._rows[index]
        check = detector.check
        for start, end in pattern.iter_spans(text, 1):
            # a check walks over its candidate, so a long one is paid for by its length
            _spend(budget, 1 if end - start < LONG else end - start)
            for first, last in ((0, end - start),) if check is None else check(text[start:end]):
                claim = (int(detector.evidence), last - first, rank)
                yield _Candidate(start + first, start + last, claim, detector.name)


def _spend(budget: Budget | None, steps: int = 1) -> None:
    if budget is not None:
        budget.spend(steps)


def _merge(candidates: list[_Candidate]) -> list[Match]:
    candidates.sort()
    merged: list[Match] = []
    start, end, best, name = candidates[0]
    for candidate in candidates[1:]:
        if candidate.start >= end:
            merged.append(Match(start, end, name))
            start, end, best, name = candidate
            continue
        end = max(end, candidate.end)
        if candidate.claim > best:
            best, name = candidate.claim, candidate.name
    merged.append(Match(start, end, name))
    return merged
