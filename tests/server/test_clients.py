"""The Python SDK's client, in both protocol eras, over HTTP and over pipes."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import Request, RequestParams
from pydantic import ConfigDict, TypeAdapter

from policyd.server.protocol import INSTRUCTIONS, VERSION
from policyd.wire import EXTENSION

if TYPE_CHECKING:
    from tests.conftest import Running

SECONDS = 30

DENIED: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"command": "rm -rf /"}},
}


class Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class AnyRequest(Request[Params, str]):
    method: str
    params: Params


RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


class Session:
    """A client that sends whatever method."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        request = AnyRequest(method=method, params=Params(**params))
        answer: dict[str, Any] = await self.client.session.send_request(request, RAW)
        return answer

    async def invoke(self, **changed: Any) -> dict[str, Any]:
        return await self.ask("interceptor/invoke", **{**DENIED, **changed})

    async def refusal(self, **changed: Any) -> tuple[int, str, Any]:
        with pytest.raises(MCPError) as caught:
            await self.invoke(**changed)
        return caught.value.code, caught.value.message, caught.value.data


Talk = Callable[[Callable[[Session], Awaitable[None]]], None]


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=["http", "stdio"])
def talk(request: pytest.FixtureRequest, served: Running, directory: Path, era: str) -> Talk:
    """Runs a conversation with a server."""
    pipes = StdioServerParameters(
        command=sys.executable, args=["-m", "policyd", "serve", "--stdio", str(directory)]
    )
    target: Any = served.url if request.param == "http" else pipes

    def run(conversation: Callable[[Session], Awaitable[None]]) -> None:
        async def connected() -> None:
            with anyio.fail_after(SECONDS):
                async with Client(target, mode=era) as client:
                    await conversation(Session(client))

        anyio.run(connected)

    return run


def test_a_client_sees_what_the_server_is_and_what_it_serves(talk: Talk, era: str) -> None:
    async def conversation(session: Session) -> None:
        client = session.client
        modern = client.protocol_version == "2026-07-28"
        assert modern is (era == "auto")
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("policyd", VERSION)
        assert client.instructions == INSTRUCTIONS
        capabilities = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
        settings = capabilities["extensions"][EXTENSION]
        assert {"*", "tools/call", "prompts/get"} <= set(settings["supportedEvents"])
        assert settings["supportedEvents"] == sorted(settings["supportedEvents"])
        assert capabilities == {
            "extensions": {EXTENSION: settings},
            "experimental": {EXTENSION: settings},
        }

    talk(conversation)


def test_a_client_lists_and_invokes(talk: Talk) -> None:
    async def conversation(session: Session) -> None:
        listed = (await session.ask("interceptors/list"))["interceptors"]
        assert [entry["name"] for entry in listed][:2] == ["no-rm", "watched"]
        assert [entry["name"].split("@")[0] for entry in listed][-2:] == [
            "policyd/catch-up-validators",
            "policyd/catch-up-mutators",
        ]
        assert listed[0] == {
            "name": "no-rm",
            "version": "1.2.0",
            "description": "Shell tools must not delete recursively.",
            "type": "validation",
            "hooks": [{"events": ["tools/call"], "phase": "request"}],
            "hook": {"events": ["tools/call"], "phase": "request"},
        }
        chosen = (await session.ask("interceptors/list", event="prompts/get"))["interceptors"]
        assert [entry["name"].split("@")[0] for entry in chosen] == [
            "mask",
            "policyd/catch-up-validators",
            "policyd/catch-up-mutators",
        ]
        denied = await session.invoke(timeoutMs=500, context={"sessionId": "s"})
        assert (denied["valid"], denied["severity"]) == (False, "error")
        allowed = await session.invoke(payload={"name": "shell", "arguments": {"command": "ls"}})
        assert allowed["valid"] is True
        masked = await session.invoke(name="mask", payload={"name": "employee-7", "n": 2**70})
        assert masked["payload"] == {"name": "[employee]", "n": 2**70}

    talk(conversation)


def test_a_client_is_told_every_error_of_the_contract(talk: Talk) -> None:
    async def conversation(session: Session) -> None:
        assert await session.refusal(name="nobody") == (
            -32602,
            "Interceptor not found: nobody",
            {"interceptor": "nobody"},
        )
        code, _, data = await session.refusal(phase="both")
        assert (code, data["interceptor"]) == (-32602, "no-rm")
        code, _, data = await session.refusal(name="limited", config={"limit": "x"})
        assert (code, data["interceptor"]) == (-32602, "limited")
        code, message, data = await session.refusal(name="fragile")
        assert (code, message) == (-32603, "Interceptor execution failed")
        payload = {"name": "sum", "arguments": {"l": list(range(60))}}
        assert await session.refusal(name="slow", payload=payload) == (
            -32000,
            "Interceptor execution timeout",
            {"interceptor": "slow", "phase": "request", "timeoutMs": 50},
        )
        with pytest.raises(MCPError) as caught:
            await session.ask("interceptor/executeChain")
        assert caught.value.code == -32601
        assert (await session.invoke())["valid"] is False

    talk(conversation)
