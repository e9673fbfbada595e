"""Functions and policies hosted by an MCP server of somebody else."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from policyd.functions import Interceptors
from policyd.model import Invocation
from policyd.server import add_interceptors
from policyd.wire import Dialect

EXTENSION = "io.modelcontextprotocol/interceptors"
RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


class Params(types.RequestParams, extra="allow"):
    """Whatever the method takes."""


def functions() -> Interceptors:
    interceptors = Interceptors()

    @interceptors.validator("no-x", events=["tools/call"], phase="request")
    def no_x(invocation: Invocation) -> str | None:
        return "no x" if invocation.payload["name"] == "x" else None

    return interceptors


async def ask(client: Client, method: str, **params: Any) -> Any:
    request = types.Request[Params, str](method=method, params=Params(**params))
    return await client.session.send_request(request, RAW)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("dialect", Dialect)
def test_functions_are_served_beside_a_tool(mode: str, dialect: Dialect) -> None:
    server = MCPServer("tools")

    @server.tool()
    def echo(text: str) -> str:
        return text

    add_interceptors(server, functions(), dialect)

    async def converse() -> None:
        async with Client(server, mode=mode) as client:
            capabilities = client.server_capabilities
            assert capabilities is not None
            for place in (capabilities.extensions, capabilities.experimental):
                assert (place or {})[EXTENSION] == {"supportedEvents": ["tools/call"]}
            assert capabilities.tools is not None
            assert not (await client.call_tool("echo", {"text": "hi"})).is_error
            listed = await ask(client, "interceptors/list")
            assert [entry["name"] for entry in listed["interceptors"]] == ["no-x"]
            assert (await ask(client, "interceptors/list", event="x"))["interceptors"] == []
            given = {"event": "tools/call", "phase": "request", "payload": {"name": "x"}}
            answer = await ask(client, "interceptor/invoke", name="no-x", **given)
            messages = [{"message": "no x", "severity": "error"}]
            assert (answer["valid"], answer["messages"]) == (False, messages)
            assert ("validation" in answer) is (dialect is Dialect.UNIVERSAL)
            with pytest.raises(MCPError) as caught:
                await ask(client, "interceptor/invoke", name="none", **given)
            assert caught.value.error.code == -32602
            broken = {**given, "payload": {}}
            with pytest.raises(MCPError) as caught:
                await ask(client, "interceptor/invoke", name="no-x", **broken)
            assert caught.value.error.code == -32603

    anyio.run(converse)


def test_a_lowlevel_server_hosts_what_is_registered_later() -> None:
    server: Server[Any] = Server("bare")
    interceptors = functions()
    add_interceptors(server, interceptors)
    interceptors.mutator("later", events=["*"], phase="both")(lambda invocation: None)

    async def converse() -> None:
        async with Client(server) as client:
            listed = await ask(client, "interceptors/list")
            assert [entry["name"] for entry in listed["interceptors"]] == ["no-x", "later"]

    anyio.run(converse)
