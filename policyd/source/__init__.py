"""Policy files on disk: what they are at one moment, and when that may have changed.

Knows bundles, revisions and how to wait for a change.  Knows nothing of what is in a file.
Waits, but is not asynchronous: `reload` runs it on a thread.  The only user of watchfiles.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from policyd.diagnostics import Diagnostic, Report
from policyd.source.survey import (
    MAX_FILE_BYTES,
    Problem,
    Survey,
    is_case_file,
    is_policy_file,
    is_rule_file,
    read_content,
    shown,
    survey_paths,
)

__all__ = [
    "MAX_FILE_BYTES",
    "Bundle",
    "DirectorySource",
    "Source",
    "SourceFile",
    "StopEvent",
    "case_files",
    "make_bundle",
]

QUIET_MS = 100
"""How long nothing must happen before the files are read: editors write in bursts."""

MAX_BURST = 1.0
"""After so many seconds of changes without a pause the files are read all the same."""

SWEEP = 5.0
"""Seconds between two looks at the files that wait for no event: network file systems and
links to elsewhere send none."""

_ATTEMPTS = 5
_PAUSE = 0.02  # seconds: a writer in the middle of several files gets on

logger = logging.getLogger(__name__)
# at INFO it would tell of every batch of events, most of which change nothing
logging.getLogger("watchfiles").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file as read.  `name` is the path as people gave it, with what lies below it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Bundle:
    """All policy files of one moment.

    files: sorted by name.
    diagnostics: what could not be read.
    revision: a digest of all that, hex; it depends neither on where the files lie nor on
        the order of the paths.
    name: what to call the whole in a message.
    settings: the file that overrides policies, if there is one; it is none of *files*.
    rules: rule files beside the policy files, sorted by name; a policy file says which it uses.
    """

    files: tuple[SourceFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    revision: str
    name: str
    settings: SourceFile | None = None
    rules: tuple[SourceFile, ...] = ()

    def texts(self) -> dict[str, str]:
        """The text of each file by name, for excerpts; what is not UTF-8 is replaced."""
        files = self.files if self.settings is None else (*self.files, self.settings)
        return {file.name: file.content.decode("utf-8", "replace") for file in files}


def make_bundle(texts: Mapping[str, str | bytes], name: str = "policies") -> Bundle:
    """A bundle of files that were never on disk, by name."""
    files = [
        SourceFile(file, text.encode() if isinstance(text, str) else text)
        for file, text in texts.items()
    ]
    revision = _revision((file.name, file.content) for file in files)
    return Bundle(_policies(files), (), revision, name, rules=_rules(files))


def _policies(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    return tuple(sorted((f for f in files if not is_rule_file(f.name)), key=lambda f: f.name))


def _rules(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    return tuple(sorted((f for f in files if is_rule_file(f.name)), key=lambda f: f.name))


class StopEvent(Protocol):
    """Something that is set when watching shall end, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """True once watching shall end."""
        ...


class Source(Protocol):
    """Where bundles come from."""

    def read(self) -> Bundle:
        """What is there now.  Never raises for what it finds."""
        ...

    def watch(self, stop: StopEvent) -> Iterator[None]:
        """Wait; yield when a new `read` may find something else, at first once at once.

        Ends soon after *stop* is set.
        """
        ...


class DirectorySource:
    """Every `*.yaml`, `*.yml` and `*.toml` file at or below some paths.

    Case files (`*_test.yaml`) and names that begin with a dot are left out; a path that is
    given itself may have any name.  Symbolic links are followed, each real file is read once.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        sweep: float = SWEEP,
        settings: Path | str | None = None,
        digest: Callable[[SourceFile], bytes] = lambda file: file.content,
    ) -> None:
        """*sweep* is the number of seconds between looks that wait for no event.

        *settings* is a file that overrides policies, wherever it lies, and *digest* says what of
        it the revision depends on.
        """
        self._roots = tuple(os.fspath(path) for path in paths)
        self._sweep = sweep
        self._settings = None if settings is None else os.fspath(settings)
        self._digest = digest

    def read(self) -> Bundle:
        """The files as they are together at one moment.

        They are looked at before and after: were they read while somebody changed them, they
        are read again, and a mixture of old and new is never returned.
        """
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE)
            before = self._look()
            contents = [read_content(entry) for entry in before.entries]
            if self._look() == before:
                return self._bundle(before, contents)
        return self._bundle(before, contents, "the files change while they are read")

    def _look(self) -> Survey:
        found = survey_paths(self._roots, is_policy_file)
        if self._settings is None:
            return found
        own = survey_paths([self._settings], lambda _name, given: given)
        same = {entry.identity[:2] for entry in own.entries if entry.identity}
        policies = tuple(entry for entry in found.entries if entry.identity[:2] not in same)
        return Survey(own.entries + policies, found.directories | own.directories)

    def _bundle(
        self, survey: Survey, contents: Sequence[bytes | Problem], unsteady: str | None = None
    ) -> Bundle:
        report = Report()
        files: list[SourceFile] = []
        parts: list[tuple[str, bytes]] = []
        settings: SourceFile | None = None
        name = ", ".join(shown(root) for root in self._roots)
        for entry, content in zip(survey.entries, contents, strict=True):
            if isinstance(content, bytes) and entry.path == self._settings:
                settings = SourceFile(entry.name, content)
                counting = self._digest(settings)
                parts += [("settings", counting)] if counting else []
            elif isinstance(content, bytes):
                files.append(SourceFile(entry.name, content))
                parts.append((f"file {entry.relative}", content))
            else:
                report.add(content.diagnostic(entry.name))
                parts.append((f"{content.code} {entry.relative}", content.text.encode()))
        if unsteady is not None:
            report.add(Problem("unsteady-files", unsteady).diagnostic(name))
            parts.append(("unsteady-files", b""))
        own, rules = _policies(files), _rules(files)
        return Bundle(own, report.diagnostics, _revision(parts), name, settings, rules)

    def watch(self, stop: StopEvent) -> Iterator[None]:
        """Wait; yield when a new `read` may find something else, at first once at once.

        Watched are the directories that were searched, those that hold the paths, and those
        that hold the files behind links; never files, whose watch dies with the first rename.
        The watch is made anew when one of these directories is another than before.
        Ends soon after *stop* is set.
        """
        while not stop.is_set():
            yield from self._follow(stop)

    def _follow(self, stop: StopEvent) -> Iterator[None]:
        seen = self._look()
        watched = seen.directories
        swept = time.monotonic()
        changed: float | None = swept  # what happened before the watch was set is unknown
        for events in _events(sorted(path for path, *_ in watched), stop):
            now = time.monotonic()
            if events and changed is None:
                changed = now
            due = changed is not None and (not events or now - changed >= MAX_BURST)
            if not due and now - swept < self._sweep:
                continue
            current, swept = self._look(), now
            if due or current != seen:
                changed, seen = None, current
                yield
            if current.directories != watched:
                return


def case_files(paths: Sequence[Path | str]) -> tuple[Path, ...]:
    """Every case file (`*_test.yaml`, `*_test.yml`) at or below *paths*, sorted.

    One that cannot be read is listed as well, so that nobody takes it for passed.  What cannot
    be searched is left out: reading the policies at the same paths says so.
    """
    found = survey_paths([os.fspath(path) for path in paths], is_case_file)
    paths_found = (entry.path for entry in found.entries)
    return tuple(sorted(Path(path) for path in paths_found if is_case_file(path, False)))


def _revision(parts: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(parts):
        for part in (os.fsencode(name), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _events(directories: Sequence[str], stop: StopEvent) -> Iterator[bool]:
    """True when something happened in *directories*, False after each while without.

    Where the system cannot watch them, only False: the sweep is left.
    """
    import watchfiles  # late: 50 ms, and only who serves waits for changes

    def batches(*paths: str) -> Iterator[bool]:
        watch = watchfiles.watch(
            *paths,
            watch_filter=None,
            debounce=QUIET_MS,
            step=QUIET_MS // 4,
            stop_event=stop,
            rust_timeout=QUIET_MS,
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        return (bool(changes) for changes in watch)

    try:
        yield from batches(*directories)
    except (OSError, RuntimeError) as error:
        logger.warning("changes are noticed late, because watching failed: %s", error)
        yield from batches()
