"""Keeps an engine in step with a source.

Knows when to read, what to do with what comes of it, and what to say about it.  Compiles
aside and swaps once; whatever is wrong, the last good snapshot stays in force.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from policyd.compiler import Compilation, compile_bundle
from policyd.diagnostics import Diagnostic, Level, Span, diagnostic_to_json, render
from policyd.engine import Engine
from policyd.source import Bundle, Source

RESTART = 5.0
"""Seconds until watching begins anew after a mistake of ours ended it."""

MAX_LOGGED = 50
"""Diagnostics that are logged with one rejected set; the number of the others is told."""

logger = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What came of a reload."""

    INSTALLED = "installed"
    REJECTED = "rejected"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Status:
    """What is in force, and whether the files have moved on without it.

    loaded_at: when what is in force was put in force.  last_error, rejected_revision and
    rejected_at are set while the files do not compile; the revision is None where it is not
    known.
    """

    generation: str
    revision: str
    loaded_at: datetime
    last_outcome: Outcome | None = None
    last_error: tuple[Diagnostic, ...] | None = None
    rejected_revision: str | None = None
    rejected_at: datetime | None = None


class Reloader:
    """Reads, compiles and installs.

    INVARIANT: only a reloader installs, and its reloads queue behind one lock that nobody
    who decides ever takes.
    """

    def __init__(self, engine: Engine, source: Source, *, allow_empty: bool = False) -> None:
        """*allow_empty* lets a set without policies take the place of one with."""
        self._engine = engine
        self._source = source
        self._compile = partial(compile_bundle, allow_empty=allow_empty)
        self._lock = anyio.Lock()
        self._threads = anyio.CapacityLimiter(2)  # one waits for changes, one compiles
        self._crash: str | None = None
        current = engine.current
        self._status = Status(current.generation, current.revision, datetime.now(UTC))

    @property
    def status(self) -> Status:
        """How things are now."""
        return self._status

    async def run(self) -> None:
        """Reload whenever the source may have changed, until cancelled or the source ends."""
        while True:
            try:
                return await self._follow()
            except Exception:
                # border: a mistake of ours must not end the watching for good
                logger.exception("watching the policies failed, and begins anew in %g s", RESTART)
                await anyio.sleep(RESTART)

    async def _follow(self) -> None:
        stop = threading.Event()
        changes = self._source.watch(stop)
        wait = partial(_advance, changes)
        try:
            while await to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._threads):
                await self.reload()
        finally:
            stop.set()

    async def reload(self) -> Outcome:
        """Read and compile now, and install what is good.  Never raises."""
        async with self._lock:
            try:
                outcome = await self._reload()
            except Exception as error:
                # border: a mistake of ours must not cost the last good set
                outcome = self._reject_crash(error)
            if (
                outcome is not Outcome.UNCHANGED
                or self._status.last_outcome is not Outcome.INSTALLED
            ):
                # a look that found nothing new must not hide what came of the last change
                self._status = replace(self._status, last_outcome=outcome)
            return outcome

    async def _reload(self) -> Outcome:
        bundle = await to_thread.run_sync(
            self._source.read, abandon_on_cancel=True, limiter=self._threads
        )
        if bundle.revision == self._engine.current.revision:
            self._recover()
            return Outcome.UNCHANGED
        if bundle.revision == self._status.rejected_revision:
            return Outcome.REJECTED
        built = await to_thread.run_sync(
            self._compile, bundle, abandon_on_cancel=True, limiter=self._threads
        )
        if built.snapshot is None:
            return self._reject(bundle, built)
        self._engine.install(built.snapshot)
        self._recover()
        self._announce(bundle, built)
        return Outcome.INSTALLED

    def _announce(self, bundle: Bundle, built: Compilation) -> None:
        current = self._engine.current
        self._status = Status(current.generation, current.revision, datetime.now(UTC))
        logger.info("generation %s is in force", current.generation)
        if built.diagnostics:
            extra = _fields(built.diagnostics)
            logger.warning("%s", _rendered(built.diagnostics, bundle.texts()), extra=extra)

    def _recover(self) -> None:
        self._crash = None
        if self._status.last_error is not None:
            logger.info("the policies are in order again")
        self._status = replace(
            self._status, last_error=None, rejected_revision=None, rejected_at=None
        )

    def _reject(self, bundle: Bundle, built: Compilation) -> Outcome:
        logger.error(
            "%s does not compile, generation %s stays in force\n%s",
            bundle.name,
            self._engine.current.generation,
            _rendered(built.diagnostics, bundle.texts()),
            extra=_fields(built.diagnostics),
        )
        return self._rejected(built.diagnostics, bundle.revision)

    def _reject_crash(self, error: Exception) -> Outcome:
        if self._crash != repr(error):
            generation = self._engine.current.generation
            words = "a reload failed, generation %s stays in force"
            logger.error(words, generation, exc_info=error)
        self._crash = repr(error)
        text = "policyd failed to read or compile the policies; its log says why"
        span = Span("policyd", 1, 1, 1, 1)
        return self._rejected((Diagnostic(Level.ERROR, "internal-error", span, text),), None)

    def _rejected(self, diagnostics: tuple[Diagnostic, ...], revision: str | None) -> Outcome:
        self._status = replace(
            self._status,
            last_error=diagnostics,
            rejected_revision=revision,
            rejected_at=datetime.now(UTC),
        )
        return Outcome.REJECTED


def _advance(changes: Iterator[None]) -> bool:
    """Wait for the next change; False when there will be none."""
    return next(changes, True) is None


def _fields(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """The same diagnostics for a log that is read by programs."""
    return {"diagnostics": [diagnostic_to_json(each) for each in diagnostics[:MAX_LOGGED]]}


def _rendered(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    every = tuple(diagnostics)
    lines = [render(d, texts.get(d.span.file)) for d in every[:MAX_LOGGED]]
    if len(every) > MAX_LOGGED:
        lines.append(f"and {len(every) - MAX_LOGGED} more")
    return "\n".join(lines)
