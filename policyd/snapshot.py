"""One immutable generation of interceptors, and the decisions it makes.

Everything that can be decided when policies are compiled is: which interceptors an event
and phase has, and in which order they run.

INVARIANT: a snapshot never changes after it is made; whoever needs two steps under one set
of policies keeps the snapshot it read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from policyd.activation import activate, moment_of
from policyd.chain import Decision, Verdict, direction_of, ordered, run_chain
from policyd.diagnostics import did_you_mean
from policyd.envelope import Envelope, unwrap
from policyd.errors import EvaluationError, InvocationError
from policyd.events import MCP_METHODS
from policyd.interceptor import Interceptor
from policyd.model import (
    Descriptor,
    Invocation,
    Kind,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)

_PHASES = frozenset(Phase)

INVALID_PARAMS = -32602
"""JSON-RPC: the caller's parameters are wrong."""


@dataclass(frozen=True, slots=True)
class Route:
    """The interceptors of one event and phase: validators as listed, mutators as they run."""

    validators: tuple[Descriptor, ...]
    mutators: tuple[Descriptor, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One generation.

    revision: the digest of the policy files, hex; generation: its first twelve digits.
    """

    revision: str
    interceptors: tuple[Interceptor, ...]
    _by_name: Mapping[str, Interceptor]
    _routes: Mapping[tuple[str, str], Route]

    @property
    def generation(self) -> str:
        """The name of this generation; the same files have the same name everywhere."""
        return self.revision[:12]

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """What `interceptors/list` tells, in the order of files and entries."""
        return tuple(interceptor.descriptor for interceptor in self.interceptors)

    def route(self, event: str, phase: str) -> Route:
        """The interceptors hooked to an event and phase."""
        known = self._routes.get((event, phase))
        return known if known is not None else _route(self.descriptors, event, phase)

    def invoke(self, name: str, invocation: Invocation) -> Outcome:
        """What one interceptor says.

        Raises InvocationError for a name that no interceptor has, a phase that is none, and a
        config that breaks the interceptor's configSchema.
        """
        interceptor = self._by_name.get(name)
        if interceptor is None:
            raise InvocationError(
                INVALID_PARAMS, f"Interceptor not found: {name[:128]}", {"interceptor": name[:128]}
            )
        self._check(invocation, (interceptor,))
        envelope = unwrap(invocation.event, invocation.phase, invocation.payload)
        if not interceptor.descriptor.matches(invocation.event, invocation.phase):
            return _not_hooked(interceptor.descriptor, invocation)
        shared = activate(invocation, envelope.payload)
        return _wrapped(interceptor.run(invocation, shared), invocation, envelope)

    def invoke_many(self, kind: Kind, invocation: Invocation, names: frozenset[str]) -> Verdict:
        """What the interceptors of one kind and with these names come to, run as a chain."""
        chosen = tuple(d for d in self.descriptors if d.name in names)
        route = _route(chosen, invocation.event, invocation.phase)
        if kind is Kind.VALIDATION:
            return self._run(invocation, Route(route.validators, ()))
        return self._run(invocation, Route((), route.mutators))

    def decide(self, invocation: Invocation) -> Decision:
        """What the whole set says.

        Raises InvocationError for a phase that is none, and for a config that breaks a
        configSchema.
        """
        started = time.monotonic()
        verdict = self._run(invocation, self.route(invocation.event, invocation.phase))
        return Decision(invocation, verdict, self.generation, time.monotonic() - started)

    def _run(self, invocation: Invocation, route: Route) -> Verdict:
        chosen = (*route.validators, *route.mutators) if invocation.config else ()
        self._check(invocation, [self._by_name[descriptor.name] for descriptor in chosen])
        deadline = None if invocation.timeout is None else time.monotonic() + invocation.timeout
        envelope = unwrap(invocation.event, invocation.phase, invocation.payload)
        chain = run_chain(
            route.validators, route.mutators, direction_of(invocation), envelope.payload
        )
        try:
            calls = next(chain)
            while True:
                shared = activate(invocation, calls[0].payload)
                calls = chain.send(
                    tuple(
                        self._by_name[call.descriptor.name].run(invocation, shared, deadline)
                        for call in calls
                    )
                )
        except StopIteration as stop:
            verdict: Verdict = stop.value
        if verdict.payload is envelope.payload:
            return replace(verdict, payload=invocation.payload)
        return replace(verdict, payload=envelope.wrap(verdict.payload))

    def _check(self, invocation: Invocation, interceptors: Iterable[Interceptor]) -> None:
        if invocation.phase not in _PHASES:
            reason = "the phase is `request` or `response`"
            raise InvocationError(INVALID_PARAMS, "Invalid params", {"reason": reason})
        for interceptor in interceptors:
            _check_config(interceptor, invocation)


def _check_config(interceptor: Interceptor, invocation: Invocation) -> None:
    name = interceptor.descriptor.name
    config = invocation.config.get(name)
    if config is None or interceptor.config_shape is None:
        return
    try:
        breaches = interceptor.config_shape.breaches(config)
    except EvaluationError:
        breaches = ((),)
    if breaches:
        place = "/".join(("", *map(str, breaches[0])))
        where = f" at `{place}`" if place else ""
        reason = f"the config of `{name}` does not meet its configSchema{where}"
        data = {"interceptor": name, "reason": reason}
        raise InvocationError(INVALID_PARAMS, "Invalid interceptor config", data)


def _not_hooked(descriptor: Descriptor, invocation: Invocation) -> Outcome:
    phase = Phase(invocation.phase)
    if descriptor.kind is Kind.VALIDATION:
        return ValidationResult(descriptor.name, phase, True, skipped="not_hooked")
    return MutationResult(descriptor.name, phase, False, invocation.payload, skipped="not_hooked")


def _wrapped(outcome: Outcome, invocation: Invocation, envelope: Envelope) -> Outcome:
    """The outcome with its payload in the envelope that came in, the very object if untouched."""
    if not isinstance(outcome, MutationResult):
        return outcome
    if not outcome.modified:
        return replace(outcome, payload=invocation.payload)
    return replace(outcome, payload=envelope.wrap(outcome.payload))


def _route(descriptors: Iterable[Descriptor], event: str, phase: str) -> Route:
    hooked = tuple(d for d in descriptors if d.matches(event, phase))
    return Route(ordered(hooked, Kind.VALIDATION), ordered(hooked, Kind.MUTATION))


def unmatched(event: str, phase: str) -> str:
    """Why no interceptor runs for an event and phase, with what was probably meant."""
    text = f"no policy matches `{event}` in the {phase} phase"
    guess = did_you_mean(event, MCP_METHODS) if event not in MCP_METHODS else None
    return text if guess is None else f"{text}; {guess}"


def make_snapshot(revision: str, interceptors: tuple[Interceptor, ...]) -> Snapshot:
    """Put interceptors together; their names must be unique."""
    descriptors = tuple(interceptor.descriptor for interceptor in interceptors)
    named = {event for d in descriptors for event in d.events if "*" not in event}
    routes = {
        (event, phase.value): _route(descriptors, event, phase)
        for event in (*MCP_METHODS, *named)
        for phase in Phase
    }
    by_name = {interceptor.descriptor.name: interceptor for interceptor in interceptors}
    return Snapshot(revision, interceptors, MappingProxyType(by_name), MappingProxyType(routes))


def dated(invocation: Invocation, now: datetime) -> Invocation:
    """The invocation with *now* as its moment, unless it carries one itself."""
    return invocation if moment_of(invocation) is not None else replace(invocation, now=now)
