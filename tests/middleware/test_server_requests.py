"""Requests to the client, as messages of their own and inside results and retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from policyd import Engine
from policyd.chain import Chain
from policyd.middleware import install_server

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

Changing = Callable[[str, str, Callable[[Any], Any]], Chain]

Low = Callable[[Callable[[], Any]], Server[Any]]

REQUEST = ("tools/call", "request", "receiving")
RESPONSE = ("tools/call", "response", "sending")


Asking = tuple[MCPServer, "Watch", "Talk"]


@pytest.fixture
def asking(legacy: Talk, tools: MCPServer, watch: Watch, engine: Engine) -> Asking:
    """A governed server, what watches it, and a talk with it."""
    watch.chain.add_engine(engine)
    install_server(tools, watch.chain)
    return tools, watch, legacy


@pytest.mark.parametrize(
    ("tool", "event", "answer"),
    [
        ("ask", "elicitation/create", "accept"),
        ("sample", "sampling/createMessage", "by [employee]"),
        ("where", "roots/list", "file:///[employee]"),
    ],
)
def test_a_request_to_the_client_is_sent_and_its_answer_received(
    asking: Asking, tool: str, event: str, answer: str
) -> None:
    tools, watch, talk = asking

    async def conversation(client: Client) -> None:
        assert await talk.text(client, tool) == answer

    talk(tools, conversation)
    assert watch.seen[:4] == [
        REQUEST,
        (event, "request", "sending"),
        (event, "response", "receiving"),
        RESPONSE,
    ]


def test_a_changed_request_is_what_the_client_is_asked(
    legacy: Talk, tools: MCPServer, engine: Engine
) -> None:
    install_server(tools, engine)

    async def conversation(client: Client) -> None:
        await client.call_tool("ask", {})

    legacy(tools, conversation)
    assert legacy.asked == ["proceed, [employee]?"]


@pytest.mark.parametrize("phase", ["request", "response"])
def test_a_request_to_the_client_that_may_not_go_fails_where_it_was_made(
    legacy: Talk, tools: MCPServer, watch: Watch, phase: str
) -> None:
    watch.deny("elicitation/create", phase)
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        error = await legacy.refusal(client, "ask")
        assert error.message == "Interceptor validation failed: denied"

    legacy(tools, conversation)
    assert legacy.asked == ([] if phase == "request" else ["proceed, employee-7?"])


def test_a_request_in_an_interim_result_is_judged_as_what_it_is(
    modern: Talk, tools: MCPServer, watch: Watch, engine: Engine
) -> None:
    watch.chain.add_engine(engine)
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        assert await modern.text(client, "refund", order="o1") == "o1: accept"

    modern(tools, conversation)
    assert modern.asked == ["refund, [employee]?"]
    assert [seen for seen in watch.seen if seen[0] != "tools/list"] == [
        REQUEST,
        ("elicitation/create", "request", "sending"),
        RESPONSE,
        ("elicitation/create", "response", "receiving"),
        REQUEST,
        RESPONSE,
    ]


@pytest.mark.parametrize("phase", ["request", "response"])
def test_a_denied_request_in_an_interim_result_denies_the_call(
    modern: Talk, tools: MCPServer, watch: Watch, phase: str
) -> None:
    watch.deny("elicitation/create", phase)
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        error = await modern.refusal(client, "refund", order="o1")
        assert (error.code, error.message) == (-32602, "Interceptor validation failed: denied")

    modern(tools, conversation)
    assert len(modern.asked) == (phase == "response")


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        (
            {"a": {"action": "accept", "content": {}, "role": "user", "model": "m"}},
            "what an input response answers cannot be told from its members",
        ),
        ({"a": "accept"}, "`inputResponses` is not an object of objects"),
    ],
)
def test_an_answer_that_could_be_two_kinds_or_none_is_refused(
    talk: Talk, watch: Watch, responses: Any, reason: str, lowlevel: Low
) -> None:
    server = lowlevel(dict)
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await talk.send(client, "x/y", {"inputResponses": responses})
        assert (caught.value.code, caught.value.data) == (-32602, {"reason": reason})

    talk(server, conversation)
    assert watch.seen == []


def test_a_changed_answer_in_a_retry_is_what_the_handler_gets(
    modern: Talk, tools: MCPServer, changing: Changing
) -> None:
    declined = changing("elicitation/create", "response", lambda payload: {"action": "decline"})
    install_server(tools, declined)

    async def conversation(client: Client) -> None:
        assert await modern.text(client, "refund", order="o1") == "o1: decline"

    modern(tools, conversation)


def test_a_ping_is_nobodys_business(legacy: Talk, tools: MCPServer, watch: Watch) -> None:
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        assert await legacy.text(client, "ping") == "pong"
        await client.send_ping()

    legacy(tools, conversation)
    assert {event for event, _, _ in watch.seen} == {"tools/call", "tools/list"}


def test_content_beside_requests_for_input_is_judged_as_a_result(
    modern: Talk, watch: Watch, lowlevel: Low
) -> None:
    hidden = {"resultType": "input_required", "requestState": "s", "content": "psst"}
    server = lowlevel(lambda: hidden)
    watch.deny("x/y", "response")
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await modern.send(client, "x/y", {})
        assert caught.value.message == "Interceptor validation failed: denied"

    modern(server, conversation)


@pytest.mark.parametrize(
    "requests",
    [
        {"a": {"params": {}}},
        {"a": {"method": "roots/list", "params": []}},
        {"a": "roots/list"},
        ["roots/list"],
    ],
)
def test_requests_for_input_that_cannot_be_read_are_not_sent(
    modern: Talk, watch: Watch, requests: Any, lowlevel: Low
) -> None:
    server = lowlevel(lambda: {"resultType": "input_required", "inputRequests": requests})
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await modern.send(client, "x/y", {})
        assert caught.value.code == -32603

    modern(server, conversation)
