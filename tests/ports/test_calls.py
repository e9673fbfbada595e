"""Calls end in time, whatever happens to their work."""

from __future__ import annotations

import asyncio
import logging
import time

import anyio
import pytest

from policyd.ports.calls import MAX_GIVEN_UP, Calls
from policyd.ports.port import Unreachable


async def echo(value: str) -> str:
    return value


async def stubborn(begun: asyncio.Event, ended: asyncio.Event) -> str:
    """Does not stop before *ended* is set."""
    begun.set()
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError:
            continue
    raise ValueError("nobody asks")


def test_what_the_work_returns_or_raises_is_passed_on() -> None:
    async def main() -> None:
        calls = Calls()
        assert await calls.run(echo("a"), 5) == "a"
        with pytest.raises(asyncio.InvalidStateError):
            await calls.run(fail(), 5)

    async def fail() -> None:
        raise asyncio.InvalidStateError

    anyio.run(main)


def test_work_that_does_not_stop_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        calls = Calls()
        begun, ended = asyncio.Event(), asyncio.Event()
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await calls.run(stubborn(begun, ended), 0.05)
        assert time.monotonic() - start < 5
        ended.set()
        await calls.aclose()

    with caplog.at_level(logging.DEBUG):
        anyio.run(main)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_calls_that_were_given_up_and_do_not_end_are_bounded() -> None:
    async def main() -> None:
        calls = Calls()
        begun, ended = asyncio.Event(), asyncio.Event()
        for _ in range(MAX_GIVEN_UP):
            with pytest.raises(TimeoutError):
                await calls.run(stubborn(begun, ended), 0)
        with pytest.raises(Unreachable, match="no longer takes in what it is sent"):
            await calls.run(echo("a"), 5)
        ended.set()
        for _ in range(3):
            await asyncio.sleep(0)
        assert await calls.run(echo("a"), 5) == "a"
        await calls.aclose()

    anyio.run(main)


def test_a_caller_that_is_cancelled_goes_at_once_and_its_work_is_cancelled() -> None:
    async def main() -> None:
        calls = Calls()
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        async with anyio.create_task_group() as group:
            group.start_soon(calls.run, work(), 60)
            await begun.wait()
            group.cancel_scope.cancel()
        await cancelled.wait()
        await calls.aclose()

    anyio.run(main)


def test_closing_ends_running_calls_and_refuses_later_ones() -> None:
    async def main() -> None:
        calls = Calls()
        running = asyncio.create_task(calls.run(asyncio.Event().wait(), 60))
        await asyncio.sleep(0)  # it has begun
        await calls.aclose()
        for call in (running, calls.run(echo("a"), 5)):
            with pytest.raises(Unreachable, match=r"^the port is closed$"):
                await call

    anyio.run(main)
