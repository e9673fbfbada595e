"""Serving an engine over MCP: `interceptors/list` and `interceptor/invoke`.

Knows which transport to run, beside the reloader, until a signal comes.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from importlib.util import find_spec
from typing import Any

import anyio
from anyio import TASK_STATUS_IGNORED, Event, create_task_group, open_signal_receiver
from anyio.abc import TaskStatus
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer

from policyd.engine import Engine
from policyd.functions import Interceptors
from policyd.logs import set_up_logging
from policyd.reload import Reloader
from policyd.server.access import AccessError, make_access, make_tls
from policyd.server.door import Door, RequestLimits
from policyd.server.functions import FunctionMethods
from policyd.server.http import BindError, bind, http_app, own_names, serve_http, url
from policyd.server.lane import Lane
from policyd.server.methods import Methods
from policyd.server.protocol import VERSION, attach, build_server
from policyd.server.readiness import ready_state
from policyd.server.stdio import serve_stdio
from policyd.settings import LogFormat, Settings
from policyd.wire import Dialect

__all__ = ["AccessError", "BindError", "add_interceptors", "serve"]

logger = logging.getLogger(__name__)

Transport = Callable[[], Coroutine[Any, Any, None]]


def serve(engine: Engine, reloader: Reloader | None, settings: Settings) -> None:
    """Serve *engine* until SIGTERM, SIGINT or, over stdio, the end of the input.

    *settings* say where and how; *reloader* runs beside the transport.  Returns when all is
    answered; raises BindError, and AccessError when it cannot be told who may call.

    Logs go to standard error, unless logging is set up already.
    """
    if not logging.getLogger().handlers:
        set_up_logging(settings.log_level, as_json=settings.log_format is LogFormat.JSON)
    methods = Methods(engine, settings.dialect, settings.expose)
    server = build_server(methods)
    lane = Lane(methods.table(), server.server_info_stamp)
    stop = Event()
    if settings.stdio:
        transport: Transport = partial(
            serve_stdio, server, lane, stop, on_ready=partial(_announce, engine, "stdio")
        )
    else:
        host, port = settings.http
        access, tls = make_access(settings), make_tls(settings)
        listener = bind(host, port)
        state = partial(ready_state, engine, reloader)
        names = (*own_names(host), *settings.host_names)
        gate = http_app(
            server, lane, lambda: state(stopping=stop.is_set()), names, private=access is not None
        )
        limits = RequestLimits(settings.max_concurrency, settings.max_rate or None)
        door = Door(gate, access, limits)
        on_ready = partial(_announce, engine, url(listener, secure=tls is not None))
        transport = partial(serve_http, door, listener, stop, on_ready, door.at_once, tls)
    options = {"use_uvloop": find_spec("uvloop") is not None}
    anyio.run(_run, transport, reloader, stop, backend_options=options)


def add_interceptors(
    server: Server[Any] | MCPServer,
    source: Engine | Interceptors,
    dialect: Dialect = Dialect.UNIVERSAL,
) -> None:
    """Let an MCP server of the SDK host interceptors beside what it serves.

    source: policies, or functions; those registered later are served as well.

    Raises TypeError for another source, and ValueError for a server that hosts some already.
    """
    if not isinstance(source, (Engine, Interceptors)):
        raise TypeError("what is hosted is an Engine, as `policyd.load` gives it, or Interceptors")
    if not isinstance(server, (Server, MCPServer)):
        raise TypeError("interceptors are added to a server of the MCP SDK")
    lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server
    if lowlevel.get_request_handler("interceptors/list") is not None:
        raise ValueError("the server hosts interceptors already")
    if isinstance(source, Engine):
        attach(lowlevel, Methods(source, dialect))
    else:
        attach(lowlevel, FunctionMethods(source, dialect))


async def _run(transport: Transport, reloader: Reloader | None, stop: Event) -> None:
    async with create_task_group() as group:
        await group.start(_stop_on_signal, stop)
        if reloader is not None:
            group.start_soon(reloader.run)
        await transport()
        group.cancel_scope.cancel()


async def _stop_on_signal(
    stop: Event, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
) -> None:
    with open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            logger.info("stopping: %s", signal.Signals(number).name)
            stop.set()


def _announce(engine: Engine, place: str) -> None:
    snapshot = engine.current
    count = len(snapshot.descriptors)
    policies = "policy" if count == 1 else "policies"
    logger.info(
        "policyd %s serving %d %s (generation %s) on %s",
        VERSION,
        count,
        policies,
        snapshot.generation,
        place,
    )
