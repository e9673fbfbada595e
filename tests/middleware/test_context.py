"""Who asks, as the SDK knows it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from mcp_types import Request, RequestParams
from pydantic import AnyHttpUrl, TypeAdapter

from policyd.middleware import install_server, server_context

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

Listening = Callable[[Any], AbstractContextManager[str]]


class AnyRequest(Request[dict[str, Any], str]):
    method: str = "x/y"
    params: dict[str, Any]


def quiet_server() -> Server[Any]:
    server: Server[Any] = Server("quiet")

    async def handle(context: Any, params: RequestParams) -> dict[str, Any]:
        return {}

    server.add_request_handler("x/y", RequestParams, handle)
    return server


@pytest.mark.parametrize(
    ("traceparent", "context"),
    [
        (f"00-{TRACE}-{SPAN}-01", {"traceId": TRACE, "spanId": SPAN}),
        (f"01-{TRACE}-{SPAN}-01-more", {"traceId": TRACE, "spanId": SPAN}),
        (f"ff-{TRACE}-{SPAN}-01", {}),
        (f"00-{'0' * 32}-{SPAN}-01", {}),
        (f"00-{TRACE.upper()}-{SPAN}-01", {}),
        (f"00-{TRACE}-{SPAN}", {}),
        ("", {}),
        (7, {}),
    ],
)
def test_the_trace_is_that_of_the_request(
    legacy: Talk, watch: Watch, traceparent: Any, context: Any
) -> None:
    server = quiet_server()
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        params = {"_meta": {"traceparent": traceparent}}
        await client.session.send_request(AnyRequest(params=params), RAW)

    legacy(server, conversation)
    assert watch.contexts == [context, context]


def test_a_context_of_the_authors_own_replaces_the_default(talk: Talk, watch: Watch) -> None:
    server = quiet_server()
    install_server(
        server,
        watch.chain,
        context=lambda request: {**server_context(request), "sessionId": request.method},
    )

    async def conversation(client: Client) -> None:
        await client.session.send_request(AnyRequest(params={}), RAW)

    talk(server, conversation)
    assert watch.contexts == [{"sessionId": "x/y"}] * 2


@asynccontextmanager
async def connection(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        subject, _, claim = token.partition("+")
        return AccessToken(
            token=token,
            client_id="app",
            scopes=["read", "write"],
            subject=subject or None,
            claims={"team": claim} if claim else None,
            expires_at=int(time.time()) + 600,
        )


@pytest.mark.parametrize(
    ("token", "identity"),
    [
        ("alice+blue", ("alice", {"client_id": "app", "scope": "read write", "team": "blue"})),
        ("+", ("app", {"client_id": "app", "scope": "read write"})),
    ],
)
def test_over_http_the_principal_is_that_of_the_access_token(
    talk: Talk, watch: Watch, listening: Listening, token: str, identity: tuple[str, Any]
) -> None:
    server = quiet_server()
    install_server(server, watch.chain)
    auth = AuthSettings(
        issuer_url=AnyHttpUrl("https://issuer.example"),
        resource_server_url=AnyHttpUrl("https://server.example/mcp"),
        required_scopes=["read"],
        validate_token_resource=False,
    )
    app = server.streamable_http_app(auth=auth, token_verifier=Verifier())
    with listening(app) as url:

        async def conversation(client: Client) -> None:
            await client.session.send_request(AnyRequest(params={}), RAW)

        headers = {"authorization": f"Bearer {token}", "traceparent": f"00-{TRACE}-{SPAN}-01"}
        talk(Client(connection(url, headers), mode=talk.era), conversation)
    assert [invocation.event for invocation in watch.invocations] == ["x/y", "x/y"]
    for context in watch.contexts:
        session = context.pop("sessionId", None)
        assert (session is None) is talk.modern
        assert context == {
            "principal": {"type": "user", "id": identity[0], "claims": identity[1]},
            "traceId": TRACE,
            "spanId": SPAN,
        }
