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
from policyd.pattern import Filter

LONG = 512
"""Code points from which on a candidate costs a step for each."""

ROUNDS = 4
"""How often a text, and what is left of it, is searched; a bound keeps the time linear."""

NEAR = 128
"""Code points around a match that are searched again."""

GATE = 8
"""Patterns of a group that run as one.  With more, the automaton gets too large."""

ORDINARY = (
    "2024-01-02T03:04:05.123456+01:00 [a1b2] 10.0.0.1 GET /v1/8f14e45f-ceea-467f-9d0c-000000000001"
    " by dana@example.com took 1785600000009 us, 2024-01-02 03:04 12345 67890 Dana: 1, 2"
)
"""What most texts are like; a pattern that matches in it belongs to no group."""


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

    A filter decides which patterns run at all: it looks for letters that must occur.  Patterns
    without such letters, as those of numbers are, run in groups first, each group as one
    pattern.  `benchmarks/detectors.py` says what that takes.
    """

    __slots__ = ("_always", "_filter", "_filtered", "_gates", "_rows", "_shortest")

    def __init__(self, detectors: Iterable[Detector]) -> None:
        detectors = tuple(detectors)
        self._shortest = min((detector.shortest for detector in detectors), default=1)
        self._rows = [
            (compiled(text), detector, -rank)
            for rank, detector in enumerate(detectors)
            for text in detector.patterns
        ]
        texts = [pattern.text for pattern, _, _ in self._rows]
        plain = Filter(texts).unfiltered
        self._filtered = [index for index in range(len(texts)) if index not in set(plain)]
        self._filter = Filter([texts[index] for index in self._filtered])
        self._always = [index for index in plain if self._rows[index][0].search(ORDINARY)]
        rare = [index for index in plain if index not in self._always]
        self._gates = [
            (compiled("|".join(f"(?:{texts[index]})" for index in group)), group)
            for group in (rare[at : at + GATE] for at in range(0, len(rare), GATE))
        ]

    def _hits(self, text: str) -> list[int]:
        """The rows whose patterns may match in *text*; no other one does."""
        hits = [*self._always, *(self._filtered[index] for index in self._filter.hits(text))]
        for gate, group in self._gates:
            if gate.search(text):
                hits += group
        return hits

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
        for _ in range(ROUNDS if len(text) >= self._shortest else 0):
            candidates = [
                found for index in self._hits(text) for found in self._run(index, text, budget)
            ]
            if not candidates:
                break
            merged = _merge(candidates)
            matches += merged
            text = _rest(text, merged)
        matches.sort()
        return matches

    def found(self, text: str, budget: Budget | None = None) -> bool:
        """True when there is a match anywhere; stops at the first.  The budget is as in `find`."""
        if len(text) < self._shortest:
            return False
        return any(True for index in self._hits(text) for _ in self._run(index, text, budget))

    def suspects(self, texts: Sequence[str], budget: Budget | None = None) -> list[int]:
        """The indexes, ascending, of the texts that may hold a match; no other one does.

        All are searched at once, which takes a tenth of the time of one after the other.  NUL
        stands between them: to every pattern it is what the edge of a text is, so a match in
        a text is one in the whole as well, or lies within one that reaches across.
        """
        joined = "\0".join(texts)
        hits = self._hits(joined)
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
        if not _holds_any(text, detector.keywords):
            return
        check, around = detector.check, detector.around
        for start, end in pattern.iter_spans(text, detector.group):
            # a check walks over its candidate, so a long one is paid for by its length
            _spend(budget, 1 if end - start < LONG else end - start)
            for first, last in ((0, end - start),) if check is None else check(text[start:end]):
                if around is not None and not around(text, start + first, start + last):
                    continue
                claim = (int(detector.evidence), last - first, rank)
                yield _Candidate(start + first, start + last, claim, detector.name)


def _holds_any(text: str, keywords: tuple[str, ...]) -> bool:
    if not keywords:
        return True
    lowered = text.lower()
    return any(word in lowered for word in keywords)


def _rest(text: str, matches: Sequence[Match]) -> str:
    """*text* with NUL in the place of matches, and of what is far from any.

    To every pattern NUL is what an edge is.  What is near ends at a space.
    """
    parts: list[str] = []
    at = 0
    stops = (*(match.start for match in matches[1:]), len(text))
    for (start, end, _), stop in zip(matches, stops, strict=True):
        first = max(text.rfind(" ", at, max(start - NEAR, at)), at)
        last = text.find(" ", end + NEAR, stop)
        last = stop if last < 0 else last
        parts += ("\0" * (first - at), text[first:start], "\0" * (end - start), text[end:last])
        at = last
    return "".join(parts) + "\0" * (len(text) - at)


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
