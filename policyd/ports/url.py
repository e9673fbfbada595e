"""The port of a server at a URL: the lean client where the server allows it, else the SDK's.

Knows how the choice is made.  Imports aiohttp at the first call, `mcp` when it is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from policyd.ports.port import OtherEra, Port, Refusal, port_closed

if TYPE_CHECKING:
    from policyd.ports.http import LeanHTTP


class URLPort:
    """A server at an http or https URL.

    The first answer decides.  A server that does not speak the 2026-07-28 era over plain JSON is
    called through the SDK's client from then on, once that has had an answer.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self._lean: LeanHTTP | None = None
        self._sdk: Port | None = None
        self._chosen: Port | None = None
        self._closed = False

    async def call(self, method: str, params: dict[str, Any], timeout: float) -> dict[str, Any]:
        """See `Port.call`."""
        if self._closed:
            raise port_closed()
        if self._chosen is not None:
            return await self._chosen.call(method, params, timeout)
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        try:
            return await self._probe(method, params, timeout)
        except OtherEra:
            return await self._fall_back(method, params, deadline - clock())

    async def aclose(self) -> None:
        """Close all connections; calls that are running raise Unreachable."""
        self._closed = True
        for port in (self._lean, self._sdk):
            if port is not None:
                await port.aclose()

    async def _probe(self, method: str, params: dict[str, Any], timeout: float) -> dict[str, Any]:
        if self._lean is None:
            from policyd.ports.http import LeanHTTP

            self._lean = LeanHTTP(self._url, self._headers)
        try:
            result = await self._lean.call(method, params, timeout, probing=True)
        except Refusal:
            self._chosen = self._lean
            raise
        self._chosen = self._lean
        return result

    async def _fall_back(
        self, method: str, params: dict[str, Any], timeout: float
    ) -> dict[str, Any]:
        if self._sdk is None:
            from policyd.ports.client import ClientPort, over_http

            self._sdk = ClientPort(partial(over_http, self._url, self._headers))
        try:
            result = await self._sdk.call(method, params, timeout)
        except Refusal:
            self._chosen = self._chosen or self._sdk
            raise
        self._chosen = self._chosen or self._sdk
        return result
