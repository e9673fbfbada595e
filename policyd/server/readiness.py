"""What `/readyz` tells: which generation serves, and whether the files have moved on.

Knows the engine and the reloader's status.  Knows no transport.
"""

from __future__ import annotations

from typing import Any

from policyd.engine import Engine
from policyd.reload import Reloader, Status

MAX_LINES = 50
"""Diagnostics that are told; the number of the others is."""


def ready_state(engine: Engine, reloader: Reloader | None, *, stopping: bool) -> dict[str, Any]:
    """The state of the process as `/readyz` shows it.

    A set that was refused does not make it unready: the last good one still serves.
    """
    snapshot = engine.current
    state: dict[str, Any] = {
        "ready": not stopping,
        "generation": snapshot.generation,
        "policies": len(snapshot.descriptors),
    }
    if reloader is not None:
        state |= _reload_state(reloader.status)
    return state


def _reload_state(status: Status) -> dict[str, Any]:
    state: dict[str, Any] = {}
    if status.last_outcome is not None:
        at = status.rejected_at or status.loaded_at
        state["lastReload"] = {"outcome": status.last_outcome.value, "at": at.isoformat()}
    if status.last_error is not None:
        lines = [str(diagnostic) for diagnostic in status.last_error[:MAX_LINES]]
        more = len(status.last_error) - MAX_LINES
        if more > 0:
            lines.append(f"and {more} more")
        state["rejected"] = {"diagnostics": lines}
        if status.rejected_revision is not None:
            state["rejected"] = {"revision": status.rejected_revision, **state["rejected"]}
    return state
