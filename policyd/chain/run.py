"""One run of a chain: asks interceptors, several at once, until time is up.

The driver of `execution.run_chain` for interceptors that have to be waited for.  Knows no host.
"""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from anyio import create_task_group, move_on_after, to_thread

from policyd import snapshot
from policyd.activation import activate
from policyd.chain.entry import Entry, Hooked, failed
from policyd.chain.route import Route
from policyd.engine import INLINE_TIME
from policyd.errors import Cause, InvocationError, frames_of
from policyd.execution import Verdict, cut_by_chain, direction_of, end_for, is_late, run_chain
from policyd.functions import is_cancelled
from policyd.interceptor import Interceptor
from policyd.model import (
    Descriptor,
    Failure,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    ValidationResult,
    reason_of,
)
from policyd.snapshot import check_config, dated, rewrapped_verdict
from policyd.wire import INVALID_PARAMS, check_payload

Proceed = Callable[[Invocation], Awaitable[Outcome]]
"""Ask the interceptor about this invocation."""

Around = Callable[[Descriptor, Invocation, Proceed], Awaitable[Outcome]]
"""Called in place of each interceptor: inspects, changes the invocation, or answers itself."""

_RESULTS = {Kind.VALIDATION: ValidationResult, Kind.MUTATION: MutationResult}

TICK = 0.001
"""Seconds.  Limits travel in whole milliseconds, and the timers of uvloop tick in them: what ends
so shortly before the chain does was ended by the chain's limit."""

logger = logging.getLogger(__name__)


def log_failures(verdict: Verdict) -> None:
    """Log why interceptors could not be evaluated, those that fail open or audit included."""
    for outcome in verdict.outcomes:
        reason = reason_of(outcome)
        if reason is not None:
            # a name may come from another server, and hold a line break
            logger.warning("interceptor %r failed: %s", outcome.interceptor, reason)


def stamped(invocation: Invocation, *, travels: bool) -> Invocation:
    """The invocation with the moment of now, unless it has one.

    travels: the moment goes into the context as well, where the SEP has it.
    """
    now = datetime.now(UTC)
    dated_now = dated(invocation, now)
    if travels and "timestamp" not in invocation.context:
        context = {**invocation.context, "timestamp": now.isoformat()}
        return replace(dated_now, context=context)
    return dated_now


@dataclass(frozen=True, slots=True)
class Run:
    """One message on its way through a chain.

    deadline: the monotonic time at which the chain ends, or None.  Nobody is asked after it.
    large: compiled interceptors run in a thread.
    """

    invocation: Invocation
    deadline: float | None
    around: Around | None
    large: bool

    async def verdict(self, route: Route) -> Verdict:
        """What the interceptors of *route* come to.

        Raises InvocationError for a config that breaks a configSchema, and where one of them
        has to be waited for also for a context or config that is not JSON.
        """
        invocation = self.invocation
        if route.here is None:
            check_payload(dict(invocation.context), "context")
        if invocation.config:
            for hooked in (*route.validators, *route.mutators):
                name = hooked.descriptor.name
                check_config(name, hooked.config_shape, invocation)
                if route.here is None:
                    _check_sent(name, invocation)
        if route.here is not None and self.around is None:
            told = await self._here(route.here)
            if told is not None:
                return told
        envelope = invocation.envelope
        chain = run_chain(
            route.validators, route.mutators, direction_of(invocation), envelope.payload
        )
        try:
            batch, payload = next(chain)
            while True:
                batch, payload = chain.send(await self._everywhere(batch, payload))
        except StopIteration as stop:
            verdict: Verdict = stop.value
        return rewrapped_verdict(verdict, invocation, envelope)

    async def _here(self, route: snapshot.Route) -> Verdict | None:
        """What interceptors that are all compiled here come to; for long only in a thread.

        None when time is up before there is a thread, or before it is done.
        """
        run = partial(snapshot.run_route, route, self.invocation)
        if not self.large:
            verdict = run(_sooner(self.deadline))
            if not any(map(is_late, verdict.outcomes)):
                return verdict
        with move_on_after(self._left()):
            return await to_thread.run_sync(run, self.deadline, abandon_on_cancel=True)
        return None

    async def _everywhere(self, batch: Sequence[Hooked], payload: Any) -> list[Outcome]:
        """Ask all of *batch* at once; what is not there when time is up has failed."""
        invocation = replace(self.invocation, payload=payload, bare=True)
        outcomes: list[Outcome | None] = [None] * len(batch)
        left = self._left()
        if left == 0.0:
            return [_late(hooked.descriptor, invocation) for hooked in batch]

        ends = {mode: end_for(mode, self.deadline) for mode in Mode}

        async def one(index: int) -> None:
            hooked = batch[index]
            outcomes[index] = await self._one(hooked, invocation, ends[hooked.descriptor.mode])

        # those that count come first: what is compiled here waits for nobody
        by_mode = sorted(range(len(batch)), key=lambda i: batch[i].descriptor.mode is Mode.AUDIT)

        with move_on_after(left):
            if len(batch) == 1:
                await one(0)
            else:
                async with create_task_group() as group:
                    for index in by_mode:
                        group.start_soon(one, index)
        late = self.deadline is not None and time.monotonic() >= self.deadline - TICK
        told = [
            _late(hooked.descriptor, invocation) if outcome is None else outcome
            for hooked, outcome in zip(batch, outcomes, strict=True)
        ]
        return [cut_by_chain(outcome) for outcome in told] if late else told

    async def _one(self, hooked: Hooked, invocation: Invocation, ends: float | None) -> Outcome:
        if isinstance(hooked, Interceptor):
            ask: Proceed = partial(self._compiled, hooked, ends)
        else:
            ask = partial(_asked, hooked, ends)
        if self.around is None:
            return await ask(invocation)
        try:
            outcome = await self.around(hooked.descriptor, invocation, ask)
        except CancelledError:
            if is_cancelled():
                raise
            return failed(hooked.descriptor, invocation, "the hook around it was cancelled")
        except Exception as error:
            # the border to foreign code, whose text may quote the payload
            name = type(error).__name__
            logger.warning("the hook around raised %s:\n%s", name, frames_of(error))
            return failed(hooked.descriptor, invocation, "the hook around it failed")
        if isinstance(outcome, (Failure, _RESULTS[hooked.descriptor.kind])):
            return outcome
        return failed(hooked.descriptor, invocation, "the hook around it gave no outcome")

    async def _compiled(
        self, interceptor: Interceptor, ends: float | None, invocation: Invocation
    ) -> Outcome:
        run = partial(interceptor.run, invocation, activate(invocation, invocation.payload))
        if not self.large:
            outcome = run(_sooner(ends))
            if not is_late(outcome):
                return outcome
        return await to_thread.run_sync(run, ends, abandon_on_cancel=True)

    def _left(self) -> float | None:
        """Seconds until the chain ends."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def _sooner(ends: float | None) -> float:
    """The monotonic time at which the event loop has been held for long enough."""
    held = time.monotonic() + INLINE_TIME
    return held if ends is None else min(held, ends)


async def _asked(entry: Entry, ends: float | None, invocation: Invocation) -> Outcome:
    left = None if ends is None else max(0.0, ends - time.monotonic())
    return await entry.ask(invocation, left)


def _check_sent(name: str, invocation: Invocation) -> None:
    """Raises InvocationError unless the config of the interceptor *name* is a JSON object."""
    config = invocation.config.get(name, {})
    if not isinstance(config, Mapping):
        data = {"interceptor": name, "reason": "`config` must be an object"}
        raise InvocationError(INVALID_PARAMS, "Invalid interceptor config", data)
    check_payload(dict(config), "config")


def _late(descriptor: Descriptor, invocation: Invocation) -> Failure:
    return failed(descriptor, invocation, "the chain ran out of time", Cause.CHAIN_DEADLINE)
