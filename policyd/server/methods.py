"""`interceptors/list` and `interceptor/invoke` over an engine.

Knows the engine and the wire.  Knows neither the MCP SDK nor a transport: what cannot be
answered is an InvocationError, and nothing else ever leaves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from anyio import CapacityLimiter, move_on_after, to_thread

from policyd.engine import INLINE_SIZE, INLINE_TIME, Engine
from policyd.errors import Cause, InvocationError
from policyd.events import matches_event
from policyd.execution import is_late
from policyd.interceptor import DEFAULT_TIMEOUT
from policyd.model import Descriptor, Failure, Invocation, Kind, Outcome, Phase
from policyd.server.bundle import NAMES, Exposure, bundle_descriptors
from policyd.server.judgement import Judgement, Observer, Running
from policyd.server.listings import Listings, catch_up_descriptors, parse_catch_up
from policyd.server.merging import merged, retired
from policyd.server.method import (
    Invoker,
    Method,
    Params,
    Result,
    Standing,
    log_failure,
    method_table,
)
from policyd.snapshot import Snapshot
from policyd.wire import (
    GENERATION,
    INVALID_PARAMS,
    MAX_NAME,
    MAX_TIMEOUT,
    Call,
    Dialect,
    descriptor_to_json,
    invocation_from_json,
    list_params_from_json,
    outcome_to_json,
    supported_events,
)

THREADS = 2
"""More would only queue for the interpreter lock and keep it from the event loop."""


class _Asked(NamedTuple):
    """A call, when it came (monotonic), and the snapshot that answers it."""

    snapshot: Snapshot
    call: Call
    started: float


class _Judged(NamedTuple):
    """What is answered, and the outcomes of those that ran for it."""

    said: Outcome
    ran: tuple[Outcome, ...]


class Methods:
    """The methods of an interceptor server.

    Each request reads `engine.current` once and is answered by that snapshot alone.
    """

    def __init__(
        self,
        engine: Engine,
        dialect: Dialect,
        exposure: Exposure = Exposure.POLICIES,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._engine = engine
        self._dialect = dialect
        self._bundled = exposure is Exposure.BUNDLE
        self._observers = observers
        self._listings = Listings()
        self._threads = CapacityLimiter(THREADS)
        self._pool = CapacityLimiter(math.inf)
        # by the identity of the outcome, which is held so that no other can get it
        self._standing: dict[int, tuple[Outcome, Standing]] = {}
        self._standing_of: Snapshot | None = None

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return method_table(self._list, Method(self._invoke_at_once, self._invoke))

    def capability(self) -> dict[str, Any]:
        """The settings of the interceptor capability, as of now."""
        return {
            "supportedEvents": supported_events(self._offered(self._engine.current), self._dialect)
        }

    def _offered(self, snapshot: Snapshot) -> tuple[Descriptor, ...]:
        """What stands for the policies in force."""
        policies = snapshot.descriptors
        return bundle_descriptors(policies) if self._bundled else policies

    def _list(self, params: Params) -> Result:
        snapshot = self._engine.current
        event = list_params_from_json(params)
        descriptors = self._offered(snapshot)
        if self._dialect is Dialect.UNIVERSAL and not self._bundled:
            self._listings.record(snapshot.generation, descriptors)
            descriptors += catch_up_descriptors(snapshot.generation, descriptors)
        answer = listed(descriptors, event, self._dialect)
        if self._dialect is Dialect.UNIVERSAL:
            answer["_meta"] = {GENERATION: snapshot.generation}
        return answer

    def _ask(self, params: Params, invoker: Invoker) -> _Asked:
        """The call; where it is beyond INLINE_SIZE, its payload is not wholly looked at."""
        call = invocation_from_json(params, datetime.now(UTC), INLINE_SIZE, invoker)
        return _Asked(self._engine.current, call, time.monotonic())

    def _invoke_at_once(self, params: Params, invoker: Invoker) -> Result | None:
        asked = self._ask(params, invoker)
        if asked.call.size > INLINE_SIZE:
            return None
        judged = self._judged(asked, asked.started + INLINE_TIME)
        return None if any(map(is_late, judged.ran)) else self._told(asked, judged)

    async def _invoke(self, params: Params, invoker: Invoker) -> Result:
        """The result of a call that is judged in a thread, which ends when nobody waits for it."""
        asked = self._ask(params, invoker)
        ends = asked.started + self._limit(asked)
        with move_on_after(ends - time.monotonic()) as waiting:
            await self._threads.acquire()
        if waiting.cancelled_caught:
            return self._told(asked, _Judged(_unheard(asked.call), ()))
        running = Running()
        judge = partial(self._judged_whole, asked, params, running, ends)
        try:
            judged = await to_thread.run_sync(judge, abandon_on_cancel=True, limiter=self._pool)
        finally:
            running.end()
            self._threads.release()
        return self._told(asked, judged)

    def _judged_whole(
        self, asked: _Asked, params: Params, running: Running, ends: float
    ) -> _Judged:
        """What is said of a payload of any size, in a thread."""
        if asked.call.size > INLINE_SIZE:
            invocation_from_json(params, datetime.now(UTC))
        invocation = replace(asked.call.invocation, watch=running.add)
        watched = asked._replace(call=asked.call._replace(invocation=invocation))
        return self._judged(watched, ends)

    def _told(self, asked: _Asked, judged: _Judged) -> Result:
        """The result for the peer, after all who watch have been told."""
        snapshot, call, started = asked
        for observe in self._observers:
            observe(Judgement(snapshot, call, *judged, time.monotonic() - started))
        standing = self._standing.get(id(judged.said))
        if standing is not None:
            return standing[1]
        for outcome in judged.ran:
            log_failure(outcome)
        invocation = call.invocation
        known = snapshot.descriptor(call.name) is not None
        if isinstance(judged.said, Failure) and judged.said.cause is Cause.DEADLINE and known:
            invocation = replace(invocation, timeout=self._limit(asked))
        told = outcome_to_json(judged.said, invocation, snapshot.generation, self._dialect)
        if judged.said is snapshot.nothing(call.name, Phase(invocation.phase)):
            return self._keep(snapshot, judged.said, told)
        return told

    def _keep(self, snapshot: Snapshot, said: Outcome, told: Result) -> Standing:
        """The result *told* for *said*, an object of the snapshot that is said again and again."""
        if self._standing_of is not snapshot:
            self._standing, self._standing_of = {}, snapshot
        self._standing[id(said)] = (said, Standing(told))
        return self._standing[id(said)][1]

    def _judged(self, asked: _Asked, ends: float) -> _Judged:
        """What is said, by interceptors that have until the monotonic time *ends*."""
        snapshot, (name, invocation, _), _ = asked
        if self._bundled and name in NAMES:
            return self._bundle(asked, NAMES[name], ends)
        try:
            outcome = snapshot.invoke(name, invocation, ends)
        except InvocationError:
            # only a name that is not in force can be a catch-up or a retired one
            if snapshot.descriptor(name) is not None:
                raise
            past = self._past(snapshot, name, invocation, ends)
            if past is None:
                raise
            return past
        return _Judged(outcome, (outcome,))

    def _bundle(self, asked: _Asked, kind: Kind, ends: float) -> _Judged:
        """What all policies of one kind say."""
        snapshot, (name, invocation, _), _ = asked
        invocation = replace(invocation, config=_configs(asked.call))
        verdict = snapshot.invoke_all(kind, invocation, ends)
        said = merged(kind, name, invocation, verdict)
        if not isinstance(said, Failure):
            said = said._replace(parts=verdict.outcomes)
        return _Judged(said, verdict.outcomes)

    def _limit(self, asked: _Asked) -> float:
        """The seconds that the call may take."""
        known = asked.snapshot.descriptor(asked.call.name)
        # a name that stands for several policies has the time that each of them has
        own = MAX_TIMEOUT if known is None else known.timeout or DEFAULT_TIMEOUT
        return min(own, asked.call.invocation.timeout or MAX_TIMEOUT)

    def _past(
        self, snapshot: Snapshot, name: str, invocation: Invocation, ends: float | None
    ) -> _Judged | None:
        """The answer to a name that an earlier list holds, or None.

        Without catch-up interceptors, as in the SEP dialect, a name that is gone stays an
        error: a pass would leave a renamed policy to nobody.
        """
        if self._dialect is not Dialect.UNIVERSAL:
            return None
        catch_up = parse_catch_up(name)
        if catch_up is None:
            kind_then = self._listings.kind_of(name)
            gone = None if kind_then is None else retired(name, kind_then, invocation)
            return None if gone is None else _Judged(gone, ())
        kind, generation = catch_up
        hook = (invocation.event, str(invocation.phase))
        if generation == snapshot.generation:
            # listed perhaps by a process before this one, which served the same files
            self._listings.record(generation, snapshot.descriptors)
        names = self._listings.unknown_to(generation, kind, snapshot.descriptors, hook)
        verdict = snapshot.invoke_many(kind, invocation, names, ends)
        return _Judged(merged(kind, name, invocation, verdict), verdict.outcomes)


def listed(
    descriptors: Iterable[Descriptor], event: str | None, dialect: Dialect
) -> dict[str, Any]:
    """The result of `interceptors/list` for *event*, or for all events."""
    return {
        "interceptors": [
            descriptor_to_json(descriptor, dialect)
            for descriptor in descriptors
            if event is None or any(matches_event(e, event) for e in descriptor.events)
        ]
    }


def _unheard(call: Call) -> Failure:
    """The outcome of a call whose time was up before a thread was free."""
    reason = "the deadline passed while other calls were judged"
    phase = Phase(call.invocation.phase)
    return Failure(call.name, Kind.VALIDATION, phase, Cause.DEADLINE, reason)


def _configs(call: Call) -> Mapping[str, Mapping[str, Any]]:
    """The config of each policy: what the config of a bundle holds under its name."""
    configs = call.invocation.config.get(call.name, {})
    for name, config in configs.items():
        if type(config) is not dict:
            reason = f"the config of `{name[:MAX_NAME]}` must be an object"
            data = {"interceptor": call.name, "reason": reason}
            raise InvocationError(INVALID_PARAMS, "Invalid interceptor config", data)
    return configs
