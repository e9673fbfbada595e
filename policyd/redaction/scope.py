"""Where in a document a redaction applies.

Knows places.  Knows neither texts nor what is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from policyd.expression import Budget
from policyd.pointer import Place, PointerPattern


@dataclass(frozen=True, slots=True)
class Scope:
    """The parts of a document that are looked at.

    within: only what stands at or below one of these; everything, where there are none.
    without: what stands at or below one of these is left alone.
    """

    within: tuple[PointerPattern, ...] = ()
    without: tuple[PointerPattern, ...] = ()

    def area(self, document: Any, budget: Budget) -> Area:
        """The parts of one document."""
        within = _places(self.within, document, budget) if self.within else frozenset({()})
        return Area(within, _places(self.without, document, budget))


@dataclass(frozen=True, slots=True)
class Area:
    """The parts of one document: the places at whose roots they stand."""

    within: frozenset[Place]
    without: frozenset[Place]

    def holds(self, place: Place, is_key: bool = False) -> bool:
        """True when what stands at *place* is looked at.

        A key belongs to the object that has it, and not to what stands under it.
        """
        roots = [place[:depth] for depth in range(len(place) + (not is_key))]
        return any(r in self.within for r in roots) and not any(r in self.without for r in roots)


EVERYWHERE = Scope()
"""The whole document."""


def _places(patterns: Sequence[PointerPattern], document: Any, budget: Budget) -> frozenset[Place]:
    found: list[Place] = []

    def note(value: Any, place: Place) -> Any:
        found.append(place)
        return value

    for pattern in patterns:
        pattern.rewrite(document, note, budget.spend)
    return frozenset(found)
