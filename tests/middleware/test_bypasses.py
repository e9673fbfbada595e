"""Ways past a chain that somebody tried, with real servers and clients."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from anyio.lowlevel import checkpoint
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

import policyd
from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_client, install_server

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

Changing = Callable[[str, str, Callable[[Any], Any]], Chain]
Low = Callable[[Callable[[], Any]], Server[Any]]
Listening = Callable[[Any], AbstractContextManager[str]]

SECRET = "employee-7"


def test_what_a_client_says_of_itself_is_not_kept_from_the_chain(modern: Talk, mask: Chain) -> None:
    shown: list[str] = []
    server: Server[Any] = Server("low")

    async def handle(
        context: ServerRequestContext[Any, Any], params: types.RequestParams
    ) -> dict[str, Any]:
        session = context.session
        shown.extend(map(repr, (context.params, context.meta, params, session.client_params)))
        shown.append(repr(session.client_capabilities))
        return {}

    server.add_request_handler("x/y", types.RequestParams, handle)
    install_server(server, mask)
    me = types.Implementation(name=SECRET, version=SECRET)

    async def conversation(client: Client) -> None:
        meta = {"io.modelcontextprotocol/made-up": SECRET, SECRET: 1}
        await modern.send(client, "x/y", {"_meta": meta})

    modern(Client(server, client_info=me), conversation)
    assert [text for text in shown if SECRET in text] == []
    assert "Implementation(name='[e]'" in shown[3]


@pytest.mark.parametrize("old", [{}, {"_meta": {}}])
def test_a_client_whose_name_was_taken_out_has_none(
    modern: Talk, changing: Changing, old: dict[str, Any]
) -> None:
    server: Server[Any] = Server("low")
    known: list[Any] = []

    async def handle(
        context: ServerRequestContext[Any, Any], params: types.RequestParams
    ) -> dict[str, Any]:
        session = context.session
        known.extend((session.client_params, session.client_capabilities is None))
        return {}

    server.add_request_handler("x/y", types.RequestParams, handle)
    install_server(server, changing("x/y", "request", lambda payload: dict(old)))

    async def conversation(client: Client) -> None:
        await modern.send(client, "x/y", {})

    modern(server, conversation)
    assert known == [None, False]


ROOTS = {"method": "roots/list", "params": {}}


@pytest.mark.parametrize(
    "hidden",
    [
        {"requestState": SECRET},
        {"inputRequests": {SECRET: ROOTS}},
        {"inputRequests": {"a": {**ROOTS, "more": SECRET}}},
        {"inputRequests": {"a": ROOTS}, "_meta": {"io.modelcontextprotocol/made-up": SECRET}},
    ],
)
def test_nothing_hides_in_an_interim_result(
    modern: Talk, watch: Watch, mask: Chain, lowlevel: Low, hidden: dict[str, Any]
) -> None:
    for chain in (mask, watch.chain):
        server = lowlevel(lambda: {"resultType": "input_required", **hidden})
        install_server(server, chain)
        watch.judge = lambda i: "no" if SECRET in repr(i.payload) else None

        async def conversation(client: Client, masks: bool = chain is mask) -> None:
            if masks:
                assert SECRET not in repr(await modern.send(client, "x/y", {}))
                return
            with pytest.raises(MCPError, match="Interceptor validation failed: no"):
                await modern.send(client, "x/y", {})

        modern(server, conversation)


@pytest.mark.parametrize(
    "result",
    [
        {"inputRequests": {}},
        {"requestState": 7},
        {"inputRequests": {f"k{number}": ROOTS for number in range(65)}},
        {"inputRequests": {"a key": ROOTS}},
    ],
)
def test_an_interim_result_that_cannot_be_read_is_not_sent(
    modern: Talk, watch: Watch, lowlevel: Low, result: dict[str, Any]
) -> None:
    server = lowlevel(lambda: {"resultType": "input_required", **result})
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await modern.send(client, "x/y", {})
        assert (caught.value.code, caught.value.message) == (
            -32603,
            "Interceptor validation failed",
        )

    modern(server, conversation)
    assert watch.seen == [("x/y", "request", "receiving")]


def test_all_messages_in_one_have_the_time_of_one(modern: Talk, lowlevel: Low) -> None:
    interceptors = Interceptors()

    @interceptors.validator("slow", events=["roots/list"], phase="request")
    async def slow(invocation: Any) -> None:
        await anyio.sleep(0.01)

    chain = Chain(timeout=0.2)
    chain.add_functions(interceptors)
    many = {f"k{number}": ROOTS for number in range(64)}
    server = lowlevel(lambda: {"resultType": "input_required", "inputRequests": many})
    install_server(server, chain)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await modern.send(client, "x/y", {})
        assert (caught.value.code, caught.value.data["timeoutMs"]) == (-32000, 200)

    modern(server, conversation)


@pytest.mark.parametrize("kind", ["complete", "x/other"])
def test_a_mutator_cannot_make_another_kind_of_result(
    modern: Talk, changing: Changing, lowlevel: Low, kind: str
) -> None:
    server = lowlevel(lambda: {"resultType": kind})
    install_server(
        server, changing("x/y", "response", lambda p: {**p, "resultType": "input_required"})
    )

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await modern.send(client, "x/y", {})
        assert caught.value.data == {
            "failedInterceptor": "change",
            "reason": "`resultType` may not be changed",
        }

    modern(server, conversation)


@pytest.mark.parametrize("governed", ["server", "client"])
def test_notifications_of_a_client_are_changed_or_dropped(
    legacy: Talk, watch: Watch, mask: Chain, lowlevel: Low, governed: str
) -> None:
    server = lowlevel(dict)
    told: list[str] = []

    async def note(context: Any, params: Any) -> None:
        told.append(repr((context.params, context.meta, params)))

    server.add_notification_handler("x/n", types.NotificationParams, note)
    server.add_notification_handler("notifications/progress", types.NotificationParams, note)
    client = legacy.client(server)
    watch.judge = lambda i: "no" if "drop" in repr(i.payload) else None
    for chain in (mask, watch.chain):
        if governed == "server":
            install_server(server, chain)
        else:
            install_client(client, chain)

    async def conversation(client: Client) -> None:
        await legacy.send(client, "x/y", {})
        for params in ({"a": SECRET}, {"a": "drop"}, {"_meta": {SECRET: SECRET}}):
            await client.session._dispatcher.notify("x/n", params)
        await client.session.send_progress_notification("t", 1, 2, SECRET)
        while len(told) < 3:
            await checkpoint()
        await legacy.send(client, "x/y", {})

    legacy(client, conversation)
    assert len(told) == 3
    assert SECRET not in repr(told)


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({"method": "x/y", "params": {"a": 1}, "id": SECRET}, {}),
        ({"method": "x/y", "params": {"a": 1}, "jsonrpc": "2.0", "id": SECRET}, {}),
        ({}, {"id": SECRET, "result": {"a": 1}}),
        ({}, {"jsonrpc": "2.0", "id": SECRET, "result": {"a": 1}}),
    ],
)
def test_nothing_hides_beside_what_looks_like_an_envelope(
    legacy: Talk, mask: Chain, params: dict[str, Any], result: dict[str, Any]
) -> None:
    received: list[Any] = []
    server: Server[Any] = Server("low")

    async def handle(context: Any, _: types.RequestParams) -> dict[str, Any]:
        received.append(context.params or {})
        return result

    server.add_request_handler("x/y", types.RequestParams, handle)
    install_server(server, mask)

    async def conversation(client: Client) -> None:
        assert await legacy.send(client, "x/y", params) == {
            key: "[e]" if value == SECRET else value for key, value in result.items()
        }

    legacy(server, conversation)
    assert received == [{k: "[e]" if v == SECRET else v for k, v in params.items()}]


def test_what_policies_in_audit_mode_find_is_in_the_log(
    talk: Talk, tools: MCPServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "main.yaml").write_text(AUDITING, encoding="utf-8")
    install_server(tools, policyd.load(tmp_path))

    async def conversation(client: Client) -> None:
        assert await talk.text(client, "echo", text=f"rm {SECRET}") == f"rm {SECRET}"

    with caplog.at_level(logging.INFO, "policyd.middleware"):
        talk(tools, conversation)
    assert [record.getMessage() for record in caplog.records] == [
        "'tools/call' request: audit: interceptor 'no-rm' found severity error, rule 'rm',"
        " path '/arguments/text'",
        "'tools/call' request: audit: interceptor 'mask' would redact, rule 'redact[0]',"
        " path '/arguments/text'",
    ]


AUDITING = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    mode: audit
    rules:
      - id: rm
        deny: args.text.contains("rm")
        message: "{{ args.text }} is not allowed"
        path: /arguments/text
mutators:
  - name: mask
    match: {events: [tools/call], phase: request}
    mode: audit
    redact:
      - pattern: 'employee-\\d+'
        replace: "[employee]"
"""
