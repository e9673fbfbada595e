"""The values that the names of an expression stand for, for one payload.

Knows where each name of design section 4 comes from.  What is not cheap is computed when an
expression first asks for it, and at most once.  Holds no clock: the invocation carries `now`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from policyd.errors import EvaluationError
from policyd.expression import Budget, Expression
from policyd.model import Invocation, Phase, timestamp_of

NO_VARIABLES: Mapping[str, Expression] = {}


class Activation(dict[str, Any]):
    """Names and values for one bare payload.

    What is not there is computed when first asked for: what comes from the context, and
    `variables.NAME`.  Where that fails, it fails the same way for every rule that asks.
    """

    __slots__ = ("_budget", "_failed", "_invocation", "_variables", "phase")

    def __init__(
        self,
        values: Mapping[str, Any],
        invocation: Invocation,
        budget: Budget | None = None,
        variables: Mapping[str, Expression] = NO_VARIABLES,
    ) -> None:
        super().__init__(values)
        self._invocation = invocation
        self._budget = budget
        self._variables = variables
        self._failed: dict[str, EvaluationError] | None = None
        phase = invocation.phase
        self.phase = phase if type(phase) is Phase else Phase(phase)

    def with_variables(self, budget: Budget, variables: Mapping[str, Expression]) -> Activation:
        """The same names and values, and *variables* that are charged to *budget*."""
        return Activation(self, self._invocation, budget, variables)

    def __missing__(self, name: str) -> Any:
        if self._failed and name in self._failed:
            raise self._failed[name]
        try:
            value = self[name] = self._compute(name)
        except EvaluationError as error:
            self._failed = {**(self._failed or {}), name: error}
            raise
        return value

    def _compute(self, name: str) -> Any:
        if name in self._variables and self._budget is not None:
            return self._variables[name](self, self._budget)
        if name in _FROM_CONTEXT:
            return _FROM_CONTEXT[name](self._invocation)
        raise EvaluationError(_ABSENT.get(name, f"`{name}` has no value here"))


_ABSENT = {
    "tool": "the payload has no text `name`, so `tool` is unknown",
    "prompt": "the payload has no text `name`, so `prompt` is unknown",
    "uri": "the payload has no text `uri`",
    "args": "the payload has no text `name`, or `arguments` that are no mapping",
}


def activate(invocation: Invocation, payload: Any) -> Activation:
    """The activation that all policies share for one bare payload.

    Absent params count as an empty mapping, as JSON-RPC lets a request leave them out.
    """
    if payload is None and invocation.phase == "request":
        payload = {}
    values: dict[str, Any] = {
        "payload": payload,
        "event": invocation.event,
        "phase": str(invocation.phase),
    }
    if invocation.phase == "response":
        values["result"] = payload
    elif type(payload) is dict:
        _add_request_names(invocation.event, payload, values)
    return Activation(values, invocation)


def _add_request_names(event: str, payload: dict[str, Any], values: dict[str, Any]) -> None:
    if event in ("tools/call", "prompts/get"):
        name = payload.get("name")
        if type(name) is not str:
            return  # these are no params, so that there are no arguments is not known either
        values["tool" if event == "tools/call" else "prompt"] = name
        arguments = payload.get("arguments")
        if arguments is None:
            values["args"] = {}
        elif type(arguments) is dict:
            values["args"] = arguments
    elif event in ("resources/read", "resources/subscribe"):
        uri = payload.get("uri")
        if type(uri) is str:
            values["uri"] = uri


def _context(invocation: Invocation) -> Any:
    return invocation.context


def _principal(invocation: Invocation) -> dict[str, Any]:
    """The principal as asserted, completed: a policy may always read type, id and claims."""
    sent = invocation.context.get("principal")
    principal = {"type": "anonymous", "id": "", "claims": {}}
    if type(sent) is dict:
        principal.update({key: value for key, value in sent.items() if value is not None})
    return principal


def _invoker(invocation: Invocation) -> dict[str, Any]:
    """Who was authenticated, completed; an embedding program may leave members out."""
    nobody = {"type": "anonymous", "id": "", "scopes": [], "claims": {}}
    return {**nobody, **(invocation.invoker or {})}


def _text_of(key: str) -> Callable[[Invocation], str]:
    def text(invocation: Invocation) -> str:
        value = invocation.context.get(key)
        return value if type(value) is str else ""

    return text


def _now(invocation: Invocation) -> datetime:
    moment = moment_of(invocation)
    if moment is None:
        raise EvaluationError("the invocation carries no moment, so `now` is unknown")
    return moment


def moment_of(invocation: Invocation) -> datetime | None:
    """The moment of the invocation: what it says itself, else its context's RFC 3339 timestamp."""
    now = invocation.now
    if now is None:
        return timestamp_of(invocation.context)
    # a time without a zone is taken as UTC: CEL has no other
    return now if now.tzinfo is not None else now.replace(tzinfo=UTC)


_FROM_CONTEXT: Mapping[str, Callable[[Invocation], Any]] = {
    "context": _context,
    "invoker": _invoker,
    "principal": _principal,
    "session": _text_of("sessionId"),
    "trace": _text_of("traceId"),
    "now": _now,
}
