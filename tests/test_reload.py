"""Reloading: compile aside, swap once, keep the last good set, and say so once."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after

from policyd import reload as reload_module
from policyd.compiler import Compilation, compile_bundle
from policyd.engine import Engine
from policyd.model import Invocation
from policyd.reload import Outcome, Reloader, Status
from policyd.source import Bundle, DirectorySource, StopEvent, make_bundle

INSTALLED, REJECTED, UNCHANGED = Outcome


def policy(name: str, tool: str, expression: str = "tool == {tool}") -> str:
    """The text of a policy that denies one tool."""
    deny = expression.replace("{tool}", f'"{tool}"')
    return (
        "policyd: v1\nvalidators:\n"
        f"  - name: {name}\n"
        "    match: {events: [tools/call], phase: request}\n"
        "    rules:\n"
        f"      - {{id: deny, deny: '{deny}', message: not {tool}}}\n"
    )


BAD = policy("a", "wipe", "tol == {tool}")


def denied(engine: Engine, *tools: str) -> list[str]:
    """Which of the tools are denied now."""
    calls = {tool: Invocation("tools/call", "request", {"name": tool}) for tool in tools}
    return [tool for tool, call in calls.items() if not engine.decide(call).allowed]


class Setup:
    """A directory of policies, and what serves it."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.write("a", policy("a", "wipe"))
        self.source = DirectorySource([root])
        snapshot = compile_bundle(self.source.read()).snapshot
        assert snapshot is not None
        self.engine = Engine(snapshot)
        self.reloader = Reloader(self.engine, self.source, **options)

    def write(self, name: str, text: str) -> None:
        self.root.mkdir(exist_ok=True)
        (self.root / f"{name}.yaml").write_text(text)

    def remove(self, name: str) -> None:
        (self.root / f"{name}.yaml").unlink()

    def reload(self) -> Outcome:
        return anyio.run(self.reloader.reload)

    def told(self) -> list[str]:
        """Where and what the last error is."""
        errors = self.reloader.status.last_error or ()
        return [f"{Path(d.span.file).name}:{d.span.line} {d.code}" for d in errors]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path / "policies")


# One reload


def test_files_that_did_not_change_change_nothing(setup: Setup) -> None:
    before = setup.engine.current
    os.utime(setup.root / "a.yaml")
    assert setup.reload() is UNCHANGED
    assert setup.engine.current is before


def test_a_good_change_is_in_force(setup: Setup) -> None:
    setup.write("a", policy("a", "drop"))
    assert setup.reload() is INSTALLED
    assert denied(setup.engine, "wipe", "drop") == ["drop"]


def test_a_rejected_reload_keeps_the_old_snapshot(setup: Setup) -> None:
    before = setup.engine.current
    setup.write("a", BAD)
    assert setup.reload() is REJECTED
    assert setup.engine.current is before
    assert setup.told() == ["a.yaml:6 cel-unknown-name"]


def test_the_status_follows_what_happens(setup: Setup) -> None:
    started = datetime.now(UTC)
    first = setup.engine.current
    status = setup.reloader.status
    assert status == Status(first.generation, first.revision, status.loaded_at)
    assert status.loaded_at <= started

    setup.write("a", BAD)
    setup.reload()
    rejected = setup.reloader.status
    assert rejected.rejected_at is not None
    assert rejected.rejected_at >= started
    assert rejected == Status(
        first.generation,
        first.revision,
        status.loaded_at,
        REJECTED,
        rejected.last_error,
        setup.source.read().revision,
        rejected.rejected_at,
    )

    setup.write("a", policy("a", "drop"))
    setup.reload()
    second = setup.engine.current
    installed = setup.reloader.status
    assert installed == Status(second.generation, second.revision, installed.loaded_at, INSTALLED)
    assert installed.loaded_at >= rejected.rejected_at
    assert second is not first


def test_going_back_to_what_is_in_force_clears_the_status(setup: Setup) -> None:
    before, status = setup.engine.current, setup.reloader.status
    setup.write("a", BAD)
    setup.reload()
    setup.write("a", policy("a", "wipe"))
    assert setup.reload() is UNCHANGED
    assert setup.engine.current is before
    assert setup.reloader.status == Status(
        status.generation, status.revision, status.loaded_at, UNCHANGED
    )


def test_one_broken_file_keeps_the_others_as_they_were(setup: Setup) -> None:
    setup.write("b", policy("b", "drop"))
    assert setup.reload() is INSTALLED
    setup.write("a", policy("a", "purge"))
    setup.write("b", BAD)
    assert setup.reload() is REJECTED
    assert denied(setup.engine, "wipe", "drop", "purge") == ["wipe", "drop"]


# What is gone


def test_the_policies_of_a_deleted_file_are_gone(setup: Setup) -> None:
    setup.write("b", policy("b", "drop"))
    setup.reload()
    setup.remove("b")
    assert setup.reload() is INSTALLED
    assert [d.name for d in setup.engine.current.descriptors] == ["a"]


def test_a_directory_that_is_gone_is_a_fault_and_not_an_empty_set(tmp_path: Path) -> None:
    for allow_empty in (False, True):
        setup = Setup(tmp_path / "policies", allow_empty=allow_empty)
        shutil.rmtree(setup.root)
        assert setup.reload() is REJECTED
        assert "policies:1 missing-path" in setup.told()
        assert denied(setup.engine, "wipe") == ["wipe"]
        setup.write("a", policy("a", "drop"))
        assert setup.reload() is INSTALLED


def test_a_file_that_cannot_be_read_is_named(setup: Setup) -> None:
    (setup.root / "b.yaml").symlink_to("unmounted")
    assert setup.reload() is REJECTED
    assert setup.told() == ["b.yaml:1 unreadable-file"]


def test_a_directory_without_files_takes_the_place_of_policies_only_when_allowed(
    tmp_path: Path,
) -> None:
    for allow_empty, outcome, left in ((False, REJECTED, ["wipe"]), (True, INSTALLED, [])):
        setup = Setup(tmp_path / "policies", allow_empty=allow_empty)
        setup.remove("a")
        assert setup.reload() is outcome
        assert denied(setup.engine, "wipe") == left


# What is said


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Level and first line of what was logged."""
    return [(r.levelname, r.getMessage().split("\n")[0]) for r in caplog.records]


def test_each_bad_set_is_told_once_with_its_diagnostics(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    generation = setup.engine.current.generation
    setup.write("a", BAD)
    for _ in range(3):
        assert setup.reload() is REJECTED
    refusal = ("ERROR", f"{setup.root} does not compile, generation {generation} stays in force")
    assert records(caplog) == [refusal]
    assert f"{setup.root}/a.yaml:6:" in caplog.text
    assert "      - {id: deny, deny: 'tol ==" in caplog.text

    setup.write("a", BAD.replace("tol", "toool"))
    setup.reload()
    assert records(caplog) == [refusal, refusal]


def test_recovery_is_told(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for text in (policy("a", "wipe"), policy("a", "drop")):
        setup.write("a", BAD)
        setup.reload()
        setup.write("a", text)
        setup.reload()
    recovered = ("INFO", "the policies are in order again")
    installed = ("INFO", f"generation {setup.engine.current.generation} is in force")
    told = [record for record in records(caplog) if record[0] == "INFO"]
    assert told == [recovered, recovered, installed]


def test_warnings_are_told_with_what_is_installed(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    setup.write("a", policy("a", "drop").replace("not drop", "no"))
    assert setup.reload() is INSTALLED
    assert setup.reload() is UNCHANGED
    (message,) = caplog.messages
    assert "warning[yaml-ambiguous]" in message


def test_no_more_than_fifty_diagnostics_are_logged(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    setup.write("a", "a: 1\n" * 61)
    setup.reload()
    assert caplog.text.count("duplicate-key") == 50
    assert caplog.text.rstrip().endswith("and 10 more")
    assert len(setup.told()) == 60


# Mistakes of ours


def test_a_crash_keeps_the_last_good_set_and_is_told_once(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crashes = iter([ZeroDivisionError("x"), ZeroDivisionError("x"), None])

    def compile(bundle: Bundle, *, allow_empty: bool) -> Compilation:
        if (crash := next(crashes)) is not None:
            raise crash
        return compile_bundle(bundle, allow_empty=allow_empty)

    monkeypatch.setattr(reload_module, "compile_bundle", compile)
    reloader = Reloader(setup.engine, setup.source)
    setup.write("a", policy("a", "drop"))
    for _ in range(2):
        assert anyio.run(reloader.reload) is REJECTED
    assert denied(setup.engine, "wipe", "drop") == ["wipe"]
    assert reloader.status.rejected_revision is None
    assert [str(d) for d in reloader.status.last_error or ()] == [
        "policyd:1:1: error[internal-error]: policyd failed to read or compile the policies;"
        " its log says why"
    ]
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError

    # the same files are tried again, because it may have been a mistake of the moment
    assert anyio.run(reloader.reload) is INSTALLED
    assert reloader.status.last_error is None


class Scripted:
    """A source that changes when a test says so."""

    def __init__(self, changes: Callable[[StopEvent], Iterator[None]]) -> None:
        self._changes = changes

    def read(self) -> Bundle:
        return make_bundle({"a.yaml": policy("a", "drop")})

    def watch(self, stop: StopEvent) -> Iterator[None]:
        return self._changes(stop)


def test_a_source_that_crashes_costs_nothing(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Scripted):
        def read(self) -> Bundle:
            raise ZeroDivisionError

    reloader = Reloader(setup.engine, Broken(lambda stop: iter(())))
    assert anyio.run(reloader.reload) is REJECTED
    assert denied(setup.engine, "wipe") == ["wipe"]
    assert len(caplog.records) == 1


def test_watching_that_crashes_begins_anew(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reload_module, "RESTART", 0.0)
    scripts = iter([["change", "crash"], ["change"]])
    stops: list[StopEvent] = []

    def watch(stop: StopEvent) -> Iterator[None]:
        stops.append(stop)
        for step in next(scripts):
            if step == "crash":
                raise ZeroDivisionError
            yield

    reloader = Reloader(setup.engine, Scripted(watch))

    async def main() -> None:
        with fail_after(5):
            await reloader.run()

    anyio.run(main)
    assert denied(setup.engine, "drop") == ["drop"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert [stop.is_set() for stop in stops] == [True, True]


# Many at once, and off the event loop


def test_reloads_queue_and_do_not_hold_up_the_event_loop(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, proceed = threading.Event(), threading.Event()
    running: list[int] = []

    def compile(bundle: Bundle, *, allow_empty: bool) -> Compilation:
        running.append(threading.get_ident())
        started.set()
        assert proceed.wait(5)
        return compile_bundle(bundle, allow_empty=allow_empty)

    monkeypatch.setattr(reload_module, "compile_bundle", compile)
    reloader = Reloader(setup.engine, setup.source)
    setup.write("a", policy("a", "drop"))
    outcomes: list[Outcome] = []

    async def reload() -> None:
        outcomes.append(await reloader.reload())

    async def main() -> None:
        with fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(reload)
                await until(started.is_set)
                assert denied(setup.engine, "wipe") == ["wipe"]  # the old set still decides
                proceed.set()

    anyio.run(main)
    assert outcomes == [INSTALLED, *[UNCHANGED] * 4]
    assert running != [threading.get_ident()]
    assert len(running) == 1


# Watching real files


async def until(claim: Callable[[], bool]) -> None:
    """Give way to others until something is true."""
    with fail_after(5):
        while not claim():
            await anyio.sleep(0.005)


def serve(setup: Setup, body: Callable[[], Awaitable[None]]) -> None:
    """Run *body* while the reloader follows the files, then cancel it."""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(setup.reloader.run)
            await body()
            cancelled = anyio.current_time()
            group.cancel_scope.cancel()
        assert anyio.current_time() - cancelled < 1

    anyio.run(main)


def test_each_edit_is_in_force_soon(setup: Setup) -> None:
    async def body() -> None:
        for tool in ("drop", "purge", "erase"):
            setup.write("a", policy("a", tool))
            await until(lambda tool=tool: denied(setup.engine, tool) == [tool])  # type: ignore[misc]

    serve(setup, body)


def test_a_file_that_is_half_written_is_never_half_in_force(setup: Setup) -> None:
    """Every decision comes from the old set or from the complete new one."""
    seen: list[list[str]] = []
    tools = ("wipe", "drop", "purge")
    new = policy("a", "drop") + policy("b", "purge").split("validators:\n")[1]
    cut = new.index("- name: b") + len("- name: b\n")

    async def body() -> None:
        async def decide() -> None:
            while not seen or seen[-1] == ["wipe"]:
                seen.append(denied(setup.engine, *tools))
                await anyio.sleep(0.005)

        async with anyio.create_task_group() as group:
            group.start_soon(decide)
            with (setup.root / "a.yaml").open("w") as file:
                file.write(new[:cut])
                file.flush()
                await until(lambda: setup.reloader.status.last_outcome is REJECTED)
                file.write(new[cut:])
        await until(lambda: setup.reloader.status.last_error is None)

    serve(setup, body)
    assert set(map(tuple, seen)) == {("wipe",), ("drop", "purge")}


def test_a_broken_edit_is_told_while_the_old_set_serves_and_its_repair_is_installed(
    setup: Setup,
) -> None:
    async def body() -> None:
        setup.write("a", BAD)
        await until(lambda: setup.reloader.status.last_error is not None)
        assert denied(setup.engine, "wipe") == ["wipe"]
        setup.write("a", policy("a", "drop"))
        await until(lambda: denied(setup.engine, "drop") == ["drop"])
        assert setup.reloader.status.last_error is None

    serve(setup, body)


def test_a_directory_that_is_lost_serves_on_and_is_picked_up_again(setup: Setup) -> None:
    async def body() -> None:
        shutil.rmtree(setup.root)
        await until(lambda: setup.reloader.status.last_error is not None)
        assert denied(setup.engine, "wipe") == ["wipe"]
        setup.write("a", policy("a", "drop"))
        await until(lambda: denied(setup.engine, "drop") == ["drop"])

    serve(setup, body)


def test_identical_content_makes_no_new_generation(setup: Setup) -> None:
    before = setup.engine.current

    async def body() -> None:
        (setup.root / "new").write_text(policy("a", "wipe"))
        (setup.root / "new").rename(setup.root / "a.yaml")
        await until(lambda: setup.reloader.status.last_outcome is not None)
        setup.write("a", BAD)  # proves that the swap before it was looked at
        await until(lambda: setup.reloader.status.last_outcome is REJECTED)
        assert setup.engine.current is before

    serve(setup, body)


def test_a_change_before_watching_began_is_not_missed(setup: Setup) -> None:
    setup.write("a", policy("a", "drop"))

    async def body() -> None:
        await until(lambda: denied(setup.engine, "drop") == ["drop"])

    serve(setup, body)
