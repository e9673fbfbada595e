"""The JSON-RPC envelope that some invokers leave around a payload.

SEP-2624 shows both forms; every SDK sends the bare one.  Policies always see the bare
params or result, and what is sent back has the shape that came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_ID = 64
"""Characters of a request id; something longer is judged with the payload."""

_SHAPES: Mapping[str, tuple[str, str, frozenset[str]]] = {
    "request": ("params", "method", frozenset({"jsonrpc", "id", "method", "params"})),
    "response": ("result", "result", frozenset({"jsonrpc", "id", "result"})),
}
"""For each phase the member that holds the payload, the one that an envelope must have, and all
that it may have."""

_NO_SHAPE = ("", "", frozenset[str]())


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload taken out of what came.

    `payload` is the bare params or result; `member` is the envelope's key that held it
    (`params` or `result`), or None where the payload came bare.
    """

    payload: Any
    member: str | None
    _outer: Mapping[str, Any] | None = None

    def wrap(self, payload: Any) -> Any:
        """*payload* in the shape that came in; what came is not changed."""
        if self.member is None or self._outer is None:
            return payload
        return {**self._outer, self.member: payload}


def unwrap(event: str, phase: str, payload: Any) -> Envelope:
    """Take the bare payload out of its envelope, if it has one.

    Only an object that consists of JSON-RPC members alone, as JSON-RPC has them, counts as an
    envelope, so that no argument written by a model can pass for one and nothing can hide
    beside the payload.
    """
    member, mark, keys = _SHAPES.get(phase, _NO_SHAPE)
    # most payloads are told apart by this one look
    if type(payload) is not dict or mark not in payload:
        return Envelope(payload, None)
    called = payload.get("method", event)
    if called == event and payload.keys() <= keys and _is_plain(payload):
        return Envelope(payload.get(member), member, payload)
    return Envelope(payload, None)


def _is_plain(message: Mapping[str, Any]) -> bool:
    """True when `jsonrpc` and `id`, where present, are what JSON-RPC 2.0 says."""
    sent = message.get("id")
    plain_id = sent is None or type(sent) is int or (type(sent) is str and len(sent) <= MAX_ID)
    return plain_id and message.get("jsonrpc", "2.0") == "2.0"
