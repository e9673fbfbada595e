"""Interceptors of this process: the policies of an engine, and functions.

Knows when either has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from policyd.chain.entry import Entry, Hooked
from policyd.chain.overrides import OverrideError, Overrides, apply_overrides, check_overrides
from policyd.engine import Engine
from policyd.functions import FunctionInterceptor, Interceptors
from policyd.model import Descriptor
from policyd.snapshot import Snapshot

logger = logging.getLogger(__name__)


class EngineHost:
    """The policies of an engine, in the generation in force."""

    def __init__(self, engine: Engine, overrides: Mapping[str, Overrides]) -> None:
        check_overrides(overrides, engine.current.descriptors)
        self._engine = engine
        self._overrides = overrides
        self._take(engine.current)

    def _take(self, snapshot: Snapshot) -> None:
        by_name = {i.descriptor.name: i for i in snapshot.interceptors}
        entries: tuple[Hooked, ...] = snapshot.interceptors
        if self._overrides:
            entries = tuple(
                replace(by_name[declared.name], descriptor=changed)
                for declared, changed in apply_overrides(snapshot.descriptors, self._overrides)
            )
        self._snapshot, self.entries, self.generation = snapshot, entries, snapshot.generation

    async def refresh(self, timeout: float | None) -> None:
        """Take the snapshot in force."""
        if self._engine.current is self._snapshot:
            return
        self._take(self._engine.current)
        try:
            check_overrides(self._overrides, self._snapshot.descriptors)
        except OverrideError as error:
            logger.warning("an override no longer fits: %s", error)

    async def aclose(self) -> None:
        """Nothing was opened."""


class FunctionHost:
    """Functions registered in this process."""

    generation = ""

    def __init__(self, interceptors: Interceptors, overrides: Mapping[str, Overrides]) -> None:
        check_overrides(overrides, interceptors.descriptors)
        self._interceptors = interceptors
        self._overrides = overrides
        self._seen: tuple[Descriptor, ...] = ()
        self.entries: tuple[Hooked, ...] = ()
        self._take()

    def _take(self) -> None:
        by_name = {f.descriptor.name: f for f in self._interceptors.functions}
        self._seen = self._interceptors.descriptors
        self.entries = tuple(
            _entry(replace(by_name[declared.name], descriptor=changed))
            for declared, changed in apply_overrides(self._seen, self._overrides)
        )

    async def refresh(self, timeout: float | None) -> None:
        """Take in what was registered since."""
        if len(self._interceptors.descriptors) != len(self._seen):
            self._take()

    async def aclose(self) -> None:
        """Nothing was opened."""


def _entry(function: FunctionInterceptor) -> Entry:
    return Entry(function.descriptor, function.config_shape, function.ask)
