"""A chain around an MCP client: what it asks, is answered, and is asked by its server.

Knows the SDK's `Dispatcher`, through which all messages of a session go.

Notifications are judged in the order in which they came, and a result waits for those that
came before it, so that a slow interceptor changes no order (`order` says for how long).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.dispatcher import (
    CallOptions,
    DispatchContext,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    ProgressFnT,
    run_notify_intercept,
)
from mcp.shared.inbound import (
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    NAME_BEARING_METHODS,
    encode_header_value,
)

from policyd.chain import Chain
from policyd.engine import Engine
from policyd.middleware import sdk
from policyd.middleware.chains import as_chain
from policyd.middleware.context import ClientContext, check_context, no_context
from policyd.middleware.errors import handlers_border
from policyd.middleware.exchange import SKIPPED, Exchange
from policyd.middleware.order import Arrivals
from policyd.middleware.outbound import as_object, judged_progress
from policyd.model import Direction

Params = Mapping[str, Any] | None

_EVENTS = frozenset({"notifications/resources/updated"})
"""The events of a `subscriptions/listen` stream that hold data."""


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
    Raises RuntimeError for a client that is connected already, TypeError for a client, a chain
    or a context that is none.
    """
    _check_client(client)
    check_context(context)
    if sdk.is_entered(client):
        raise RuntimeError("a chain is installed before the client is entered with `async with`")
    wrap = partial(_wrap, as_chain(chain), context or no_context)
    if isinstance(client, Client):
        sdk.on_session(client, wrap)
    else:
        wrap(client)


def _check_client(client: object) -> None:
    """Raises TypeError for what is no client of the SDK."""
    if isinstance(client, Server | MCPServer):
        raise TypeError("`install_client` takes a client: for a server there is `install_server`")
    if not isinstance(client, Client | ClientSession):
        raise TypeError("`install_client` takes a `Client` or `ClientSession` of the MCP SDK first")


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
        self._arrivals = Arrivals()
        self._intercept: OnNotifyIntercept | None = None

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
        result = await self._answered(method, sent, opts)
        return await exchange.result(method, result, Direction.RECEIVING)

    async def _answered(
        self, method: str, params: Params, opts: CallOptions | None
    ) -> dict[str, Any]:
        """The result of a request, in its turn."""
        timeout = (opts or {}).get("timeout")
        sent_at = anyio.current_time()
        result = await self._inner.send_raw_request(method, params, opts)
        left = None if timeout is None else max(0.0, sent_at + timeout - anyio.current_time())
        await self._arrivals.result(left)
        return result

    async def notify(self, method: str, params: Params, opts: CallOptions | None = None) -> None:
        """Send a notification; one that may not go is dropped."""
        if method in SKIPPED:
            return await self._inner.notify(method, params, opts)
        given = as_object(params)
        judged = await self._exchange().notification(method, given, Direction.SENDING)
        if judged is not None:
            await self._inner.notify(method, params if judged is given else judged, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Receive until the connection closes."""
        self._intercept = on_notify_intercept
        await self._inner.run(
            partial(self._answer, on_request),
            partial(self._notice, on_notify),
            self._intercepted,
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
        with handlers_border():
            answer = await on_request(context, method, params if judged is given else judged)
        return await exchange.result(method, answer, Direction.SENDING)

    def _intercepted(self, method: str, params: Params) -> bool:
        """Whether the session itself takes a notification before anybody waits.

        An event of a `subscriptions/listen` stream that holds data is judged first.
        """
        if self._intercept is None or method in _EVENTS:
            return False
        return self._intercept(method, params)

    async def _notice(
        self, on_notify: OnNotify, context: DispatchContext[Any], method: str, params: Params
    ) -> None:
        if method in SKIPPED:
            return await on_notify(context, method, params)
        given = as_object(params)
        judge = partial(self._exchange().notification, method, given, Direction.RECEIVING)
        judged = await self._arrivals.notification(judge)
        if judged is None:
            return
        params = params if judged is given else judged
        if method in _EVENTS and run_notify_intercept(self._intercept, method, params):
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
            report = (progress, total, message)
            judge = partial(judged_progress, self._exchange(), Direction.RECEIVING, report)
            judged = await self._arrivals.notification(judge)
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
        name = _name(method, old, new, headers)
        stamped.pop(MCP_NAME_HEADER, None)
        if name is not None:
            stamped[MCP_NAME_HEADER] = encode_header_value(name)
        if method != "tools/call" or MCP_NAME_HEADER not in headers:
            return stamped
        for header in headers:
            if header.startswith(MCP_PARAM_HEADER_PREFIX):
                del stamped[header]
        arguments = new.get("arguments")
        if name is not None:
            kept = arguments if isinstance(arguments, dict) else {}
            stamped.update(sdk.param_headers(self._session, name, kept))
        return stamped


def _name(
    method: str, old: dict[str, Any], new: dict[str, Any], headers: dict[str, str]
) -> str | None:
    """What the header `Mcp-Name` repeats of changed params; None for no header.

    For a method that MCP does not define the request's class says which member that is; here
    it is one with that value, and of several one that was changed.
    """
    if MCP_NAME_HEADER not in headers:
        return None
    sent = headers[MCP_NAME_HEADER]
    named = (
        [NAME_BEARING_METHODS[method]]
        if method in NAME_BEARING_METHODS
        else [k for k, v in old.items() if isinstance(v, str) and encode_header_value(v) == sent]
    )
    names = [new.get(key) for key in named]
    changed = [name for key, name in zip(named, names, strict=True) if name != old.get(key)]
    name = next(iter(changed or names), None)
    return name if isinstance(name, str) else None
