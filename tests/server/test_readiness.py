from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from policyd.diagnostics import Diagnostic, Level, Span
from policyd.reload import Outcome, Status
from policyd.server import readiness as readiness_module
from policyd.server.readiness import ready_state

LOADED = datetime(2026, 1, 1, 12, tzinfo=UTC)
REJECTED = datetime(2026, 1, 2, 12, tzinfo=UTC)
ENGINE = cast("Any", SimpleNamespace(current=SimpleNamespace(generation="9f3a", descriptors=(1,))))
BASE = {"ready": True, "generation": "9f3a", "policies": 1}


def diagnostic(line: int) -> Diagnostic:
    span = Span("p.yaml", line, 1, line, 2)
    return Diagnostic(Level.ERROR, "unknown-field", span, "unknown field `x`", "remove it")


def told(**status: Any) -> dict[str, Any]:
    reloader = SimpleNamespace(status=Status("9f3a", "9f3a" * 16, LOADED, **status))
    return ready_state(ENGINE, cast("Any", reloader), stopping=False)


def test_without_a_reloader_only_the_generation_is_told() -> None:
    assert ready_state(ENGINE, None, stopping=False) == BASE
    assert ready_state(ENGINE, None, stopping=True) == {**BASE, "ready": False}


def test_before_the_first_reload_nothing_is_told_of_it() -> None:
    assert told() == BASE


def test_the_last_reload_is_told() -> None:
    last = {"outcome": "installed", "at": "2026-01-01T12:00:00+00:00"}
    assert told(last_outcome=Outcome.INSTALLED) == {**BASE, "lastReload": last}


def test_a_rejected_set_is_told_and_what_serves_is_ready() -> None:
    assert told(
        last_outcome=Outcome.REJECTED,
        last_error=(diagnostic(3),),
        rejected_revision="beef",
        rejected_at=REJECTED,
    ) == {
        **BASE,
        "lastReload": {"outcome": "rejected", "at": "2026-01-02T12:00:00+00:00"},
        "rejected": {
            "revision": "beef",
            "diagnostics": ["p.yaml:3:1: error[unknown-field]: unknown field `x`"],
        },
    }


def test_a_reload_that_crashed_has_no_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness_module, "MAX_LINES", 2)
    state = told(last_error=tuple(map(diagnostic, (1, 2, 3, 4))), rejected_at=REJECTED)
    assert state["rejected"] == {
        "diagnostics": [
            "p.yaml:1:1: error[unknown-field]: unknown field `x`",
            "p.yaml:2:1: error[unknown-field]: unknown field `x`",
            "and 2 more",
        ]
    }
