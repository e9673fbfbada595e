"""When a failed server is tried again."""

from __future__ import annotations

from policyd.ports.backoff import FIRST, LONGEST, STEADY, Backoff


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def pause(backoff: Backoff, clock: Clock) -> float:
    """Seconds until a connection may be begun, in steps of a half of the first pause."""
    start = clock.now
    while not backoff.over:
        clock.now += FIRST / 2
    return clock.now - start


def lost_after(seconds: float, backoff: Backoff, clock: Clock) -> None:
    backoff.begin()
    clock.now += seconds
    backoff.ended()


def test_the_first_connection_is_begun_at_once() -> None:
    assert Backoff().over


def test_pauses_of_a_crash_loop_double_up_to_the_longest() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    pauses = []
    for _ in range(7):
        lost_after(0.01, backoff, clock)
        pauses.append(pause(backoff, clock))
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, LONGEST, LONGEST]


def test_a_server_that_never_comes_is_tried_for_ever() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    for _ in range(2000):
        lost_after(0, backoff, clock)
    assert pause(backoff, clock) == LONGEST


def test_a_connection_that_lived_is_replaced_at_once_and_pauses_begin_anew() -> None:
    clock = Clock()
    backoff = Backoff(clock)
    for _ in range(4):
        lost_after(0, backoff, clock)
    lost_after(STEADY, backoff, clock)
    assert backoff.over
    lost_after(STEADY - 1, backoff, clock)
    assert pause(backoff, clock) == FIRST
