"""What is asked and what is answered.

Invocations, findings, and the three outcomes of one interceptor, in the words of SEP-2624.
Knows no wire spelling (`wire` does), no policy file and no expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from policyd.envelope import Envelope, unwrap
from policyd.errors import Cause
from policyd.events import matches_event


class Phase(StrEnum):
    """Which half of an exchange a payload is: the request's params or the response's result."""

    REQUEST = "request"
    RESPONSE = "response"


PHASES = {"request": (Phase.REQUEST,), "response": (Phase.RESPONSE,), "both": tuple(Phase)}
"""What the words stand for that say where an interceptor is hooked."""


class Direction(StrEnum):
    """Which way data crosses the trust boundary.

    Receiving: validate, then mutate.  Sending: mutate, then validate.
    """

    RECEIVING = "receiving"
    SENDING = "sending"


class Mode(StrEnum):
    """Whether an interceptor's outcome counts (enforce) or is only recorded (audit)."""

    ENFORCE = "enforce"
    AUDIT = "audit"


class Severity(StrEnum):
    """How bad a finding is.  Only an error blocks."""

    ERROR = "error"
    WARN = "warn"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for error, 1 for warn, 2 for info: what findings are sorted by."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARN: 1, Severity.INFO: 2}


class Kind(StrEnum):
    """The type of an interceptor, as the SEP spells it."""

    VALIDATION = "validation"
    MUTATION = "mutation"


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What an interceptor says of itself in `interceptors/list`.

    events: event names, `tools/*` or `*`, as the policy wrote them.
    priority: int32, lower runs first; counts for mutators only.
    timeout: seconds, or None for the engine's default.
    config_schema: a JSON Schema for the `config` of an invocation, or None.
    compat: `minProtocol` and `maxProtocol`, as written.
    """

    name: str
    kind: Kind
    events: tuple[str, ...]
    phases: tuple[Phase, ...]
    version: str | None = None
    description: str | None = None
    mode: Mode = Mode.ENFORCE
    fail_open: bool = False
    priority: int = 0
    timeout: float | None = None
    config_schema: Mapping[str, Any] | None = None
    compat: Mapping[str, str] | None = None

    def matches(self, event: str, phase: str) -> bool:
        """True when the interceptor is hooked to this event and phase."""
        if phase not in self.phases:
            return False
        return event in self.events or any(matches_event(e, event) for e in self.events)


def with_priorities(
    descriptor: Descriptor, priorities: Mapping[Phase, int]
) -> tuple[Descriptor, ...]:
    """One descriptor, or one for each phase, `NAME/request`, where their priorities differ.

    The wire has a form for two priorities that older SDKs cannot read
    (SEP-2624 `priorityHint`), so the interceptor is split instead.
    """
    if len(set(priorities.values())) == 1:
        return (replace(descriptor, priority=priorities[descriptor.phases[0]]),)
    return tuple(
        replace(descriptor, name=f"{descriptor.name}/{phase}", phases=(phase,), priority=priority)
        for phase, priority in priorities.items()
    )


@dataclass(frozen=True, slots=True)
class Invocation:
    """One payload at one moment, as an invoker presents it.

    event: the JSON-RPC method, such as `tools/call`.
    phase: `request` or `response`.
    payload: the params of a request or the result of a response; plain JSON values, or the
        `{method, params}` / `{jsonrpc, result}` envelope around them.  Never changed.
    context: the SEP's invocation context as sent (`principal`, `traceId`, `sessionId`,
        `timestamp`); asserted by the invoker, not authenticated.
    config: values for interceptors that have a `configSchema`, by interceptor name.
    direction: derived from the phase when None (a request is received, a response is sent).
    timeout: seconds that the whole evaluation may take, or None for the policy's own limit.
    now: the moment of the invocation; `context.timestamp`, else the clock, when None.
    bare: the payload has no envelope, whatever it looks like.
    invoker: who the server has authenticated (`type`, `id`, `scopes`, `claims`), or None.
    watch: told of each `Budget` that judging it spends, so that another thread can end it.
    """

    event: str
    phase: Phase | str
    payload: Any
    context: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    direction: Direction | None = None
    timeout: float | None = None
    now: datetime | None = None
    bare: bool = False
    invoker: Mapping[str, Any] | None = None
    watch: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)

    @property
    def envelope(self) -> Envelope:
        """The payload as policies see it, and what it came in."""
        if self.bare:
            return Envelope(self.payload, None)
        return unwrap(self.event, self.phase, self.payload)


def timestamp_of(context: Mapping[str, Any]) -> datetime | None:
    """The RFC 3339 timestamp of an invocation's context in UTC; None where it has none."""
    stamp = context.get("timestamp")
    if type(stamp) is not str or len(stamp) > 64:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong in a payload, found by one rule.

    `path` is a JSON Pointer into the bare payload, the dotted path that another server told,
    or None; `rule` is empty for what another server found.  No field ever holds text that a
    detector matched.
    """

    interceptor: str
    rule: str
    severity: Severity
    message: str
    path: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a payload that a mutator changed, without old or new value.

    `rule` is the id of the rule, `path` a JSON Pointer, `detail` what was done
    (`replace`, `redact`, ...), `detector` the detector that fired, `count` how often.
    """

    rule: str
    path: str
    detail: str
    detector: str | None = None
    count: int = 1


class ValidationResult(NamedTuple):
    """What a validator says.

    `findings` are sorted, errors first.  `valid` is False only for an enforcing validator
    with a finding of severity error.  `failure` is set where an auditing validator could
    not be evaluated, or where an error finding outweighs a rule that could not; `cause` is
    its class, the only part of it that a peer is told.  `info` and `suggestions` (each with
    `path` and `value`) are what another server's answer held.  `parts` are the outcomes of
    the policies that it stands for, where it stands for several.

    A tuple, not a dataclass: one is made for each validator of each message, at a third of
    the cost.
    """

    interceptor: str
    phase: Phase
    valid: bool
    findings: tuple[Finding, ...] = ()
    audited: bool = False
    failure: str | None = None
    cause: Cause | None = None
    skipped: str | None = None
    duration: float = 0.0
    info: Mapping[str, Any] | None = None
    suggestions: tuple[Mapping[str, Any], ...] = ()
    parts: tuple[Outcome, ...] = ()


class MutationResult(NamedTuple):
    """What a mutator made of the payload.

    `payload` is the very object received when `modified` is False.  An auditing mutator
    echoes the payload, says `modified=False`, and lists in `changes` what it would change.
    The other members are those of ValidationResult.
    """

    interceptor: str
    phase: Phase
    modified: bool
    payload: Any
    changes: tuple[Change, ...] = ()
    audited: bool = False
    failure: str | None = None
    cause: Cause | None = None
    skipped: str | None = None
    duration: float = 0.0
    info: Mapping[str, Any] | None = None
    parts: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An interceptor that could not do its work.  Fail-open or fail-closed decides.

    `reason` is for the log and for people who own the policies; it names places in policy
    files and never a part of the payload.  `policy` is the one of several that failed, where
    the interceptor stands for them.
    """

    interceptor: str
    kind: Kind
    phase: Phase
    cause: Cause
    reason: str
    duration: float = 0.0
    policy: str | None = None


Outcome = ValidationResult | MutationResult | Failure
"""What one interceptor answers."""


def reason_of(outcome: Outcome) -> str | None:
    """Why an interceptor could not do its work, for the log; None when it could."""
    return outcome.reason if isinstance(outcome, Failure) else outcome.failure
