"""Messages inside messages, and the members of a message that are the protocol's own.

Since protocol 2026-07-28 a server sends its requests (elicitation, sampling, roots) inside an
interim result, and the client its answers inside the params of the retry ("Multi round-trip
requests").  Knows these shapes only; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REQUESTS = "inputRequests"
RESPONSES = "inputResponses"

_INTERIM = frozenset({"resultType", REQUESTS, "requestState", "_meta"})
_REQUEST = frozenset({"method", "params"})

_KINDS: Mapping[str, frozenset[str]] = {
    "elicitation/create": frozenset({"action"}),
    "roots/list": frozenset({"roots"}),
    "sampling/createMessage": frozenset({"role", "content", "model"}),
}
"""Which members an answer to a method must have, by the MCP schema."""

_PROTOCOL_META = "io.modelcontextprotocol/"


class UnreadableError(Exception):
    """A message inside a message whose kind cannot be told.  The text is safe for a peer."""


def inputs_of(message: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    """The messages in *member* of a message, by key.  Raises UnreadableError."""
    found = message.get(member)
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(v, dict) for v in found.values()):
        raise UnreadableError(f"`{member}` is not an object of objects")
    return found


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


def is_interim(result: Mapping[str, Any]) -> bool:
    """True when a result holds requests for input and nothing else that could be content."""
    return (
        result.get("resultType") == "input_required"
        and result.keys() <= _INTERIM
        and all(entry.keys() <= _REQUEST for entry in inputs_of(result, REQUESTS).values())
    )


def keep_stamps(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The changed message *new* with what the protocol itself has put into *old*.

    Those are `resultType`, and of `_meta` the `progressToken` and the keys of MCP
    (`serverInfo` of a result; version, client and capabilities of a request).
    """
    if "resultType" in old and new.get("resultType") != old["resultType"]:
        new = {**new, "resultType": old["resultType"]}
    stamps = _stamps(old.get("_meta"))
    meta = new.get("_meta")
    if not isinstance(meta, dict):
        return {**new, "_meta": stamps} if stamps else new
    return new if stamps.items() <= meta.items() else {**new, "_meta": {**meta, **stamps}}


def _stamps(meta: Any) -> dict[str, Any]:
    if not isinstance(meta, Mapping):
        return {}
    return {
        key: value
        for key, value in meta.items()
        if key == "progressToken" or key.startswith(_PROTOCOL_META)
    }
