"""A chain around a client: what leaves it, what reaches it, and the headers that repeat it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from policyd import Engine, Invocation
from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_client

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

Changing = Callable[[str, str, Callable[[Any], Any]], Chain]
Listening = Callable[[Any], AbstractContextManager[str]]

RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


def test_what_a_client_sends_is_changed_before_it_leaves(
    talk: Talk, tools: MCPServer, engine: Engine
) -> None:
    client = talk.client(tools)
    install_client(client, engine)

    async def conversation(client: Client) -> None:
        result = await client.call_tool("echo", {"text": "employee-12 left"})
        assert talk.read(result) == "[employee] left"

    talk(client, conversation)


def test_a_call_that_may_not_leave_raises_where_it_was_made(
    talk: Talk, tools: MCPServer, engine: Engine
) -> None:
    client = talk.client(tools)
    install_client(client, engine)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("echo", {"text": "rm -rf /"})
        assert caught.value.code == -32602
        assert caught.value.data["validationErrors"][0]["path"] == "arguments.text"

    talk(client, conversation)


def test_requests_are_sent_and_results_received(talk: Talk, tools: MCPServer, watch: Watch) -> None:
    client = talk.client(tools)
    install_client(client, watch.chain)

    async def conversation(client: Client) -> None:
        await client.list_prompts()

    talk(client, conversation)
    assert watch.seen == [
        ("prompts/list", "request", "sending"),
        ("prompts/list", "response", "receiving"),
    ]


@pytest.mark.parametrize(
    ("tool", "event", "answer"),
    [
        ("ask", "elicitation/create", "accept"),
        ("sample", "sampling/createMessage", "by [employee]"),
        ("where", "roots/list", "file:///[employee]"),
    ],
)
def test_a_request_of_the_server_is_received_and_its_answer_sent(
    governed: Governed, tool: str, event: str, answer: str
) -> None:
    client, watch, talk = governed

    async def conversation(client: Client) -> None:
        assert talk.read(await client.call_tool(tool, {})) == answer

    talk(client, conversation)
    assert watch.seen[:4] == [
        ("tools/call", "request", "sending"),
        (event, "request", "receiving"),
        (event, "response", "sending"),
        ("tools/call", "response", "receiving"),
    ]


Governed = tuple[Client, "Watch", "Talk"]


@pytest.fixture
def governed(legacy: Talk, tools: MCPServer, watch: Watch, engine: Engine) -> Governed:
    """A client that masks and watches."""
    watch.chain.add_engine(engine)
    client = legacy.client(tools)
    install_client(client, watch.chain)
    return client, watch, legacy


def test_a_request_of_the_server_that_may_not_arrive_is_answered_with_the_error(
    governed: Governed,
) -> None:
    client, watch, talk = governed
    watch.deny("elicitation/create", "request")

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ask", {})
        assert caught.value.message == "Interceptor validation failed: denied"

    talk(client, conversation)
    assert talk.asked == []


def test_pings_and_errors_made_on_purpose_pass(governed: Governed) -> None:
    client, watch, talk = governed

    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-32050, message="not today")

    client.elicitation_callback = refuse

    async def conversation(client: Client) -> None:
        assert talk.read(await client.call_tool("ping", {})) == "pong"
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ask", {})
        assert (caught.value.code, caught.value.message) == (-32050, "not today")

    talk(client, conversation)
    assert "ping" not in {event for event, _, _ in watch.seen}


def test_requests_in_an_interim_result_are_received_and_their_answers_sent(
    modern: Talk, tools: MCPServer, watch: Watch, engine: Engine
) -> None:
    watch.chain.add_engine(engine)
    client = modern.client(tools)
    install_client(client, watch.chain)

    async def conversation(client: Client) -> None:
        assert modern.read(await client.call_tool("refund", {"order": "o1"})) == "o1: accept"

    modern(client, conversation)
    assert modern.asked == ["refund, [employee]?"]
    assert [seen for seen in watch.seen if seen[0] != "tools/list"] == [
        ("tools/call", "request", "sending"),
        ("elicitation/create", "request", "receiving"),
        ("tools/call", "response", "receiving"),
        ("elicitation/create", "response", "sending"),
        ("tools/call", "request", "sending"),
        ("tools/call", "response", "receiving"),
    ]


def test_the_text_of_a_crashing_callback_does_not_reach_the_server(
    legacy: Talk, tools: MCPServer, engine: Engine
) -> None:
    async def crash(context: Any, params: Any) -> types.ElicitResult:
        raise ValueError("what is nobody else's business")

    client = Client(tools, mode="legacy", elicitation_callback=crash)
    install_client(client, engine)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ask", {})
        assert caught.value.message == "Internal server error"

    legacy(client, conversation)


def test_notifications_are_changed_or_dropped_and_stay_in_order(
    talk: Talk, tools: MCPServer
) -> None:
    interceptors = Interceptors()

    @interceptors.mutator("slow", events=["notifications/*"], phase="request")
    async def slow(invocation: Invocation) -> Any:
        payload = invocation.payload
        if payload.get("data") == "one" or payload.get("progress") == 0:
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        if payload.get("data") == "three":
            raise ValueError
        return {**payload, "seen": True}

    chain = Chain()
    chain.add_functions(interceptors)
    client = talk.client(tools)
    install_client(client, chain)
    told: list[Any] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def conversation(client: Client) -> None:
        await client.call_tool("tell", {})
        assert talk.asked == ["log one", "log two employee-1"]
        await client.call_tool("work", {}, progress_callback=progress)
        assert told == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]

    talk(client, conversation)


def test_a_client_that_is_connected_is_refused(modern: Talk, tools: MCPServer) -> None:
    async def conversation(client: Client) -> None:
        for connected in (client, client.session):
            with pytest.raises(RuntimeError, match="before the client is entered"):
                install_client(connected, Chain())

    modern(tools, conversation)


def test_a_session_made_by_hand_is_governed(watch: Watch) -> None:
    async def talk() -> None:
        near, far = create_direct_dispatcher_pair()
        session = ClientSession(dispatcher=near)
        install_client(session, watch.chain, context=lambda session: {"sessionId": "s1"})

        async def answer(context: Any, method: str, params: Any) -> dict[str, Any]:
            return {"tools": []}

        async def ignore(context: Any, method: str, params: Any) -> None: ...

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                await group.start(far.run, answer, ignore)
                async with session:
                    await session.list_tools()
                far.close()

    anyio.run(talk)
    assert watch.seen == [
        ("tools/list", "request", "sending"),
        ("tools/list", "response", "receiving"),
    ]
    assert watch.contexts == [{"sessionId": "s1"}] * 2


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


def by_region() -> Server[Any]:
    """A server with two tools that repeat an argument in a header."""
    listed = [types.Tool(name=name, input_schema=SCHEMA) for name in ("old", "new")]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        headers = context.request.headers
        said = [params.name, params.arguments, headers["mcp-name"], headers["mcp-param-region"]]
        return types.CallToolResult(content=[types.TextContent(text=repr(said))])

    return Server("regions", on_list_tools=list_tools, on_call_tool=call_tool)


def test_headers_repeat_the_params_that_leave(
    modern: Talk, changing: Changing, listening: Listening
) -> None:
    def change(payload: Any) -> Any:
        return {**payload, "name": "new", "arguments": {"region": "north"}}

    with listening(by_region().streamable_http_app(json_response=True)) as url:
        client = modern.client(url)
        install_client(client, changing("tools/call", "request", change))

        async def conversation(client: Client) -> None:
            await client.list_tools()
            result = await client.call_tool("old", {"region": "south"})
            assert modern.read(result) == repr(["new", {"region": "north"}, "new", "north"])

        modern(client, conversation)


class NamedRequest(types.Request[dict[str, Any], str]):
    name_param = "topic"
    method: str = "x/topic"
    params: dict[str, Any]


def test_the_name_of_a_method_that_mcp_does_not_define_is_repeated_too(
    modern: Talk, changing: Changing, listening: Listening
) -> None:
    server: Server[Any] = Server("topics")

    async def handle(context: Any, params: types.RequestParams) -> dict[str, Any]:
        return {"topic": context.params["topic"], "header": context.request.headers["mcp-name"]}

    server.add_request_handler("x/topic", types.RequestParams, handle)
    with listening(server.streamable_http_app(json_response=True)) as url:
        client = modern.client(url)
        change = changing("x/topic", "request", lambda payload: {**payload, "topic": "new"})
        install_client(client, change)

        async def conversation(client: Client) -> None:
            request = NamedRequest(params={"topic": "old", "other": "x"})
            result = await client.session.send_request(request, RAW)
            assert (result["topic"], result["header"]) == ("new", "new")

        modern(client, conversation)
