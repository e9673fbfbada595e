"""The gate before the SDK's HTTP application: one strict reading of every body.

Knows ASGI and JSON-RPC envelopes.  Without it the SDK would let two equal keys pass, answer
malformed bodies with text that quotes them, and take an id of 1.5 for a notification.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyio import to_thread
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from policyd.engine import INLINE_SIZE
from policyd.wire import MAX_MESSAGE_BYTES, Rejection, read_message, too_large

DRAINED_BYTES = 4 * MAX_MESSAGE_BYTES
"""So much of a body that is too large is read and dropped, so that its sender sees the
answer instead of a reset."""


class MessageGate:
    """ASGI middleware that lets only well-formed JSON-RPC messages through to *path*.

    Other methods than POST are refused: policyd keeps no session and opens no stream, and
    an open GET would only hold up shutdown.
    """

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if scope["type"] != "http" or scope["path"].rstrip("/") != self._path:
            await self._app(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            return
        rejection = await _rejection(body)
        if rejection is None:
            scope = {**scope, "headers": _stripped(scope["headers"])}
            await self._app(scope, _replay(body, receive), send)
            return
        status = 413 if rejection == too_large() else 400
        answer = Response(rejection.to_bytes(), status, media_type="application/json")
        await answer(scope, receive, send)


async def _rejection(body: bytes) -> Rejection | None:
    if len(body) <= INLINE_SIZE:
        message = read_message(body)
    else:
        message = await to_thread.run_sync(read_message, body)
    return message if isinstance(message, Rejection) else None


async def _read_body(receive: Receive) -> bytes | None:
    """The body, or None when the peer has left; one that is too large is cut, yet too large."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size - len(chunk) <= MAX_MESSAGE_BYTES:
            chunks.append(chunk)
        if not message.get("more_body", False) or size > DRAINED_BYTES:
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read, then what the peer still sends."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay


def _stripped(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers without the white space that httptools leaves around values (RFC 9110 5.5)."""
    return [(name, value.strip(b" \t")) for name, value in headers]
