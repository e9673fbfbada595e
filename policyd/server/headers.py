"""The headers of a request to the MCP endpoint: is there anything odd about them?

Knows Streamable HTTP in both protocol eras.  The judgement is the SDK's own, remembered.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, Final, NamedTuple

from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response

RawHeaders = Iterable[tuple[bytes, bytes]]

_REMEMBERED: Final = 256
"""Combinations of Host, Origin, Accept and Content-Type of which the judgement is kept."""

_JSON: Final = frozenset({b"application/json", b"application/json; charset=utf-8"})
"""Content types that the SDK takes in both eras; other spellings of them are for it to read."""


class Era(NamedTuple):
    """Which protocol a request speaks, by headers in which nothing is odd.

    version: `MCP-Protocol-Version`, None where it is absent; method: `Mcp-Method`.
    """

    modern: bool
    version: str | None
    method: str | None


class Headers:
    """Reads headers for a server that keeps no sessions."""

    def __init__(self, security: TransportSecuritySettings) -> None:
        self._guard = TransportSecurityMiddleware(security)
        self._known: dict[tuple[bytes | None, ...], bool] = {}

    def era(self, headers: RawHeaders) -> Era | None:
        """The era, or None where something is odd: for the SDK to judge."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in found:
                return None
            found[name] = value
        get = found.get
        key = (get(b"host"), get(b"origin"), get(b"accept"), get(b"content-type"))
        admitted = self._known.get(key)
        if admitted is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            admitted = self._known[key] = self._judge(key)
        if not admitted:
            return None
        version = get(b"mcp-protocol-version")
        if version is None or version in _HANDSHAKE:
            return _LEGACY
        method = get(b"mcp-method")
        if version not in _MODERN or method is None:
            return None
        return Era(True, version.decode(), method.decode("latin-1"))

    def _judge(self, key: tuple[bytes | None, ...]) -> bool:
        """What the SDK says of these values."""
        named = {n: v.strip(b" \t") for n, v in zip(_JUDGED, key, strict=True) if v}
        request = Request({"type": "http", "headers": list(named.items())})
        takes_json, _ = check_accept_headers(request)
        if not takes_json or named.get(b"content-type") not in _JSON:
            return False
        return _at_once(self._guard.validate_request(request, is_post=True)) is None


_JUDGED: Final = (b"host", b"origin", b"accept", b"content-type")


def _at_once(answer: Coroutine[Any, Any, Response | None]) -> Response | None:
    """What a coroutine returns that waits for nothing, as those of the SDK's guard do."""
    try:
        answer.send(None)
    except StopIteration as stop:
        value: Response | None = stop.value
        return value
    raise AssertionError("the judgement of headers waits for something")


_HANDSHAKE: Final = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
_MODERN: Final = frozenset(version.encode() for version in MODERN_PROTOCOL_VERSIONS)
_LEGACY: Final = Era(False, None, None)
