"""What tests of several folders use."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
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
