"""A chain around an MCP server: what it receives, answers, and asks its client.

Knows the SDK's `Server.middleware`, which sees each message before it is validated and each
result as it goes to the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import ErrorData, RequestParams, RequestParamsMeta
from pydantic import BaseModel, ValidationError

from policyd.chain import Chain
from policyd.engine import Engine
from policyd.middleware import sdk
from policyd.middleware.chains import as_chain
from policyd.middleware.context import ServerContext, check_context, server_context
from policyd.middleware.errors import handlers_border
from policyd.middleware.exchange import SKIPPED, Exchange
from policyd.middleware.outbound import GovernedOutbound, as_object
from policyd.model import Direction


def install_server(
    server: Server[Any] | MCPServer,
    chain: Chain | Engine,
    *,
    context: ServerContext | None = None,
) -> None:
    """Run *chain* on every message that *server* receives and sends, from the next one on.

    chain: a Chain, or an Engine as `policyd.load` returns it; hot swaps of either count at
        once.
    context: who asks, from the SDK's request context; `server_context` when None.

    Requests are received and their results sent; requests to the client are sent and its
    answers received, whether they are messages of their own or ride in results and retries.
    A request that may not go on is answered with the error of SEP-2624; a result that may not
    is replaced by it, error results of tools included.  An MCPError that a handler raises
    passes on unjudged; any other exception becomes `-32603 Internal server error`.

    Installed twice, both chains run, the first one outermost.

    Raises TypeError for a server, a chain or a context that is none.
    """
    _check_server(server)
    check_context(context)
    server.middleware.append(_Middleware(as_chain(chain), context or server_context))


def _check_server(server: object) -> None:
    """Raises TypeError for what is no server of the SDK."""
    if isinstance(server, Client | ClientSession):
        raise TypeError("`install_server` takes a server: for a client there is `install_client`")
    if not isinstance(server, Server | MCPServer):
        raise TypeError("`install_server` takes an `MCPServer` or `Server` of the MCP SDK first")


class _Middleware:
    """One installation."""

    def __init__(self, chain: Chain, context: ServerContext) -> None:
        self._chain = chain
        self._context = context
        # what a handler sends on its connection is judged as part of what it answers
        self._current: ContextVar[Exchange] = ContextVar("policyd_exchange")

    async def __call__(self, ctx: sdk.Context, call_next: CallNext) -> HandlerResult:
        exchange = Exchange(self._chain, partial(self._context, ctx), ctx.protocol_version)
        self._wrap_channels(ctx, exchange)
        if ctx.method in SKIPPED:
            return await self._within(exchange, ctx, call_next)
        given = as_object(ctx.params)
        if ctx.request_id is None:
            notice = await exchange.notification(ctx.method, given, Direction.RECEIVING)
            if notice is None:
                return None
            return await self._within(exchange, _changed(ctx, given, notice), call_next)
        params = await exchange.params(ctx.method, given, Direction.RECEIVING)
        ctx = _changed(ctx, given, params)
        with handlers_border():
            answer = await self._within(exchange, ctx, call_next)
        result = _as_result(answer)
        if result is None:
            return answer
        return await exchange.result(ctx.method, result, Direction.SENDING)

    async def _within(
        self, exchange: Exchange, context: sdk.Context, call_next: CallNext
    ) -> HandlerResult:
        token = self._current.set(exchange)
        try:
            return await call_next(context)
        finally:
            self._current.reset(token)

    def _wrap_channels(self, context: sdk.Context, exchange: Exchange) -> None:
        channel = sdk.request_channel(context)
        sdk.set_request_channel(context, GovernedOutbound(channel, lambda: exchange, self))
        connection = sdk.connection_channel(context)
        if not (isinstance(connection, GovernedOutbound) and connection.is_of(self)):
            governed = GovernedOutbound(connection, self._now, self)
            sdk.set_connection_channel(context, governed)

    def _now(self) -> Exchange:
        exchange = self._current.get(None)
        return Exchange(self._chain, dict, None) if exchange is None else exchange


def _changed(context: sdk.Context, old: dict[str, Any], new: dict[str, Any]) -> sdk.Context:
    """What a handler is shown: nothing of the params that the chain has changed."""
    if new is old:
        return context
    if context.request_id is not None:
        sdk.identify(context, new.get("_meta"))
    return replace(context, params=new, meta=_meta(new))


def _as_result(answer: HandlerResult) -> dict[str, Any] | None:
    """The answer as it goes to the wire, or None when it is no result."""
    if isinstance(answer, dict):
        return as_object(answer)
    if answer is None:
        return {}
    if isinstance(answer, BaseModel) and not isinstance(answer, ErrorData):
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    # an error, or what the SDK itself refuses to send
    return None


def _meta(params: Mapping[str, Any]) -> RequestParamsMeta | None:
    """`_meta` as the SDK shows it to handlers, read again from changed params."""
    if "_meta" not in params:
        return None
    try:
        return RequestParams.model_validate(params, by_name=False).meta
    except ValidationError:
        return None
