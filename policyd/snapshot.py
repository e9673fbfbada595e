"""One immutable generation of interceptors, and the decisions it makes.

Everything that can be decided when policies are compiled is: which interceptors an event
and phase has, and in which order they run.

INVARIANT: a snapshot never changes after it is made; whoever needs two steps under one set
of policies keeps the snapshot it read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from policyd.activation import Activation, activate, moment_of
from policyd.diagnostics import did_you_mean
from policyd.envelope import Envelope
from policyd.errors import EvaluationError, InvocationError
from policyd.events import MCP_METHODS
from policyd.execution import (
    Decision,
    Verdict,
    cut_by_chain,
    direction_of,
    end_for,
    ordered,
    run_chain,
)
from policyd.expr.shape import Shape
from policyd.expression import Budget
from policyd.interceptor import Interceptor, Validator
from policyd.model import (
    Descriptor,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)
from policyd.wire import INVALID_PARAMS

_PHASES = frozenset(Phase)

GLANCE_STEPS = 10_000
"""Steps that are tried for a batch of validators before each of them is run on its own."""


@dataclass(frozen=True, slots=True)
class Route:
    """The interceptors of one event and phase: validators as listed, mutators as they run."""

    validators: tuple[Interceptor, ...]
    mutators: tuple[Interceptor, ...]

    def of(self, kind: Kind) -> Route:
        """The route through those of one kind only."""
        return (
            replace(self, mutators=()) if kind is Kind.VALIDATION else replace(self, validators=())
        )


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

    def descriptor(self, name: str) -> Descriptor | None:
        """The descriptor of the interceptor *name*, or None for a name that none has."""
        interceptor = self._by_name.get(name)
        return None if interceptor is None else interceptor.descriptor

    def nothing(self, name: str, phase: Phase) -> Outcome | None:
        """The very outcome of the validator *name* when a glance finds nothing, if it has one."""
        interceptor = self._by_name.get(name)
        return interceptor.nothing[phase] if type(interceptor) is Validator else None

    def route(self, event: str, phase: str) -> Route:
        """The interceptors hooked to an event and phase."""
        known = self._routes.get((event, phase))
        return known if known is not None else _route(self.interceptors, event, phase)

    def invoke(self, name: str, invocation: Invocation, ends: float | None = None) -> Outcome:
        """What one interceptor says, until the monotonic time *ends*.

        Raises InvocationError for a name that no interceptor has, a phase that is none, and a
        config that breaks the interceptor's configSchema.
        """
        interceptor = self._by_name.get(name)
        if interceptor is None:
            raise unknown_interceptor(name)
        check_phase(invocation.phase)
        check_config(name, interceptor.config_shape, invocation)
        envelope = invocation.envelope
        if not interceptor.descriptor.matches(invocation.event, invocation.phase):
            return not_hooked(interceptor.descriptor, invocation)
        shared = activate(invocation, envelope.payload)
        if type(interceptor) is Validator:
            glance = Budget(GLANCE_STEPS, math.inf if ends is None else ends)
            nothing = interceptor.glance(shared, glance)
            if nothing is not None:
                return nothing
        return rewrapped(interceptor.run(invocation, shared, ends), invocation, envelope)

    def invoke_many(
        self,
        kind: Kind,
        invocation: Invocation,
        names: frozenset[str],
        ends: float | None = None,
    ) -> Verdict:
        """What the interceptors of one kind and with these names come to, run as a chain.

        They have until the monotonic time *ends*.
        """
        chosen = tuple(i for i in self.interceptors if i.descriptor.name in names)
        route = _route(chosen, invocation.event, invocation.phase)
        return self._run(invocation, route.of(kind), ends)

    def invoke_all(self, kind: Kind, invocation: Invocation, ends: float | None = None) -> Verdict:
        """What all interceptors of one kind come to, run as a chain until the time *ends*."""
        route = self.route(invocation.event, invocation.phase)
        return self._run(invocation, route.of(kind), ends)

    def decide(self, invocation: Invocation) -> Decision:
        """What the whole set says.

        Raises InvocationError for a phase that is none, and for a config that breaks a
        configSchema.
        """
        started = time.monotonic()
        verdict = self._run(invocation, self.route(invocation.event, invocation.phase))
        return Decision(invocation, verdict, self.generation, time.monotonic() - started)

    def _run(self, invocation: Invocation, route: Route, ends: float | None = None) -> Verdict:
        check_phase(invocation.phase)
        for one in (*route.validators, *route.mutators) if invocation.config else ():
            check_config(one.descriptor.name, one.config_shape, invocation)
        if invocation.timeout is not None:
            limit = time.monotonic() + invocation.timeout
            ends = limit if ends is None else min(limit, ends)
        return run_route(route, invocation, ends)


def unknown_interceptor(name: str) -> InvocationError:
    """The error for a name that no interceptor has."""
    shown = name[:128]
    return InvocationError(
        INVALID_PARAMS, f"Interceptor not found: {shown}", {"interceptor": shown}
    )


def check_phase(phase: str) -> None:
    """Raises InvocationError for a phase that is none."""
    if phase not in _PHASES:
        reason = "the phase is `request` or `response`"
        raise InvocationError(INVALID_PARAMS, "Invalid params", {"reason": reason})


def check_config(name: str, shape: Shape | None, invocation: Invocation) -> None:
    """Raises InvocationError when the config for the interceptor *name* has not that *shape*."""
    config = invocation.config.get(name)
    if config is None or shape is None:
        return
    try:
        breaches = shape.breaches(config)
    except EvaluationError:
        breaches = ((),)
    if breaches:
        place = "/".join(("", *map(str, breaches[0])))
        where = f" at `{place}`" if place else ""
        reason = f"the config of `{name}` does not meet its configSchema{where}"
        data = {"interceptor": name, "reason": reason}
        raise InvocationError(INVALID_PARAMS, "Invalid interceptor config", data)


def not_hooked(descriptor: Descriptor, invocation: Invocation) -> Outcome:
    """The pass of an interceptor that is asked about an event or phase it is not hooked to."""
    phase = Phase(invocation.phase)
    if descriptor.kind is Kind.VALIDATION:
        return ValidationResult(descriptor.name, phase, True, skipped="not_hooked")
    return MutationResult(descriptor.name, phase, False, invocation.payload, skipped="not_hooked")


def rewrapped(outcome: Outcome, invocation: Invocation, envelope: Envelope) -> Outcome:
    """The outcome with its payload in the envelope that came in, the very object if untouched."""
    if not isinstance(outcome, MutationResult):
        return outcome
    if not outcome.modified:
        return outcome._replace(payload=invocation.payload)
    return outcome._replace(payload=envelope.wrap(outcome.payload))


def rewrapped_verdict(verdict: Verdict, invocation: Invocation, envelope: Envelope) -> Verdict:
    """The verdict with its payload in the envelope that came in, the very object if untouched."""
    same = verdict.payload is envelope.payload
    after = invocation.payload if same else envelope.wrap(verdict.payload)
    return Verdict(verdict.status, after, verdict.outcomes, verdict.culprit)


def run_route(route: Route, invocation: Invocation, deadline: float | None) -> Verdict:
    """What the interceptors of *route* come to, run as a chain in this process.

    *deadline* is the monotonic time at which the whole chain ends, or None.
    """
    envelope = invocation.envelope
    chain = run_chain(route.validators, route.mutators, direction_of(invocation), envelope.payload)
    shared: Activation | None = None
    try:
        hooked, payload = next(chain)
        while True:
            if shared is None or shared["payload"] is not payload:
                shared = activate(invocation, payload)
            hooked, payload = chain.send(_run_here(hooked, invocation, shared, deadline))
    except StopIteration as stop:
        verdict: Verdict = stop.value
    return rewrapped_verdict(verdict, invocation, envelope)


def _run_here(
    hooked: Sequence[Interceptor],
    invocation: Invocation,
    shared: Activation,
    deadline: float | None,
) -> list[Outcome]:
    """What interceptors that may run at once say of the payload that *shared* is about."""
    if len(hooked) == 1:
        ends = end_for(hooked[0].descriptor.mode, deadline)
        outcomes: list[Outcome] = [hooked[0].run(invocation, shared, ends)]
    else:
        outcomes = _run_together(hooked, invocation, shared, deadline)
    if deadline is not None and time.monotonic() >= deadline:
        return [cut_by_chain(outcome) for outcome in outcomes]
    return outcomes


def _run_together(
    hooked: Sequence[Interceptor],
    invocation: Invocation,
    shared: Activation,
    deadline: float | None,
) -> list[Outcome]:
    """What several validators say; those that find something run again, enforcing ones first."""
    glances = Budget(GLANCE_STEPS, math.inf if deadline is None else deadline)
    glanced = [
        one.glance(shared, glances) if isinstance(one, Validator) else None for one in hooked
    ]
    told: dict[int, Outcome] = {
        index: outcome for index, outcome in enumerate(glanced) if outcome is not None
    }
    for mode in () if len(told) == len(hooked) else Mode:
        ends = end_for(mode, deadline)
        for index, one in enumerate(hooked):
            if index not in told and one.descriptor.mode is mode:
                told[index] = one.run(invocation, shared, ends)
    return [told[index] for index in range(len(hooked))]


def make_route(hooked: Sequence[Interceptor]) -> Route:
    """The route through interceptors that are hooked to one event and phase."""
    return Route(ordered(hooked, Kind.VALIDATION), ordered(hooked, Kind.MUTATION))


def _route(interceptors: Iterable[Interceptor], event: str, phase: str) -> Route:
    return make_route([i for i in interceptors if i.descriptor.matches(event, phase)])


def unmatched(event: str, phase: str) -> str:
    """Why no interceptor runs for an event and phase, with what was probably meant."""
    text = f"no policy matches `{event}` in the {phase} phase"
    guess = did_you_mean(event, MCP_METHODS) if event not in MCP_METHODS else None
    return text if guess is None else f"{text}; {guess}"


def make_snapshot(revision: str, interceptors: tuple[Interceptor, ...]) -> Snapshot:
    """Put interceptors together; their names must be unique."""
    named = {event for i in interceptors for event in i.descriptor.events if "*" not in event}
    routes = {
        (event, phase.value): _route(interceptors, event, phase)
        for event in (*MCP_METHODS, *named)
        for phase in Phase
    }
    by_name = {interceptor.descriptor.name: interceptor for interceptor in interceptors}
    return Snapshot(revision, interceptors, MappingProxyType(by_name), MappingProxyType(routes))


def dated(invocation: Invocation, now: datetime) -> Invocation:
    """The invocation with *now* as its moment, unless it carries one itself."""
    if moment_of(invocation) is not None:
        return invocation
    # member by member: `replace` costs as much as three validators
    return Invocation(
        invocation.event,
        invocation.phase,
        invocation.payload,
        invocation.context,
        invocation.config,
        invocation.direction,
        invocation.timeout,
        now,
        invocation.bare,
        invocation.invoker,
        invocation.watch,
    )
