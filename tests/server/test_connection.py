"""Connections of peers that are slow, greedy, or in a hurry, to a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.server.connection import DIRECT_BYTES, ConnectionLimits
from policyd.server.http import bind, http_app, serve_http
from policyd.server.lane import Lane
from policyd.server.methods import Methods
from policyd.server.protocol import build_server
from policyd.source import make_bundle
from policyd.wire import Dialect
from tests.server.conftest import POLICIES

LISTED = "interceptors/list"
INVOKED = "interceptor/invoke"


def request(number: int, method: str = LISTED, *, close: bool = False, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    body = json.dumps(message).encode()
    return head(f"content-length: {len(body)}", *(["connection: close"] if close else [])) + body


def head(*lines: str) -> bytes:
    fixed = ["host: 127.0.0.1", "content-type: application/json", "accept: application/json"]
    return "\r\n".join(["POST /mcp HTTP/1.1", *fixed, *lines, "", ""]).encode()


def slow(number: int) -> bytes:
    """A call that is answered by a task, after 50 ms."""
    payload = {"name": "sum", "arguments": {"l": list(range(60))}}
    return request(
        number, INVOKED, name="slow", event="tools/call", phase="request", payload=payload
    )


class Peer:
    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._read = BufferedByteReceiveStream(stream)

    async def send(self, data: bytes) -> None:
        await self.stream.send(data)

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        raw = await self._read.receive_until(b"\r\n\r\n", 10_000)
        status, *lines = raw.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        size = int(headers["content-length"])
        body = await self._read.receive_exactly(size) if size else b"null"
        return int(status.split()[1]), headers, json.loads(body)

    async def ids(self, count: int) -> list[int]:
        return [(await self.answer())[2]["id"] for _ in range(count)]

    async def ended(self) -> bool:
        """True once the server has closed the connection."""
        try:
            await self._read.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
        return False


Connect = Callable[[], Coroutine[Any, Any, Peer]]


def serve(
    talk: Callable[[Connect], Coroutine[Any, Any, None]], limits: ConnectionLimits | None = None
) -> None:
    """Run *talk* beside a server, and end both."""
    snapshot = compile_bundle(make_bundle({"p.yaml": POLICIES})).snapshot
    assert snapshot is not None
    methods = Methods(Engine(snapshot), Dialect.UNIVERSAL)
    server = build_server(methods)
    app = http_app(server, Lane(methods.table(), {}), lambda: {"ready": True})
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]

    peers: list[Peer] = []

    async def connect() -> Peer:
        peers.append(Peer(await anyio.connect_tcp("127.0.0.1", port)))
        return peers[-1]

    async def body() -> None:
        stop, ready = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(serve_http, app, listener, stop, ready.set, app.at_once, None, limits)
            with anyio.fail_after(30):
                await ready.wait()
                await talk(connect)
            for peer in peers:
                await peer.stream.aclose()
            stop.set()

    anyio.run(body)


def test_requests_behind_one_another_are_answered_in_their_order() -> None:
    async def talk(connect: Connect) -> None:
        peer = await connect()
        await peer.send(request(1) + slow(2) + request(3) + slow(4) + slow(5) + request(6))
        assert await peer.ids(6) == [1, 2, 3, 4, 5, 6]
        await peer.send(request(7))
        assert await peer.ids(1) == [7]

    serve(talk)


@pytest.mark.parametrize("step", [1, 7, 200])
def test_a_request_may_come_in_any_pieces(step: int) -> None:
    async def talk(connect: Connect) -> None:
        peer, data = await connect(), request(1) + request(2, close=True)
        for start in range(0, len(data), step):
            await peer.send(data[start : start + step])
        status, headers, _ = await peer.answer()
        assert (status, "connection" in headers) == (200, False)
        assert (await peer.answer())[1]["connection"] == "close"
        assert await peer.ended()

    serve(talk)


def test_a_body_may_come_in_chunks_and_be_waited_for() -> None:
    async def talk(connect: Connect) -> None:
        peer, body = await connect(), request(1).partition(b"\r\n\r\n")[2]
        chunked = head("transfer-encoding: chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        await peer.send(chunked)
        assert await peer.ids(1) == [1]
        await peer.send(head(f"content-length: {len(body)}", "expect: 100-continue"))
        assert (await peer.stream.receive()).startswith(b"HTTP/1.1 100 ")
        await peer.send(body)
        assert await peer.ids(1) == [1]

    serve(talk)


def test_a_large_body_is_answered_as_well() -> None:
    async def talk(connect: Connect) -> None:
        peer = await connect()
        await peer.send(request(1, event="x" * 4 * DIRECT_BYTES) + request(2))
        assert await peer.ids(2) == [1, 2]

    serve(talk)


def test_a_peer_that_reads_nothing_is_waited_for_and_holds_nobody_up() -> None:
    count = 3_000  # far more answers than the buffers of two sockets hold

    async def talk(connect: Connect) -> None:
        greedy, other = await connect(), await connect()
        async with anyio.create_task_group() as group:
            group.start_soon(greedy.send, b"".join(map(request, range(count))))
            await other.send(request(1))
            assert await other.ids(1) == [1]
            assert await greedy.ids(count) == list(range(count))

    serve(talk)


@pytest.mark.parametrize(
    "sent", [b"", b"POST /mcp HT", head("content-length: 9"), head("x: y")[:-2]]
)
def test_a_request_that_does_not_arrive_ends_the_connection(sent: bytes) -> None:
    async def talk(connect: Connect) -> None:
        peer, other = await connect(), await connect()
        await peer.send(sent)
        await other.send(request(1))
        assert await other.ids(1) == [1]
        status, headers, _ = await peer.answer()
        assert (status, headers["connection"]) == (408, "close")
        assert await peer.ended()

    serve(talk, ConnectionLimits(read_seconds=0.2))


def test_a_request_that_is_judged_for_long_is_not_slow_to_arrive() -> None:
    async def talk(connect: Connect) -> None:
        peer = await connect()
        for number in range(3):
            await peer.send(slow(number))
            assert await peer.ids(1) == [number]
            await anyio.sleep(0.03)

    serve(talk, ConnectionLimits(read_seconds=0.04))


def test_connections_beyond_the_limit_are_refused_at_once() -> None:
    async def talk(connect: Connect) -> None:
        first, second, third = await connect(), await connect(), await connect()
        status, headers, _ = await third.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert await third.ended()
        await first.stream.aclose()
        await second.send(request(1))
        assert await second.ids(1) == [1]

    serve(talk, ConnectionLimits(connections=2))
