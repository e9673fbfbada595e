"""Chains that stopped, as the JSON-RPC errors that a peer is told.

Codes, messages and data are those of SEP-2624 ("Error handling"), with two differences:

* A validation failure says in its message what was found and what the caller could do
  instead, so that a model reads it where only the message is shown.  This, and
  `validationErrors`, tells a denied tool call from a tool that does not exist.
* A mutation failure has no `lastValidPayload`: it would hand back what a later redactor was
  to take out.

No error holds a part of a payload or the text of an exception.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data

from policyd.errors import Cause, InvocationError
from policyd.execution import Decision, Status
from policyd.middleware.context import ContextError
from policyd.middleware.log import log_crash
from policyd.model import Failure, Phase, Severity, ValidationResult
from policyd.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Dialect,
    failure_to_error,
    outcome_to_json,
)

logger = logging.getLogger(__name__)


def abort_error(decision: Decision) -> MCPError:
    """What is told to whoever sent the payload that *decision* does not let on."""
    culprit = decision.verdict.culprit
    if isinstance(culprit, Failure):
        return _failure(culprit, decision)
    errors = _validation_errors(decision)
    if not errors or errors[0]["severity"] != Severity.ERROR:
        name = "" if culprit is None else culprit.interceptor
        errors.insert(0, {"interceptor": name, "severity": "error", "message": "no reason given"})
    message = f"Interceptor validation failed: {_text(errors[0])}"
    return MCPError(INVALID_PARAMS, message, {"validationErrors": errors})


def crash_error(error: Exception, phase: Phase) -> MCPError:
    """What is told when a chain could not even be run; the log has where it failed."""
    if isinstance(error, InvocationError | ContextError):
        # a payload that is no JSON, or a config that breaks a configSchema: the text is ours
        logger.error("the chain could not be run: %s", error)
    else:
        log_crash("the chain", error)
    data = {"phase": phase.value, "reason": "the chain could not be run"}
    return MCPError(INTERNAL_ERROR, "Interceptor execution failed", data)


def unreadable_error(phase: Phase, reason: str) -> MCPError:
    """What is told when a message holds others that cannot be told apart, so not be judged."""
    code = INVALID_PARAMS if phase is Phase.RESPONSE else INTERNAL_ERROR
    return MCPError(code, "Interceptor validation failed", {"reason": reason})


def mutation_error(decision: Decision, reason: str) -> MCPError:
    """What is told when mutators made something that can be no params and no result."""
    changed = [o.interceptor for o in decision.outcomes if getattr(o, "modified", False)]
    data = {"failedInterceptor": changed[-1] if changed else "", "reason": reason}
    return MCPError(INTERNAL_ERROR, "Interceptor mutation failed", data)


@contextmanager
def handlers_border() -> Iterator[None]:
    """Around a handler or callback: what it raises is told as the SDK tells it, or not at all.

    The SDK has words of its own for some errors; of all others no chain has judged the text,
    which it would send to peers of the handshake era.
    """
    try:
        yield
    except Exception as error:
        # the border to the handlers
        if handler_exception_to_error_data(error) is not None:
            raise
        log_crash("a handler", error)
        raise MCPError(INTERNAL_ERROR, "Internal server error") from error


def _failure(failure: Failure, decision: Decision) -> MCPError:
    chain_limit = failure.cause is Cause.CHAIN_DEADLINE
    error = failure_to_error(failure, decision.invocation.timeout if chain_limit else None)
    if decision.status is Status.MUTATION_FAILED:
        data = {"failedInterceptor": failure.interceptor, "reason": error.data["reason"]}
        return MCPError(INTERNAL_ERROR, "Interceptor mutation failed", data)
    return MCPError(error.code, error.message, error.data)


def _validation_errors(decision: Decision) -> list[dict[str, Any]]:
    """What enforcing validators found, errors first."""
    entries = [
        entry
        for outcome in decision.outcomes
        if isinstance(outcome, ValidationResult) and not outcome.audited
        for entry in _entries(outcome, decision)
    ]
    return sorted(entries, key=lambda entry: Severity(entry["severity"]).rank)


def _entries(outcome: ValidationResult, decision: Decision) -> list[dict[str, Any]]:
    told = outcome_to_json(outcome, decision.invocation, decision.generation, Dialect.SEP)
    findings = sorted(outcome.findings, key=lambda finding: finding.severity.rank)
    entries = []
    for finding, message in zip(findings, told.get("messages", ()), strict=True):
        entry = {
            "interceptor": outcome.interceptor,
            "severity": finding.severity.value,
            "message": finding.message,
            "path": message.get("path"),
            "hint": finding.hint,
        }
        entries.append({key: value for key, value in entry.items() if value is not None})
    return entries


def _text(entry: dict[str, Any]) -> str:
    return f"{entry['message']} ({entry['hint']})" if "hint" in entry else str(entry["message"])
