"""Interceptors of another server.

Knows when its list is due to be read again, and what its answers mean; not how they travel
(`ports` does).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from policyd.chain.entry import Ask, Entry, Hooked, failed
from policyd.chain.overrides import OverrideError, Overrides, apply_overrides, check_overrides
from policyd.envelope import unwrap
from policyd.errors import Cause, PolicydError
from policyd.expr.shape import Shape, compile_shape
from policyd.functions import is_seconds
from policyd.model import Descriptor, Failure, Invocation, Outcome, Phase
from policyd.ports import Port, Refusal, Target, Unreachable
from policyd.wire import (
    INVALID_PARAMS,
    MAX_ENTRIES,
    METHOD_NOT_FOUND,
    Listing,
    WireError,
    failure_from_error,
    invocation_to_json,
    listing_from_json,
    outcome_from_json,
    page_from_json,
)

MAX_PAGES = 100
"""Pages of one list that are followed."""

RETRY_AFTER = 5.0
"""Seconds until a list that could not be read is asked for again, at the latest."""

_UNREAD = (Unreachable, Refusal, WireError, TimeoutError)

logger = logging.getLogger(__name__)


SHOWN = 5
"""Names of skipped interceptors that are logged, and a text of each of SHOWN_NAME characters."""

SHOWN_NAME = 100


class ServerError(PolicydError):
    """There is no list of interceptors to be had from a server.

    `reason` says why; the text names the server as the log does.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the interceptors of `{name}` cannot be listed: {reason}")


@dataclass(frozen=True, slots=True)
class Terms:
    """How a remote server is used.

    name: what it is called in logs and errors; told from the server when empty.
    refresh_every: seconds after which its list is read again.
    timeout: seconds that one call may take unless an override says otherwise.

    Raises ValueError for a number of seconds that is none.
    """

    name: str = ""
    refresh_every: float = 60.0
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if not is_seconds(self.timeout):
            raise ValueError("`timeout` is a number of seconds greater than 0")
        if self.refresh_every != 0 and not is_seconds(self.refresh_every):
            raise ValueError("`refresh_every` is a number of seconds, 0 for every message")


def told_name(server: Target) -> str:
    """What *server* is called in the log.

    A URL without what may be secret in it, the command without its arguments, the name that a
    server object has.
    """
    if isinstance(server, str):
        parts = urlsplit(server)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if isinstance(server, (list, tuple)):
        return server[0]
    name = getattr(server, "name", None)
    return name if isinstance(name, str) else "session"


class RemoteHost:
    """The interceptors of another server.

    The list is read again after `refresh_every` seconds, and before the next message when an
    answer names another generation or a name is no longer known.  While it cannot be read the
    last one stays: its interceptors fail by themselves if the server is gone.

    It is read by a task of its own, within the terms' timeout: a message waits for it as long
    as it can, and a list that takes longer is there for a later one.
    """

    def __init__(self, port: Port, overrides: Mapping[str, Overrides], terms: Terms) -> None:
        self._port = port
        self._overrides = overrides
        self._terms = terms
        self._due = 0.0
        self._reading: asyncio.Task[None] | None = None
        self._warned = ""
        self.entries: tuple[Hooked, ...] = ()
        self.generation = ""

    async def connect(self) -> None:
        """Read the list for the first time.

        Raises ServerError, and OverrideError for an override that fits no interceptor.
        """
        try:
            listing = await self._read(self._terms.timeout)
        except _UNREAD as error:
            raise ServerError(self._terms.name, self._why(error)) from None
        check_overrides(self._overrides, listing.descriptors)

    async def refresh(self, timeout: float | None) -> None:
        """Read the list again if that is due; who comes meanwhile uses the one there is."""
        if self._reading is not None or time.monotonic() < self._due:
            return
        # the context of this message must not outlive it
        self._reading = asyncio.create_task(self._read_again(), context=Context())
        await asyncio.wait((self._reading,), timeout=timeout)

    async def _read_again(self) -> None:
        try:
            listing = await self._read(self._terms.timeout)
            check_overrides(self._overrides, listing.descriptors)
        except _UNREAD as error:
            self._due = time.monotonic() + min(RETRY_AFTER, self._terms.refresh_every)
            self._warn(str(ServerError(self._terms.name, self._why(error))))
        except OverrideError as error:
            self._warn(f"an override of `{self._terms.name}` no longer fits: {str(error)!r}")
        finally:
            self._reading = None

    async def aclose(self) -> None:
        """Close the port."""
        reading = self._reading
        if reading is not None:
            reading.cancel()
            await asyncio.wait((reading,))
        await self._port.aclose()

    async def _read(self, timeout: float) -> Listing:
        ends = time.monotonic() + timeout
        listing = listing_from_json(await self._pages(ends))
        self._tell_skipped(listing.skipped)
        self.entries = tuple(
            Entry(changed, _config_shape(changed), self._asking(changed))
            for _, changed in apply_overrides(listing.descriptors, self._overrides)
        )
        self.generation = listing.generation or ""
        self._due = time.monotonic() + self._terms.refresh_every
        return listing

    def _tell_skipped(self, names: tuple[str, ...]) -> None:
        if names:
            shown = ", ".join(repr(name[:SHOWN_NAME]) for name in names[:SHOWN])
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            self._warn(f"`{self._terms.name}` lists types that are not run: {shown}{more}")

    def _warn(self, text: str) -> None:
        """Log *text* once until something else is to be told."""
        if text != self._warned:
            logger.warning("%s", text)
        self._warned = text

    def _why(self, error: Exception) -> str:
        if isinstance(error, Refusal) and error.code == METHOD_NOT_FOUND:
            return "it hosts no interceptors (error -32601)"
        return str(error) or f"no answer within {self._terms.timeout:g} seconds"

    async def _pages(self, ends: float) -> dict[str, object]:
        """The whole list as one result: a page that is not read is not enforced."""
        found: list[Any] = []
        first: dict[str, object] | None = None
        asked: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            page = await self._port.call("interceptors/list", asked, ends - time.monotonic())
            first = page if first is None else first
            entries, cursor = page_from_json(page)
            found += entries
            if len(found) > MAX_ENTRIES:
                raise WireError(f"the list has more than {MAX_ENTRIES} entries")
            if cursor is None:
                return {**first, "interceptors": found, "nextCursor": None}
            asked = {"cursor": cursor}
        raise WireError(f"the list has more than {MAX_PAGES} pages")

    def _asking(self, descriptor: Descriptor) -> Ask:
        async def ask(invocation: Invocation, timeout: float | None) -> Outcome:
            started = time.monotonic()
            outcome = await self._outcome(descriptor, invocation, timeout)
            if isinstance(outcome, Failure):
                return replace(outcome, duration=time.monotonic() - started)
            # without any, what is told of it would name the policies of this process
            info = {} if outcome.info is None else outcome.info
            return outcome._replace(duration=time.monotonic() - started, info=info)

        return ask

    async def _outcome(
        self, descriptor: Descriptor, invocation: Invocation, timeout: float | None
    ) -> Outcome:
        if unwrap(invocation.event, invocation.phase, invocation.payload).member is not None:
            # bare here; whoever is asked would take it for an envelope and judge a part of it
            return failed(descriptor, invocation, "the payload reads as a JSON-RPC envelope")
        own = descriptor.timeout  # an override's: a list tells none
        asked = [limit for limit in (timeout, own) if limit is not None]
        told = min(asked) if asked else None
        params = invocation_to_json(descriptor.name, invocation, timeout=told)
        phase = Phase(invocation.phase)
        limit = min([*asked, self._terms.timeout if own is None else own])
        try:
            answer = await self._port.call("interceptor/invoke", params, limit)
        except Refusal as error:
            if error.code == INVALID_PARAMS:
                self._due = 0.0  # a name that is gone: whoever lists again knows
            return failure_from_error(error.code, descriptor, phase)
        except Unreachable as error:
            return failed(descriptor, invocation, error.reason, Cause.UNREACHABLE)
        except TimeoutError:
            return failed(descriptor, invocation, "no answer in time", Cause.DEADLINE)
        outcome = outcome_from_json(answer, descriptor, phase, invocation.payload)
        self._note_generation(outcome)
        return outcome

    def _note_generation(self, outcome: Outcome) -> None:
        """Read the list again when policies were reloaded since it was read."""
        info = None if isinstance(outcome, Failure) else outcome.info
        policy = (info or {}).get("policy")
        generation = policy.get("generation") if isinstance(policy, dict) else None
        if not isinstance(generation, str) or generation == self.generation:
            return
        if self.generation:
            self._due = 0.0
        else:
            # the list named none (`--dialect sep`): a later answer is measured by this one
            self.generation = generation


def _config_shape(descriptor: Descriptor) -> Shape | None:
    """The compiled `configSchema`; one that cannot be compiled is left to the server to check."""
    if descriptor.config_schema is None:
        return None
    compiled = compile_shape(dict(descriptor.config_schema))
    return compiled if isinstance(compiled, Shape) else None
