"""Messages inside messages.

Since protocol 2026-07-28 a server sends its requests (elicitation, sampling, roots) inside an
interim result, and the client its answers inside the params of the retry ("Multi round-trip
requests").  Knows these shapes only; pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REQUESTS = "inputRequests"
RESPONSES = "inputResponses"

MAX_INPUTS = 64
"""Messages that one message may hold."""

_KEY = re.compile(r"[!-~]{1,256}")
"""A key is the server's name for what it asks; the Python SDK makes it of a module's and a
function's name."""

_KINDS: Mapping[str, frozenset[str]] = {
    "elicitation/create": frozenset({"action"}),
    "roots/list": frozenset({"roots"}),
    "sampling/createMessage": frozenset({"role", "content", "model"}),
}
"""Which members an answer to a method must have, by the MCP schema."""


class UnreadableError(Exception):
    """A message inside a message that cannot be told apart.  The text is safe for a peer."""


def inputs_of(message: Mapping[str, Any], member: str) -> Mapping[str, dict[str, Any]]:
    """The messages in *member* of a message, by key.  Raises UnreadableError."""
    found = message.get(member)
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(v, dict) for v in found.values()):
        raise UnreadableError(f"`{member}` is not an object of objects")
    if len(found) > MAX_INPUTS:
        raise UnreadableError(f"`{member}` has more than {MAX_INPUTS} entries")
    if not all(_KEY.fullmatch(key) for key in found):
        raise UnreadableError(f"`{member}` has a key that is too long, or no plain ASCII")
    return found


def check_interim(result: Mapping[str, Any]) -> None:
    """Raises UnreadableError for an interim result that asks for nothing.

    "At least one of `inputRequests` or `requestState` MUST be present" (MCP 2026-07-28).
    """
    state = result.get("requestState")
    if not isinstance(state, str | None):
        raise UnreadableError("`requestState` is not a string")
    if state is None and not result.get(REQUESTS):
        raise UnreadableError("an interim result has neither input requests nor a request state")


def read_request(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Method and params of a request in an interim result.  Raises UnreadableError."""
    method, params = entry.get("method"), entry.get("params")
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise UnreadableError("an input request has no method, or params that are no object")
    return method, {} if params is None else params


def method_answered(entry: Mapping[str, Any]) -> str:
    """The method that an answer in a retry is for; it does not say so itself.

    Raises UnreadableError when it could be for none, or for more than one: it must not be
    judged as one kind and read as another.
    """
    fitting = [method for method, members in _KINDS.items() if members <= entry.keys()]
    if len(fitting) != 1:
        raise UnreadableError("what an input response answers cannot be told from its members")
    return fitting[0]
