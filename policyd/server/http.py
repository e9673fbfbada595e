"""Serving over Streamable HTTP: one process, JSON answers, no sessions.

Knows uvicorn, the SDK's HTTP application and the two health routes.  Knows no signals: it
stops when it is told to, after the requests in flight are answered.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from anyio import Event, create_task_group
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from policyd.errors import PolicydError
from policyd.server.connection import ConnectionLimits, Direct, connection_class
from policyd.server.gate import MessageGate
from policyd.server.headers import Headers
from policyd.server.lane import Lane
from policyd.server.method import INVOKER
from policyd.wire import MAX_MESSAGE_BYTES, dump_json

PATH = "/mcp"

GRACE_SECONDS = 5
"""How long requests in flight may take after the server is told to stop."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_DETAILS = ("lastReload", "rejected")


class BindError(PolicydError):
    """The address cannot be listened on; the text names it and says why, in one line."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port.  Raises BindError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = _authority(host, port)
    if not 0 <= port <= 65535:
        raise BindError(f"cannot listen on `{place}`: a port is a number from 0 to 65535")
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        # names that do not resolve have numbers below 0, which `os.strerror` does not know
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error.strerror)
        raise BindError(f"cannot listen on `{place}`: {reason.lower()}") from None


def own_names(host: str) -> tuple[str, ...]:
    """The names under which clients reach a server that is bound to *host*.

    For all addresses (`0.0.0.0`, `::`) the machine's name and the addresses it stands for; a
    proxy's or a service's name has to be told.
    """
    if host not in ("0.0.0.0", "::"):
        return (host,)
    name = socket.gethostname()
    try:
        found = socket.getaddrinfo(name, None)
    except OSError:
        found = []
    return (name, *sorted({str(address[0]) for *_, address in found}))


def url(listener: socket.socket, *, secure: bool = False) -> str:
    """Where clients find the server that listens on *listener*."""
    host, port = listener.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{_authority(host, port)}{PATH}"


def http_app(
    server: Server[Any],
    lane: Lane,
    readiness: Callable[[], dict[str, Any]],
    names: Sequence[str] = (),
    *,
    private: bool = False,
) -> MessageGate:
    """The ASGI application: `/mcp`, `/healthz` and `/readyz`.

    *lane* answers what it takes, *server* the rest.  Where it is *private*, `/readyz` shows
    what is in policy files only to who has access.

    Requests must name a loopback host or one of *names*, so that no web page can reach the
    server through a name of its own (DNS rebinding).
    """
    security = _security(names)
    guard = TransportSecurityMiddleware(security)

    async def healthz(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def readyz(request: Request) -> Response:
        state = readiness()
        stranger = private and INVOKER not in request.scope
        if stranger or await guard.validate_request(request) is not None:
            # a probe by address may know that it is ready, and not what is in policy files
            state = {key: value for key, value in state.items() if key not in _DETAILS}
        status = 200 if state["ready"] else 503
        return Response(dump_json(state), status, media_type="application/json")

    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_MESSAGE_BYTES,
        transport_security=security,
        custom_starlette_routes=[Route("/healthz", healthz), Route("/readyz", readyz)],
    )
    return MessageGate(app, PATH, lane, Headers(security))


async def serve_http(
    app: ASGIApp,
    listener: socket.socket,
    stop: Event,
    on_ready: Callable[[], None],
    direct: Direct | None = None,
    tls: ssl.SSLContext | None = None,
    limits: ConnectionLimits | None = None,
) -> None:
    """Serve *app* on *listener* until *stop* is set; *on_ready* is called once it answers.

    *direct* answers what needs no task.
    """
    config = uvicorn.Config(
        app,
        http=connection_class(direct, limits),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    config.ssl = tls
    server = _Uvicorn(config, on_ready)

    async def watch() -> None:
        await stop.wait()
        server.should_exit = True

    async with create_task_group() as group:
        group.start_soon(watch)
        await server.serve([listener])
        group.cancel_scope.cancel()


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process by the signal."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _security(names: Sequence[str]) -> TransportSecuritySettings:
    hosts = [_authority(name) for name in dict.fromkeys((*_LOOPBACK, *names))]
    allowed = [form for host in hosts for form in (host, f"{host}:*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=allowed,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in allowed],
    )


def _authority(host: str, port: int | None = None) -> str:
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return shown if port is None else f"{shown}:{port}"
