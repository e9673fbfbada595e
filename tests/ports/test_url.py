"""Which client speaks to a URL: the lean one, or the SDK's for servers of other eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from policyd.ports import Refusal, Unreachable, open_port
from policyd.ports.backoff import Backoff
from policyd.ports.client import ClientPort, over_http
from policyd.server.http import bind, serve_http, url

if TYPE_CHECKING:
    from tests.ports.conftest import HTTPServer, Received

Reply = Callable[..., bytes]
TurnDown = Callable[[], Response]


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(20):
            await main()

    anyio.run(bounded)


class Eras:
    """Counts the requests of each era, and may turn the modern ones down."""

    def __init__(self, app: ASGIApp, turn_down: TurnDown | None) -> None:
        self._app = app
        self._turn_down = turn_down
        self.modern = 0
        self.legacy = 0
        self.headers: list[str | None] = []
        self.forgets = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self.headers.append(headers.get("x-key"))
            modern = headers.get("mcp-protocol-version") == "2026-07-28"
            self.modern += modern
            self.legacy += not modern
            if modern and self._turn_down is not None:
                await self._turn_down()(scope, receive, send)
                return
            if self.forgets and "mcp-session-id" in headers:
                self.forgets = False
                others = [h for h in scope["headers"] if h[0] != b"mcp-session-id"]
                scope = {**scope, "headers": [*others, (b"mcp-session-id", b"0" * 32)]}
        await self._app(scope, receive, send)


def interceptor_server() -> Server[Any]:
    server: Server[Any] = Server("old")

    async def invoke(context: Any, params: types.RequestParams) -> dict[str, Any]:
        if context.params["name"] != "known":
            raise MCPError(-32602, "Interceptor not found: it", {"interceptor": "it"})
        return {"payload": context.params["payload"]}

    server.add_request_handler("interceptor/invoke", types.RequestParams, invoke)
    return server


@asynccontextmanager
async def hosted(turn_down: TurnDown | None, port: int = 0) -> AsyncGenerator[tuple[str, Eras]]:
    """A stateful SDK server with event streams."""
    app = Eras(interceptor_server().streamable_http_app(), turn_down)
    listener = bind("127.0.0.1", port)
    stop, ready = anyio.Event(), anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(partial(serve_http, app, listener, stop, ready.set))
        await ready.wait()
        try:
            yield url(listener), app
        finally:
            stop.set()


PAYLOAD = {"n": 2**70, "none": None}
KNOWN = {"name": "known", "payload": PAYLOAD}


@pytest.mark.parametrize(
    "turn_down",
    [
        lambda: Response("Bad Request", 400),
        lambda: Response(status_code=404),
        lambda: Response(status_code=405),
        lambda: JSONResponse(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no session"}}, 400
        ),
        lambda: JSONResponse(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "initialize"}}, 400
        ),
        lambda: JSONResponse(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "version"}}, 400
        ),
    ],
)
def test_a_server_of_the_handshake_era_is_called_through_the_sdk(turn_down: TurnDown) -> None:
    async def main() -> None:
        async with hosted(turn_down) as (place, eras):
            port = open_port(place, headers={"x-key": "k"})
            result = await port.call("interceptor/invoke", KNOWN, 10)
            assert result["payload"] == PAYLOAD
            probes = eras.modern
            calls = [port.call("interceptor/invoke", KNOWN, 10) for _ in range(5)]
            assert [r["payload"] for r in await asyncio.gather(*calls)] == [PAYLOAD] * 5
            with pytest.raises(Refusal) as caught:
                await port.call("interceptor/invoke", {"name": "it"}, 10)
            assert (caught.value.code, caught.value.data) == (-32602, {"interceptor": "it"})
            await port.aclose()
            # the lean client's probe and the SDK's own, and never again
            assert (probes, eras.modern) == (2, 2)
            assert set(eras.headers) == {"k"}

    run(main)


def test_a_refusal_through_the_sdk_is_an_answer_that_decides() -> None:
    async def main() -> None:
        async with hosted(partial(Response, status_code=405)) as (place, eras):
            port = open_port(place)
            for _ in range(3):
                with pytest.raises(Refusal) as caught:
                    await port.call("interceptor/invoke", {"name": "it"}, 10)
                assert caught.value.code == -32602
            await port.aclose()
            assert eras.modern == 2

    run(main)


def test_a_server_that_streams_its_answers_is_called_through_the_sdk() -> None:
    async def main() -> None:
        async with hosted(None) as (place, eras):
            port = open_port(place)
            for _ in range(2):
                result = await port.call("interceptor/invoke", KNOWN, 10)
                assert result["payload"] == PAYLOAD
            await port.aclose()
            assert eras.legacy == 0

    run(main)


def test_a_session_that_the_server_forgot_is_begun_anew() -> None:
    ticks = count(step=1000)

    async def main() -> None:
        async with hosted(partial(Response, status_code=405)) as (place, eras):
            port = ClientPort(partial(over_http, place, {}), Backoff(lambda: float(next(ticks))))
            for eras.forgets in (False, True, False, True):
                result = await port.call("interceptor/invoke", KNOWN, 10)
                assert (result["payload"], eras.forgets) == (PAYLOAD, False)
            await port.aclose()

    run(main)


def test_a_server_that_lost_its_sessions_and_came_back_is_called_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # its open streams need not be waited for
    monkeypatch.setattr("policyd.server.http.GRACE_SECONDS", 0)
    ticks = count(step=1000)
    turn_down = partial(Response, status_code=405)

    async def main() -> None:
        async with hosted(turn_down) as (place, _):
            # no connection counts as one that died young
            port = ClientPort(partial(over_http, place, {}), Backoff(lambda: float(next(ticks))))
            assert (await port.call("interceptor/invoke", KNOWN, 10))["payload"] == PAYLOAD
        with pytest.raises(Unreachable):
            await port.call("interceptor/invoke", KNOWN, 10)
        number = int(place.rpartition(":")[2].split("/")[0])
        async with hosted(turn_down, number):
            for _ in range(2):
                assert (await port.call("interceptor/invoke", KNOWN, 10))["payload"] == PAYLOAD
            await port.aclose()

    run(main)


def test_a_server_that_answers_nobody_is_probed_again(
    http_server: HTTPServer, reply: Reply, response: Reply
) -> None:
    ready = False

    def answer(request: Received) -> bytes:
        return reply(request, result={}) if ready else response(b"", status=404)

    async def main() -> None:
        nonlocal ready
        async with http_server(answer) as seen:
            port = open_port(seen.url)
            with pytest.raises(Unreachable, match=r"^no connection to the server$"):
                await port.call("interceptors/list", {}, 10)
            ready = True
            seen.received.clear()
            for _ in range(2):
                assert await port.call("interceptors/list", {}, 10) == {}
            assert [r.message["method"] for r in seen.received] == ["interceptors/list"] * 2
            await port.aclose()

    run(main)


def test_a_server_that_turns_down_the_probe_and_says_no_more_is_left_in_time(
    http_server: HTTPServer, response: Reply
) -> None:
    answers = [response(b"", status=405)]

    async def main() -> None:
        async with http_server(lambda _: answers.pop() if answers else None) as seen:
            port = open_port(seen.url)
            with pytest.raises(TimeoutError):
                # `mcp` is imported already, so that this is not its time
                await port.call("interceptors/list", {}, 0.3)
            await port.aclose()
            with pytest.raises(Unreachable, match=r"^the port is closed$"):
                await port.call("interceptors/list", {}, 0.3)

    run(main)
