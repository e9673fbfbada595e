"""Outcomes and decisions as SEP-2624 results and errors.

Knows which member says what to which SDK.  Knows no policy: findings arrive with messages
that hold no secret, failures with reasons that stay here.

Two conventions of our own:

* A path is dotted and relative to what was received: `arguments.list[0].name`, with
  `params.` or `result.` before it where an envelope came.  A key that is not a plain name
  (letters, digits, `_`, `-`, `$`, not starting with a digit) is quoted: `headers["x.y"]`.
  Whether `0` is an index is read off the payload.
* A denial says what the caller could do instead: a hint follows the message in parentheses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from policyd.errors import Cause, InvocationError
from policyd.model import (
    Change,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Severity,
    ValidationResult,
)
from policyd.pointer import parse_pointer
from policyd.wire.dialect import INTERNAL_ERROR, TIMEOUT, Dialect

_FAILURES = {
    Cause.ERROR: "the policy could not be evaluated",
    Cause.BUDGET: "the policy used up its step budget",
    Cause.DEADLINE: "the policy ran out of time",
    Cause.CHAIN_DEADLINE: "the chain ran out of time",
    Cause.UNREACHABLE: "the interceptor server gave no answer",
}
"""What a peer is told; the full reason is for the log."""

RETIRED = "retired"
"""Why an interceptor was skipped that an earlier generation had and this one has not."""


def outcome_to_json(
    outcome: Outcome, invocation: Invocation, generation: str, dialect: Dialect
) -> dict[str, Any]:
    """*outcome* as the result of `interceptor/invoke`.

    `type` is the first key (the C# reader needs it there), `durationMs` an integer (Go reads
    an int64), nothing is null but a payload that is null.  `valid: false` comes with a
    top-level severity and an error message first, because each SDK looks at another of the
    three.  Universal adds the nested mirror, without which a Go chain counts every answer as
    a pass.

    Raises InvocationError for a `Failure` (see `failure_to_error`).
    """
    if isinstance(outcome, Failure):
        raise failure_to_error(outcome, invocation.timeout)
    if isinstance(outcome, ValidationResult):
        return _validation(outcome, invocation, generation, dialect)
    return _mutation(outcome, generation, dialect)


def failure_to_error(failure: Failure, timeout: float | None = None) -> InvocationError:
    """*failure* as the SEP's JSON-RPC error: -32000 for a deadline, else -32603.

    *timeout* is the limit in seconds that was passed; the time used stands in for it.
    """
    place = {"interceptor": failure.interceptor, "phase": failure.phase.value}
    if failure.policy is not None:
        place["policy"] = failure.policy
    if failure.cause.is_late:
        limit = failure.duration if timeout is None else timeout
        data = {**place, "timeoutMs": round(limit * 1000)}
        return InvocationError(TIMEOUT, "Interceptor execution timeout", data)
    data = {**place, "reason": _FAILURES[failure.cause]}
    return InvocationError(INTERNAL_ERROR, "Interceptor execution failed", data)


class _Verdict(Protocol):
    @property
    def culprit(self) -> Outcome | None: ...


class _Decision(Protocol):
    """What `chain.Decision` has; `duration` is in seconds."""

    @property
    def invocation(self) -> Invocation: ...
    @property
    def verdict(self) -> _Verdict: ...
    @property
    def generation(self) -> str: ...
    @property
    def duration(self) -> float: ...
    @property
    def allowed(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def payload(self) -> Any: ...
    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...


def chain_result_to_json(decision: _Decision) -> dict[str, Any]:
    """The SEP's ChainExecutionResult, with `allowed` and `generation` added.

    `finalPayload` is there only when the payload may go on.  The summary counts messages, one
    for each finding that counts.
    """
    invocation = decision.invocation
    results = [_entry(outcome, decision) for outcome in decision.outcomes]
    found = [m["severity"] for result in results for m in result.get("messages", ())]
    answer: dict[str, Any] = {
        "status": str(decision.status),
        "event": invocation.event,
        "phase": str(invocation.phase),
        "allowed": decision.allowed,
        "results": results,
    }
    if decision.generation:
        answer["generation"] = decision.generation
    if decision.allowed:
        answer["finalPayload"] = decision.payload
    answer["validationSummary"] = {
        "errors": found.count(Severity.ERROR),
        "warnings": found.count(Severity.WARN),
        "infos": found.count(Severity.INFO),
    }
    if decision.verdict.culprit is not None:
        answer["abortedAt"] = _aborted_at(decision.verdict.culprit)
    answer["totalDurationMs"] = round(decision.duration * 1000)
    return answer


def _aborted_at(culprit: Outcome) -> dict[str, Any]:
    """Who stopped the chain and why; the type is `timeout` for a deadline."""
    kind: str = Kind.VALIDATION
    if isinstance(culprit, Failure):
        kind = "timeout" if culprit.cause.is_late else culprit.kind
        reason = _FAILURES[culprit.cause]
    else:
        findings = culprit.findings if isinstance(culprit, ValidationResult) else ()
        reason = _text(_sorted(findings)[0]) if findings else ""
    return {"interceptor": culprit.interceptor, "reason": reason, "type": str(kind)}


def _entry(outcome: Outcome, decision: _Decision) -> dict[str, Any]:
    invocation = decision.invocation
    if not isinstance(outcome, Failure):
        entry = outcome_to_json(outcome, invocation, decision.generation, Dialect.SEP)
        # what one mutator saw may be what a later one redacts: only the final payload is told
        entry.pop("payload", None)
        return entry
    error = failure_to_error(outcome, invocation.timeout)
    return {
        "type": outcome.kind.value,
        "interceptor": outcome.interceptor,
        "phase": outcome.phase.value,
        "durationMs": round(outcome.duration * 1000),
        "error": {"code": error.code, "message": error.message},
    }


def _validation(
    outcome: ValidationResult, invocation: Invocation, generation: str, dialect: Dialect
) -> dict[str, Any]:
    verdict = _verdict(outcome.valid, outcome.findings, invocation)
    info = _info(outcome, generation, [finding.rule for finding in outcome.findings])
    if outcome.audited:
        blocking = verdict.get("severity") == Severity.ERROR
        info["audit"] = {**verdict, "valid": not blocking}
        if blocking:
            # recorded, never blocking: an invoker may look at any of the three members
            verdict = {"valid": True}
    if outcome.suggestions:
        verdict["suggestions"] = [_suggestion(s, invocation) for s in outcome.suggestions]
    answer = {**_head(outcome, "validation"), **verdict, "info": info}
    if dialect is Dialect.UNIVERSAL:
        answer["validation"] = verdict
    return answer


def _mutation(outcome: MutationResult, generation: str, dialect: Dialect) -> dict[str, Any]:
    changes = [_change(change) for change in outcome.changes]
    info = _info(outcome, generation, [change.rule for change in outcome.changes])
    if outcome.audited:
        info["audit"] = {"modified": bool(changes), "changes": changes}
    elif changes:
        info["changes"] = changes
    answer = {
        **_head(outcome, "mutation"),
        "modified": outcome.modified,
        "payload": outcome.payload,
        "info": info,
    }
    if dialect is Dialect.UNIVERSAL:
        answer["mutation"] = {"modified": outcome.modified, "info": info}
    return answer


def _head(outcome: ValidationResult | MutationResult, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "interceptor": outcome.interceptor,
        "phase": outcome.phase.value,
        "durationMs": round(outcome.duration * 1000),
    }


def _info(
    outcome: ValidationResult | MutationResult, generation: str, rules: list[str]
) -> dict[str, Any]:
    if outcome.info is not None:
        info = dict(outcome.info)
    else:
        policy: dict[str, Any] = {"generation": generation}
        if rules:
            policy["rules"] = list(dict.fromkeys(rules))
        info = {"policy": policy}
    if outcome.failure is not None:
        info["failure"] = _FAILURES[outcome.cause or Cause.ERROR]
    if outcome.skipped == RETIRED:
        info["retired"] = True
    elif outcome.skipped is not None:
        info["skipped"] = outcome.skipped
    if outcome.parts:
        info["policies"] = [_part(part) for part in outcome.parts]
    return info


def _part(outcome: Outcome) -> dict[str, Any]:
    """What one of several policies came to, in short: the messages and changes stand elsewhere."""
    told: dict[str, Any] = {"name": outcome.interceptor}
    if isinstance(outcome, Failure):
        return {**told, "failure": _FAILURES[outcome.cause]}
    if isinstance(outcome, ValidationResult):
        told["valid"] = outcome.valid
        rules = [finding.rule for finding in outcome.findings]
    else:
        told["modified"] = outcome.modified
        rules = [change.rule for change in outcome.changes]
    if outcome.audited:
        told["mode"] = Mode.AUDIT.value
    if rules:
        told["rules"] = list(dict.fromkeys(rules))
    if outcome.failure is not None:
        told["failure"] = _FAILURES[outcome.cause or Cause.ERROR]
    return told


def _verdict(valid: bool, findings: tuple[Finding, ...], invocation: Invocation) -> dict[str, Any]:
    verdict: dict[str, Any] = {"valid": valid}
    if findings:
        ordered = _sorted(findings)
        verdict["severity"] = ordered[0].severity.value
        verdict["messages"] = [_message(finding, invocation) for finding in ordered]
    return verdict


def _sorted(findings: tuple[Finding, ...]) -> list[Finding]:
    """Errors first: Go, TypeScript and C# take the first message for the reason."""
    return sorted(findings, key=lambda finding: finding.severity.rank)


def _message(finding: Finding, invocation: Invocation) -> dict[str, Any]:
    message = {"message": _text(finding), "severity": finding.severity.value}
    path = None if finding.path is None else _told_path(finding.path, invocation)
    return {"path": path, **message} if path else message


def _suggestion(suggestion: Mapping[str, Any], invocation: Invocation) -> dict[str, Any]:
    path = suggestion.get("path")
    told = {"path": _told_path(path, invocation)} if isinstance(path, str) else {}
    return {**suggestion, **told}


def _text(finding: Finding) -> str:
    return finding.message if finding.hint is None else f"{finding.message} ({finding.hint})"


def _change(change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {"rule": change.rule, "path": change.path, "op": change.detail}
    if change.detector is not None:
        entry["detector"] = change.detector
    entry["count"] = change.count
    return entry


def _told_path(path: str, invocation: Invocation) -> str:
    """A path into the bare payload as one into what was received."""
    if not path or path.startswith("/"):
        return _dotted(path, invocation)
    # another server was sent the bare payload, and told a dotted path into that
    member = invocation.envelope.member
    if member is None:
        return path
    return f"{member}{path}" if path.startswith("[") else f"{member}.{path}"


def _dotted(path: str, invocation: Invocation) -> str:
    """The JSON Pointer *path* into the bare payload as a path into what was received."""
    envelope = invocation.envelope
    tokens = parse_pointer(path)
    value = envelope.payload
    parts = [envelope.member or ""]
    for token in tokens if isinstance(tokens, tuple) else ():
        indexed = _is_index(token) and not isinstance(value, dict)
        parts.append(f"[{token}]" if indexed else _member(token))
        value = _step(value, token)
    return "".join(parts).removeprefix(".")


def _member(key: str) -> str:
    plain = key.replace("-", "_").replace("$", "_").isidentifier()
    return f".{key}" if plain else f"[{json.dumps(key, ensure_ascii=False)}]"


def _step(value: Any, token: str) -> Any:
    if isinstance(value, dict):
        return value.get(token)
    if isinstance(value, list) and _is_index(token) and int(token) < len(value):
        return value[int(token)]
    return None


def _is_index(token: str) -> bool:
    return token.isascii() and token.isdecimal() and len(token) < 10
