"""Interceptors written in Python: functions registered with the SEP's metadata.

They run in a chain beside compiled policies and remote interceptors, or are served to other
chains by `policyd.server.add_interceptors`.  Knows what such a function may answer, and that
it must neither change its caller's payload nor bring its caller down.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, TypeVar, Unpack

from anyio import move_on_after

from policyd.diagnostics import did_you_mean
from policyd.errors import Cause, InvocationError, frames_of
from policyd.events import MCP_METHODS, matches_event
from policyd.expr.shape import Shape, compile_shape
from policyd.model import (
    PHASES,
    Change,
    Descriptor,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
    with_priorities,
)
from policyd.patch import fresh, same_json
from policyd.snapshot import check_config, check_phase, not_hooked, rewrapped, unknown_interceptor
from policyd.wire import check_payload, is_protocol_version

DEFAULT_TIMEOUT = 1.0
"""Seconds that one function may take unless it says otherwise."""

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


class Metadata(TypedDict, total=False):
    """What a function says of itself, as a policy file would.

    events: event names, `tools/*` or `*`.  phase: `request`, `response` or `both`.
    priority: lower runs first, mutators only; one number or one for each phase.
    timeout: seconds; only an async function can be interrupted, another's answer comes too late
        unless it denies.
    config_schema, compat: as the SEP has them.
    """

    events: Required[Sequence[str]]
    phase: Required[str]
    mode: str
    fail_open: bool
    priority: int | Mapping[str, int]
    timeout: float
    version: str
    description: str
    config_schema: Mapping[str, Any]
    compat: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FunctionInterceptor:
    """One registered function."""

    descriptor: Descriptor
    function: Callable[[Invocation], Any]
    config_shape: Shape | None = None

    async def ask(self, invocation: Invocation, timeout: float | None = None) -> Outcome:
        """What the function says of a bare payload, within *timeout* seconds.

        A function that raises, answers something else, or takes too long has failed.  A denial
        counts even when it is late: it is a firm answer.
        """
        started = time.monotonic()
        limit = self.limit(timeout)
        with move_on_after(limit) as scope:
            outcome = await self._outcome(invocation, self._copy(invocation))
        duration = time.monotonic() - started
        if scope.cancelled_caught or (duration > limit and not _denies(outcome)):
            outcome = self._failure(invocation, "the function ran out of time", Cause.DEADLINE)
        if isinstance(outcome, Failure):
            return replace(outcome, duration=duration)
        return outcome._replace(duration=duration)

    def limit(self, timeout: float | None) -> float:
        """Seconds that the function may take when its caller allows *timeout*."""
        own = self.descriptor.timeout or DEFAULT_TIMEOUT
        return own if timeout is None else min(own, timeout)

    def _copy(self, invocation: Invocation) -> Invocation:
        """What the function is given: nothing that it changes in place is anybody else's.

        Of the configs its own, as over the wire.
        """
        config = invocation.config.get(self._name)
        return replace(
            invocation,
            payload=fresh(invocation.payload),
            context=fresh(dict(invocation.context)),
            config={} if config is None else {self._name: fresh(dict(config))},
        )

    async def _outcome(self, invocation: Invocation, copy: Invocation) -> Outcome:
        try:
            answer = self.function(copy)
            if isinstance(answer, Awaitable):
                answer = await answer
            if self.descriptor.kind is Kind.VALIDATION:
                return self._validation(answer, invocation)
            return self._mutation(copy.payload if answer is None else answer, invocation)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # what it awaited was cancelled, not the message
            return self._failure(invocation, "the function was cancelled from within")
        except Exception as error:
            # the border to foreign code: its text may quote the payload, so only the place
            # where it failed is logged
            raised = type(error).__name__
            logger.warning("`%s` raised %s:\n%s", self._name, raised, frames_of(error))
            return self._failure(invocation, f"the function raised {raised}")

    def _validation(self, answer: Any, invocation: Invocation) -> Outcome:
        found = () if answer is None else answer
        if isinstance(found, (str, Finding)):
            found = (found,)
        if not isinstance(found, Sequence) or not all(isinstance(f, (str, Finding)) for f in found):
            return self._failure(invocation, "the function answered neither a message nor findings")
        findings = [self._finding(f) for f in found]
        findings.sort(key=lambda finding: finding.severity.rank)
        blocks = bool(findings) and findings[0].severity is Severity.ERROR
        audited = self._audited
        phase = Phase(invocation.phase)
        return ValidationResult(
            self._name, phase, audited or not blocks, tuple(findings), audited=audited, info={}
        )

    def _finding(self, found: str | Finding) -> Finding:
        if isinstance(found, Finding):
            return replace(found, interceptor=self._name, severity=Severity(found.severity))
        return Finding(self._name, "", Severity.ERROR, found)

    def _mutation(self, payload: Any, invocation: Invocation) -> Outcome:
        try:
            check_payload(payload)
        except InvocationError:
            return self._failure(invocation, "the function answered a payload that is not JSON")
        if isinstance(invocation.payload, dict) and not isinstance(payload, dict):
            return self._failure(invocation, "the function answered no object in place of one")
        changed = not same_json(invocation.payload, payload)
        audited = self._audited
        return MutationResult(
            self._name,
            Phase(invocation.phase),
            modified=changed and not audited,
            payload=payload if changed and not audited else invocation.payload,
            changes=(Change("", "", "replace"),) if changed else (),
            audited=audited,
            info={},
        )

    def _failure(self, invocation: Invocation, reason: str, cause: Cause = Cause.ERROR) -> Outcome:
        phase = Phase(invocation.phase)
        if not self._audited:
            return Failure(self._name, self.descriptor.kind, phase, cause, reason)
        if self.descriptor.kind is Kind.VALIDATION:
            return ValidationResult(
                self._name, phase, True, audited=True, failure=reason, cause=cause, info={}
            )
        return MutationResult(
            self._name,
            phase,
            False,
            invocation.payload,
            audited=True,
            failure=reason,
            cause=cause,
            info={},
        )

    @property
    def _name(self) -> str:
        return self.descriptor.name

    @property
    def _audited(self) -> bool:
        return self.descriptor.mode is Mode.AUDIT


class Interceptors:
    """Functions by name, in the order they were registered."""

    def __init__(self) -> None:
        self._functions: dict[str, FunctionInterceptor] = {}

    @property
    def functions(self) -> tuple[FunctionInterceptor, ...]:
        """What was registered so far."""
        return tuple(self._functions.values())

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """What `interceptors/list` tells of them."""
        return tuple(function.descriptor for function in self.functions)

    def get(self, name: str) -> FunctionInterceptor | None:
        """The function registered as *name*."""
        return self._functions.get(name)

    async def invoke(self, name: str, invocation: Invocation) -> Outcome:
        """What one function says, of a payload in its envelope or bare.

        Raises InvocationError for a name that no function has, a phase that is none, and a
        config that breaks the configSchema.
        """
        function = self.get(name)
        if function is None:
            raise unknown_interceptor(name)
        check_phase(invocation.phase)
        check_config(name, function.config_shape, invocation)
        if not function.descriptor.matches(invocation.event, invocation.phase):
            return not_hooked(function.descriptor, invocation)
        envelope = invocation.envelope
        bare = replace(invocation, payload=envelope.payload, bare=True)
        return rewrapped(await function.ask(bare, invocation.timeout), invocation, envelope)

    def validator(self, name: str, **metadata: Unpack[Metadata]) -> Callable[[F], F]:
        """Register a function that judges.

        It takes an Invocation and returns None when there is nothing to say, a text (one
        finding of severity error), a Finding, or a sequence of both.
        """
        return self._register(name, Kind.VALIDATION, metadata)

    def mutator(self, name: str, **metadata: Unpack[Metadata]) -> Callable[[F], F]:
        """Register a function that changes.

        It takes an Invocation with a payload of its own, and returns the new payload, or None
        when it changed that one in place or not at all.
        """
        return self._register(name, Kind.MUTATION, metadata)

    def _register(self, name: str, kind: Kind, metadata: Metadata) -> Callable[[F], F]:
        if not isinstance(name, str):
            raise TypeError("a registration needs a name: `@interceptors.validator('name', ...)`")
        _check_metadata(metadata)
        _warn_of_events(name, metadata["events"])
        shape = _config_shape(metadata.get("config_schema"))

        def register(function: F) -> F:
            descriptors = _descriptors(name, kind, metadata)
            for descriptor in descriptors:
                if descriptor.name in self._functions:
                    raise ValueError(f"there is an interceptor `{descriptor.name}` already")
            for descriptor in descriptors:
                self._functions[descriptor.name] = FunctionInterceptor(descriptor, function, shape)
            return function

        return register


def is_seconds(value: Any) -> bool:
    """True for a number greater than 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def is_cancelled() -> bool:
    """True when the running task itself is being cancelled, not only something it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _denies(outcome: Outcome) -> bool:
    return isinstance(outcome, ValidationResult) and not outcome.valid


def _config_shape(schema: Mapping[str, Any] | None) -> Shape | None:
    if schema is None:
        return None
    compiled = compile_shape(dict(schema))
    if isinstance(compiled, Shape):
        return compiled
    raise ValueError(f"the config schema is none that is read here: {compiled[0].text}")


def _check_metadata(metadata: Metadata) -> None:
    """Raises TypeError or ValueError for what would be overlooked or misread."""
    _check_members(metadata)
    if not metadata["events"] or isinstance(metadata["events"], str):
        raise ValueError("`events` is a list of event names, with at least one")
    if metadata["phase"] not in PHASES:
        raise ValueError("`phase` is `request`, `response` or `both`")
    if metadata.get("mode", Mode.ENFORCE) not in tuple(Mode):
        raise ValueError("`mode` is `enforce` or `audit`")
    if not is_seconds(metadata.get("timeout", DEFAULT_TIMEOUT)):
        raise ValueError("`timeout` is a number of seconds greater than 0")
    priority = metadata.get("priority", 0)
    if isinstance(priority, Mapping) and not priority.keys() <= set(Phase):
        raise ValueError("`priority` is a number, or one for `request` and one for `response`")
    if not all(map(is_protocol_version, metadata.get("compat", {}).values())):
        raise ValueError("`compat` bounds are MCP versions such as `2025-11-25`")


def _warn_of_events(name: str, events: Sequence[str]) -> None:
    """Warn of events that MCP does not define and that look like slips."""
    for event in events:
        known = any(matches_event(event, method) for method in MCP_METHODS)
        guess = None if known else did_you_mean(event, MCP_METHODS)
        if guess is not None:
            logger.warning("`%s` is hooked to `%s`, which no message is; %s", name, event, guess)


def _check_members(metadata: Metadata) -> None:
    for key in metadata:
        if key not in Metadata.__annotations__:
            guess = did_you_mean(key, Metadata.__annotations__)
            raise TypeError(f"unknown metadata `{key}`" + ("" if guess is None else f"; {guess}"))
    for key in ("events", "phase"):
        if key not in metadata:
            raise TypeError(f"`{key}` is missing: an interceptor says what it is hooked to")
    if not isinstance(metadata.get("fail_open", False), bool):
        raise TypeError("`fail_open` is True or False")


def _descriptors(name: str, kind: Kind, metadata: Metadata) -> tuple[Descriptor, ...]:
    phases = PHASES[metadata["phase"]]
    descriptor = Descriptor(
        name=name,
        kind=kind,
        events=tuple(metadata["events"]),
        phases=phases,
        version=metadata.get("version"),
        description=metadata.get("description"),
        mode=Mode(metadata.get("mode", Mode.ENFORCE)),
        fail_open=metadata.get("fail_open", False),
        timeout=metadata.get("timeout"),
        config_schema=metadata.get("config_schema"),
        compat=metadata.get("compat"),
    )
    priority = metadata.get("priority", 0)
    if isinstance(priority, int):
        return with_priorities(descriptor, dict.fromkeys(phases, priority))
    return with_priorities(descriptor, {phase: priority.get(phase, 0) for phase in phases})
