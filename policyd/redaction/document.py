"""One document: what is found in it, and the document without it.

Knows the order in which redactions come together, and the report of what was changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from policyd.expression import Budget
from policyd.model import Change
from policyd.pointer import REMOVE, Draft, Place, PointerPattern
from policyd.redaction.finding import TextRedaction
from policyd.redaction.names import KeyNames
from policyd.redaction.safe import safe_pointer
from policyd.redaction.scope import EVERYWHERE, Area, Scope
from policyd.redaction.strategy import Numbered, Numbers, Strategy, redact_value
from policyd.redaction.text import Rewriter, Rewritten
from policyd.redaction.walk import (
    Texts,
    Unit,
    is_clean,
    place_of_unit,
    renamed_place,
    suspects,
    texts_of,
)

DETAIL: Final = "redact"
"""What a `Change` says was done."""

RETYPED: Final = "redact, type changed"
"""What a `Change` says was done where a value has another JSON type than before."""


@dataclass(frozen=True, slots=True)
class PathRedaction:
    """Whole values to redact by their place.

    rule: named in the changes; retype: what is no text becomes one.
    """

    rule: str
    pattern: PointerPattern
    replace: Strategy
    retype: bool = False


@dataclass(frozen=True, slots=True)
class ScopedRedaction:
    """A redaction, and where it applies."""

    redaction: TextRedaction | PathRedaction
    scope: Scope = EVERYWHERE


def redact(
    document: Any, redactions: Sequence[ScopedRedaction], budget: Budget
) -> tuple[Any, tuple[Change, ...]]:
    """*document* with all *redactions* applied, and what was changed where.

    All look at the document as it came.  What stands at or below the place of a
    `PathRedaction` is searched by no other; where two take the same place, the first does,
    and else the outer one.  In texts, stretches that overlap or touch become one: what was
    found with the strongest evidence says what becomes of it, then the redaction that comes
    first, then the longest.

    The document is never changed, and is the same object when nothing was found.  Changes tell
    places as they were, but for keys, which are told as they are now.  Raises EvaluationError
    when the budget is used up, and PointerError when the whole document would be removed.
    """
    run = _Run(document, redactions, budget)
    run.take_places()
    run.rewrite_texts()
    return run.result()


Hit = tuple[Place, bool, Any, Rewritten]
"""The place of something found, whether it is a key, what it was, and what it becomes."""


class _Run:
    """Redactions on their way through one document."""

    def __init__(
        self, document: Any, redactions: Sequence[ScopedRedaction], budget: Budget
    ) -> None:
        self._document = document
        self._budget = budget
        self._redactions = _numbered(document, redactions, budget)
        self._names = KeyNames()
        self._taken: set[Place] = set()
        self._edits: list[tuple[Place, Any]] = []
        self._renamed: dict[Place, dict[str, str]] = {}
        self._told: list[tuple[Place, Mapping[tuple[str, str | None], int], str]] = []

    def take_places(self) -> None:
        """Redact the values that stand at the place of a redaction."""
        found: dict[Place, tuple[Any, PathRedaction]] = {}
        for scoped in self._redactions:
            if isinstance(scoped.redaction, PathRedaction):
                area = scoped.scope.area(self._document, self._budget)
                for place, value in _values(scoped.redaction, self._document, self._budget):
                    if area.holds(place):
                        found.setdefault(place, (value, scoped.redaction))
        self._taken = set(found)
        for place, (value, redaction) in found.items():
            if not self._lies_in_taken(place):
                new = redact_value(value, redaction.replace, retype=redaction.retype)
                if new is not value:
                    self._edit(place, value, new, {(redaction.rule, None): 1})

    def _lies_in_taken(self, place: Place) -> bool:
        return bool(self._taken) and any(
            place[:depth] in self._taken for depth in range(len(place))
        )

    def rewrite_texts(self) -> None:
        """Redact what is found in texts and numbers."""
        for place, is_key, old, rewritten in self.hits():
            if is_key:
                self._renamed.setdefault(place[:-1], {})[old] = rewritten.value
                self._told.append((place, rewritten.counts, DETAIL))
            else:
                self._edit(place, old, rewritten.value, rewritten.counts)

    def hits(self) -> Iterator[Hit]:
        """What is found in texts and numbers, in document order."""
        active = [
            (scoped.redaction, scoped.scope)
            for scoped in self._redactions
            if isinstance(scoped.redaction, TextRedaction)
        ]
        every = [redaction for redaction, _ in active]
        if not every or is_clean(self._document, every, self._budget):
            return
        texts = texts_of(self._document, self._budget)
        suspicious = suspects(texts, every, self._budget)
        if not suspicious:
            return
        rewriter = Rewriter(every, self._names, self._budget)
        areas = [
            (rank, redaction, scope.area(self._document, self._budget))
            for rank, (redaction, scope) in enumerate(active)
        ]
        for index in suspicious:
            yield from self._hits_at(texts.units[index], rewriter, areas)

    def _hits_at(
        self, unit: Unit, rewriter: Rewriter, areas: Sequence[tuple[int, TextRedaction, Area]]
    ) -> Iterator[Hit]:
        _, key, value = unit
        place = place_of_unit(unit)
        if self._lies_in_taken(place):
            return
        if isinstance(key, str):
            active = [(n, r) for n, r, area in areas if r.keys and area.holds(place, is_key=True)]
            rewritten = rewriter.rewrite_key(key, active)
            if rewritten is not None:
                yield place, True, key, rewritten
        if value is None or place in self._taken:
            return
        active = [(rank, redaction) for rank, redaction, area in areas if area.holds(place)]
        rewritten = rewriter.rewrite_leaf(value, key, active)
        if rewritten is not None:
            yield place, False, value, rewritten

    def _edit(
        self, place: Place, old: Any, new: Any, counts: Mapping[tuple[str, str | None], int]
    ) -> None:
        self._edits.append((place, new))
        same = new is REMOVE or type(new) is type(old)
        self._told.append((place, counts, DETAIL if same else RETYPED))

    def result(self) -> tuple[Any, tuple[Change, ...]]:
        """The document as it is now, and what was changed."""
        if not self._told:
            return self._document, ()
        draft = Draft(self._document)
        # before anything is written: an element taken out shifts those behind it
        objects = {place: draft.container(place) for place in self._renamed}
        draft.write(sorted(self._edits, key=lambda edit: edit[0]))
        names = {
            place: self._names.rename(objects[place], wanted, self._budget)
            for place, wanted in self._renamed.items()
        }
        shown: dict[str, str] = {}
        changes = [
            Change(rule, safe_pointer(renamed_place(place, names), shown), detail, detector, count)
            for place, counts, detail in self._told
            for (rule, detector), count in counts.items()
        ]
        return draft.root, tuple(changes)


def _numbered(
    document: Any, redactions: Sequence[ScopedRedaction], budget: Budget
) -> Sequence[ScopedRedaction]:
    """The redactions, with one `Numbers` for all that number the secrets of a document."""
    if not any(isinstance(scoped.redaction.replace, Numbered) for scoped in redactions):
        return redactions
    seen: list[Texts] = []

    def taken(token: str) -> bool:
        if not seen:
            seen.append(texts_of(document, budget))
        return seen[0].holds(token)

    numbers = Numbers(taken)
    return [
        replace(scoped, redaction=replace(scoped.redaction, replace=numbers))
        if isinstance(scoped.redaction.replace, Numbered)
        else scoped
        for scoped in redactions
    ]


def _values(redaction: PathRedaction, document: Any, budget: Budget) -> list[tuple[Place, Any]]:
    """The values at the places of a redaction."""
    found: list[tuple[Place, Any]] = []

    def note(value: Any, place: Place) -> Any:
        found.append((place, value))
        return value

    redaction.pattern.rewrite(document, note, budget.spend)
    return found


def find_places(
    document: Any,
    redactions: Sequence[ScopedRedaction],
    budget: Budget,
) -> Iterator[tuple[str, int]]:
    """Pointers to what *redactions* find in texts and numbers, and how often each time.

    What is found in a key is told as the object that it belongs to,
    so a pointer may come twice.  Raises EvaluationError when the budget is used up.
    """
    shown: dict[str, str] = {}
    for place, is_key, _, rewritten in _Run(document, redactions, budget).hits():
        own = place[:-1] if is_key else place
        yield safe_pointer(own, shown), sum(rewritten.counts.values())
