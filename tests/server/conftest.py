"""Servers in processes of their own, and the policies that they serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Running

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


Start = Callable[..., "Running"]


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "main.yaml").write_text(POLICIES, encoding="utf-8")
    return directory


@pytest.fixture
def start(policies: Path, serve: type[Running]) -> Iterator[Start]:
    """Starts servers of the policies; all are gone when the test is."""
    started: list[Running] = []

    def begin(*options: str, pipe: bool = False) -> Running:
        started.append(serve([str(policies), *options], pipe=pipe))
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
def served_stdio(directory: Path, serve: type[Running]) -> Iterator[Running]:
    """One server over pipes for all tests of a module; it must end with 0."""
    running = serve([str(directory), "--stdio"], pipe=True)
    yield running
    assert running.stop() == 0
