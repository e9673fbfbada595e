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

from policyd.chain import Chain
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


def with_a_tool(kind: str) -> Server[Any] | MCPServer:
    """A server of the SDK that has the tool `echo`."""
    if kind == "MCPServer":
        high = MCPServer("tools")

        @high.tool()
        def echo(text: str) -> str:
            return text

        return high

    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="echo", input_schema={"type": "object"})]
        )

    async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = (params.arguments or {})["text"]
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("bare", on_list_tools=listed, on_call_tool=called)


@pytest.mark.parametrize("kind", ["MCPServer", "lowlevel"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("dialect", Dialect)
def test_functions_are_served_beside_a_tool(kind: str, mode: str, dialect: Dialect) -> None:
    server = with_a_tool(kind)
    add_interceptors(server, functions(), dialect)

    async def converse() -> None:
        async with Client(server, mode=mode) as client:
            capabilities = client.server_capabilities
            assert capabilities is not None
            for place in (capabilities.extensions, capabilities.experimental):
                assert (place or {})[EXTENSION] == {"supportedEvents": ["tools/call"]}
            assert capabilities.tools is not None
            said = await client.call_tool("echo", {"text": "hi"})
            assert [part.text for part in said.content if part.type == "text"] == ["hi"]
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


def test_what_cannot_be_hosted_is_refused() -> None:
    server: Server[Any] = Server("bare")
    chain: Any = Chain()
    with pytest.raises(TypeError, match=r"an Engine, as `policyd\.load` gives it, or Interceptors"):
        add_interceptors(server, chain)
    with pytest.raises(TypeError, match="to a server of the MCP SDK"):
        add_interceptors(chain, functions())
    add_interceptors(server, functions())
    with pytest.raises(ValueError, match="hosts interceptors already"):
        add_interceptors(server, functions())


@pytest.mark.parametrize(
    ("asked", "told"), [({}, 20), ({"timeoutMs": 5}, 5), ({"timeoutMs": 900}, 20)]
)
def test_a_function_that_takes_too_long_is_an_error_with_the_limit_that_was_kept(
    asked: dict[str, Any], told: int
) -> None:
    interceptors = Interceptors()

    @interceptors.validator("slow", events=["x"], phase="request", timeout=0.02)
    async def slow(invocation: Invocation) -> None:
        await anyio.sleep_forever()

    server = MCPServer("tools")
    add_interceptors(server, interceptors)

    async def converse() -> None:
        async with Client(server) as client:
            given = {"event": "x", "phase": "request", "payload": {}, **asked}
            with pytest.raises(MCPError) as caught:
                await ask(client, "interceptor/invoke", name="slow", **given)
            error = caught.value.error
            assert (error.code, error.message) == (-32000, "Interceptor execution timeout")
            assert error.data == {"interceptor": "slow", "phase": "request", "timeoutMs": told}

    anyio.run(converse)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"config": {"most": "1"}}, -32602),
        ({"phase": "both"}, -32602),
        ({"timeoutMs": 0}, -32602),
        ({"payload": {"quite": "private"}}, -32603),
    ],
)
def test_an_error_never_holds_a_part_of_the_payload(given: dict[str, Any], code: int) -> None:
    interceptors = Interceptors()
    schema = {"type": "object", "properties": {"most": {"type": "integer"}}}

    @interceptors.mutator("m", events=["x"], phase="request", config_schema=schema)
    def m(invocation: Invocation) -> None:
        raise ValueError(str(invocation.payload))

    server = MCPServer("tools")
    add_interceptors(server, interceptors)

    async def converse() -> None:
        async with Client(server) as client:
            whole = {"event": "x", "phase": "request", "payload": {}, **given}
            with pytest.raises(MCPError) as caught:
                await ask(client, "interceptor/invoke", name="m", **whole)
            assert caught.value.error.code == code
            assert "private" not in str(caught.value.error)

    anyio.run(converse)


@pytest.mark.parametrize("dialect", Dialect)
def test_a_chain_runs_functions_that_are_served_like_those_it_has(dialect: Dialect) -> None:
    interceptors = functions()

    @interceptors.mutator("mark", events=["tools/*"], phase="request", mode="audit")
    def mark(invocation: Invocation) -> dict[str, Any]:
        return {**invocation.payload, "marked": True}

    server = MCPServer("tools")
    add_interceptors(server, interceptors, dialect)

    async def converse() -> None:
        async with Chain() as here, Chain() as there:
            here.add_functions(interceptors)
            await there.add_server(server)
            for name in ("x", "y"):
                told = [
                    (await chain.execute("tools/call", "request", {"name": name})).to_json()
                    for chain in (here, there)
                ]
                for result in (result for answer in told for result in answer["results"]):
                    result["durationMs"] = 0
                assert {**told[0], "totalDurationMs": 0} == {**told[1], "totalDurationMs": 0}

    anyio.run(converse)
