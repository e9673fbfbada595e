from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import anyio
import pytest
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from policyd.engine import INLINE_SIZE
from policyd.server.gate import DRAINED_BYTES, MessageGate
from policyd.server.headers import Headers
from policyd.server.lane import Lane
from policyd.server.method import Method
from policyd.wire import MAX_MESSAGE_BYTES

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
CLEAN = [
    (b"host", b"localhost"),
    (b"accept", b"application/json"),
    (b"content-type", b"application/json"),
]


async def _never(params: object, invoker: object) -> dict[str, Any]:
    raise AssertionError


class Inner:
    """An application that keeps what the gate lets through."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.received: list[Message] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            self.received += [await receive(), await receive()]


def exchange(
    chunks: Iterable[Message | bytes],
    lane: Lane | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
    **scope: Any,
) -> tuple[Inner, list[Message], list[Message]]:
    """What came through, what was answered, and what was left unread."""
    messages: list[Message] = [
        {"type": "http.request", "body": c, "more_body": True} if isinstance(c, bytes) else c
        for c in chunks
    ]
    inner, sent = Inner(), []

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    whole: Scope = {"type": "http", "method": method, "path": path, "headers": [], **scope}
    security = TransportSecuritySettings(allowed_hosts=["localhost"])
    gate = MessageGate(inner, "/mcp", lane or Lane({}, {}), Headers(security))
    anyio.run(gate.__call__, whole, receive, send)
    return inner, sent, messages


def last(body: bytes) -> Message:
    return {"type": "http.request", "body": body, "more_body": False}


def test_a_well_formed_message_comes_through_as_it_was_sent() -> None:
    inner, sent, _ = exchange([PING[:10], last(PING[10:])])
    assert inner.received == [last(PING), {"type": "http.disconnect"}]
    assert sent == []


def test_white_space_around_header_values_is_dropped() -> None:
    headers = [(b"mcp-method", b" \tping  "), (b"accept", b"a, b")]
    inner, _, _ = exchange([last(PING)], headers=headers)
    assert inner.scopes[0]["headers"] == [(b"mcp-method", b"ping"), (b"accept", b"a, b")]


@pytest.mark.parametrize("pad", [0, INLINE_SIZE])
def test_a_malformed_message_never_comes_through(pad: int) -> None:
    inner, sent, _ = exchange([last(b" " * pad + b'{"a":1,"a":2}')])
    assert inner.scopes == []
    assert sent[0]["status"] == 400
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/json"
    assert json.loads(sent[1]["body"])["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("chunks", "unread"),
    [
        ([last(b" " * (MAX_MESSAGE_BYTES + 1))], 0),
        ([b" " * MAX_MESSAGE_BYTES, b" ", last(PING)], 0),
        ([b" " * MAX_MESSAGE_BYTES] * 4 + [b" ", last(b""), last(b"")], 2),
    ],
)
def test_a_body_that_is_too_large_is_read_to_a_limit_and_refused(
    chunks: list[Message | bytes], unread: int
) -> None:
    assert DRAINED_BYTES == 4 * MAX_MESSAGE_BYTES
    inner, sent, rest = exchange(chunks)
    assert (inner.scopes, sent[0]["status"], len(rest)) == ([], 413, unread)


def test_a_peer_that_leaves_ends_what_is_done_for_it() -> None:
    ended: list[bool] = []

    async def endless(params: object, invoker: object) -> dict[str, Any]:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)
        raise AssertionError

    lane = Lane({"ping": Method(lambda params, invoker: None, endless)}, {})
    inner, sent, _ = exchange([last(PING)], lane, headers=CLEAN)
    assert (inner.scopes, sent, ended) == ([], [], [True])


def test_what_the_lane_takes_does_not_come_through() -> None:
    lane = Lane({"ping": Method(lambda params, invoker: {"a": 1}, _never)}, {})
    inner, sent, _ = exchange([last(PING)], lane, headers=CLEAN)
    assert inner.scopes == []
    assert sent[1]["body"] == b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}'


def test_a_peer_that_leaves_is_not_answered() -> None:
    inner, sent, _ = exchange([PING])
    assert (inner.scopes, sent) == ([], [])


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_posts_are_served(method: str) -> None:
    inner, sent, _ = exchange([], method=method)
    assert inner.scopes == []
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"allow"]) == (405, b"POST")


@pytest.mark.parametrize(
    "scope", [{"path": "/healthz", "method": "GET"}, {"path": "/", "type": "lifespan"}]
)
def test_everything_else_is_left_alone(scope: dict[str, Any]) -> None:
    inner, _, _ = exchange([], **scope)
    assert len(inner.scopes) == 1


def test_a_slash_at_the_end_is_no_way_around_the_gate() -> None:
    inner, sent, _ = exchange([last(b"{")], path="/mcp/")
    assert (inner.scopes, sent[0]["status"]) == ([], 400)
