"""The private attributes of `mcp` 2.3 that the middleware needs, and nothing else.

The SDK has a seam for what a server receives (`Server.middleware`) and none yet for what it
sends, nor for a client that is made by `Client`.  `mcp` is pinned below 2.4 because of this
file: read it again with every new minor version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import DispatchContext, Dispatcher, Outbound
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]


def request_channel(context: Context) -> DispatchContext[Any]:
    """Where a handler's messages go that belong to the request it answers."""
    return context.session._request_outbound


def set_request_channel(context: Context, channel: Any) -> None:
    """The session is made anew for each message, so this lasts as long as the message."""
    context.session._request_outbound = channel


def connection_channel(context: Context) -> Outbound:
    """Where a handler's messages go that belong to no request."""
    return context.session._connection.outbound


def set_connection_channel(context: Context, channel: Outbound) -> None:
    """Lasts as long as the connection; that is one request in the 2026-07-28 era over HTTP."""
    context.session._connection.outbound = channel


def session_id(context: Context) -> str | None:
    """The transport's own id of the session; pipes and stateless HTTP have none."""
    return context.session._connection.session_id


def identify(context: Context, meta: Any) -> None:
    """Let the session know its client by *meta*, that of changed params.

    In the 2026-07-28 era each request has a connection of its own, made from what its `_meta`
    says; an earlier one lasts, and was opened by a handshake.
    """
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return
    known = meta if isinstance(meta, Mapping) else {}
    connection = context.session._connection
    made = Connection.from_envelope(
        context.protocol_version,
        known.get(CLIENT_INFO_META_KEY),
        known.get(CLIENT_CAPABILITIES_META_KEY),
    )
    connection.client_params = made.client_params
    connection.client_capabilities = made.client_capabilities


def is_entered(client: Client | ClientSession) -> bool:
    """True when the client speaks already, with the dispatcher that it has."""
    if isinstance(client, Client):
        return client._entered
    return client._task_group is not None


def wrap_dispatcher(session: ClientSession, wrap: Callable[[Dispatcher[Any]], Any]) -> None:
    """Put a wrapper around what a session sends and receives with, before it is entered.

    `ClientSession(dispatcher=...)` is public, but a session then no longer binds its
    `on_stream_exception`; wrapped afterwards it has done so already.
    """
    session._dispatcher = wrap(session._dispatcher)


def on_session(client: Client, use: Callable[[ClientSession], None]) -> None:
    """Let *use* have the session of *client* before it is entered."""
    build = client._build_session

    async def build_session(stack: AsyncExitStack) -> ClientSession:
        session = await build(stack)
        use(session)
        return session

    client._build_session = build_session  # type: ignore[method-assign, assignment]


def param_headers(
    session: ClientSession, tool: str, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """The `Mcp-Param-*` headers that the session itself would send with a `tools/call`."""
    return session._resolve_param_headers(tool, arguments)
