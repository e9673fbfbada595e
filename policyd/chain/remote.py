"""Interceptors of another server.

Knows when its list is due to be read again, and what its answers mean; not how they travel
(`ports` does).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from policyd.chain.entry import Ask, Entry, Hooked
from policyd.chain.overrides import OverrideError, Overrides, apply_overrides, check_overrides
from policyd.errors import Cause
from policyd.expr.shape import Shape, compile_shape
from policyd.model import Descriptor, Failure, Invocation, Outcome, Phase
from policyd.ports import Port, Refusal, Target, Unreachable
from policyd.wire import (
    Listing,
    WireError,
    failure_from_error,
    invocation_to_json,
    listing_from_json,
    outcome_from_json,
)

INVALID_PARAMS = -32602

MAX_PAGES = 100
"""Pages of one list that are followed."""

RETRY_AFTER = 5.0
"""Seconds until a list that could not be read is asked for again, at the latest."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """How a remote server is used.

    name: what it is called in logs and errors.
    refresh_every: seconds after which its list is read again.
    timeout: seconds that one call may take unless an override says otherwise.
    """

    name: str
    refresh_every: float = 60.0
    timeout: float = 5.0


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
    """

    def __init__(self, port: Port, overrides: Mapping[str, Overrides], terms: Terms) -> None:
        self._port = port
        self._overrides = overrides
        self._terms = terms
        self._due = 0.0
        self._reading = False
        self.entries: tuple[Hooked, ...] = ()
        self.generation = ""

    async def connect(self) -> None:
        """Read the list for the first time.

        Raises Unreachable, Refusal, WireError, TimeoutError, and OverrideError for an override
        that fits no interceptor.
        """
        listing = await self._read(self._terms.timeout)
        check_overrides(self._overrides, listing.descriptors)

    async def refresh(self, timeout: float | None) -> None:
        """Read the list again if that is due; who comes meanwhile uses the one there is."""
        if self._reading or time.monotonic() < self._due:
            return
        limit = self._terms.timeout if timeout is None else min(timeout, self._terms.timeout)
        self._reading = True
        try:
            listing = await self._read(limit)
            check_overrides(self._overrides, listing.descriptors)
        except (Unreachable, Refusal, WireError, TimeoutError) as error:
            self._due = time.monotonic() + min(RETRY_AFTER, self._terms.refresh_every)
            reason = str(error) or "no answer in time"
            logger.warning("the list of `%s` cannot be read: %s", self._terms.name, reason)
        except OverrideError as error:
            logger.warning("an override of `%s` no longer fits: %r", self._terms.name, str(error))
        finally:
            self._reading = False

    async def aclose(self) -> None:
        """Close the port."""
        await self._port.aclose()

    async def _read(self, timeout: float) -> Listing:
        ends = time.monotonic() + timeout
        listing = listing_from_json(await self._pages(ends))
        for name in listing.skipped:
            logger.warning("%r of `%s` is of a type that is not run", name, self._terms.name)
        self.entries = tuple(
            Entry(changed, _config_shape(changed), self._asking(changed))
            for _, changed in apply_overrides(listing.descriptors, self._overrides)
        )
        self.generation = listing.generation or ""
        self._due = time.monotonic() + self._terms.refresh_every
        return listing

    async def _pages(self, ends: float) -> dict[str, object]:
        """The whole list as one result: a page that is not read is not enforced."""
        result = await self._port.call("interceptors/list", {}, ends - time.monotonic())
        entries = result.get("interceptors")
        if not isinstance(entries, list):
            return result
        cursor = result.get("nextCursor")
        for _ in range(MAX_PAGES):
            if not isinstance(cursor, str) or not cursor:
                return {**result, "interceptors": entries}
            page = await self._port.call(
                "interceptors/list", {"cursor": cursor}, ends - time.monotonic()
            )
            more = page.get("interceptors")
            if not isinstance(more, list):
                raise WireError("a page of the list has no `interceptors`")
            entries = [*entries, *more]
            cursor = page.get("nextCursor")
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
            return _failure(descriptor, phase, Cause.UNREACHABLE, error.reason)
        except TimeoutError:
            return _failure(descriptor, phase, Cause.DEADLINE, "no answer in time")
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


def _failure(descriptor: Descriptor, phase: Phase, cause: Cause, reason: str) -> Failure:
    return Failure(descriptor.name, descriptor.kind, phase, cause, reason)


def _config_shape(descriptor: Descriptor) -> Shape | None:
    """The compiled `configSchema`; one that cannot be compiled is left to the server to check."""
    if descriptor.config_schema is None:
        return None
    compiled = compile_shape(dict(descriptor.config_schema))
    return compiled if isinstance(compiled, Shape) else None
