"""The snapshot in force.  Knows nothing of files, transports or waiting."""

from __future__ import annotations

from datetime import UTC, datetime

from policyd.execution import Decision
from policyd.model import Invocation
from policyd.snapshot import Snapshot, dated
from policyd.wire import check_payload

INLINE_SIZE = 256 << 10
"""Payloads up to this size may be judged on an event loop, larger ones want a thread."""


INLINE_TIME = 0.02
"""Seconds that a payload may be judged on an event loop; what takes longer begins anew in a
thread."""


class Engine:
    """Holds the snapshot in force."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._current = snapshot

    @property
    def current(self) -> Snapshot:
        """The snapshot in force now.  Read it once per request and keep it."""
        return self._current

    def install(self, snapshot: Snapshot) -> None:
        """Put *snapshot* in force.

        One assignment is the whole swap: requests already running keep the snapshot they
        read, later ones read this one.
        """
        self._current = snapshot

    def decide(self, invocation: Invocation) -> Decision:
        """What the snapshot in force says of *invocation*, now unless it says when it is.

        Raises InvocationError as `Snapshot.decide` does, and for a payload that is not JSON:
        tuples, bytes and NaN are refused rather than overlooked.
        """
        check_payload(invocation.payload)
        return self._current.decide(dated(invocation, datetime.now(UTC)))
