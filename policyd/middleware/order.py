"""The order in which a client's messages came.  Knows nothing of what they say."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

MAX_WAITING = 256
"""Notifications that wait to be judged; one that comes while there are so many is dropped.  The
SDK's own queues of notifications are as long."""

MAX_WAIT = 5.0
"""Seconds that a result waits for the notifications before it; then it overtakes them."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Arrivals:
    """Lets notifications be judged one after the other, and results wait for those before."""

    def __init__(self) -> None:
        self._turn = anyio.Lock(fast_acquire=True)
        self._waiting = 0
        self._flooded = False

    async def notification(self, judge: Callable[[], Awaitable[T]]) -> T | None:
        """What *judge* gives when its turn comes, or None at once when too many wait."""
        if self._waiting >= MAX_WAITING:
            if not self._flooded:
                logger.warning("notifications come faster than they are judged: some are dropped")
            self._flooded = True
            return None
        self._waiting += 1
        try:
            async with self._turn:
                return await judge()
        finally:
            self._waiting -= 1
            self._flooded = self._flooded and self._waiting > 0

    async def result(self, left: float | None) -> None:
        """Wait until the notifications that came before are judged.

        *left* is how many seconds the request may still take, or None.  A result that has
        waited so long, or MAX_WAIT, waits no more.
        """
        if self._waiting == 0:
            return
        with anyio.move_on_after(MAX_WAIT if left is None else min(MAX_WAIT, left)):
            async with self._turn:
                pass
