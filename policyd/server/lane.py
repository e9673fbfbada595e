"""Requests of our own methods, answered without the SDK.

Knows how a request of each protocol era looks when nothing about it is odd, and how its answer
is framed.  Whatever is odd is for the SDK, so that every refusal and every negotiation is the
SDK's own.  Knows no transport.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from policyd.errors import InvocationError
from policyd.server.method import Invoker, Method, Result, Standing
from policyd.wire import dump_json

Message = Mapping[str, Any]
"""A JSON-RPC request or notification, as `read_message` gives it."""

Info = Mapping[str, Any]
"""What `serverInfo` says: name and version."""

_MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)

_TOKENS: Final = (int, str)
"""The types of a progress token that the SDK's model takes."""


class Answer(NamedTuple):
    """A JSON-RPC response, and the HTTP status that goes with it."""

    body: bytes
    status: int


class Lane:
    """Answers requests of the methods in a table.

    modern: in the methods here, true for the stateless protocol (2026-07-28), whose results
    are stamped, and false for the protocol with a handshake.
    """

    def __init__(self, table: Mapping[str, Method], info: Info) -> None:
        self._table = table
        self._stamp = {SERVER_INFO_META_KEY: dict(info)}

    def takes(self, message: Message, modern: bool) -> bool:
        """True for a request that is answered here."""
        if message["method"] not in self._table or "id" not in message:
            return False
        params = message.get("params", _NOTHING)
        if type(params) is not dict:
            return False
        meta = params.get("_meta", _NOTHING)
        if type(meta) is not dict or type(meta.get("progressToken", "")) not in _TOKENS:
            return False
        if modern:
            return protocol_version(message) in _MODERN and CLIENT_CAPABILITIES_META_KEY in meta
        return PROTOCOL_VERSION_META_KEY not in meta

    def at_once(self, message: Message, modern: bool, invoker: Invoker = None) -> Answer | None:
        """The answer, or None where an event loop may not be held for so long."""
        try:
            result = self._table[message["method"]].at_once(message.get("params"), invoker)
        except InvocationError as error:
            return _refused(message, error, modern)
        return None if result is None else self._answered(message, result, modern)

    async def thorough(self, message: Message, modern: bool, invoker: Invoker = None) -> Answer:
        """The answer, whatever it takes; may be cancelled."""
        try:
            result = await self._table[message["method"]].thorough(message.get("params"), invoker)
        except InvocationError as error:
            return _refused(message, error, modern)
        return self._answered(message, result, modern)

    def _answered(self, message: Message, result: Result, modern: bool) -> Answer:
        if type(result) is not Standing:
            encoded = self._encoded(result, modern)
        elif (known := result.encoded.get(modern)) is not None:
            encoded = known
        else:
            encoded = result.encoded[modern] = self._encoded(result, modern)
        request_id = dump_json(message["id"])
        return Answer(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, encoded), 200)

    def _encoded(self, result: Result, modern: bool) -> bytes:
        if modern:
            meta = {**result.get("_meta", _NOTHING), **self._stamp}
            result = {**result, "resultType": "complete", "_meta": meta}
        return dump_json(result)


_NOTHING: Final[dict[str, Any]] = {}


def protocol_version(message: Message) -> str | None:
    """The protocol version in the envelope of a modern request, or None."""
    params = message.get("params")
    meta = params.get("_meta") if type(params) is dict else None
    version = meta.get(PROTOCOL_VERSION_META_KEY) if type(meta) is dict else None
    return version if type(version) is str else None


def _refused(message: Message, error: InvocationError, modern: bool) -> Answer:
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data:
        told["data"] = error.data
    body = dump_json({"jsonrpc": "2.0", "id": message["id"], "error": told})
    return Answer(body, ERROR_CODE_HTTP_STATUS.get(error.code, 200) if modern else 200)
