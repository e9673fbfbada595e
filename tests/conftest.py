"""What tests of several folders use."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from policyd.cli import main

# no deadline: machines are busy; in CI the same examples each time, so that red means a change
settings.register_profile("policyd", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("policyd")

RunCommand = Callable[..., dict[str, Any]]


@pytest.fixture
def policyd(monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    """Runs a command line in this process: `policyd("check", "p.yaml", stdin="...")`.

    What comes back is `{"exit": code, "stdout": text, "stderr": text}`.
    """
    for name in ("NO_COLOR", "POLICYD_DEBUG", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*args: str, stdin: str = "") -> dict[str, Any]:
        stdout, stderr = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with (
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
            pytest.raises(SystemExit) as ended,
        ):
            main(args)
        code = int(ended.value.code or 0)
        return {"exit": code, "stdout": stdout.getvalue(), "stderr": stderr.getvalue()}

    return run


DEADLINE = 30.0
"""Seconds after which a process that does not do what it should is given up."""


class Process:
    """A process whose log, on stderr, is kept."""

    def __init__(self, command: list[str], *, pipe: bool, directory: Path | None = None) -> None:
        """*pipe* is whether the test talks to it over stdin and stdout."""
        stdio = subprocess.PIPE if pipe else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, cwd=directory, stdin=stdio, stdout=stdio, stderr=subprocess.PIPE, text=True
        )
        self.log: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, words: str, *, after: int = 0) -> str:
        """The first line of the log with *words*, from line *after* on."""

        def found() -> str | None:
            return next((line for line in self.log[after:] if words in line), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, DEADLINE)
            line = found()
        assert line is not None, "\n".join(self.log)
        return line

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Kills the process when what is done with it takes too long, so that reads end."""
        guard = threading.Timer(DEADLINE, self.process.kill)
        guard.start()
        try:
            yield
        finally:
            guard.cancel()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """The exit code."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line.rstrip())
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Running(Process):
    """A `policyd serve` process."""

    def __init__(self, arguments: list[str], *, pipe: bool = False) -> None:
        super().__init__([sys.executable, "-m", "policyd", "serve", *arguments], pipe=pipe)
        self.ready = self.wait_for("serving")

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.ready.split()[-1]


@pytest.fixture(scope="session")
def launch() -> type[Process]:
    """Starts a process; whoever does also ends it."""
    return Process


@pytest.fixture(scope="session")
def serve() -> type[Running]:
    """Starts `policyd serve` with arguments; whoever does also ends it."""
    return Running


@pytest.fixture(scope="module")
def served(directory: Path, serve: type[Running]) -> Iterator[Running]:
    """One server of *directory* over HTTP for all tests of a module; it must end with 0."""
    running = serve([str(directory), "--http", "127.0.0.1:0"])
    yield running
    assert running.stop() == 0
