"""The gate before the SDK's HTTP application: one strict reading of every body.

Knows ASGI and JSON-RPC envelopes.  Without it the SDK would let two equal keys pass, answer
malformed bodies with text that quotes them, and take an id of 1.5 for a notification.
What is plainly a request of ours is answered here, at a fifth of the SDK's cost or less.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from anyio import create_task_group, to_thread
from starlette import types as asgi
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from policyd.engine import INLINE_SIZE
from policyd.server.headers import Era, Headers
from policyd.server.lane import Answer, Lane, Message, protocol_version
from policyd.server.method import INVOKER
from policyd.wire import MAX_MESSAGE_BYTES, Rejection, read_message, too_large

DRAINED_BYTES = 4 * MAX_MESSAGE_BYTES
"""So much of a body that is too large is read and dropped, so that its sender sees the
answer instead of a reset."""


class MessageGate:
    """ASGI middleware that lets only well-formed JSON-RPC messages through to *path*.

    Other methods than POST are refused: policyd keeps no session and opens no stream, and
    an open GET would only hold up shutdown.  What *lane* takes does not come through either.
    """

    def __init__(self, app: ASGIApp, path: str, lane: Lane, headers: Headers) -> None:
        self._app = app
        self._path = path
        self._lane = lane
        self._headers = headers

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
        small = len(body) <= INLINE_SIZE
        message = read_message(body) if small else await to_thread.run_sync(read_message, body)
        if isinstance(message, Rejection):
            await _send(Answer(message.to_bytes(), 413 if message == too_large() else 400), send)
            return
        era = self._headers.era(scope["headers"])
        if era is None or not self._takes(message, era):
            scope = {**scope, "headers": _stripped(scope["headers"])}
            await self._app(scope, _replay(body, receive), send)
            return
        invoker = scope.get(INVOKER)
        answer = self._lane.at_once(message, era.modern, invoker) if small else None
        if answer is None:
            work = self._lane.thorough(message, era.modern, invoker)
            answer = await _while_connected(work, receive)
        if answer is not None:
            await _send(answer, send)

    def at_once(self, scope: Scope, body: bytes) -> Answer | None:
        """The answer to a small request that is plainly ours; None where it needs more."""
        if scope["method"] != "POST" or scope["path"] != self._path or len(body) > INLINE_SIZE:
            return None
        era = self._headers.era(scope["headers"])
        message = None if era is None else read_message(body)
        if era is None or message is None or isinstance(message, Rejection):
            return None
        if not self._takes(message, era):
            return None
        return self._lane.at_once(message, era.modern, scope.get(INVOKER))

    def _takes(self, message: Message, era: Era) -> bool:
        """True when the lane takes the message, and headers and message say the same."""
        if era.modern and (era.method, era.version) != (
            message["method"],
            protocol_version(message),
        ):
            return False
        return self._lane.takes(message, era.modern)


async def _send(answer: Answer, send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(answer.body)),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _while_connected(work: Awaitable[Answer], receive: Receive) -> Answer | None:
    """The answer of *work*, or None when the peer has left, which ends the work."""
    answer: Answer | None = None
    async with create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        answer = await work
        group.cancel_scope.cancel()
    return answer


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
    first: list[asgi.Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> asgi.Message:
        return first.pop() if first else await receive()

    return replay


def _stripped(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers without the white space that httptools leaves around values (RFC 9110 5.5)."""
    return [(name, value.strip(b" \t")) for name, value in headers]
