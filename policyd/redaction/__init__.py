"""Redacts documents: by what a text holds, or by place.

Knows the strategies, how several redactions of one text come together, and the report of what
was changed.  Knows no policy file: `rules/redact` compiles one into what is here.

What nothing was found in stays the very same object.  Redacting twice is redacting once, unless
what is taken out or kept makes a new token of its neighbours.
A text is searched as it stands: JSON or encodings within it are not undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from policyd.expression import Budget
from policyd.model import Change
from policyd.pattern import Pattern
from policyd.pointer import Place, PointerPattern
from policyd.redaction.strategy import (
    Found,
    Hash,
    Literal,
    Mask,
    Remove,
    Strategy,
    canonical,
    mask_flaw,
    redact_text,
    redact_value,
)
from policyd.redaction.walk import DETAIL, HIDDEN, Rewritten, places_of, safe_pointer, walk_strings

__all__ = [
    "DETAIL",
    "HIDDEN",
    "Finder",
    "Found",
    "Hash",
    "Literal",
    "Mask",
    "PathRedaction",
    "PatternFinder",
    "Remove",
    "Rewritten",
    "Strategy",
    "TextRedaction",
    "canonical",
    "mask_flaw",
    "places_of",
    "redact_places",
    "redact_text",
    "redact_texts",
    "redact_value",
    "safe_pointer",
    "walk_strings",
]


class Finder(Protocol):
    """Finds what is to be redacted.  A `Scanner` is one, a `PatternFinder` another."""

    def find(self, text: str, budget: Budget) -> Sequence[Found]:
        """What is in a text, from left to right.  Raises EvaluationError."""
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
    keys: whether map keys are texts too.  They should be for what only secrets look like; a
        pattern of ordinary words would rename the members that a protocol is made of.
    """

    rule: str
    finder: Finder
    replace: Strategy
    keys: bool = True


@dataclass(frozen=True, slots=True)
class PathRedaction:
    """Whole values to redact by their place.  `rule` is named in the changes."""

    rule: str
    pattern: PointerPattern
    replace: Strategy


def redact_texts(
    document: Any, redactions: Sequence[TextRedaction], budget: Budget
) -> tuple[Any, tuple[Change, ...]]:
    """*document* with what any of *redactions* finds in its texts replaced, and where.

    All look at the text as it came.  Stretches that overlap become one, which covers them all
    and is replaced as the redaction that comes first says; among its own, the longest names
    the detector.  The document is the same object when nothing was found.  Raises
    EvaluationError when the budget is used up.
    """
    for_keys = [redaction for redaction in redactions if redaction.keys]

    def change(text: str, is_key: bool) -> Rewritten | None:
        return _redact(text, for_keys if is_key else redactions, budget)

    def suspects(texts: Sequence[str]) -> list[int]:
        found = (redaction.finder.suspects(texts, budget) for redaction in redactions)
        return sorted(set().union(*found))

    return walk_strings(document, change, budget, suspects)


def redact_places(
    document: Any, redaction: PathRedaction, budget: Budget
) -> tuple[Any, tuple[Change, ...]]:
    """*document* with each value at the redaction's places replaced, and where.

    Raises PointerError when the whole document would be removed, and EvaluationError when the
    budget is used up.
    """
    changed: list[Place] = []

    def change(value: Any, place: Place) -> Any:
        new = redact_value(value, redaction.replace)
        if new is not value:
            changed.append(place)
        return new

    result = redaction.pattern.rewrite(document, change, budget.spend)
    shown: dict[str, str] = {}
    changes = (Change(redaction.rule, safe_pointer(place, shown), DETAIL) for place in changed)
    return result, tuple(changes)


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: int
    end: int
    rank: int
    detector: str | None

    @property
    def claim(self) -> tuple[int, int, int]:
        return self.rank, self.start - self.end, self.start


def _redact(text: str, redactions: Sequence[TextRedaction], budget: Budget) -> Rewritten | None:
    stretches = [
        _Stretch(start, end, rank, detector)
        for rank, redaction in enumerate(redactions)
        for start, end, detector in redaction.finder.find(text, budget)
        if not redaction.replace.made(text[start:end])
    ]
    if not stretches:
        return None
    counts: dict[tuple[str, str | None], int] = {}
    parts: list[str] = []
    at = 0
    for start, end, owner in _merged(stretches):
        budget.spend(1)
        redaction = redactions[owner.rank]
        parts += (text[at:start], redaction.replace.of(text[start:end], owner.detector))
        at = end
        source = (redaction.rule, owner.detector)
        counts[source] = counts.get(source, 0) + 1
    return "".join((*parts, text[at:])), counts


def _merged(stretches: list[_Stretch]) -> Iterator[tuple[int, int, _Stretch]]:
    """Stretches without overlap, from left to right, each with the one that decides on it."""
    ordered = sorted(stretches, key=lambda stretch: stretch.start)
    owner = ordered[0]
    start, end = owner.start, owner.end
    for stretch in ordered[1:]:
        if stretch.start >= end:
            yield start, end, owner
            owner, start, end = stretch, stretch.start, stretch.end
            continue
        end = max(end, stretch.end)
        owner = min(owner, stretch, key=lambda one: one.claim)
    yield start, end, owner
