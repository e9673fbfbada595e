"""What is held open by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar

import anyio
import pytest

from policyd.ports import connection
from policyd.ports.connection import Connection
from policyd.ports.port import Unreachable

WHO = ContextVar("WHO", default="nobody")


class Door:
    """Says who opened it, and which tasks have gone in and out."""

    def __init__(self, opens: asyncio.Event | None = None) -> None:
        self.opens = opens
        self.entered: list[asyncio.Task[object] | None] = []
        self.left: list[asyncio.Task[object] | None] = []

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[str]:
        self.entered.append(asyncio.current_task())
        try:
            if self.opens is not None:
                await self.opens.wait()
            async with anyio.create_task_group():
                yield WHO.get()
        finally:
            self.left.append(asyncio.current_task())


def test_one_task_of_its_own_enters_and_leaves() -> None:
    async def main() -> None:
        door = Door()
        WHO.set("caller")
        held = Connection(door)
        assert await held.opened() == await held.opened() == "nobody"
        assert (len(door.entered), door.left, held.ended) == (1, [], False)
        await held.aclose()
        await held.aclose()
        assert held.ended
        assert door.left == door.entered != [asyncio.current_task()]

    anyio.run(main)


def test_who_gives_up_waiting_does_not_stop_the_opening() -> None:
    async def main() -> None:
        opens = asyncio.Event()
        held = Connection(Door(opens))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await held.opened()
        waiting = asyncio.create_task(held.opened())
        opens.set()
        assert await waiting == "nobody"
        await held.aclose()

    anyio.run(main)


def broken(reason: type[Exception]) -> Callable[[], AbstractAsyncContextManager[str]]:
    @asynccontextmanager
    async def door() -> AsyncGenerator[str]:
        raise reason("secret")
        yield ""

    return door


@pytest.mark.parametrize("reason", [OSError, ValueError, TimeoutError])
def test_what_cannot_be_opened_is_unreachable_for_everybody(reason: type[Exception]) -> None:
    async def main() -> None:
        held = Connection(broken(reason), "no way")
        for _ in range(2):
            with pytest.raises(Unreachable, match=r"^no way$"):
                await held.opened()
        await held.aclose()
        assert held.ended

    anyio.run(main)


def test_what_does_not_open_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OPENING", 0.01)

    async def main() -> None:
        door = Door(asyncio.Event())
        held = Connection(door)
        with pytest.raises(Unreachable):
            await held.opened()
        await held.aclose()
        assert door.left == door.entered

    anyio.run(main)


def test_closing_does_not_wait_for_what_does_not_open() -> None:
    async def main() -> None:
        door = Door(asyncio.Event())
        held = Connection(door)
        waiting = asyncio.create_task(held.opened())
        await asyncio.sleep(0)  # both have begun
        await held.aclose()
        with pytest.raises(Unreachable):
            await waiting
        assert door.left == door.entered

    anyio.run(main)


def test_what_breaks_while_it_is_open_has_ended() -> None:
    async def main() -> None:
        breaks = asyncio.Event()

        @asynccontextmanager
        async def door() -> AsyncGenerator[str]:
            async def snap() -> None:
                await breaks.wait()
                raise OSError

            async with anyio.create_task_group() as group:
                group.start_soon(snap)
                yield "open"

        held = Connection(door)
        assert await held.opened() == "open"
        breaks.set()
        with anyio.fail_after(5):
            while not held.ended:
                await anyio.lowlevel.checkpoint()
        await held.aclose()

    anyio.run(main)


def test_what_does_not_close_in_time_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CLOSING", 0.01)

    async def main() -> None:
        @asynccontextmanager
        async def door() -> AsyncGenerator[str]:
            yield "open"
            await asyncio.Event().wait()

        held = Connection(door)
        await held.opened()
        await held.aclose()
        assert held.ended

    anyio.run(main)


def test_an_event_loop_that_ends_closes_what_nobody_closed() -> None:
    door = Door()

    async def main() -> None:
        await Connection(door).opened()

    anyio.run(main)
    assert door.left == door.entered
