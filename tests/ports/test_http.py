"""The lean HTTP client against servers that answer well, badly, or not at all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from policyd.ports import Port, Refusal, Unreachable, open_port
from policyd.wire import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from tests.conftest import Running
    from tests.ports.conftest import HTTPServer, Received

Reply = Callable[..., bytes]

DENIED: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"command": "rm -rf /"}},
}


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(20):
            await main()
        # whoever was served must be gone, and nothing of a port may be left
        names = {getattr(t.get_coro(), "__qualname__", "") for t in asyncio.all_tasks()}
        assert [name for name in names if "Connection" in name or "Calls" in name] == []

    anyio.run(bounded)


def test_a_real_server_is_called(served: Running) -> None:
    async def main() -> None:
        port = open_port(served.url)
        listed = await port.call("interceptors/list", {}, 10)
        assert listed["interceptors"][0]["name"] == "no-rm"

        async def denied() -> bool:
            result = await port.call("interceptor/invoke", DENIED, 10)
            return result["valid"] is False

        assert all(await asyncio.gather(*(denied() for _ in range(20))))
        with pytest.raises(Refusal) as caught:
            await port.call("interceptor/invoke", {**DENIED, "name": "nobody"}, 10)
        assert (caught.value.code, caught.value.data) == (-32602, {"interceptor": "nobody"})
        with pytest.raises(Refusal) as caught:
            await port.call("tasks/none", {}, 10)
        assert caught.value.code == -32601
        text = "x" * (2 << 20)  # so long that aiohttp wants it in pieces
        large = {**DENIED, "payload": {"name": "shell", "arguments": {"command": text}}}
        assert (await port.call("interceptor/invoke", large, 10))["valid"] is True
        with pytest.raises(Refusal) as caught:
            await port.call("interceptor/invoke", {**large, "config": {"t": "x" * (3 << 20)}}, 10)
        assert caught.value.code == -32600
        await port.aclose()

    run(main)


def test_a_server_that_is_no_interceptor_server_refuses_to_list(
    http_server: HTTPServer, reply: Reply
) -> None:
    def answer(request: Received) -> bytes:
        error = {"code": -32601, "message": "Method not found", "data": "interceptors/list"}
        return reply(request, status=404, error=error)

    async def main() -> None:
        async with http_server(answer) as seen:
            port = open_port(seen.url)
            for _ in range(2):
                with pytest.raises(Refusal) as caught:
                    await port.call("interceptors/list", {}, 10)
                assert caught.value.code == -32601
            assert [r.message["method"] for r in seen.received] == ["interceptors/list"] * 2
            await port.aclose()

    run(main)


def test_requests_are_those_of_the_modern_era_on_one_connection(
    http_server: HTTPServer, reply: Reply
) -> None:
    async def main() -> None:
        async with http_server(lambda request: reply(request, result={"ok": 2**70})) as seen:
            headers = {"authorization": "Bearer t", "CONTENT-TYPE": "x", "mcp-method": "y"}
            port = open_port(seen.url, headers=headers)
            params = {"payload": None, "n": 2**70, "_meta": {"traceparent": "00-a"}}
            for _ in range(3):
                assert await port.call("interceptor/invoke", params, 10) == {"ok": 2**70}
            assert params == {"payload": None, "n": 2**70, "_meta": {"traceparent": "00-a"}}
            await port.aclose()
        assert seen.connections == 1
        assert len({request.message["id"] for request in seen.received}) == 3
        request = seen.received[0]
        length = request.headers.pop("content-length")
        assert int(length) > 0
        assert request.headers == {
            "host": f"127.0.0.1:{seen.port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "interceptor/invoke",
            "authorization": "Bearer t",
        }
        meta = "io.modelcontextprotocol/"
        extension: dict[str, Any] = {f"{meta}interceptors": {}}
        assert request.message == {
            "jsonrpc": "2.0",
            "id": request.message["id"],
            "method": "interceptor/invoke",
            "params": {
                "payload": None,
                "n": 2**70,
                "_meta": {
                    "traceparent": "00-a",
                    f"{meta}protocolVersion": "2026-07-28",
                    f"{meta}clientInfo": {"name": "policyd", "version": version("policyd")},
                    f"{meta}clientCapabilities": {"extensions": extension},
                },
            },
        }

    run(main)


async def failure(port: Port, timeout: float = 10) -> str:
    with pytest.raises(Unreachable) as caught:
        await port.call("interceptor/invoke", DENIED, timeout)
    return caught.value.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not http at all\r\n\r\n", "no usable answer from the server"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", "the answer is not JSON"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            "no usable answer from the server",
        ),
        (b"", "no usable answer from the server"),
    ],
)
def test_what_is_no_answer_is_told(http_server: HTTPServer, content: bytes, reason: str) -> None:
    async def main() -> None:
        async with http_server(lambda _: content, closes=True) as seen:
            port = open_port(seen.url)
            assert await failure(port) == reason
            await port.aclose()

    run(main)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "the server refuses access (HTTP 401)"),
        (403, "the server refuses access (HTTP 403)"),
        (307, "the server answered HTTP 307"),
        (429, "the server answered HTTP 429"),
        (503, "the server answered HTTP 503"),
    ],
)
def test_a_status_that_says_no_is_told_and_asked_again(
    http_server: HTTPServer, reply: Reply, response: Reply, status: int, reason: str
) -> None:
    answers = [response(b"secret", status=status, media_type="text/html")]

    def answer(request: Received) -> bytes:
        return answers.pop() if answers else reply(request, result={})

    async def main() -> None:
        async with http_server(answer) as seen:
            port = open_port(seen.url)
            assert await failure(port) == reason
            assert await port.call("interceptor/invoke", DENIED, 10) == {}
            assert len(seen.received) == 2
            await port.aclose()

    run(main)


def test_the_answer_to_another_request_is_none(http_server: HTTPServer, response: Reply) -> None:
    async def main() -> None:
        content = response(b'{"jsonrpc": "2.0", "id": 999, "result": {}}')
        async with http_server(lambda _: content) as seen:
            port = open_port(seen.url)
            assert await failure(port) == "the answer belongs to another request"
            await port.aclose()

    run(main)


@pytest.mark.parametrize("framing", ["length", "chunked", "until closed"])
def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    http_server: HTTPServer, framing: str
) -> None:
    size = MAX_MESSAGE_BYTES + 1
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    if framing == "length":
        content = head + f"Content-Length: {size}\r\n\r\n".encode() + b" " * size
    elif framing == "chunked":
        content = head + f"Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n".encode() + b" " * size
    else:
        content = head + b"\r\n" + b" " * size

    async def main() -> None:
        async with http_server(lambda _: content) as seen:
            port = open_port(seen.url)
            assert await failure(port) == f"the answer has more than {MAX_MESSAGE_BYTES} bytes"
            await port.aclose()

    run(main)


def test_the_largest_answer_that_may_be_is_read(http_server: HTTPServer, reply: Reply) -> None:
    def answer(request: Received) -> bytes:
        frame = len(reply(request, result={"text": ""}).partition(b"\r\n\r\n")[2])
        return reply(request, result={"text": "x" * (MAX_MESSAGE_BYTES - frame)})

    async def main() -> None:
        async with http_server(answer) as seen:
            port = open_port(seen.url)
            result = await port.call("interceptor/invoke", DENIED, 10)
            assert len(result["text"]) > MAX_MESSAGE_BYTES - 100
            await port.aclose()

    run(main)


@pytest.mark.parametrize("size", [10, 3 << 20])
def test_a_mute_server_is_left_in_time(http_server: HTTPServer, size: int) -> None:
    async def main() -> None:
        async with http_server(lambda _: None) as seen:
            port = open_port(seen.url)
            start = time.monotonic()
            with pytest.raises(TimeoutError):
                await port.call("interceptor/invoke", {"payload": "x" * size}, 0.2)
            assert time.monotonic() - start < 5
            await seen.left.wait()  # the connection is given up, so the server knows
            await port.aclose()

    run(main)


@pytest.mark.parametrize("size", [10, 3 << 20])
def test_a_peer_that_does_not_even_read_is_left_in_time(size: int) -> None:
    async def main() -> None:
        closes = asyncio.Event()
        closed = asyncio.Event()

        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await closes.wait()
            writer.transport.abort()
            closed.set()

        server = await asyncio.start_server(deaf, "127.0.0.1", 0, limit=1 << 10)
        port = open_port(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await port.call("interceptor/invoke", {"payload": "x" * size}, 0.2)
        await port.aclose()
        assert time.monotonic() - start < 5
        closes.set()
        await closed.wait()
        server.close()

    run(main)


def test_a_caller_that_is_cancelled_drops_the_connection(http_server: HTTPServer) -> None:
    async def main() -> None:
        async with http_server(lambda _: None) as seen:
            port = open_port(seen.url)
            async with anyio.create_task_group() as group:
                group.start_soon(port.call, "interceptor/invoke", DENIED, 60)
                await seen.arrived.wait()
                group.cancel_scope.cancel()
            await seen.left.wait()
            await port.aclose()

    run(main)


def test_closing_ends_calls_and_refuses_later_ones(http_server: HTTPServer) -> None:
    async def main() -> None:
        async with http_server(lambda _: None) as seen:
            port = open_port(seen.url)
            running = asyncio.create_task(failure(port, 60))
            await seen.arrived.wait()
            await port.aclose()
            assert await running == "the port is closed"
            assert await failure(port) == "the port is closed"

    run(main)


def test_a_server_that_closes_after_each_answer_is_asked_again(
    http_server: HTTPServer, reply: Reply
) -> None:
    async def main() -> None:
        async with http_server(lambda r: reply(r, result={}), closes=True) as seen:
            port = open_port(seen.url)
            for _ in range(4):
                assert await port.call("interceptor/invoke", DENIED, 10) == {}
            await port.aclose()
        assert len(seen.received) == 4

    run(main)


def test_a_request_on_a_connection_that_just_closed_is_sent_once_more(
    http_server: HTTPServer, reply: Reply
) -> None:
    count = 0

    def answer(request: Received) -> bytes:
        nonlocal count
        count += 1
        return b"" if count == 2 else reply(request, result={})

    async def main() -> None:
        async with http_server(answer) as seen:
            port = open_port(seen.url)
            for _ in range(2):
                assert await port.call("interceptor/invoke", DENIED, 10) == {}
            await port.aclose()
        first, dropped, again = seen.received
        assert dropped.message == again.message != first.message
        assert seen.connections == 2

    run(main)


def test_a_server_that_always_hangs_up_is_asked_twice(http_server: HTTPServer) -> None:
    async def main() -> None:
        async with http_server(lambda _: b"") as seen:
            port = open_port(seen.url)
            assert await failure(port) == "no usable answer from the server"
            await port.aclose()
        assert len(seen.received) == 2

    run(main)


def test_a_server_that_went_and_came_back_is_called_again(
    http_server: HTTPServer, reply: Reply
) -> None:
    async def main() -> None:
        async with http_server(lambda r: reply(r, result={"life": 1})) as seen:
            port = open_port(seen.url)
            assert await port.call("interceptor/invoke", DENIED, 10) == {"life": 1}
        for _ in range(2):
            assert await failure(port) == "no connection to the server"
        async with http_server(lambda r: reply(r, result={"life": 2}), port=seen.port):
            assert await port.call("interceptor/invoke", DENIED, 10) == {"life": 2}
            await port.aclose()

    run(main)


def test_a_port_serves_one_event_loop_after_the_other(served: Running) -> None:
    port = open_port(served.url)

    async def main() -> None:
        assert (await port.call("interceptor/invoke", DENIED, 10))["valid"] is False

    anyio.run(main)
    anyio.run(main)
