"""The calls in flight of one port, each in a task of its own and bounded in time.

Whoever calls goes on when its time is up, even where the work cannot stop at once: an SDK
call that is cancelled first tells the server so.  Knows no transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from policyd.ports.port import Unreachable, port_closed

GRACE = 5.0
"""Seconds that calls which were given up have to end when a port is closed."""

MAX_GIVEN_UP = 64
"""Calls that were given up and have not ended; with more, a server takes nothing in any more."""

T = TypeVar("T")


class Calls:
    """Runs calls until it is closed."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._given_up: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def run(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """What *work* returns or raises.

        Raises TimeoutError after *timeout* seconds, and Unreachable when this is closed or
        when MAX_GIVEN_UP calls that were given up still have not ended.
        """
        if self._closed:
            work.close()
            raise port_closed()
        if len(self._given_up) >= MAX_GIVEN_UP:
            work.close()
            raise Unreachable("the server no longer takes in what it is sent")
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._settle)
        try:
            done, _ = await asyncio.wait((task,), timeout=timeout)
        finally:
            if not task.done():
                task.cancel()
                self._given_up.add(task)
        if not done:
            raise TimeoutError
        if task.cancelled():
            raise port_closed()
        return task.result()

    async def aclose(self) -> None:
        """Give up every call, and wait for those that are still telling their server."""
        self._closed = True
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE)

    def _settle(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        self._given_up.discard(task)
        # nobody else asks for the error of a call that was given up, and asyncio would log it
        if not task.cancelled():
            task.exception()
