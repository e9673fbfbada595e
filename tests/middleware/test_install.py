"""Slips of whoever installs a chain, told at once and in plain words."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer

from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_client, install_server

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

PATH = "`policies/` is a path: install what `policyd.load('policies/')` gives"
NO_CHAIN = 'install what `policyd.load("policies/")` gives, or a chain: `policyd.chain.Chain()`'
NO_SERVER = "`install_server` takes an `MCPServer` or `Server` of the MCP SDK first"
NO_CLIENT = "`install_client` takes a `Client` or `ClientSession` of the MCP SDK first"


@pytest.mark.parametrize(
    ("chain", "text"),
    [
        ("policies/", PATH),
        (Path("policies/a.yaml"), "`policies/a.yaml` is a path: install what"),
        (None, NO_CHAIN),
        (Chain, NO_CHAIN),
        (Interceptors(), NO_CHAIN),
    ],
)
def test_what_is_no_chain_is_refused(tools: MCPServer, chain: Any, text: str) -> None:
    for install in (partial(install_server, tools), partial(install_client, Client(tools))):
        with pytest.raises(TypeError) as caught:
            install(chain)
        assert str(caught.value).startswith(text)
    assert not any("policyd" in type(one).__module__ for one in tools.middleware)


def test_what_is_no_server_or_client_is_refused(tools: MCPServer) -> None:
    client = Client(tools)
    slips: list[tuple[Any, Any, str]] = [
        (install_server, "x", NO_SERVER),
        (install_server, Chain(), NO_SERVER),
        (install_server, client, "`install_server` takes a server: for a client there is"),
        (install_client, "http://127.0.0.1:1/mcp", NO_CLIENT),
        (install_client, tools, "`install_client` takes a client: for a server there is"),
        (install_client, Server("low"), "`install_client` takes a client: for a server there is"),
    ]
    for install, given, text in slips:
        with pytest.raises(TypeError) as caught:
            install(given, Chain())
        assert str(caught.value).startswith(text)


async def waits(request: Any) -> dict[str, Any]:
    return {}


class Waiting:
    async def __call__(self, request: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("context", "text"),
    [
        (waits, "the `context` function must not be async: nobody waits for it"),
        (partial(waits), "the `context` function must not be async: nobody waits for it"),
        (Waiting(), "the `context` function must not be async: nobody waits for it"),
        ({"sessionId": "s"}, "`context` is a function that gives a dictionary of who asks"),
    ],
)
def test_what_cannot_say_who_asks_is_refused(tools: MCPServer, context: Any, text: str) -> None:
    targets: list[tuple[Any, Any]] = [(install_server, tools), (install_client, Client(tools))]
    for install, target in targets:
        with pytest.raises(TypeError) as caught:
            install(target, Chain(), context=context)
        assert str(caught.value) == text


@pytest.mark.parametrize("answer", [None, "s1", [], waits])
def test_a_context_that_is_no_dictionary_lets_nothing_through_and_is_told_in_the_log(
    talk: Talk, tools: MCPServer, watch: Watch, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def context(request: Any) -> Any:
        # a coroutine that nobody would wait for
        return answer(request) if answer is waits else answer

    install_server(tools, watch.chain, context=context)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "echo", text="hi")
        assert error.data == {"phase": "request", "reason": "the chain could not be run"}

    talk(tools, conversation)
    assert watch.seen == []
    assert "the `context` function gave no dictionary" in caplog.text
