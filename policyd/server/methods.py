"""`interceptors/list` and `interceptor/invoke` over an engine.

Knows the engine and the wire.  Knows neither the MCP SDK nor a transport: what cannot be
answered is an InvocationError, and nothing else ever leaves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread

from policyd.engine import INLINE_SIZE, INLINE_TIME, Engine
from policyd.errors import Cause, InvocationError, frames_of
from policyd.events import matches_event
from policyd.execution import Verdict, is_late
from policyd.interceptor import DEFAULT_TIMEOUT
from policyd.model import (
    Descriptor,
    Failure,
    Invocation,
    Kind,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
    reason_of,
)
from policyd.server.listings import Listings, catch_up_descriptors, parse_catch_up
from policyd.snapshot import Snapshot, dated
from policyd.wire import (
    GENERATION,
    INTERNAL_ERROR,
    RETIRED,
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

logger = logging.getLogger(__name__)

Params = Mapping[str, Any] | None
Method = Callable[[Params], Awaitable[dict[str, Any]]]


class _Judged(NamedTuple):
    """What is answered, and the outcomes of those that ran for it."""

    said: Outcome
    ran: tuple[Outcome, ...]


class Methods:
    """The methods of an interceptor server.

    Each request reads `engine.current` once and is answered by that snapshot alone.
    """

    def __init__(self, engine: Engine, dialect: Dialect) -> None:
        self._engine = engine
        self._dialect = dialect
        self._listings = Listings()
        self._threads = CapacityLimiter(THREADS)

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return method_table(self._list, self._invoke)

    def capability(self) -> dict[str, Any]:
        """The settings of the interceptor capability, as of now."""
        return {
            "supportedEvents": supported_events(self._engine.current.descriptors, self._dialect)
        }

    async def _list(self, params: Params) -> dict[str, Any]:
        snapshot = self._engine.current
        event = list_params_from_json(params)
        descriptors = snapshot.descriptors
        if self._dialect is Dialect.UNIVERSAL:
            self._listings.record(snapshot.generation, descriptors)
            descriptors += catch_up_descriptors(snapshot.generation, descriptors)
        answer = listed(descriptors, event, self._dialect)
        if self._dialect is Dialect.UNIVERSAL:
            answer["_meta"] = {GENERATION: snapshot.generation}
        return answer

    async def _invoke(self, params: Params) -> dict[str, Any]:
        snapshot = self._engine.current
        call = invocation_from_json(params)
        call = call._replace(invocation=dated(call.invocation, datetime.now(UTC)))
        judge = partial(self._judged, snapshot, call)
        judged = judge(time.monotonic() + INLINE_TIME) if call.size <= INLINE_SIZE else None
        if judged is None or any(map(is_late, judged.ran)):
            judged = await to_thread.run_sync(judge, abandon_on_cancel=True, limiter=self._threads)
        for outcome in judged.ran:
            log_failure(outcome)
        invocation = call.invocation
        if isinstance(judged.said, Failure) and judged.said.cause is Cause.DEADLINE:
            invocation = replace(invocation, timeout=_limit(snapshot, call))
        return outcome_to_json(judged.said, invocation, snapshot.generation, self._dialect)

    def _judged(self, snapshot: Snapshot, call: Call, ends: float | None = None) -> _Judged:
        """What is said, by interceptors that have until the monotonic time *ends*."""
        name, invocation, _ = call
        try:
            outcome = snapshot.invoke(name, invocation, ends)
        except InvocationError:
            # only a name that is not in force can be a catch-up or a retired one
            if any(descriptor.name == name for descriptor in snapshot.descriptors):
                raise
            past = self._past(snapshot, name, invocation, ends)
            if past is None:
                raise
            return past
        return _Judged(outcome, (outcome,))

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
            retired = None if kind_then is None else _retired(name, kind_then, invocation)
            return None if retired is None else _Judged(retired, ())
        kind, generation = catch_up
        hook = (invocation.event, str(invocation.phase))
        if generation == snapshot.generation:
            # listed perhaps by a process before this one, which served the same files
            self._listings.record(generation, snapshot.descriptors)
        names = self._listings.unknown_to(generation, kind, snapshot.descriptors, hook)
        verdict = snapshot.invoke_many(kind, invocation, names, ends)
        return _Judged(_merged(kind, name, invocation, verdict), verdict.outcomes)


def method_table(list_: Method, invoke: Method) -> dict[str, Method]:
    """The two methods under all their names, each with its border to the peer.

    The plural of `interceptor/invoke` is undecided upstream, so it is served as well.
    """
    guarded = partial(_answer, invoke)
    return {
        "interceptors/list": partial(_answer, list_),
        "interceptor/invoke": guarded,
        "interceptors/invoke": guarded,
    }


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


def log_failure(outcome: Outcome) -> None:
    """Tell the log why an interceptor could not be evaluated, if it could not."""
    reason = reason_of(outcome)
    if reason is not None:
        logger.warning("`%s` could not be evaluated: %s", outcome.interceptor, reason)


async def _answer(method: Method, params: Params) -> dict[str, Any]:
    """The answer of *method*; a crash becomes an error that says nothing about it."""
    try:
        return await method(params)
    except InvocationError:
        raise
    except Exception as error:
        # the border to the peer: no text of an exception may cross it, and none is logged
        # either, because it may quote the payload
        logger.error("a method crashed with %s:\n%s", type(error).__name__, frames_of(error))
    name = (params or {}).get("name")
    data = {"interceptor": name[:128]} if isinstance(name, str) else {}
    data["reason"] = "internal error"
    raise InvocationError(INTERNAL_ERROR, "Interceptor execution failed", data)


def _limit(snapshot: Snapshot, call: Call) -> float:
    """The seconds that the call was given."""
    own = {d.name: d.timeout for d in snapshot.descriptors}.get(call.name) or DEFAULT_TIMEOUT
    asked = call.invocation.timeout
    return own if asked is None else min(own, asked)


def _retired(name: str, kind: Kind, invocation: Invocation) -> Outcome:
    phase = Phase(invocation.phase)
    if kind is Kind.VALIDATION:
        return ValidationResult(name, phase, True, skipped=RETIRED)
    return MutationResult(name, phase, False, invocation.payload, skipped=RETIRED)


def _merged(kind: Kind, name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """What several interceptors of one kind came to, as the outcome of the interceptor *name*."""
    if isinstance(verdict.culprit, Failure):
        return replace(verdict.culprit, interceptor=name)
    if kind is Kind.VALIDATION:
        return _merged_validation(name, invocation, verdict)
    return _merged_mutation(name, invocation, verdict)


def _merged_validation(name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """A chain of validators as the outcome of the one interceptor *name*."""
    findings = [
        finding
        for outcome in verdict.outcomes
        if isinstance(outcome, ValidationResult) and not outcome.audited
        for finding in outcome.findings
    ]
    findings.sort(key=lambda finding: finding.severity.rank)
    valid = verdict.culprit is None
    return ValidationResult(name, Phase(invocation.phase), valid, tuple(findings))


def _merged_mutation(name: str, invocation: Invocation, verdict: Verdict) -> Outcome:
    """A chain of mutators as the outcome of the one interceptor *name*."""
    changes = tuple(
        change
        for outcome in verdict.outcomes
        if isinstance(outcome, MutationResult) and outcome.modified
        for change in outcome.changes
    )
    phase = Phase(invocation.phase)
    return MutationResult(name, phase, bool(changes), verdict.payload, changes)
