"""The port of a server to which it connects itself, through the MCP SDK's client.

In memory, as a subprocess, or over HTTP in whatever era the server speaks.  Knows when to
connect anew.  Import it late: `mcp` takes two thirds of a second.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import advertise
from mcp.client.session import ClientSession
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import Implementation

from policyd.ports.backoff import Backoff
from policyd.ports.calls import Calls
from policyd.ports.connection import Connection
from policyd.ports.port import ConnectionLost, Unreachable
from policyd.ports.session import ask
from policyd.wire import EXTENSION

OpenSession = Callable[[], AbstractAsyncContextManager[ClientSession]]

_TIMEOUT = httpx2.Timeout(30.0, read=300.0)
"""Seconds; long for reading, as a server may hold a stream open.  Calls have their own limit."""


class ClientPort:
    """A server that is connected to at the first call, and again when the connection is lost.

    A connection that is lost within seconds is not replaced at once: see `Backoff`.
    """

    def __init__(self, open_session: OpenSession, backoff: Backoff | None = None) -> None:
        self._open_session = open_session
        self._backoff = backoff or Backoff()
        self._calls = Calls()
        self._current: Connection[ClientSession] | None = None
        self._left: list[Connection[ClientSession]] = []

    async def call(self, method: str, params: dict[str, Any], timeout: float) -> dict[str, Any]:
        """See `Port.call`."""
        return await self._calls.run(self._ask(method, params), timeout)

    async def aclose(self) -> None:
        """Give up the calls and close the connection; a subprocess is ended."""
        await self._calls.aclose()
        if self._current is not None:
            self._left.append(self._current)
            self._current = None
        left, self._left = self._left, []
        await asyncio.gather(*(connection.aclose() for connection in left))

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        before = self._current
        connection = self._connected()
        try:
            return await self._ask_over(connection, method, params)
        except ConnectionLost:
            # perhaps it was lost long ago; interceptors have no effects that asking twice hurts
            if connection is not before:
                raise
        return await self._ask_over(self._connected(), method, params)

    async def _ask_over(
        self, connection: Connection[ClientSession], method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            session = await connection.opened()
        except Unreachable:
            self._drop(connection)
            raise
        try:
            return await ask(session, method, params)
        except ConnectionLost:
            self._drop(connection)
            raise

    def _connected(self) -> Connection[ClientSession]:
        """The connection, or a new one that is being opened."""
        if self._current is not None and self._current.ended:
            self._drop(self._current)
        if self._current is None:
            if not self._backoff.over:
                raise Unreachable("the connection has just failed and is tried again later")
            self._backoff.begin()
            self._current = Connection(self._open_session)
        return self._current

    def _drop(self, connection: Connection[ClientSession]) -> None:
        if self._current is not connection:
            return
        self._current = None
        self._backoff.ended()
        connection.leave()
        self._left = [left for left in self._left if not left.ended] + [connection]


@asynccontextmanager
async def in_memory(server: Server[Any] | MCPServer) -> AsyncGenerator[ClientSession]:
    """A session with *server*, which runs in this process."""
    async with _client(server) as client:
        yield client.session


@asynccontextmanager
async def subprocess(parameters: StdioServerParameters) -> AsyncGenerator[ClientSession]:
    """A session with a new process; its standard error is this process's own."""
    errors = sys.__stderr__ or sys.stderr
    async with _client(stdio_client(parameters, errlog=errors)) as client:
        yield client.session


@asynccontextmanager
async def over_http(url: str, headers: Mapping[str, str]) -> AsyncGenerator[ClientSession]:
    """A session with the server at *url*; *headers* go with each request."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, trust_env=False) as http_client,
        _client(streamable_http_client(url, http_client=http_client)) as client,
    ):
        yield client.session


def command_line(words: list[str] | tuple[str, ...]) -> StdioServerParameters:
    """The parameters of the process that *words* start."""
    return StdioServerParameters(command=words[0], args=list(words[1:]))


def _client(server: Any) -> Client:
    return Client(
        server,
        client_info=Implementation(name="policyd", version=version("policyd")),
        extensions=[advertise(EXTENSION)],
        cache=None,
    )
