"""The lean HTTP client: JSON-RPC requests of the 2026-07-28 era, one POST each, no session.

A call costs a sixth of what the SDK's client costs.  Knows aiohttp, and nothing of other eras.
Import it late.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import count
from typing import Any, NamedTuple

import aiohttp

from policyd.errors import PolicydError
from policyd.ports.answer import JSON, HTTPAnswer, read_answer
from policyd.ports.connection import Connection
from policyd.ports.port import Unreachable, port_closed
from policyd.wire import EXTENSION, MAX_MESSAGE_BYTES, dump_json

PROTOCOL_VERSION = "2026-07-28"

_META = "io.modelcontextprotocol/"

_LARGE = 1 << 20
"""Bytes from which aiohttp wants a body in pieces."""

_HEADERS = {
    "Content-Type": JSON,
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
    "MCP-Protocol-Version": PROTOCOL_VERSION,
}

_METHOD = "Mcp-Method"
"""Names the method; methods of other names than the core's have no `Mcp-Name`."""

_DROPPED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)
"""What asking on a connection leads to that the server has closed."""


class _Sessions(NamedTuple):
    """`pooled` keeps connections alive; `fresh` makes a new one for each request."""

    pooled: aiohttp.ClientSession
    fresh: aiohttp.ClientSession


class LeanHTTP:
    """Requests to one URL over a pool of connections."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        own = {name.lower() for name in (*_HEADERS, _METHOD)}
        others = {name: value for name, value in headers.items() if name.lower() not in own}
        self._headers = {**others, **_HEADERS}
        self._ids = count(1)
        self._closed = False
        self._connection: Connection[_Sessions] | None = None
        self._meta = {
            f"{_META}protocolVersion": PROTOCOL_VERSION,
            f"{_META}clientInfo": {"name": "policyd", "version": version("policyd")},
            f"{_META}clientCapabilities": {"extensions": {EXTENSION: {}}},
        }

    async def call(
        self, method: str, params: dict[str, Any], timeout: float, *, probing: bool = False
    ) -> dict[str, Any]:
        """See `Port.call`; with *probing* it may raise OtherEra as `read_answer` does."""
        number = next(self._ids)
        meta = {**params.get("_meta", {}), **self._meta}
        message = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        body = dump_json(message)
        try:
            async with asyncio.timeout(timeout):
                answer = await self._exchange(body, {_METHOD: method})
        except (PolicydError, TimeoutError):
            raise
        except aiohttp.ClientConnectorError:
            raise Unreachable("no connection to the server") from None
        except Exception:
            # a border: malformed HTTP, bad TLS, an answer that breaks off, a session that
            # was closed under the request
            raise self._failure() from None
        return read_answer(answer, number, probing=probing)

    async def aclose(self) -> None:
        """Close all connections; calls that are running raise Unreachable."""
        self._closed = True
        if self._connection is not None:
            await self._connection.aclose()

    def _failure(self) -> Unreachable:
        return port_closed() if self._closed else Unreachable("no usable answer from the server")

    async def _exchange(self, body: bytes, headers: dict[str, str]) -> HTTPAnswer:
        if self._closed:
            raise port_closed()
        if self._connection is None or self._connection.ended:
            self._connection = Connection(self._open)
        sessions = await self._connection.opened()
        try:
            return await self._post(sessions.pooled, body, headers)
        except aiohttp.ClientConnectorError:
            raise
        except _DROPPED:
            # it was kept alive, and the server has closed it meanwhile; should the request have
            # arrived, interceptors have no effects that asking twice hurts
            return await self._post(sessions.fresh, body, headers)

    async def _post(
        self, session: aiohttp.ClientSession, body: bytes, headers: dict[str, str]
    ) -> HTTPAnswer:
        data = io.BytesIO(body) if len(body) > _LARGE else body
        async with session.post(
            self._url, data=data, headers=headers, allow_redirects=False
        ) as response:
            media_type = response.headers.get("Content-Type", "")
            media_type = media_type.partition(";")[0].strip().lower()
            content = b"" if media_type != JSON else await _read(response.content)
            return HTTPAnswer(response.status, media_type, content)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[_Sessions]:
        async with self._session(False) as pooled, self._session(True) as fresh:
            yield _Sessions(pooled, fresh)

    def _session(self, force_close: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=force_close),
            headers=self._headers,
            skip_auto_headers=("User-Agent",),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
        )


async def _read(content: aiohttp.StreamReader) -> bytes:
    """A whole body; one that is too large is not read to its end."""
    chunks: list[bytes] = []
    size = 0
    while chunk := await content.readany():
        size += len(chunk)
        if size > MAX_MESSAGE_BYTES:
            raise Unreachable(f"the answer has more than {MAX_MESSAGE_BYTES} bytes")
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
