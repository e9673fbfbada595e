"""The port of an SDK client or session that somebody else opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.lowlevel.server import Server
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.exceptions import MCPError

from policyd.ports import Port, Refusal, Unreachable, open_port
from policyd.ports.session import SessionPort

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def server_of(handler: Handler) -> Server[Any]:
    server: Server[Any] = Server("s")

    async def handle(context: Any, params: types.RequestParams) -> dict[str, Any]:
        return await handler(context.params or {})

    server.add_request_handler("interceptor/invoke", types.RequestParams, handle)
    return server


def talk(
    handler: Handler, conversation: Callable[[Port], Awaitable[None]], mode: str = "auto"
) -> None:
    async def main() -> None:
        with anyio.fail_after(20):
            async with Client(server_of(handler), mode=mode) as client:
                port = open_port(client)
                await conversation(port)
                await port.aclose()
                assert client.session is not None  # it stays its owner's

    anyio.run(main)


both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@both_eras
def test_neither_side_gets_hold_of_the_data_of_the_other(mode: str) -> None:
    kept: list[dict[str, Any]] = []

    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        kept.append(params)
        answer = {"payload": params["payload"], "list": [1]}
        kept.append(answer)
        return answer

    async def conversation(port: Port) -> None:
        params = {"payload": {"a": [1, None, 2**70, {"b": None}]}, "config": None}
        result = await port.call("interceptor/invoke", params, 10)
        received, answered = kept
        assert {k: v for k, v in received.items() if k != "_meta"} == params
        assert {k: v for k, v in result.items() if k in answered} == answered
        received["payload"]["a"].append("server")
        answered["list"].append("server")
        assert params == {"payload": {"a": [1, None, 2**70, {"b": None}]}, "config": None}
        assert result["payload"] == params["payload"]
        assert result["list"] == [1]

    talk(handler, conversation, mode)


@both_eras
def test_a_payload_that_is_null_arrives(mode: str) -> None:
    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        return {"keys": sorted(params.keys() - {"_meta"}), "payload": params["payload"]}

    async def conversation(port: Port) -> None:
        result = await port.call("interceptor/invoke", {"payload": None, "name": "n"}, 10)
        assert (result["keys"], result["payload"]) == (["name", "payload"], None)

    talk(handler, conversation, mode)


@both_eras
def test_an_error_is_a_refusal_with_data_of_its_own(mode: str) -> None:
    data = {"interceptor": "n", "list": [1]}

    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        raise MCPError(-32000, "Interceptor execution timeout", data)

    async def conversation(port: Port) -> None:
        with pytest.raises(Refusal) as caught:
            await port.call("interceptor/invoke", {}, 10)
        refusal = caught.value
        assert (refusal.code, refusal.message) == (-32000, "Interceptor execution timeout")
        assert refusal.data == data
        assert refusal.data["list"] is not data["list"]
        with pytest.raises(Refusal) as caught:
            await port.call("interceptors/list", {}, 10)
        assert caught.value.code == -32601

    talk(handler, conversation, mode)


def test_data_of_an_error_that_is_not_json_is_left_out() -> None:
    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        raise MCPError(-32602, "m", {1, 2})

    async def conversation(port: Port) -> None:
        with pytest.raises(Refusal) as caught:
            await port.call("interceptor/invoke", {}, 10)
        assert (caught.value.code, caught.value.data) == (-32602, None)

    talk(handler, conversation)


@both_eras
def test_time_runs_out_and_the_server_is_told(mode: str) -> None:
    cancelled = asyncio.Event()

    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        if params.get("name") == "quick":
            return {"valid": True}
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    async def conversation(port: Port) -> None:
        with pytest.raises(TimeoutError):
            await port.call("interceptor/invoke", {}, 0.05)
        await cancelled.wait()
        quick = await port.call("interceptor/invoke", {"name": "quick"}, 10)
        assert quick["valid"] is True

    talk(handler, conversation, mode)


@both_eras
def test_a_caller_that_is_cancelled_goes_and_the_server_is_told(mode: str) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    async def conversation(port: Port) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(port.call, "interceptor/invoke", {}, 60)
            await begun.wait()
            group.cancel_scope.cancel()
        await cancelled.wait()

    talk(handler, conversation, mode)


@pytest.mark.parametrize("result", [{"payload": {1, 2}}, {"payload": object()}, {"t": "\ud800"}])
def test_a_result_that_is_not_json_is_none(result: dict[str, Any]) -> None:
    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        return result

    async def conversation(port: Port) -> None:
        with pytest.raises(Unreachable, match=r"^the answer is not JSON$"):
            await port.call("interceptor/invoke", {}, 10)

    talk(handler, conversation)


async def nothing(params: dict[str, Any]) -> dict[str, Any]:
    return {}


@both_eras
def test_a_client_that_is_closed_or_not_open_is_unreachable(mode: str) -> None:
    async def main() -> None:
        client = Client(server_of(nothing), mode=mode)
        port = open_port(client)
        with pytest.raises(Unreachable, match="is not open"):
            await port.call("interceptor/invoke", {}, 10)
        async with client:
            session = open_port(client.session)
            await session.call("interceptor/invoke", {}, 10)
            await port.call("interceptor/invoke", {}, 10)
        with pytest.raises(Unreachable, match="is not open"):
            await port.call("interceptor/invoke", {}, 10)
        with pytest.raises(Unreachable, match=r"^the connection to the server was lost$"):
            await session.call("interceptor/invoke", {}, 10)
        await session.aclose()
        await port.aclose()

    anyio.run(main)


def test_a_session_whose_other_end_is_silent_times_out() -> None:
    async def main() -> None:
        near, _far = create_direct_dispatcher_pair()
        async with ClientSession(dispatcher=near) as session:
            port = SessionPort(session)
            with pytest.raises(TimeoutError):
                await port.call("interceptor/invoke", {}, 0.05)
            await port.aclose()

    anyio.run(main)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MCPError(-32000, "Connection closed"), "the connection to the server was lost"),
        (MCPError(-32000, "SSE stream failed: secret"), "the connection to the server was lost"),
        (MCPError(-32600, "Session terminated"), "the server has ended the session"),
        (MCPError(-32600, "Session not found"), "the server has ended the session"),
        (MCPError(-32001, "Session not found"), "the server has ended the session"),
        (RuntimeError("secret"), "the client session is not open"),
        (OSError("secret"), "the client session failed"),
        (TimeoutError("secret"), "the client session failed"),
        (ExceptionGroup("secret", [OSError()]), "the client session failed"),
    ],
)
def test_failures_of_a_session_are_told_in_our_words(error: Exception, reason: str) -> None:
    class Failing(ClientSession):
        async def send_request(self, *_args: Any, **_options: Any) -> Any:
            raise error

    async def main() -> None:
        port = SessionPort(Failing(dispatcher=create_direct_dispatcher_pair()[0]))
        with pytest.raises(Unreachable) as caught:
            await port.call("interceptor/invoke", {}, 10)
        assert (caught.value.reason, str(caught.value)) == (reason, reason)
        await port.aclose()

    anyio.run(main)
