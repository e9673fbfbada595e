"""The results and errors of `interceptor/invoke`, as other servers send them, as outcomes.

Understands the flat answer of the SEP, the nested one of the Go SDK, and both at once; where
they disagree the stricter counts.  Knows what policyd adds in `info`.  Knows no server and no
chain.  What a foreign server can send is bounded, and no reason ever quotes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from policyd.errors import Cause, InvocationError
from policyd.model import (
    Change,
    Descriptor,
    Failure,
    Finding,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)
from policyd.wire.admission import check_payload
from policyd.wire.dialect import TIMEOUT
from policyd.wire.results import RETIRED

MAX_FINDINGS = 100
"""Messages of one answer that are kept, and as many suggestions; errors come first."""

MAX_CHANGES = 1_000
"""Changes of one answer that are kept."""

MAX_TEXT = 2_000
"""Characters of a message; a longer one is cut."""

_SEVERITIES = {severity.value: severity for severity in Severity}

_MEMBERS = {Kind.VALIDATION: "valid", Kind.MUTATION: "modified"}

_UNTOLD = (Change(rule="", path="", detail="replace"),)
"""The changes of a mutator that does not list them: the payload was replaced."""


REPORTED = "its server reports a failure"
"""The reason of a failure elsewhere: the server's own words stay in `info`, out of every log."""


class _Unreadable(Exception):
    """The answer is none: text for the reason of a `Failure`."""


class _Answer(NamedTuple):
    """An admitted answer.

    `flat` and `nested` are its two spellings; `audit` is what an auditing policyd would have
    answered in enforce; `failure` is what it could not do.
    """

    flat: Mapping[str, Any]
    nested: Mapping[str, Any]
    info: Mapping[str, Any] | None
    audit: Mapping[str, Any] | None
    failure: str | None
    skipped: str | None
    duration: float


def outcome_from_json(answer: Any, descriptor: Descriptor, phase: Phase, payload: Any) -> Outcome:
    """What *answer*, a result of `interceptor/invoke` about *payload*, means.

    descriptor: the interceptor as it is to be run; its mode may be an override.

    A validator that says `valid: false` blocks when it says severity error or an unknown one
    anywhere, or no severity and no message at all.  An auditing interceptor never blocks
    and never changes.  A mutator that changed nothing has *payload* itself as its payload.

    A `Failure` (cause error) when the answer cannot be read, when a new payload breaks a rule
    of `check_payload`, and when the interceptor is to be enforced but its server only audited
    and would have changed the payload, or could not tell.
    """
    try:
        read = _read_answer(answer, descriptor.kind)
        if descriptor.kind is Kind.VALIDATION:
            return _validation(read, descriptor, phase)
        return _mutation(read, descriptor, phase, payload)
    except _Unreadable as flaw:
        return Failure(descriptor.name, descriptor.kind, phase, Cause.ERROR, str(flaw))


def failure_from_error(code: int, descriptor: Descriptor, phase: Phase) -> Failure:
    """What a JSON-RPC error in answer to `interceptor/invoke` means.

    -32000 is the SEP's interceptor timeout.  The error's message and data are not looked at:
    they may hold parts of the payload.
    """
    cause = Cause.DEADLINE if code == TIMEOUT else Cause.ERROR
    reason = f"the server answered error {code}"
    return Failure(descriptor.name, descriptor.kind, phase, cause, reason)


def _read_answer(answer: Any, kind: Kind) -> _Answer:
    if not isinstance(answer, dict):
        raise _Unreadable("the answer is not an object")
    _admit({key: value for key, value in answer.items() if key != "payload"}, "answer")
    if answer.get("type") not in (None, kind.value):
        raise _Unreadable(f"`type` of the answer is not `{kind.value}`")
    nested = answer.get(kind.value)
    if nested is None:
        nested = {}
    elif not isinstance(nested, dict):
        raise _Unreadable(f"`{kind.value}` of the answer is not an object")
    info = _object(answer.get("info")) or _object(nested.get("info"))
    told = info or {}
    audit = _object(told.get("audit"))
    if audit is not None and not isinstance(audit.get(_MEMBERS[kind]), bool):
        audit = None
    return _Answer(
        flat=answer,
        nested=nested,
        info=info,
        audit=audit,
        failure=None if _text(told.get("failure")) is None else REPORTED,
        skipped=RETIRED if told.get("retired") is True else _text(told.get("skipped")),
        duration=_seconds(answer.get("durationMs")),
    )


def _validation(answer: _Answer, descriptor: Descriptor, phase: Phase) -> Outcome:
    sources = [answer.flat, answer.nested]
    valid = all(_claims(sources, "valid"))
    if answer.audit is not None:
        sources.append(answer.audit)
        valid = valid and answer.audit["valid"]
    findings = _findings(sources, descriptor.name)
    blocking = not valid and _blocks(sources, findings)
    audited = descriptor.mode is Mode.AUDIT
    if blocking and not findings:
        text = f"denied by `{descriptor.name}`"
        findings = (Finding(descriptor.name, "", Severity.ERROR, text),)
    if answer.audit is not None and answer.failure is not None and not (audited or blocking):
        raise _Unreadable("the server only audits and could not judge the payload")
    failure = answer.failure if audited or blocking else None
    return ValidationResult(
        interceptor=descriptor.name,
        phase=phase,
        valid=audited or not blocking,
        findings=findings,
        audited=audited,
        failure=failure,
        cause=None if failure is None else Cause.ERROR,
        skipped=answer.skipped,
        duration=answer.duration,
        info=answer.info,
        suggestions=_suggestions(sources),
    )


def _mutation(answer: _Answer, descriptor: Descriptor, phase: Phase, payload: Any) -> Outcome:
    claims = _claims((answer.flat, answer.nested), "modified")
    modified = claims[0]
    if claims[-1] is not modified:
        raise _Unreadable("`modified` of the answer is both true and false")
    if modified:
        if "payload" not in answer.flat:
            raise _Unreadable("the payload was modified and the answer has no `payload`")
        _admit(answer.flat["payload"], "payload")
    shadow = answer.audit or {"modified": False}
    audited = descriptor.mode is Mode.AUDIT
    if answer.audit is not None and not (audited or modified):
        if shadow["modified"]:
            raise _Unreadable("the server only audits and left the payload as it was")
        if answer.failure is not None:
            raise _Unreadable("the server only audits and could not judge the payload")
    failure = answer.failure if audited else None
    return MutationResult(
        interceptor=descriptor.name,
        phase=phase,
        modified=modified and not audited,
        payload=answer.flat["payload"] if modified and not audited else payload,
        changes=_changes(answer) if modified or shadow["modified"] else (),
        audited=audited,
        failure=failure,
        cause=None if failure is None else Cause.ERROR,
        skipped=answer.skipped,
        duration=answer.duration,
        info=answer.info,
    )


def _claims(sources: Iterable[Mapping[str, Any]], member: str) -> list[bool]:
    """What each source that has it says in *member*."""
    claims = [source[member] for source in sources if source.get(member) is not None]
    if not claims or not all(isinstance(claim, bool) for claim in claims):
        raise _Unreadable(f"`{member}` of the answer must be true or false")
    return claims


def _blocks(sources: Iterable[Mapping[str, Any]], findings: Sequence[Finding]) -> bool:
    """Whether an answer that says `valid: false` stops the payload."""
    words = [s["severity"] for s in sources if s.get("severity") is not None]
    if not words and not findings:
        return True
    if any(finding.severity is Severity.ERROR for finding in findings):
        return True
    return any(_severity(word) is Severity.ERROR for word in words)


def _findings(sources: Iterable[Mapping[str, Any]], interceptor: str) -> tuple[Finding, ...]:
    """The messages of all sources, errors first; a mirror is not told again."""
    lists: list[list[Any]] = []
    for source in sources:
        messages = source.get("messages")
        listed = [] if messages is None else messages if isinstance(messages, list) else [None]
        if listed not in lists:
            lists.append(listed)
    entries = [_object(entry) or {} for listed in lists for entry in listed]
    entries.sort(key=lambda entry: _severity(entry.get("severity")).rank)
    return tuple(_finding(entry, interceptor) for entry in entries[:MAX_FINDINGS])


def _finding(entry: Mapping[str, Any], interceptor: str) -> Finding:
    path = entry.get("path")
    return Finding(
        interceptor=interceptor,
        rule="",
        severity=_severity(entry.get("severity")),
        message=_text(entry.get("message")) or "no reason given",
        # a path that was cut would name another place
        path=path if isinstance(path, str) and 0 < len(path) <= MAX_TEXT else None,
    )


def _severity(word: Any) -> Severity:
    """A severity of the SEP; one that is unknown or missing counts as error."""
    return _SEVERITIES.get(word, Severity.ERROR) if isinstance(word, str) else Severity.ERROR


def _suggestions(sources: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    for source in sources:
        listed = source.get("suggestions")
        if isinstance(listed, list):
            entries = [e for e in map(_object, listed) if e is not None and "value" in e]
            kept = [e for e in entries if isinstance(e.get("path"), str)][:MAX_FINDINGS]
            return tuple({"path": entry["path"], "value": entry["value"]} for entry in kept)
    return ()


def _changes(answer: _Answer) -> tuple[Change, ...]:
    """The changes that the answer lists in policyd's shape, or that something was changed."""
    for source in (answer.audit, answer.info):
        listed = (source or {}).get("changes")
        if isinstance(listed, list) and listed and all(map(_is_change, listed)):
            return tuple(_change(entry) for entry in listed[:MAX_CHANGES])
    return _UNTOLD


def _is_change(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(member) for member in ("rule", "path", "op")]
    if entry.get("detector") is not None:
        texts.append(entry["detector"])
    count = entry.get("count", 1)
    known = all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts)
    return known and type(count) is int and count > 0


def _change(entry: Mapping[str, Any]) -> Change:
    return Change(
        rule=entry["rule"],
        path=entry["path"],
        detail=entry["op"],
        detector=entry.get("detector"),
        count=entry.get("count", 1),
    )


def _admit(value: Any, name: str) -> None:
    try:
        check_payload(value, name)
    except InvocationError as error:
        raise _Unreadable(error.data["reason"]) from None


def _seconds(milliseconds: Any) -> float:
    """A duration of the wire; 0 for one that is none."""
    number = isinstance(milliseconds, (int, float)) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if number and milliseconds > 0 else 0.0


def _object(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    """*value* if it is a text, cut to MAX_TEXT."""
    if not isinstance(value, str) or not value:
        return None
    return value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + "…"
