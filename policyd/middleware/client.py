"""A chain around an MCP client: what it asks, is answered, and is asked by its server.

Knows the SDK's `Dispatcher`, through which all messages of a session go.

Notifications are judged in the order in which they came, and a result waits for those that
came before it, so that a slow interceptor changes no order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp import Client
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import (
    CallOptions,
    DispatchContext,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    ProgressFnT,
)
from mcp.shared.inbound import (
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data

from policyd.chain import Chain
from policyd.engine import Engine
from policyd.middleware import sdk
from policyd.middleware.chains import as_chain
from policyd.middleware.context import ClientContext, no_context
from policyd.middleware.errors import handler_error
from policyd.middleware.exchange import NOTIFIED, SKIPPED, Exchange
from policyd.middleware.outbound import as_object, judged_progress
from policyd.model import Direction

Params = Mapping[str, Any] | None


def install_client(
    client: Client | ClientSession,
    chain: Chain | Engine,
    *,
    context: ClientContext | None = None,
) -> None:
    """Run *chain* on every message that *client* sends and receives.

    chain: a Chain, or an Engine as `policyd.load` returns it.
    context: who asks, from the client's session; nothing is known when None.

    Requests are sent and their results received; requests of the server are received and their
    answers sent, whether they are messages of their own or ride in results and retries.  What
    may not go on raises `MCPError` with the error of SEP-2624 where the client asked, and is
    answered with it where the server did.  What the client's response cache holds was judged
    when it came.

    Installed twice, both chains run, the second one nearest to the wire's other end.
    Raises RuntimeError for a client that is connected already.
    """
    if sdk.is_entered(client):
        raise RuntimeError("a chain is installed before the client is entered with `async with`")
    wrap = partial(_wrap, as_chain(chain), context or no_context)
    if isinstance(client, Client):
        sdk.on_session(client, wrap)
    else:
        wrap(client)


def _wrap(chain: Chain, context: ClientContext, session: ClientSession) -> None:
    def exchange() -> Exchange:
        return Exchange(chain, partial(context, session), session.protocol_version)

    sdk.wrap_dispatcher(session, partial(GovernedDispatcher, session, exchange))


class GovernedDispatcher:
    """A dispatcher whose messages are judged on their way out and in."""

    def __init__(
        self, session: ClientSession, exchange: Callable[[], Exchange], inner: Dispatcher[Any]
    ) -> None:
        self._session = session
        self._exchange = exchange
        self._inner = inner
        self._order = anyio.Lock(fast_acquire=True)

    async def send_raw_request(
        self, method: str, params: Params, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send a request that may go, and return the result if it may arrive.

        Raises MCPError when one of them may not, and as the dispatcher itself does.
        """
        if method in SKIPPED:
            return await self._inner.send_raw_request(method, params, opts)
        exchange = self._exchange()
        given = as_object(params)
        judged = await exchange.params(method, given, Direction.SENDING)
        sent = params if judged is given else judged
        opts = self._options(method, given, judged, opts)
        result = await self._inner.send_raw_request(method, sent, opts)
        async with self._order:
            pass
        return await exchange.result(method, result, Direction.RECEIVING)

    async def notify(self, method: str, params: Params, opts: CallOptions | None = None) -> None:
        """Send a notification; those of clients carry no data to judge."""
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Receive until the connection closes."""
        await self._inner.run(
            partial(self._answer, on_request),
            partial(self._notice, on_notify),
            on_notify_intercept,
            task_status=task_status,
        )

    async def _answer(
        self, on_request: OnRequest, context: DispatchContext[Any], method: str, params: Params
    ) -> dict[str, Any]:
        if method in SKIPPED:
            return await on_request(context, method, params)
        exchange = self._exchange()
        given = as_object(params)
        judged = await exchange.params(method, given, Direction.RECEIVING)
        try:
            answer = await on_request(context, method, params if judged is given else judged)
        except Exception as error:
            # the border to the callbacks: what the SDK tells of these errors is their own
            if handler_exception_to_error_data(error) is not None:
                raise
            raise handler_error(error) from error
        return await exchange.result(method, answer, Direction.SENDING)

    async def _notice(
        self, on_notify: OnNotify, context: DispatchContext[Any], method: str, params: Params
    ) -> None:
        if method in NOTIFIED:
            async with self._order:
                params = await self._exchange().notification(
                    method, as_object(params), Direction.RECEIVING
                )
            if params is None:
                return
        await on_notify(context, method, params)

    def _options(
        self, method: str, old: dict[str, Any], new: dict[str, Any], opts: CallOptions | None
    ) -> CallOptions | None:
        """The options of a call: progress is judged, headers are those of the changed params."""
        if not opts:
            return opts
        changed: CallOptions = {**opts}
        on_progress = opts.get("on_progress")
        if on_progress is not None:
            changed["on_progress"] = self._watched(on_progress)
        headers = opts.get("headers")
        if headers and new is not old:
            changed["headers"] = self._headers(method, old, new, headers)
        return changed

    def _watched(self, on_progress: ProgressFnT) -> ProgressFnT:
        """A callback for progress that is told what may arrive."""

        async def watched(progress: float, total: float | None, message: str | None) -> None:
            async with self._order:
                judged = await judged_progress(
                    self._exchange(), Direction.RECEIVING, (progress, total, message)
                )
            if judged is not None:
                await on_progress(*judged)

        return watched

    def _headers(
        self, method: str, old: dict[str, Any], new: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, str]:
        """The headers of a request over HTTP that repeat its params, repeated from *new*.

        The session has stamped them from the params that it was given; a server of the
        2026-07-28 era refuses a request whose headers say something else (-32020).
        """
        stamped = dict(headers)
        name = new.get(_name_key(method, old, headers) or "")
        if isinstance(name, str):
            stamped[MCP_NAME_HEADER] = encode_header_value(name)
        if method != "tools/call" or MCP_NAME_HEADER not in headers:
            return stamped
        for header in headers:
            if header.startswith(MCP_PARAM_HEADER_PREFIX):
                del stamped[header]
        arguments = new.get("arguments")
        if isinstance(name, str):
            kept = arguments if isinstance(arguments, dict) else {}
            stamped.update(sdk.param_headers(self._session, name, kept))
        return stamped


def _name_key(method: str, params: dict[str, Any], headers: dict[str, str]) -> str | None:
    """Which member of the params the header `Mcp-Name` repeats; None without the header.

    For a method that MCP does not define the request's class says which; here it is the one
    with that value.
    """
    if MCP_NAME_HEADER not in headers:
        return None
    if method in NAME_BEARING_METHODS:
        return NAME_BEARING_METHODS[method]
    value = headers[MCP_NAME_HEADER]
    fitting = (
        k for k, v in params.items() if isinstance(v, str) and encode_header_value(v) == value
    )
    return next(fitting, None)
