"""How the interceptors of one event and phase run together, and what comes of it.

The algorithm is written once, without I/O: `run_chain` yields the interceptors to call and is
sent their outcomes.  One driver answers them in process (`Snapshot.decide`), another over MCP
sessions (`policyd.chain`); both run through the same lines.  Source: SEP-2624 "Execution
model".
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from policyd import wire
from policyd.errors import Cause
from policyd.model import (
    Descriptor,
    Direction,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)


class Status(StrEnum):
    """How a chain ended, as the SEP spells it."""

    SUCCESS = "success"
    VALIDATION_FAILED = "validation_failed"
    MUTATION_FAILED = "mutation_failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a chain came to.

    payload: after all mutators when the status is success, else as it came.
    culprit: the outcome that stopped the chain, or None.
    """

    status: Status
    payload: Any
    outcomes: tuple[Outcome, ...]
    culprit: Outcome | None = None


class Hooked(Protocol):
    """Whatever a chain runs: compiled here, or served elsewhere."""

    @property
    def descriptor(self) -> Descriptor:
        """How it is to be run: the modes and limits in it count, overrides included."""
        ...


H = TypeVar("H", bound=Hooked)

ChainRun = Generator[tuple[Sequence[H], Any], Sequence[Outcome], Verdict]
"""Yields interceptors that may be called at once, and the payload for them; is sent their
outcomes in the same order."""


def direction_of(invocation: Invocation) -> Direction:
    """The direction given, else the one of the phase: a request is received, a response sent."""
    if invocation.direction is not None:
        return invocation.direction
    return Direction.RECEIVING if invocation.phase == Phase.REQUEST else Direction.SENDING


def ordered(hooked: Iterable[H], kind: Kind) -> tuple[H, ...]:
    """The interceptors of one kind in the order they run: mutators by priority, then name."""
    chosen = [one for one in hooked if one.descriptor.kind is kind]
    if kind is Kind.MUTATION:
        chosen.sort(key=lambda one: (one.descriptor.priority, one.descriptor.name))
    return tuple(chosen)


def run_chain(
    validators: Sequence[H], mutators: Sequence[H], direction: Direction, payload: Any
) -> ChainRun[H]:
    """Run validators and mutators in the order of their trust boundary.

    Receiving: validate what came, then mutate.  Sending: mutate, then validate what goes.
    All validators run even when one objects; mutations count all or none.
    """
    outcomes: list[Outcome] = []
    current = payload
    for kind in _STAGES[direction]:
        culprit: Outcome | None = None
        if kind is Kind.MUTATION:
            for mutator in mutators:
                (answer,) = yield (mutator,), current
                outcomes.append(answer)
                if isinstance(answer, MutationResult):
                    # what an auditing one made of the payload is told, not kept
                    if answer.modified and mutator.descriptor.mode is not Mode.AUDIT:
                        current = answer.payload
                elif _stops(mutator.descriptor, answer):
                    culprit = answer
                    break
        elif validators:
            answers = yield validators, current
            outcomes += answers
            culprit = _objection(validators, answers)
        if culprit is not None:
            return Verdict(_status(kind, culprit), payload, tuple(outcomes), culprit)
    return Verdict(Status.SUCCESS, current, tuple(outcomes))


_STAGES = {
    Direction.RECEIVING: (Kind.VALIDATION, Kind.MUTATION),
    Direction.SENDING: (Kind.MUTATION, Kind.VALIDATION),
}


def _objection(validators: Sequence[H], answers: Sequence[Outcome]) -> Outcome | None:
    """The answer that stops the chain; a verdict comes first: it explains more than a failure."""
    failure: Outcome | None = None
    for validator, answer in zip(validators, answers, strict=True):
        if isinstance(answer, ValidationResult) and answer.valid:
            continue
        if _stops(validator.descriptor, answer):
            if not isinstance(answer, Failure):
                return answer
            failure = failure or answer
    return failure


def _stops(descriptor: Descriptor, outcome: Outcome) -> bool:
    """Whether a failure or an objection ends the chain."""
    if descriptor.mode is Mode.AUDIT:
        return False
    if not isinstance(outcome, Failure):
        return True
    # failing open is the interceptor's choice, the limit of the chain is its invoker's
    return outcome.cause is Cause.CHAIN_DEADLINE or not descriptor.fail_open


def _status(kind: Kind, culprit: Outcome) -> Status:
    if isinstance(culprit, Failure) and culprit.cause.is_late:
        return Status.TIMEOUT
    return Status.VALIDATION_FAILED if kind is Kind.VALIDATION else Status.MUTATION_FAILED


def end_for(mode: Mode, deadline: float | None) -> float | None:
    """The monotonic time at which interceptors of *mode* that begin now have to be done.

    Auditing ones get half of what is left until *deadline*: they must not use up the time of
    those that count, or they would stop the message after all.
    """
    if deadline is None or mode is not Mode.AUDIT:
        return deadline
    now = time.monotonic()
    return now + max(0.0, deadline - now) / 2


def is_late(outcome: Outcome) -> bool:
    """True when an interceptor was ended by a limit of time, recorded or not."""
    return outcome.cause is not None and outcome.cause.is_late


def cut_by_chain(outcome: Outcome) -> Outcome:
    """The outcome of an interceptor that the chain's own limit may have ended."""
    if isinstance(outcome, Failure) and outcome.cause is Cause.DEADLINE:
        return replace(outcome, cause=Cause.CHAIN_DEADLINE)
    return outcome


@dataclass(frozen=True, slots=True)
class Decision:
    """What a whole set of policies says of one payload, made by one generation.

    payload: what goes on when allowed; what came when not.
    duration: seconds.
    """

    invocation: Invocation
    verdict: Verdict
    generation: str
    duration: float = 0.0

    @property
    def allowed(self) -> bool:
        """True when nothing stops the payload."""
        return self.verdict.status is Status.SUCCESS

    @property
    def status(self) -> Status:
        """How the chain ended."""
        return self.verdict.status

    @property
    def payload(self) -> Any:
        """The payload afterwards, in the envelope that it came in."""
        return self.verdict.payload

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each interceptor said, in the order they ran."""
        return self.verdict.outcomes

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What enforcing policies found, errors first."""
        return self._found(audited=False)

    @property
    def audited(self) -> tuple[Finding, ...]:
        """What policies in audit mode found, errors first."""
        return self._found(audited=True)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The interceptors that could not be evaluated."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Failure))

    def to_json(self) -> dict[str, Any]:
        """The SEP's ChainExecutionResult, with `allowed` and `generation` added."""
        return wire.chain_result_to_json(self)

    def _found(self, *, audited: bool) -> tuple[Finding, ...]:
        found = [
            finding
            for outcome in self.outcomes
            if isinstance(outcome, ValidationResult) and outcome.audited is audited
            for finding in outcome.findings
        ]
        return tuple(sorted(found, key=lambda finding: finding.severity.rank))
