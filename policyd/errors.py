"""The exceptions of policyd.

A mistake in a policy is a `Diagnostic`, a value; only `load` turns a list of them into
`PolicyError`.  A mistake of the caller is an `InvocationError`.  A rule that cannot be
evaluated is an `EvaluationError`, and what it means is decided by fail-open or fail-closed.
Anything else that is raised is our own mistake.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from policyd.diagnostics import Diagnostic, render


def frames_of(error: BaseException) -> str:
    """Where *error* was raised, for a log: without its text, which may quote a payload."""
    return "".join(traceback.format_tb(error.__traceback__))


class PolicydError(Exception):
    """Base of all exceptions that policyd raises on purpose."""


class PolicyError(PolicydError):
    """The policies do not compile.

    `diagnostics` holds every mistake, sorted; `str()` prints them with excerpts.
    """

    def __init__(
        self, diagnostics: tuple[Diagnostic, ...], texts: Mapping[str, str] | None = None
    ) -> None:
        self.diagnostics = diagnostics
        self._texts = dict(texts or {})
        super().__init__(diagnostics)

    def __str__(self) -> str:
        return "\n".join(render(d, self._texts.get(d.span.file)) for d in self.diagnostics)


class InvocationError(PolicydError):
    """The caller asked for something impossible.

    `code` is a JSON-RPC error code, `data` the error's data member; neither ever holds a
    part of the payload.
    """

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.message = message
        self.data = dict(data or {})
        reason = self.data.get("reason")
        super().__init__(message if reason is None else f"{message}: {reason}")


class Cause(StrEnum):
    """Why an interceptor could not do its work.

    deadline: its own time ran out; chain_deadline: that of the whole chain did.
    unreachable: its server could not be asked, or its answer was none.
    """

    ERROR = "error"
    BUDGET = "budget"
    DEADLINE = "deadline"
    CHAIN_DEADLINE = "chain_deadline"
    UNREACHABLE = "unreachable"

    @property
    def is_late(self) -> bool:
        """True when time ran out, whoever's it was."""
        return self in (Cause.DEADLINE, Cause.CHAIN_DEADLINE)


class EvaluationError(PolicydError):
    """A rule could not be evaluated.  Unknown is never a pass.

    `reason` names parts of the policy only, never of the payload, so it may be logged.
    `offset` is where in the text of the expression it happened (code points from 0), or None.
    """

    def __init__(self, reason: str, cause: Cause = Cause.ERROR, offset: int | None = None) -> None:
        self.reason = reason
        self.cause = cause
        self.offset = offset
        super().__init__(reason)
