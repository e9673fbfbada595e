"""Which interceptors of a chain run for one event and phase, in which order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_

from policyd import snapshot
from policyd.chain.entry import Entry, Hooked, failed
from policyd.execution import ordered
from policyd.interceptor import Interceptor
from policyd.model import Descriptor, Invocation, Kind, Outcome

Listed = Sequence[tuple[Hooked, ...]]
"""The entries of each host."""


@dataclass(frozen=True, slots=True)
class Route:
    """Validators as listed, mutators as they run.

    here: the same where all are compiled here, so that nobody has to be waited for.
    """

    validators: tuple[Hooked, ...]
    mutators: tuple[Hooked, ...]
    here: snapshot.Route | None

    @property
    def empty(self) -> bool:
        """True when there is nobody to ask."""
        return not (self.validators or self.mutators)


class Routes:
    """The routes through what hosts list, made when they are first taken."""

    def __init__(self, listed: Listed) -> None:
        self._listed = listed
        self._known: dict[tuple[str, str, str | None], Route] = {}

    def made_of(self, listed: Listed) -> bool:
        """True while the hosts list the very same tuples."""
        return len(listed) == len(self._listed) and all(map(is_, listed, self._listed))

    def route(
        self, event: str, phase: str, names: Collection[str] | None, protocol: str | None
    ) -> Route:
        """The interceptors hooked to *event* and *phase*.

        names: only these; None for all.
        protocol: the MCP version of the message, or None when it is not known.
        """
        if names is not None:
            chosen = (names,) if isinstance(names, str) else names
            return self._make(event, phase, chosen, protocol)
        if len(event) > MAX_EVENT:
            return self._make(event, phase, None, protocol)
        key = (event, phase, protocol)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_ROUTES:
                self._known.clear()
            known = self._known[key] = self._make(event, phase, None, protocol)
        return known

    def _make(
        self, event: str, phase: str, names: Collection[str] | None, protocol: str | None
    ) -> Route:
        hooked = [
            _fitting(one, protocol)
            for entries in self._listed
            for one in entries
            if one.descriptor.matches(event, phase)
            and (names is None or one.descriptor.name in names)
        ]
        compiled = [one for one in hooked if isinstance(one, Interceptor)]
        here = snapshot.make_route(compiled) if len(compiled) == len(hooked) else None
        return Route(ordered(hooked, Kind.VALIDATION), ordered(hooked, Kind.MUTATION), here)


MAX_EVENT = 128
"""Characters of an event name; routes of longer ones are not remembered."""

MAX_ROUTES = 1_000
"""Routes that are remembered; a peer may send any number of event names."""


def _fitting(hooked: Hooked, protocol: str | None) -> Hooked:
    """*hooked*, or its failure when its `compat` bounds leave *protocol* out.

    Versions are dates, so their order is that of their texts.
    """
    bounds = hooked.descriptor.compat
    if protocol is None or not bounds:
        return hooked
    oldest, newest = bounds.get("minProtocol", ""), bounds.get("maxProtocol", protocol)
    if oldest <= protocol <= newest:
        return hooked
    reason = f"it is made for MCP {oldest or 'up'} to {newest}, and the message is of {protocol}"
    if "maxProtocol" not in bounds:
        reason = f"it is made for MCP {oldest} and newer, and the message is of {protocol}"
    return Entry(hooked.descriptor, None, partial(_unfit, hooked.descriptor, reason))


async def _unfit(
    descriptor: Descriptor, reason: str, invocation: Invocation, timeout: float | None
) -> Outcome:
    return failed(descriptor, invocation, reason)
