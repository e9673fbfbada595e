"""What is at and below some paths: which files, and what keeps one from being read.

Knows directories, symbolic links, and everything that can be wrong with a path.  Knows
nothing of what is in a file, and does not wait.

INVARIANT: nothing is left out because of an error; it becomes an entry with a problem.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from policyd.diagnostics import Diagnostic, Level, Span

MAX_FILE_BYTES = 1 << 20
"""A larger file is not read."""

MAX_ENTRIES = 100_000
"""Directories that hold more names than this together are not searched any further."""

Wanted = Callable[[str, bool], bool]
"""Whether a file is wanted, by its name and whether it was given itself."""


def is_case_file(name: str, given: bool) -> bool:
    """A file of test cases, which lies beside the policies that it tests."""
    return name.endswith(("_test.yaml", "_test.yml"))


def is_policy_file(name: str, given: bool) -> bool:
    """A policy file, or a rule file that one may name.  One that is given itself may have any
    name but that of a case file, because a shell expands `policies/*` to all of them.
    """
    wanted = name.endswith((".yaml", ".yml")) or is_rule_file(name)
    return not is_case_file(name, given) and (given or wanted)


def is_rule_file(name: str) -> bool:
    """A file of detectors as another program has them, which a policy file may name."""
    return name.endswith(".toml")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something cannot be read."""

    code: str
    text: str
    help: str | None = None

    def diagnostic(self, name: str) -> Diagnostic:
        """The problem as a diagnostic about the file, directory or path called *name*."""
        return Diagnostic(Level.ERROR, self.code, Span(name, 1, 1, 1, 1), self.text, self.help)


_TOO_LARGE = Problem(
    "too-large", f"the file is larger than {MAX_FILE_BYTES} bytes", "write several files"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file to read, or something that cannot be read.

    relative: its name below the path that was given.  identity: what changes when it does.
    """

    relative: str
    name: str
    path: str
    identity: tuple[int, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What is there, without contents; two that are equal mean that nothing changed.

    directories: path, device and inode of each directory whose changes matter.
    """

    entries: tuple[Entry, ...]
    directories: frozenset[tuple[str, int, int]]


def survey_paths(roots: Sequence[str], wanted: Wanted) -> Survey:
    """What is wanted at and below *roots*, each real file once, under its first name."""
    walk = _Walk(wanted)
    for root in roots:
        walk.enter(root)
    unique: dict[str, Entry] = {}
    for entry in sorted(walk.entries, key=lambda entry: (entry.relative, entry.name)):
        unique.setdefault(_real(entry.path), entry)
    for real in unique:
        walk.directories.add(os.path.dirname(real))
    identified = {_identified(directory) for directory in walk.directories}
    return Survey(tuple(unique.values()), frozenset(d for d in identified if d is not None))


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a NUL in the path
        return path


def _identified(directory: str) -> tuple[str, int, int] | None:
    try:
        status = os.stat(directory)
    except (OSError, ValueError):
        return None
    return directory, status.st_dev, status.st_ino


@dataclass(slots=True)
class _Walk:
    """One search through some paths."""

    wanted: Wanted
    entries: list[Entry] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    count: int = 0

    def enter(self, root: str) -> None:
        """Search the path *root*, whatever it is."""
        self.directories.add(_nearest_directory(os.path.dirname(os.path.abspath(root))))
        name = os.path.basename(os.path.abspath(root))
        try:
            status = os.stat(root)
        except (OSError, ValueError) as error:
            return self._refuse("missing-path", _reason(error), name, root)
        if stat.S_ISDIR(status.st_mode):
            self._search(root)
        elif self.wanted(name, True):
            self._note(name, root, status)
        return None

    def _search(self, root: str) -> None:
        pending, seen = [""], set[str]()
        while pending:
            below = pending.pop()
            directory = os.path.join(root, below)
            real = os.path.realpath(directory)
            if real in seen:
                continue
            seen.add(real)
            self.directories.add(directory)
            try:
                names = sorted(os.listdir(directory), reverse=True)
            except OSError as error:
                self._refuse("unreadable-directory", _reason(error), below, directory)
                continue
            self.count += len(names)
            if self.count > MAX_ENTRIES:
                text = f"there are more than {MAX_ENTRIES} files here"
                return self._refuse("too-many-files", text, below, directory)
            pending += self._sift(root, below, names)

    def _sift(self, root: str, below: str, names: Iterable[str]) -> Iterator[str]:
        """Note the files among *names*, and yield the directories."""
        for name in names:
            if name.startswith("."):
                continue
            relative = os.path.join(below, name)
            path = os.path.join(root, relative)
            try:
                status = os.stat(path)
            except OSError as error:
                # without a suffix it may be a link to a directory of policies
                if self.wanted(name, False) or not os.path.splitext(name)[1]:
                    self._refuse("unreadable-file", _reason(error), relative, path)
                continue
            if stat.S_ISDIR(status.st_mode):
                yield relative
            elif self.wanted(name, False):
                self._note(relative, path, status)

    def _refuse(self, code: str, text: str, relative: str, path: str) -> None:
        self.entries.append(Entry(relative, shown(path), path, problem=Problem(code, text)))

    def _note(self, relative: str, path: str, status: os.stat_result) -> None:
        problem: Problem | None = None
        if not stat.S_ISREG(status.st_mode):
            problem = Problem("unreadable-file", "this is not a regular file")
        elif status.st_size > MAX_FILE_BYTES:
            problem = _TOO_LARGE
        which = (status.st_dev, status.st_ino)
        state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        self.entries.append(Entry(relative, shown(path), path, which + state, problem))


def read_content(entry: Entry) -> bytes | Problem:
    """The bytes of a file, or why there are none.  Never blocks."""
    if entry.problem is not None:
        return entry.problem
    try:
        # non-blocking: a pipe may have taken the place of the file that was seen
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return Problem("unreadable-file", _reason(error))
    return content if len(content) <= MAX_FILE_BYTES else _TOO_LARGE


def _reason(error: Exception) -> str:
    """The operating system's words without the path, which the span has."""
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or "this is not a path").lower()


def _nearest_directory(path: str) -> str:
    """*path*, or the nearest directory above it that exists."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def shown(path: str) -> str:
    """*path* so that it can be printed on one line."""
    text = os.fsencode(Path(path)).decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
