"""When a server that failed may be tried again.

Knows time only.  A server that dies as soon as it is started must cost little: calls in the
meantime fail at once instead of starting it over and over.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST = 0.25
"""Seconds of the first pause; each further one is twice as long."""

LONGEST = 8.0
"""Seconds of the longest pause."""

STEADY = 5.0
"""Seconds: a connection that lived so long did not fail at its start; there is no pause."""


class Backoff:
    """The pauses between the connections to one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._begun = 0.0
        self._until: float | None = None

    @property
    def over(self) -> bool:
        """True when a connection may be begun."""
        return self._until is None or self._clock() >= self._until

    def begin(self) -> None:
        """A connection is begun."""
        self._begun = self._clock()

    def ended(self) -> None:
        """That connection has ended, or never came to be."""
        now = self._clock()
        if now - self._begun >= STEADY:
            self._failures = 0
            self._until = None
            return
        # the exponent is bounded, or the power of a server that never comes would overflow
        self._until = now + min(FIRST * 2.0 ** min(self._failures, 16), LONGEST)
        self._failures += 1
