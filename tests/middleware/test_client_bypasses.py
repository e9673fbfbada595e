"""Ways past a chain around a client, or through what a client tells while it is asked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from anyio.lowlevel import checkpoint
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourceUpdated
from pydantic import TypeAdapter

from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_client, install_server, order

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

Changing = Callable[[str, str, Callable[[Any], Any]], Chain]
Listening = Callable[[Any], AbstractContextManager[str]]

SECRET = "employee-7"


def test_progress_that_a_client_reports_is_judged(legacy: Talk, mask: Chain) -> None:
    reports: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    server: Server[Any] = Server("low")

    async def ask(context: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        request = types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message="?", requested_schema={"type": "object", "properties": {}}
            )
        )
        await context.session.send_request(request, types.ElicitResult, progress_callback=report)
        return {}

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        for text in (SECRET, "drop"):
            await context.session.send_progress_notification(
                context.meta["progress_token"], 1, 2, text
            )
        return types.ElicitResult(action="decline")

    server.add_request_handler("x/y", types.RequestParams, ask)
    install_server(server, mask)

    async def conversation(client: Client) -> None:
        await legacy.send(client, "x/y", {})
        while len(reports) < 2:
            await checkpoint()

    legacy(Client(server, mode="legacy", elicitation_callback=elicit), conversation)
    assert sorted(reports) == [(1, 2, "[e]"), (1, 2, "drop")]


def test_the_events_that_a_client_listens_to_are_judged_and_stay_in_order(
    modern: Talk, mask: Chain, watch: Watch
) -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    server: Server[Any] = Server("low", on_subscriptions_listen=handler)
    install_server(server, watch.chain)
    client = modern.client(server)
    install_client(client, mask)
    seen: list[Any] = []

    async def conversation(client: Client) -> None:
        uris = ["x:1", "x:[e]"]
        async with client.listen(resource_subscriptions=["x:1", f"x:{SECRET}"]) as stream:
            for uri in uris:
                await bus.publish(ResourceUpdated(uri=uri))
            handler.close()
            seen.extend([event async for event in stream])

    modern(client, conversation)
    assert seen == [ResourceUpdated(uri="x:1"), ResourceUpdated(uri="x:[e]")]
    ((asked,), events) = (
        [i.payload for i in watch.invocations if i.phase == "request" and i.direction == direction]
        for direction in ("receiving", "sending")
    )
    assert asked["notifications"] == {"resourceSubscriptions": ["x:1", "x:[e]"]}
    assert [event["uri"] for event in events] == ["x:1", "x:[e]"]


def test_an_event_with_a_secret_does_not_reach_the_stream(modern: Talk, changing: Changing) -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    client = modern.client(Server("low", on_subscriptions_listen=handler))
    updated = {"uri": "x:[e]"}
    chain = changing("notifications/resources/updated", "request", lambda p: {**p, **updated})
    install_client(client, chain)
    seen: list[Any] = []

    async def conversation(client: Client) -> None:
        async with client.listen(resource_subscriptions=[f"x:{SECRET}"]) as stream:
            await bus.publish(ResourceUpdated(uri=f"x:{SECRET}"))
            handler.close()
            seen.extend([event async for event in stream])

    modern(client, conversation)
    assert seen == [ResourceUpdated(uri="x:[e]")]


class NamedRequest(types.Request[dict[str, Any], str]):
    name_param = "topic"
    method: str = "x/topic"
    params: dict[str, Any]


RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


@pytest.mark.parametrize(
    ("changed", "header"),
    [
        ({"other": SECRET, "topic": "new"}, "new"),
        ({"other": SECRET}, None),
        ({"other": SECRET, "topic": 7}, None),
    ],
)
def test_no_header_repeats_what_was_taken_out(
    modern: Talk,
    changing: Changing,
    listening: Listening,
    changed: dict[str, Any],
    header: str | None,
) -> None:
    server: Server[Any] = Server("topics")

    async def handle(context: Any, params: types.RequestParams) -> dict[str, Any]:
        return {"header": context.request.headers.get("mcp-name")}

    server.add_request_handler("x/topic", types.RequestParams, handle)
    with listening(server.streamable_http_app(json_response=True)) as url:
        client = modern.client(url)
        install_client(client, changing("x/topic", "request", lambda payload: dict(changed)))

        async def conversation(client: Client) -> None:
            request = NamedRequest(params={"other": SECRET, "topic": SECRET})
            assert (await client.session.send_request(request, RAW))["header"] == header

        modern(client, conversation)


def test_a_flood_of_notifications_holds_no_result_up_and_passes_nothing_unjudged(
    legacy: Talk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "MAX_WAIT", 0.05)
    server = MCPServer("flood", log_level="CRITICAL")

    @server.tool()
    async def flood(context: Context) -> str:
        for number in range(order.MAX_WAITING * 2):
            await context.session.send_log_message("info", number, related_request_id="0")
        return "done"

    interceptors = Interceptors()
    gates: list[anyio.Event] = []
    judged: list[int] = []

    @interceptors.validator("slow", events=["notifications/message"], phase="request", timeout=20)
    async def slow(invocation: Any) -> None:
        await gates[0].wait()
        judged.append(invocation.payload["data"])

    chain = Chain()
    chain.add_functions(interceptors)
    client = legacy.client(server)
    install_client(client, chain)

    async def conversation(client: Client) -> None:
        gates.append(anyio.Event())
        assert legacy.read(await client.call_tool("flood", {})) == "done"
        assert legacy.asked == []
        gates[0].set()
        while len(legacy.asked) < order.MAX_WAITING:
            await checkpoint()
        await client.call_tool("unknown", {})

    legacy(client, conversation)
    assert judged[: order.MAX_WAITING] == list(range(order.MAX_WAITING))
    assert len(legacy.asked) == len(judged)
    assert caplog.text.count("faster than they are judged") == 1
