"""Something that is opened and closed by one task of its own.

The SDK's clients must be left by the very task that entered them (anyio cancel scopes), and
whoever calls first is not the one who closes.  The task also ends with its event loop, so a
port that nobody closed leaves nothing open.  Knows no transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from contextvars import Context
from typing import Generic, TypeVar

from policyd.ports.port import Unreachable

OPENING = 30.0
"""Seconds for opening; after them it is tried anew by the next call."""

CLOSING = 10.0
"""Seconds for closing; the SDK gives a process 2 s to end, 2 s after SIGTERM, 2 s after SIGKILL."""

T = TypeVar("T")


class Connection(Generic[T]):
    """A context manager that is held open by a task.  Made in a running event loop."""

    def __init__(
        self,
        manager: Callable[[], AbstractAsyncContextManager[T]],
        reason: str = "no connection to the server",
    ) -> None:
        """*reason* is what `Unreachable` tells when opening fails."""
        self._reason = reason
        self._opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        # the context of whoever calls first must not outlive its call
        self._task = asyncio.create_task(self._hold(manager), context=Context())

    @property
    def ended(self) -> bool:
        """True when it is closed, or broke."""
        return self._task.done()

    async def opened(self) -> T:
        """What the context manager gave; waits for it.  Raises Unreachable when it failed."""
        if self._opened.done():
            return self._opened.result()
        # shielded: others may wait for the same connection when this caller gives up
        return await asyncio.shield(self._opened)

    def leave(self) -> None:
        """Begin to close; `aclose` waits for it."""
        if self._opened.done():
            self._leave.set()
        else:
            self._task.cancel()

    async def aclose(self) -> None:
        """Close, and wait until it is closed; at most twice CLOSING seconds."""
        self.leave()
        if not self.ended:
            await asyncio.wait((self._task,), timeout=CLOSING)
        if not self.ended:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=CLOSING)

    async def _hold(self, manager: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(OPENING):
                    resource = await stack.enter_async_context(manager())
                self._opened.set_result(resource)
                await self._leave.wait()
        except Exception:
            # a border: however another's connection ends, it has ended; calls that were
            # running on it are told by the connection itself
            pass
        finally:
            if not self._opened.done():
                self._opened.set_exception(Unreachable(self._reason))
                # asked for once here: perhaps nobody waits any more, and asyncio would log it
                self._opened.exception()
