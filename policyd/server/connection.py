"""One HTTP connection: limits that uvicorn has not, and small requests answered on the spot.

Knows uvicorn's protocol class for httptools, which makes a task for each request as soon as its
headers are there.  A small request that can be answered at once needs none: it is answered when
its body is whole, at half the cost.  Everything else takes uvicorn's way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from policyd.server.lane import Answer

DIRECT_BYTES: Final = 64 << 10
"""A larger body is not waited for here: how uvicorn slows its sender down needs a task."""

CERTIFICATE: Final = "policyd.certificate"
"""The key of a scope under which the certificate of the peer stands, where it has one."""

Direct = Callable[[Any, bytes], Answer | None]
"""The answer to a request with this ASGI scope and body; None where a task has to give it."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one peer may hold.

    connections: open connections of this process; further ones are answered 503 and closed.
    read_seconds: for one request, from its first byte to its last, and for the first request
        of a connection to begin.
    """

    connections: int = 10_000
    read_seconds: float = 30.0


def connection_class(
    direct: Direct | None = None, limits: ConnectionLimits | None = None
) -> type[asyncio.Protocol]:
    """The protocol class of a server that answers with *direct* where it can."""
    members = {"direct": staticmethod(direct or _never), "limits": limits or ConnectionLimits()}
    return type("Connection", (_Connection,), members)


def _never(scope: Any, body: bytes) -> Answer | None:
    return None


class _Connection(HttpToolsProtocol):
    """INVARIANT: at most one cycle is held, and it is the newest."""

    direct: Direct
    limits: ConnectionLimits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._held: tuple[RequestResponseCycle, Any] | None = None
        self._whole = False
        self._timer: asyncio.TimerHandle | None = None
        self._certificate: dict[str, Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._certificate = transport.get_extra_info("peercert") or None
        if len(self.connections) > self.limits.connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._held = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._whole:
            self._disarm()
        elif self._timer is None:
            self._arm()

    def on_message_begin(self) -> None:
        self._whole = False
        super().on_message_begin()
        if self._certificate is not None:
            self.scope[CERTIFICATE] = self._certificate  # type: ignore[typeddict-unknown-key]

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._held is not None and len(self.cycle.body) > DIRECT_BYTES:
            self._let_go()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._whole = True
        if self._held is None:
            return
        cycle, _ = self._held
        # a peer that does not read its answers has to be waited for
        answer = None if self.flow.write_paused else self.direct(cycle.scope, bytes(cycle.body))
        if answer is None:
            self._let_go()
        else:
            self._held = None
            self._answer(cycle, answer)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # whole already: it came behind another, which its task has to answer first
        if cycle.more_body and not cycle.waiting_for_100_continue:
            self._held = (cycle, app)
        else:
            super()._start_asgi_task(cycle, app)

    def _let_go(self) -> None:
        """Give the request that is held to a task."""
        if self._held is not None:
            cycle, app = self._held
            self._held = None
            super()._start_asgi_task(cycle, app)

    def _answer(self, cycle: RequestResponseCycle, answer: Answer) -> None:
        cycle.response_started = cycle.response_complete = True
        head = [
            _STATUS_LINES[answer.status],
            *(b"%b: %b\r\n" % header for header in cycle.default_headers),
            b"content-type: application/json\r\ncontent-length: %d\r\n" % len(answer.body),
            b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n",
            answer.body,
        ]
        self.transport.write(b"".join(head))
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def _refuse(self, status: HTTPStatus) -> None:
        """End the connection with a status and nothing else."""
        retry = b"retry-after: 1\r\n" if status is HTTPStatus.SERVICE_UNAVAILABLE else b""
        head = _STATUS_LINES[status] + b"connection: close\r\ncontent-length: 0\r\n" + retry
        self.transport.write(head + b"\r\n")
        self.transport.close()

    def _arm(self) -> None:
        self._timer = self.loop.call_later(self.limits.read_seconds, self._too_slow)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        """End a connection on which a request does not arrive."""
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()


_STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
