"""The methods of an interceptor server on the MCP SDK's low-level server.

Knows how the SDK is told of methods and capabilities in both protocol eras.  Knows no
transport.  The low-level server, because the SDK's other one always advertises tools,
prompts and resources, which an interceptor server should not have.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Protocol

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from policyd.errors import InvocationError
from policyd.server.method import INVOKER, Invoker, Method
from policyd.wire import EXTENSION

VERSION = version("policyd")

INSTRUCTIONS = "Judges and changes MCP messages by policy: see interceptors/list."

Context = ServerRequestContext[Any, Any]

# at INFO it would tell of every session manager and every stream
logging.getLogger("mcp").setLevel(logging.WARNING)


class Served(Protocol):
    """What `Methods` and `FunctionMethods` have in common."""

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        ...

    def capability(self) -> dict[str, Any]:
        """The settings of the interceptor capability, as of now."""
        ...


def build_server(methods: Served) -> Server[Any]:
    """An MCP server that serves *methods* and nothing else."""
    server: Server[Any] = Server("policyd", version=VERSION, instructions=INSTRUCTIONS)
    # the SDK's span per message costs 20 us and is exported to nobody
    server.middleware.clear()
    attach(server, methods)
    return server


def attach(server: Server[Any], methods: Served) -> None:
    """Serve *methods* beside what *server* has, and advertise them in both eras."""
    server.middleware.append(_advertise_to_legacy(methods))
    for name, method in methods.table().items():
        server.add_request_handler(name, types.RequestParams, _handler(method))
    server.add_request_handler("server/discover", types.RequestParams, _discover(server, methods))


def _handler(method: Method) -> Any:
    async def handle(context: Context, params: types.RequestParams) -> dict[str, Any]:
        # the params as sent: the model knows `_meta` only, and its errors would quote them
        try:
            return await method(context.params, _invoker(context))
        except InvocationError as error:
            raise MCPError(error.code, error.message, error.data or None) from None

    return handle


def _invoker(context: Context) -> Invoker:
    """Who the HTTP transport has authenticated; over stdio nobody."""
    request = context.request
    return request.scope.get(INVOKER) if isinstance(request, Request) else None


def _discover(server: Server[Any], methods: Served) -> Any:
    """`server/discover` (2026-07-28); the SDK's own has no place for `experimental`."""

    async def handle(context: Context, params: types.RequestParams) -> types.DiscoverResult:
        settings = {EXTENSION: methods.capability()}
        return types.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=server.get_capabilities(
                experimental_capabilities=settings,
                extensions=settings,
                protocol_version=context.protocol_version,
            ),
            instructions=server.instructions,
        )

    return handle


def _advertise_to_legacy(methods: Served) -> Any:
    """Middleware for `initialize` (2025-11-25 and older), where the SDK drops `extensions`."""

    async def advertise(context: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(context)
        if context.method != "initialize" or not isinstance(result, Mapping):
            return result
        capabilities = dict(result.get("capabilities", {}))
        for place in ("extensions", "experimental"):
            known = capabilities.get(place) or {}
            capabilities[place] = {**known, EXTENSION: methods.capability()}
        return {**result, "capabilities": capabilities}

    return advertise
