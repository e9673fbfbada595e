"""Notifications in their order, and results that do not wait for a flood of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from policyd.middleware import order
from policyd.middleware.order import MAX_WAITING, Arrivals

SECONDS = 30


def run(talk: Callable[[Arrivals], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(SECONDS):
            await talk(Arrivals())

    anyio.run(bounded)


def test_a_result_waits_for_what_came_before_it_and_not_for_what_came_after() -> None:
    seen: list[str] = []

    async def talk(arrivals: Arrivals) -> None:
        gate = anyio.Event()

        async def notice(name: str) -> None:
            async def judge() -> None:
                await gate.wait()
                seen.append(name)

            await arrivals.notification(judge)

        async def result() -> None:
            await arrivals.result(None)
            seen.append("result")

        async with anyio.create_task_group() as group:
            group.start_soon(notice, "one")
            group.start_soon(notice, "two")
            group.start_soon(result)
            await checkpoint()
            await checkpoint()
            group.start_soon(notice, "three")
            await checkpoint()
            gate.set()

    run(talk)
    assert seen == ["one", "two", "result", "three"]


def test_nobody_waits_where_there_is_nothing_to_wait_for() -> None:
    async def talk(arrivals: Arrivals) -> None:
        await arrivals.result(0.0)

    run(talk)


@pytest.mark.parametrize("left", [0.0, 0.01, None])
def test_a_result_waits_no_longer_than_its_request_may_take(
    left: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if left is None:
        monkeypatch.setattr(order, "MAX_WAIT", 0.01)
    done: list[bool] = []

    async def talk(arrivals: Arrivals) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(arrivals.notification, anyio.sleep_forever)
            await checkpoint()
            await arrivals.result(left)
            done.append(True)
            group.cancel_scope.cancel()

    run(talk)
    assert done == [True]


def test_what_comes_faster_than_it_is_judged_is_dropped_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def talk(arrivals: Arrivals) -> None:
        for flood in (1, 2):
            gate = anyio.Event()
            judged: list[int] = []
            told: list[int | None] = []

            async def notice(
                number: int, gate: anyio.Event = gate, judged: list[int] = judged
            ) -> int:
                await gate.wait()
                judged.append(number)
                return number

            async def come(number: int, told: list[int | None] = told) -> None:
                told.append(await arrivals.notification(lambda: notice(number)))

            async with anyio.create_task_group() as group:
                for number in range(MAX_WAITING + 9):
                    group.start_soon(come, number)
                await checkpoint()
                await checkpoint()
                assert told == [None] * 9
                gate.set()
            assert judged == list(range(MAX_WAITING))
            assert told[9:] == judged
            assert caplog.text.count("faster than they are judged") == flood

    run(talk)


def test_a_judgement_that_fails_frees_its_place() -> None:
    async def crash() -> None:
        raise ValueError

    async def talk(arrivals: Arrivals) -> None:
        for _ in range(MAX_WAITING + 1):
            with pytest.raises(ValueError, match=r"^$"):
                await arrivals.notification(crash)

    run(talk)
