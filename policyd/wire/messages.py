"""One JSON-RPC message in, and the refusal of what is none.

A transport that reads bytes reads them here first, so that the SDK only ever sees one
well-formed message: its own refusals would quote the message back to the peer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from policyd.errors import InvocationError
from policyd.wire.dialect import INVALID_REQUEST
from policyd.wire.encoding import dump_json, parse_json

MAX_MESSAGE_BYTES = 4 << 20
"""The largest message that is read; larger ones are refused unread."""

RequestId = int | str


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a message is not taken: a JSON-RPC error that holds nothing of the message.

    `id` is the id of the request where it can be told for certain, else None.
    """

    code: int
    message: str
    reason: str
    id: RequestId | None = None

    def to_bytes(self) -> bytes:
        """The JSON-RPC response, without a line end."""
        error = {"code": self.code, "message": self.message, "data": {"reason": self.reason}}
        return dump_json({"jsonrpc": "2.0", "id": self.id, "error": error})


def too_large() -> Rejection:
    """The refusal of a message beyond MAX_MESSAGE_BYTES."""
    reason = f"a message may have at most {MAX_MESSAGE_BYTES} bytes"
    return Rejection(INVALID_REQUEST, "Invalid Request", reason)


def read_message(data: bytes) -> dict[str, Any] | Rejection:
    """The JSON-RPC request or notification that *data* spells, or why there is none.

    Batches, responses, and ids that are neither an integer nor a string are refused
    (MCP 2025-06-18 removed batches; policyd sends no requests, so no response is due).
    """
    if len(data) > MAX_MESSAGE_BYTES:
        return too_large()
    try:
        message = parse_json(data)
    except InvocationError as error:
        request_id = _request_id(data) if error.code == INVALID_REQUEST else None
        return Rejection(error.code, error.message, error.data["reason"], request_id)
    reason = _flaw(message)
    if reason is None:
        return message  # type: ignore[no-any-return]
    return Rejection(INVALID_REQUEST, "Invalid Request", reason, _valid_id(message))


def _flaw(message: Any) -> str | None:
    if type(message) is not dict:
        return "a message is one JSON object"
    if message.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if type(message.get("method")) is not str:
        return "`method` must be a string"
    if "id" in message and _valid_id(message) is None:
        return "`id` must be an integer or a string"
    if type(message.get("params", {})) not in (dict, type(None)):
        return "`params` must be an object"
    return None


def _valid_id(message: Any) -> RequestId | None:
    found = message.get("id") if type(message) is dict else None
    return found if type(found) in (int, str) else None


def _request_id(data: bytes) -> RequestId | None:
    """The id of a message in which some key stands twice; None where that key is the id."""
    try:
        ids = [value for key, value in json.loads(data, object_pairs_hook=list) if key == "id"]
    except (ValueError, TypeError, RecursionError):
        return None
    return ids[0] if len(ids) == 1 and type(ids[0]) in (int, str) else None
