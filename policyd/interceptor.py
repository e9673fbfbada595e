"""Interceptors: compiled policies that judge a payload (validators) or change it (mutators).

Knows what the outcome of a policy's rules means (design section 5).  Does no I/O; the only
clock it reads is the monotonic one that its deadline is measured on.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.activation import Activation
from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import Program
from policyd.expr.cel.program import Fast
from policyd.expr.shape import Shape
from policyd.expression import Budget, Expression
from policyd.model import (
    Change,
    Descriptor,
    Failure,
    Finding,
    Invocation,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)
from policyd.rules import Check, Step
from policyd.rules.predicate import Condition
from policyd.site import holds

STEP_BUDGET = 1_000_000
"""Steps of one invocation of one interceptor, over all its rules."""

DEFAULT_TIMEOUT = 1.0
"""Seconds that one invocation of one interceptor may take unless its policy says otherwise."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What decides whether a policy has something to say about a payload.

    tools: a test on the tool's name, or None for every tool; when: the precondition.
    where: `file:line:column` of `match`, for the log.
    """

    where: str
    tools: Callable[[str], bool] | None = None
    when: Expression | None = None

    def admits(self, activation: Activation, budget: Budget) -> bool:
        """True when the rules are to be evaluated.  Raises EvaluationError where it cannot tell."""
        if self.tools is not None and not self.tools(activation["tool"]):
            return False
        return self.when is None or holds(self.when, activation, budget)


@dataclass(frozen=True, slots=True)
class PlacedCheck:
    """A check, and where its rule stands: what the log names when it cannot be evaluated."""

    where: str
    check: Check


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """A step, and where its `patch`, `redact` or `drop` stands."""

    where: str
    step: Step


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why a policy could not be evaluated, with the place in its file."""

    reason: str
    cause: Cause


def _unknown(where: str, error: EvaluationError) -> Unknown:
    return Unknown(f"{where}: {error.reason}", error.cause)


@dataclass(frozen=True, slots=True)
class Interceptor(ABC):
    """What validators and mutators have in common.

    where: `file:line:column` of the policy's name.
    """

    descriptor: Descriptor
    guard: Guard
    variables: Mapping[str, Expression]
    config_shape: Shape | None
    where: str

    def run(
        self, invocation: Invocation, shared: Activation, deadline: float | None = None
    ) -> Outcome:
        """What this interceptor says of one payload.

        *shared* is the activation of the bare payload; *deadline* a monotonic time that ends
        the evaluation earlier than the policy's own timeout.
        """
        started = time.monotonic()
        own = self.descriptor.timeout
        ends = started + (DEFAULT_TIMEOUT if own is None else own)
        if invocation.timeout is not None:
            ends = min(ends, started + invocation.timeout)
        if deadline is not None:
            ends = min(ends, deadline)
        budget = Budget(STEP_BUDGET, ends)
        if invocation.watch is not None:
            invocation.watch(budget)
        if self.variables or self.config_shape is not None:
            shared = shared.with_variables(budget, self.variables)
            if self.config_shape is not None:
                shared["config"] = self._config(invocation)
        return self._outcome(shared, budget, started)

    @abstractmethod
    def _outcome(self, activation: Activation, budget: Budget, started: float) -> Outcome: ...

    def _failure(self, unknown: Unknown, phase: Phase, started: float) -> Failure:
        name, kind = self.descriptor.name, self.descriptor.kind
        duration = time.monotonic() - started
        return Failure(name, kind, phase, unknown.cause, unknown.reason, duration)

    def _config(self, invocation: Invocation) -> dict[str, Any]:
        """The config as sent, over the defaults that the schema's properties name."""
        schema = self.descriptor.config_schema or {}
        properties = schema.get("properties", {})
        described = {k: v for k, v in properties.items() if isinstance(v, dict)}
        defaults = {k: v["default"] for k, v in described.items() if "default" in v}
        return {**defaults, **invocation.config.get(self.descriptor.name, {})}

    @property
    def _audited(self) -> bool:
        return self.descriptor.mode is Mode.AUDIT


@dataclass(frozen=True, slots=True)
class Validator(Interceptor):
    """A policy that judges: every rule is evaluated, every finding told.

    nothing: the outcome of `glance` in each phase, the same object each time.
    """

    checks: tuple[PlacedCheck, ...]
    _fast: tuple[tuple[Fast, bool], ...] = field(init=False, repr=False, compare=False)
    nothing: Mapping[Phase, ValidationResult] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name, audited = self.descriptor.name, self._audited
        nothing = {phase: ValidationResult(name, phase, True, (), audited) for phase in Phase}
        object.__setattr__(self, "nothing", nothing)
        plain = not self.variables and self.config_shape is None
        object.__setattr__(self, "_fast", _fast_conditions(self.checks) if plain else ())

    def glance(self, shared: Activation, budget: Budget) -> ValidationResult | None:
        """The result where nothing is found, at a quarter of the cost of `run`.

        None where something is found or cannot be told: then `run` has to say what.  The
        result has no duration of its own.  *budget* is what several validators may spend on
        glances together.
        """
        if not self._fast:
            return None
        guard = self.guard
        try:
            if (guard.tools is None and guard.when is None) or guard.admits(shared, budget):
                for condition, silent_on in self._fast:
                    if condition(shared, budget) is not silent_on:
                        return None
        except Exception:  # whatever it is, `run` decides what it means
            return None
        return self.nothing[shared.phase]

    def _outcome(self, activation: Activation, budget: Budget, started: float) -> Outcome:
        findings: list[Finding] = []
        unknown: Unknown | None = None
        try:
            checks = self.checks if self.guard.admits(activation, budget) else ()
        except EvaluationError as error:
            checks, unknown = (), _unknown(self.guard.where, error)
        for placed in checks:
            try:
                findings += placed.check(activation, budget)
            except EvaluationError as error:
                # every rule runs even after one that cannot be evaluated: a finding of
                # severity error is a firm answer whatever the others would have said
                unknown = unknown or _unknown(placed.where, error)
        findings.sort(key=lambda finding: finding.severity.rank)
        return self._judge(tuple(findings), unknown, activation.phase, started)

    def _judge(
        self, findings: tuple[Finding, ...], unknown: Unknown | None, phase: Phase, started: float
    ) -> Outcome:
        blocked = bool(findings) and findings[0].severity.rank == 0
        if unknown is not None and not blocked and not self._audited:
            return self._failure(unknown, phase, started)
        return ValidationResult(
            interceptor=self.descriptor.name,
            phase=phase,
            valid=self._audited or not blocked,
            findings=findings,
            audited=self._audited,
            failure=None if unknown is None else unknown.reason,
            cause=None if unknown is None else unknown.cause,
            duration=time.monotonic() - started,
        )


def _fast_conditions(checks: Iterable[PlacedCheck]) -> tuple[tuple[Fast, bool], ...]:
    """The fast path of each condition with what it gives when nothing is wrong.

    Empty unless all checks are conditions that have one.
    """
    conditions: list[tuple[Fast, bool]] = []
    for check in (placed.check for placed in checks):
        program = check.expression if isinstance(check, Condition) else None
        fast = program.fast if isinstance(program, Program) else None
        if fast is None or not isinstance(check, Condition):
            return ()
        conditions.append((fast, not check.fires_on))
    return tuple(conditions)


@dataclass(frozen=True, slots=True)
class Mutator(Interceptor):
    """A policy that changes: its step is applied as a whole or not at all."""

    placed: PlacedStep

    def _outcome(self, activation: Activation, budget: Budget, started: float) -> Outcome:
        payload = activation["payload"]
        changed = payload
        changes: tuple[Change, ...] = ()
        unknown: Unknown | None = None
        where = self.guard.where
        audited = self.descriptor.mode is Mode.AUDIT
        try:
            if self.guard.admits(activation, budget):
                where = self.placed.where
                changed, changes = self.placed.step(payload, activation, budget)
        except EvaluationError as error:
            unknown = _unknown(where, error)
            if not audited:
                return self._failure(unknown, activation.phase, started)
        return MutationResult(
            self.descriptor.name,
            activation.phase,
            bool(changes) and not audited,
            payload if audited or not changes else changed,
            changes,
            audited,
            None if unknown is None else unknown.reason,
            None if unknown is None else unknown.cause,
            None,
            time.monotonic() - started,
        )
