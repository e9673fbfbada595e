"""Changes are noticed: real files, real renames, real links, real watches."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import watchfiles
from anyio import fail_after, to_thread

from policyd.source import DirectorySource

Texts = dict[str, str]
Next = Callable[[], Awaitable[Texts]]


@asynccontextmanager
async def watching(source: DirectorySource) -> AsyncIterator[Next]:
    """Call the result to wait for a change of the files, and to get their texts by name."""
    stop = threading.Event()
    changes = source.watch(stop)
    seen = ""

    async def texts() -> Texts:
        nonlocal seen
        with fail_after(5):
            while True:
                await to_thread.run_sync(next, changes, abandon_on_cancel=True)
                bundle = await to_thread.run_sync(source.read)
                if bundle.revision != seen:
                    seen = bundle.revision
                    return {
                        os.path.basename(file.name): file.content.decode() for file in bundle.files
                    }

    try:
        yield texts
    finally:
        stop.set()


def follow(source: DirectorySource, *steps: tuple[Callable[[], object], Texts]) -> None:
    """Take each step, and check that it is noticed and what the files then hold."""

    async def main() -> None:
        async with watching(source) as texts:
            await texts()
            for step, wanted in steps:
                step()
                while await texts() != wanted:
                    pass  # a step of several writes may be noticed in its middle

    anyio.run(main)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "policies"
    root.mkdir()
    (root / "p.yaml").write_text("one")
    return root


def put(path: Path, text: str) -> Callable[[], object]:
    """Write in place."""
    return lambda: path.write_text(text)


def swap(path: Path, text: str) -> Callable[[], object]:
    """Write beside, then rename: what careful programs do."""

    def step() -> None:
        path.with_suffix(".tmp").write_text(text)
        path.with_suffix(".tmp").rename(path)

    return step


def save(path: Path, text: str) -> Callable[[], object]:
    """Rename to a backup, then write: what vim does."""

    def step() -> None:
        path.rename(f"{path}~")
        path.write_text(text)
        Path(f"{path}~").unlink()

    return step


@pytest.mark.parametrize("write", [put, swap, save])
@pytest.mark.parametrize("single", [False, True], ids=["directory", "file"])
def test_each_way_of_writing_is_noticed_twice(
    root: Path, write: Callable[[Path, str], Callable[[], object]], single: bool
) -> None:
    path = root / "p.yaml"
    follow(
        DirectorySource([path if single else root]),
        (write(path, "two"), {"p.yaml": "two"}),
        (write(path, "three"), {"p.yaml": "three"}),
    )


def test_new_and_deleted_files_are_noticed(root: Path) -> None:
    follow(
        DirectorySource([root]),
        (put(root / "q.yaml", "q"), {"p.yaml": "one", "q.yaml": "q"}),
        ((root / "p.yaml").unlink, {"q.yaml": "q"}),
        ((root / "q.yaml").unlink, {}),
    )


def test_a_new_directory_is_watched_from_then_on(root: Path) -> None:
    def make() -> None:
        (root / "team/deep").mkdir(parents=True)
        (root / "team/deep/q.yaml").write_text("q")

    follow(
        DirectorySource([root]),
        (make, {"p.yaml": "one", "q.yaml": "q"}),
        (put(root / "team/deep/q.yaml", "r"), {"p.yaml": "one", "q.yaml": "r"}),
        (put(root / "team/s.yaml", "s"), {"p.yaml": "one", "q.yaml": "r", "s.yaml": "s"}),
    )


def mount(root: Path, version: str) -> Callable[[], object]:
    """Do what the kubelet does when a ConfigMap changes; each version holds its own name."""

    def step() -> None:
        (root / f"..{version}").mkdir(parents=True)
        (root / f"..{version}" / "p.yaml").write_text(version)
        (root / "..data_tmp").symlink_to(f"..{version}")
        (root / "..data_tmp").rename(root / "..data")
        for old in root.glob("..v*"):
            if old.name != f"..{version}":
                shutil.rmtree(old)

    return step


@pytest.mark.parametrize("single", [False, True], ids=["directory", "file"])
def test_each_swap_of_a_config_map_is_noticed(tmp_path: Path, single: bool) -> None:
    root = tmp_path / "mount"
    mount(root, "v1")()
    (root / "p.yaml").symlink_to("..data/p.yaml")
    follow(
        DirectorySource([root / "p.yaml" if single else root]),
        (mount(root, "v2"), {"p.yaml": "v2"}),
        (mount(root, "v3"), {"p.yaml": "v3"}),
    )


def relink(link: Path, target: str) -> Callable[[], object]:
    """Put a link in the place of another at once."""

    def step() -> None:
        link.with_name("new").symlink_to(target)
        link.with_name("new").rename(link)

    return step


def test_a_directory_behind_a_link_is_followed(tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "p.yaml").write_text(name)
    (tmp_path / "current").symlink_to("r1")
    follow(
        DirectorySource([tmp_path / "current"]),
        (relink(tmp_path / "current", "r2"), {"p.yaml": "r2"}),
        (put(tmp_path / "r2/p.yaml", "edited"), {"p.yaml": "edited"}),
    )


def test_a_directory_behind_a_link_within_is_followed(tmp_path: Path, root: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "q.yaml").write_text(name)
    (root / "team").symlink_to("../r1")
    follow(
        DirectorySource([root]),
        (put(tmp_path / "r1/q.yaml", "edited"), {"p.yaml": "one", "q.yaml": "edited"}),
        (relink(root / "team", "../r2"), {"p.yaml": "one", "q.yaml": "r2"}),
        (put(tmp_path / "r2/q.yaml", "more"), {"p.yaml": "one", "q.yaml": "more"}),
    )


def test_a_file_behind_a_link_is_followed(tmp_path: Path, root: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/q.yaml").write_text("q")
    (root / "q.yaml").symlink_to("../elsewhere/q.yaml")
    follow(
        DirectorySource([root]),
        (swap(tmp_path / "elsewhere/q.yaml", "r"), {"p.yaml": "one", "q.yaml": "r"}),
        (put(tmp_path / "elsewhere/q.yaml", "s"), {"p.yaml": "one", "q.yaml": "s"}),
    )


def make(root: Path, text: str) -> Callable[[], object]:
    def step() -> None:
        root.mkdir(parents=True)
        (root / "p.yaml").write_text(text)

    return step


def test_a_directory_that_goes_and_comes_back_is_followed(root: Path) -> None:
    follow(
        DirectorySource([root]),
        (lambda: shutil.rmtree(root), {}),
        (make(root, "two"), {"p.yaml": "two"}),
        (put(root / "p.yaml", "three"), {"p.yaml": "three"}),
    )


@pytest.mark.parametrize("single", [False, True], ids=["directory", "file"])
def test_a_path_that_does_not_exist_yet_is_waited_for(tmp_path: Path, single: bool) -> None:
    root = tmp_path / "not/yet/there"
    follow(
        DirectorySource([root / "p.yaml" if single else root]),
        (make(root, "one"), {"p.yaml": "one"}),
        (put(root / "p.yaml", "two"), {"p.yaml": "two"}),
    )


def test_changes_without_a_pause_are_noticed_all_the_same(root: Path) -> None:
    """A writer that never rests cannot keep an edit of another file from being seen."""
    source, done = DirectorySource([root]), threading.Event()

    def scribble() -> None:
        for count in itertools.count():
            (root / f"{count % 50}.log").write_text(str(count))
            if done.wait(0.01):
                return

    async def main() -> None:
        writer = threading.Thread(target=scribble)
        async with watching(source) as texts:
            await texts()
            writer.start()
            try:
                (root / "p.yaml").write_text("two")
                assert await texts() == {"p.yaml": "two"}
            finally:
                done.set()
                writer.join()

    anyio.run(main)


def test_a_burst_of_writes_is_noticed_once_it_is_over(root: Path) -> None:
    """Readers never see the middle of writes that follow each other at once."""
    source = DirectorySource([root])

    def write() -> None:
        for count in range(20):
            (root / "p.yaml").write_text(f"half {count}")
        (root / "p.yaml").write_text("whole")

    async def main() -> None:
        async with watching(source) as texts:
            await texts()
            write()
            assert await texts() == {"p.yaml": "whole"}

    anyio.run(main)


def test_what_sends_no_event_is_found_by_the_sweep(tmp_path: Path, root: Path) -> None:
    """A link two links away changes: no watched directory is told of it."""
    for name in ("r1", "r2"):
        (tmp_path / "far" / name).mkdir(parents=True)
        (tmp_path / "far" / name / "q.yaml").write_text(name)
    (tmp_path / "far/current").symlink_to("r1")
    (root / "q.yaml").symlink_to("../far/current/q.yaml")
    follow(
        DirectorySource([root], sweep=0.2),
        (relink(tmp_path / "far/current", "r2"), {"p.yaml": "one", "q.yaml": "r2"}),
        (put(tmp_path / "far/r2/q.yaml", "edited"), {"p.yaml": "one", "q.yaml": "edited"}),
    )


def test_where_watching_fails_the_sweep_is_left_and_it_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = watchfiles.watch

    def watch(*paths: str, **options: Any) -> Iterator[set[watchfiles.main.FileChange]]:
        if paths:
            raise OSError("too many watches")
        return real(**options)

    monkeypatch.setattr(watchfiles, "watch", watch)
    follow(
        DirectorySource([root], sweep=0.1),
        (put(root / "p.yaml", "two"), {"p.yaml": "two"}),
    )
    assert caplog.messages == [
        "changes are noticed late, because watching failed: too many watches"
    ]


def test_events_are_not_logged(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    follow(DirectorySource([root]), (put(root / "p.yaml", "two"), {"p.yaml": "two"}))
    assert caplog.messages == []


def test_reading_is_no_change(root: Path) -> None:
    """Each reading would otherwise be the cause of the next; nor is a sweep that finds nothing."""
    source, stop = DirectorySource([root], sweep=0.1), threading.Event()
    changes = source.watch(stop)
    noticed = threading.Event()

    def wait() -> None:
        next(changes)
        source.read()
        for _ in changes:
            noticed.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not noticed.wait(0.6)
    stop.set()
    thread.join(5)
    assert not thread.is_alive()


def test_watching_ends_soon_after_it_is_told_to(root: Path) -> None:
    stop = threading.Event()
    changes = DirectorySource([root]).watch(stop)
    next(changes)
    threading.Timer(0.2, stop.set).start()

    async def main() -> None:
        with fail_after(2):
            assert await to_thread.run_sync(next, changes, "ended") == "ended"

    anyio.run(main)


def test_watching_that_was_told_to_end_does_not_begin(root: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert list(DirectorySource([root]).watch(stop)) == []
