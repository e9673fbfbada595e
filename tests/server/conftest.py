"""Servers in processes of their own, and the policies that they serve."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DEADLINE = 30.0
"""Seconds after which a process that does not do what it should is given up."""

POLICIES = r"""
policyd: v1
validators:
  - name: no-rm
    version: 1.2.0
    description: Shell tools must not delete recursively.
    match: {events: [tools/call], phase: request, tools: [shell]}
    rules:
      - id: no-rm-rf
        deny: args.command.matches(r'\brm\s+-rf\b')
        message: recursive delete is not allowed for {{ tool }}
        path: /arguments/command
        hint: delete one named file at a time
      - id: short
        require: size(args.command) < 20
        severity: warn
        message: the command is long
  - name: watched
    mode: audit
    match: {events: [tools/call], phase: request}
    rules:
      - id: no-eval
        deny: has(args.code)
        message: code is watched
  - name: limited
    match: {events: [tools/call], phase: request}
    configSchema:
      type: object
      additionalProperties: false
      properties: {limit: {type: integer, default: 10}}
    rules:
      - id: at-most
        deny: has(args.n) && args.n > config.limit
        message: too many
  - name: slow
    timeout: 50ms
    match: {events: [tools/call], phase: request}
    rules:
      - id: pairs
        deny: >-
          args.l.exists(a, args.l.exists(b, args.l.exists(c,
          args.l.exists(d, a + b + c + d < 0))))
        message: never
  - name: fragile
    match: {events: [tools/call], phase: request}
    rules:
      - id: needs-a-key
        deny: args.missing == 1
        message: never
mutators:
  - name: mask
    match: {events: ["*"], phase: both}
    priority: 50
    redact:
      - pattern: 'employee-\d+'
        replace: "[employee]"
"""


class Running:
    """A `policyd serve` process."""

    def __init__(self, arguments: list[str], *, pipe: bool = False) -> None:
        stdio = subprocess.PIPE if pipe else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [sys.executable, "-m", "policyd", "serve", *arguments],
            stdin=stdio,
            stdout=stdio,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ready = self.wait_for("serving")

    @property
    def url(self) -> str:
        return self.ready.split()[-1]

    def wait_for(self, words: str, *, after: int = 0) -> str:
        """The first line of the log with *words*, from line *after* on."""

        def found() -> str | None:
            return next((line for line in self.log[after:] if words in line), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, DEADLINE)
            line = found()
        assert line is not None, "\n".join(self.log)
        return line

    @contextmanager
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

    _ended = False

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line.rstrip())
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


Start = Callable[..., Running]


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "main.yaml").write_text(POLICIES, encoding="utf-8")
    return directory


@pytest.fixture
def start(policies: Path) -> Iterator[Start]:
    """Starts servers of the policies; all are gone when the test is."""
    started: list[Running] = []

    def begin(*options: str, pipe: bool = False) -> Running:
        started.append(Running([str(policies), *options], pipe=pipe))
        return started[-1]

    yield begin
    for running in started:
        running.process.kill()
        running.wait()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policies of a module whose tests change nothing."""
    made = tmp_path_factory.mktemp("policies")
    (made / "main.yaml").write_text(POLICIES, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def served(directory: Path) -> Iterator[Running]:
    """One server over HTTP for all tests of a module; it must end with 0."""
    running = Running([str(directory), "--http", "127.0.0.1:0"])
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def served_stdio(directory: Path) -> Iterator[Running]:
    """One server over pipes for all tests of a module; it must end with 0."""
    running = Running([str(directory), "--stdio"], pipe=True)
    yield running
    assert running.stop() == 0
