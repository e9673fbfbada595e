"""Who and how many come in, by requests to the whole application."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message, Scope

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.server import door as door_module
from policyd.server.access import Access, FileTokens
from policyd.server.connection import CERTIFICATE
from policyd.server.door import Door, Rates, RequestLimits
from policyd.server.http import http_app
from policyd.server.lane import Lane
from policyd.server.methods import Methods
from policyd.server.protocol import build_server
from policyd.source import make_bundle
from policyd.wire import Dialect

POLICIES = """
policyd: v1
validators:
  - name: told
    match: {events: [tools/call], phase: request}
    rules:
      - {id: who, deny: "true", message: "{{ invoker.type }} {{ invoker.id }} {{ invoker.claims }}"}
"""
TOKEN = "t" * 20
CALL = {"name": "told", "event": "tools/call", "phase": "request", "payload": {"name": "x"}}
BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "interceptor/invoke", "params": CALL})
CLEAN = {"host": "127.0.0.1", "content-type": "application/json", "accept": "application/json"}


def make_door(access: Access | None = None, limits: RequestLimits | None = None) -> Door:
    compilation = compile_bundle(make_bundle({"p.yaml": POLICIES}), allow_empty=True)
    assert compilation.snapshot is not None, compilation.diagnostics
    methods = Methods(Engine(compilation.snapshot), Dialect.UNIVERSAL)
    server = build_server(methods)
    return Door(
        http_app(server, Lane(methods.table(), {}), lambda: {"ready": True}), access, limits
    )


def scope_of(path: str = "/mcp", *more: tuple[bytes, bytes], **changed: Any) -> Scope:
    headers = [(name.encode(), value.encode()) for name, value in CLEAN.items()]
    method = "POST" if path == "/mcp" else "GET"
    base = {"type": "http", "method": method, "path": path, "query_string": b"", "root_path": ""}
    return {**base, "headers": [*headers, *more], "client": ("10.0.0.1", 7), **changed}


async def exchange(door: Door, scope: Scope) -> tuple[int, dict[bytes, bytes], Any]:
    sent: list[Message] = []
    bodies = [{"type": "http.request", "body": BODY.encode(), "more_body": False}]

    async def receive() -> Message:
        if not bodies:
            await anyio.sleep_forever()
        return bodies.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await door(scope, receive, send)
    body = sent[1]["body"]
    told = json.loads(body) if body[:1] == b"{" else body
    return sent[0]["status"], dict(sent[0]["headers"]), told


def ask(door: Door, *scopes: Scope) -> list[tuple[int, dict[bytes, bytes], Any]]:
    async def body() -> list[tuple[int, dict[bytes, bytes], Any]]:
        return [await exchange(door, scope) for scope in scopes]

    return anyio.run(body)


def message(answer: Any) -> str:
    text: str = answer["result"]["messages"][0]["message"]
    return text


@pytest.fixture
def access(tmp_path: Path) -> Access:
    (tmp_path / "tokens").write_text(f"alice: {TOKEN}\n", encoding="utf-8")
    return Access(FileTokens(tmp_path / "tokens"))


BEARER = (b"authorization", b"Bearer " + TOKEN.encode())
WRONG = (b"authorization", b"Bearer " + b"w" * 20)


def test_policies_see_whose_token_it_is(access: Access) -> None:
    door = make_door(access)
    ((status, _, answer),) = ask(door, scope_of("/mcp", BEARER))
    assert (status, message(answer)) == (200, "token alice {}")
    direct = door.at_once(scope_of("/mcp", BEARER), BODY.encode())
    assert direct is not None
    assert message(json.loads(direct.body)) == "token alice {}"


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ((), b"Bearer"),
        ((WRONG,), b'Bearer error="invalid_token"'),
        ((BEARER, BEARER), b"Bearer"),
    ],
)
def test_without_a_token_nothing_is_answered(
    headers: tuple[tuple[bytes, bytes], ...], challenge: bytes, access: Access
) -> None:
    door = make_door(access)
    ask(door, scope_of("/mcp", BEARER))
    assert door.at_once(scope_of("/mcp", *headers), BODY.encode()) is None
    ((status, told, answer),) = ask(door, scope_of("/mcp", *headers))
    assert (status, told[b"www-authenticate"]) == (401, challenge)
    assert answer == {
        "error": "a token is needed that is known here: `Authorization: Bearer TOKEN`"
    }


def test_everybody_may_ask_for_the_health(access: Access) -> None:
    found = ask(make_door(access), scope_of("/healthz"), scope_of("/readyz"), scope_of("/other"))
    assert [status for status, _, _ in found] == [200, 200, 401]


def test_a_certificate_says_who_calls() -> None:
    certificate = {
        "subject": ((("organizationName", "acme"),), (("commonName", "gateway"),)),
        "subjectAltName": (("DNS", "gateway.example"),),
    }
    scope = {**scope_of(), CERTIFICATE: certificate}
    door = make_door()
    ((_, _, answer),) = ask(door, dict(scope))
    assert message(answer).startswith("certificate gateway ")
    direct = door.at_once(dict(scope), BODY.encode())
    assert direct is not None
    assert message(json.loads(direct.body)).startswith("certificate gateway ")


@pytest.mark.parametrize(
    ("certificate", "id"),
    [({"subjectAltName": (("URI", "spiffe://a/b"),)}, "spiffe://a/b"), ({}, "")],
)
def test_a_certificate_without_a_name(certificate: dict[str, Any], id: str) -> None:
    assert door_module.certified(certificate)["id"] == id


def test_what_is_too_much_at_once_is_refused_at_once() -> None:
    door = make_door(limits=RequestLimits(concurrency=1))

    async def body() -> None:
        async def receive() -> Message:
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            raise AssertionError

        async def waiting() -> None:
            await door(scope_of(), receive, send)

        async with anyio.create_task_group() as group:
            group.start_soon(waiting)
            await anyio.sleep(0)
            status, headers, _ = await exchange(door, scope_of())
            assert (status, headers[b"retry-after"]) == (503, b"1")
            assert (await exchange(door, scope_of("/healthz")))[0] == 200
            group.cancel_scope.cancel()
        assert (await exchange(door, scope_of()))[0] == 200

    anyio.run(body)


def test_each_client_has_its_own_rate(access: Access) -> None:
    door = make_door(limits=RequestLimits(rate=2))
    assert door.at_once(scope_of(), BODY.encode()) is None
    found = ask(door, scope_of(), scope_of(), scope_of(), scope_of(client=("10.0.0.2", 7)))
    assert [status for status, _, _ in found] == [200, 200, 429, 200]
    assert found[2][1][b"retry-after"] == b"1"
    named = make_door(access, RequestLimits(rate=1))
    found = ask(named, scope_of("/mcp", BEARER), scope_of("/mcp", BEARER, client=("10.0.0.9", 1)))
    assert [status for status, _, _ in found] == [200, 429]


def test_a_bucket_fills_again_and_the_quiet_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(door_module, "CLIENTS", 1)
    rates = Rates(2)
    assert [rates.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now += 0.5
    assert [rates.wait("a"), rates.wait("a")] == [0.0, 0.5]
    assert rates.wait("b") == 0.0
    assert [rates.wait("a"), rates.wait("a")] == [0.0, 0.0]
