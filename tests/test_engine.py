"""The swap: one assignment, seen whole by whoever decides meanwhile."""

from __future__ import annotations

import threading

import pytest

from policyd.engine import Engine
from policyd.errors import InvocationError
from policyd.model import Invocation
from policyd.snapshot import Snapshot, make_snapshot

INVOCATION = Invocation("tools/call", "request", {"name": "x", "arguments": {}})


def snapshot(number: int) -> Snapshot:
    return make_snapshot(f"{number:064d}"[::-1], ())


def test_what_was_installed_last_is_in_force() -> None:
    first, second = snapshot(1), snapshot(2)
    engine = Engine(first)
    kept = engine.current
    assert kept is first
    engine.install(second)
    assert engine.current is second
    assert kept is first


def test_a_decision_names_the_generation_that_made_it() -> None:
    engine = Engine(snapshot(1))
    assert engine.decide(INVOCATION).generation == snapshot(1).generation
    engine.install(snapshot(2))
    assert engine.decide(INVOCATION).generation == snapshot(2).generation


def test_what_the_snapshot_refuses_the_engine_refuses() -> None:
    with pytest.raises(InvocationError):
        Engine(snapshot(1)).decide(Invocation("tools/call", "afterwards", {}))


def test_readers_see_each_install_at_most_once_and_never_go_back() -> None:
    generations = {snapshot(number).generation: number for number in range(300)}
    engine, done = Engine(snapshot(0)), threading.Event()
    seen: list[list[int]] = [[] for _ in range(4)]

    def read(numbers: list[int]) -> None:
        while not done.is_set():
            numbers.append(generations[engine.decide(INVOCATION).generation])
        numbers.append(generations[engine.decide(INVOCATION).generation])

    readers = [threading.Thread(target=read, args=(numbers,)) for numbers in seen]
    for reader in readers:
        reader.start()
    for number in range(300):
        engine.install(snapshot(number))
    done.set()
    for reader in readers:
        reader.join(5)
    for numbers in seen:
        assert numbers == sorted(numbers)
        assert numbers[-1] == 299
