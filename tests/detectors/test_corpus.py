"""What detectors find among generated texts, and what they leave alone."""

from __future__ import annotations

from collections import Counter

from policyd.detectors import DETECTORS, scanner
from tests.detectors.corpus import DEFAULT_GROUPS, benign, recall


def test_every_detector_finds_at_least_98_of_100_in_every_kind_of_place() -> None:
    rates = {name: hits / total for name, (hits, total) in recall().items()}
    assert {name: rate for name, rate in rates.items() if rate < 0.98} == {}


def test_at_most_two_of_a_thousand_look_alikes_are_taken_for_something() -> None:
    default = scanner(DEFAULT_GROUPS)
    taken: Counter[tuple[str, str]] = Counter()
    count = 6000
    for kind, text in benign(count, seed=7):
        taken.update((kind, match.detector) for match in default.find(text)[:1])
    assert taken.total() <= count * 2 // 1000, taken


def test_there_are_at_least_sixty_detectors() -> None:
    assert len(DETECTORS) >= 60
