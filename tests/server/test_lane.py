"""What the lane answers is what the SDK would have answered.

Each request goes to two servers that differ in one thing: the lane of the second is empty, so
that the SDK answers everything.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import pytest
from anyio import to_thread
from mcp.server.lowlevel.server import Server
from starlette.types import ASGIApp, Message, Scope

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.server import stdio
from policyd.server.http import http_app
from policyd.server.lane import Lane
from policyd.server.methods import Methods
from policyd.server.protocol import build_server
from policyd.source import make_bundle
from policyd.wire import Dialect
from tests.server.conftest import POLICIES

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
META = {VERSION: "2026-07-28", CAPABILITIES: {}}
INVOKE = "interceptor/invoke"
HEADERS = {
    "host": "127.0.0.1:8765",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
ERAS: dict[str, dict[str, str]] = {
    "no version": {},
    "2025-03-26": {"mcp-protocol-version": "2025-03-26"},
    "2025-11-25": {"mcp-protocol-version": "2025-11-25"},
    "2026-07-28": {"mcp-protocol-version": "2026-07-28", "mcp-method": INVOKE},
}
CALL: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"command": "ls", "big": 2**70, "none": None}},
}
DENIED = {**CALL, "payload": {"name": "shell", "arguments": {"command": "rm -rf /"}}}
WIDE = {**CALL, "name": "mask", "payload": {"texts": ["employee-7 " * 10] * 3000}}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


class Case(NamedTuple):
    """One request: the name of what is odd, headers on top of the era's, and the body."""

    name: str
    headers: tuple[tuple[str, str | None], ...]
    body: bytes


def request(params: Any = CALL, method: str = INVOKE, **changed: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **changed}
    ).encode()


def params(modern: bool, base: dict[str, Any] = CALL, **changed: Any) -> dict[str, Any]:
    meta = {"_meta": META} if modern else {}
    return {key: value for key, value in {**base, **meta, **changed}.items() if value is not ...}


def bodies(modern: bool) -> Iterator[tuple[str, bytes]]:
    """Requests whose headers are in order."""
    both: dict[str, dict[str, Any]] = {
        "a pass": {},
        "a denial": DENIED,
        "a large payload": WIDE,
        "an audited policy": {"name": "watched"},
        "a mutator": {"name": "mask", "payload": {"text": "employee-1"}},
        "a mutator that changes nothing": {"name": "mask"},
        "a deadline": {"name": "slow", "payload": {"name": "x", "arguments": {"l": [1] * 60}}},
        "a failure": {"name": "fragile"},
        "an unknown name": {"name": "nobody"},
        "no name": {"name": ...},
        "no payload": {"payload": ...},
        "a null payload": {"payload": None},
        "a phase that is none": {"phase": "both"},
        "a config": {"name": "limited", "config": {"limit": 3}},
        "a config that breaks its schema": {"name": "limited", "config": {"limit": "3"}},
        "a timeout": {"timeoutMs": 100},
        "a timeout of 0": {"timeoutMs": 0},
        "a context": {"context": {"principal": {"type": "user", "id": "u"}, "traceId": "t"}},
        "an unknown member": {"x": 1},
        "another phase": {"phase": "response", "payload": {"content": []}},
        "meta that is null": {"_meta": None},
        "meta that is a list": {"_meta": []},
        "meta of the other era": {"_meta": {} if modern else META},
        "a progress token": {"_meta": {**(META if modern else {}), "progressToken": 7}},
        "a progress token that is true": {
            "_meta": {**(META if modern else {}), "progressToken": True}
        },
        "a progress token that is null": {
            "_meta": {**(META if modern else {}), "progressToken": None}
        },
        "more meta": {"_meta": {**(META if modern else {}), "acme/x": [1, {"y": None}]}},
    }
    for name, changed in both.items():
        yield name, request(params(modern, **changed))
    yield "the plural", request(params(modern), "interceptors/invoke")
    yield "the list", request(params(modern, {}), "interceptors/list")
    yield (
        "the list for an event",
        request(params(modern, {"event": "tools/list"}), "interceptors/list"),
    )
    yield "the list for 7", request(params(modern, {"event": 7}), "interceptors/list")
    yield "a method of the SDK's", request(params(modern, {}), "ping")
    yield "a method of nobody's", request(params(modern), "interceptor/ivoke")
    yield "a text as id", request(params(modern), id="é")
    yield "a large id", request(params(modern), id=2**70)
    yield "null as id", request(params(modern), id=None)
    yield "params that are null", request(None)
    yield "params that are a list", request([1])
    yield "another member of JSON-RPC", request(params(modern), extra=1)
    yield "an older JSON-RPC", request(params(modern), jsonrpc="1.0")
    yield "a batch", b"[" + request(params(modern)) + b"]"
    yield "no JSON", request(params(modern))[:-1]
    yield "nothing", b""


def envelopes() -> Iterator[tuple[str, bytes]]:
    """Requests of the stateless era with something odd in their envelope."""
    for name, meta in {
        "client info": {**META, INFO: {"name": "c", "version": "1"}},
        "client info that is none": {**META, INFO: 7},
        "capabilities that are none": {**META, CAPABILITIES: 7},
        "no capabilities": {VERSION: "2026-07-28"},
        "no version": {CAPABILITIES: {}},
        "another version": {**META, VERSION: "2025-11-25"},
        "a version that is none": {**META, VERSION: 7},
        "a version of the future": {**META, VERSION: "2099-01-01"},
    }.items():
        yield name, request(params(True, _meta=meta))


def headers() -> Iterator[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """Headers on top of those of an era; None takes one away."""
    for name, value in [
        ("host", "evil.example"),
        ("host", "localhost"),
        ("host", None),
        ("origin", "http://evil.example"),
        ("origin", "http://localhost:3000"),
        ("accept", "application/json"),
        ("accept", "*/*"),
        ("accept", "application/*;q=0.5, text/html"),
        ("accept", "text/event-stream"),
        ("accept", None),
        ("content-type", "application/json; charset=utf-8"),
        ("content-type", "application/json-seq"),
        ("content-type", "Application/JSON"),
        ("content-type", "text/plain"),
        ("content-type", None),
        ("mcp-protocol-version", "2099-01-01"),
        ("mcp-protocol-version", " 2026-07-28 "),
        ("mcp-method", "interceptors/list"),
        ("mcp-method", None),
        ("mcp-name", "no-rm"),
        ("mcp-session-id", "s"),
        ("last-event-id", "7"),
        ("authorization", "Bearer x"),
        ("x-unknown", "y"),
    ]:
        yield f"{name}: {value}", ((name, value),)
    yield "two methods", (("mcp-method", INVOKE), ("mcp-method ", INVOKE))
    yield "two versions", (("mcp-protocol-version ", "2026-07-28"),)
    yield "two hosts", (("host ", "localhost"),)


def cases(era: str) -> list[Case]:
    modern = era == "2026-07-28"
    made = [Case(name, (), body) for name, body in bodies(modern)]
    made += [Case(name, extra, request(params(modern))) for name, extra in headers()]
    if modern:
        made += [Case(name, (), body) for name, body in envelopes()]
        listing = request(params(True, {}), "interceptors/list")
        made.append(Case("the list by its name", (("mcp-method", "interceptors/list"),), listing))
        plural = request(params(True), "interceptors/invoke")
        made.append(
            Case("the plural by its name", (("mcp-method", "interceptors/invoke"),), plural)
        )
    return made


def raw_headers(era: str, case: Case) -> list[tuple[bytes, bytes]]:
    sent = {**HEADERS, **ERAS[era]}
    for name, value in case.headers:
        if value is None:
            sent.pop(name, None)
        else:
            sent[name] = value
    # a blank at the end of a name stands for a second header of that name
    return [(name.strip().encode(), value.encode()) for name, value in sent.items()]


async def exchange(app: ASGIApp, era: str, case: Case) -> Answer:
    sent: list[Message] = []
    bodies = [{"type": "http.request", "body": case.body, "more_body": False}]
    gone = anyio.Event()

    async def receive() -> Message:
        if bodies:
            return bodies.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": raw_headers(era, case),
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert told.pop("content-length", str(len(body))) == str(len(body))
    return Answer(sent[0]["status"], told, steady(body))


def steady(body: bytes) -> Any:
    """A body as JSON where it is some, without what differs from call to call."""
    try:
        found = json.loads(body)
    except ValueError:
        return body
    result = found.get("result") if isinstance(found, dict) else None
    if isinstance(result, dict):
        result.pop("durationMs", None)
    return found


@asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[ASGIApp]:
    """*app* between its startup and its shutdown."""
    started, ending = anyio.Event(), anyio.Event()
    steps = iter(["startup", "shutdown"])

    async def receive() -> Message:
        step = next(steps)
        if step == "shutdown":
            await ending.wait()
        return {"type": f"lifespan.{step}"}

    async def send(message: Message) -> None:
        started.set()

    async def live() -> None:
        await app({"type": "lifespan", "asgi": {}, "state": {}}, receive, send)

    async with anyio.create_task_group() as group:
        group.start_soon(live)
        await started.wait()
        yield app
        ending.set()


class Watched(Lane):
    """A lane that counts what it took."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.taken = 0

    def takes(self, message: Any, modern: bool) -> bool:
        takes = super().takes(message, modern)
        self.taken += takes
        return takes


def hosted(dialect: Dialect, with_lane: bool) -> tuple[Server[Any], Watched]:
    """A server, and a lane in front of it that is empty or not."""
    snapshot = compile_bundle(make_bundle({"p.yaml": POLICIES})).snapshot
    assert snapshot is not None
    methods = Methods(Engine(snapshot), dialect)
    server = build_server(methods)
    return server, Watched(methods.table() if with_lane else {}, server.server_info_stamp)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("era", ERAS)
def test_the_lane_answers_over_http_as_the_sdk_does(era: str, dialect: Dialect) -> None:
    told: dict[str, list[Answer]] = {}
    taken: list[int] = []

    async def body() -> None:
        for with_lane in (True, False):
            server, lane = hosted(dialect, with_lane)
            async with running(http_app(server, lane, lambda: {"ready": True})) as app:
                for case in cases(era):
                    told.setdefault(case.name, []).append(await exchange(app, era, case))
            taken.append(lane.taken)

    anyio.run(body)
    assert len(told) > 60
    assert {name: pair for name, pair in told.items() if pair[0] != pair[1]} == {}
    assert (taken[0] > 25, taken[1]) == (True, 0)


HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def talked(modern: bool, dialect: Dialect, with_lane: bool) -> tuple[dict[str, Any], int]:
    """What a peer on two pipes is answered, by request, and how many the lane has taken."""
    server, lane = hosted(dialect, with_lane)
    opening = request({"_meta": META}, "interceptors/list", id="opening")
    if not modern:
        opening = request(HANDSHAKE, "initialize", id="opening")
    lines = [
        re.sub(rb'"id": 1\b', b'"id": "%b"' % name.encode(), line)
        for name, line in [*bodies(modern), *(envelopes() if modern else ())]
        if line
    ]

    async def body() -> None:
        (source, into), (out, sink) = os.pipe(), os.pipe()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        with open(into, "wb", buffering=0) as peer_in, open(out, "rb") as peer_out:

            def talk() -> list[bytes]:
                peer_in.write(opening + b"\n")
                first = peer_out.readline()
                for line in lines:
                    peer_in.write(line + b"\n")
                rest = [peer_out.readline() for _ in lines]
                peer_in.close()
                return [first, *rest]

            async def serve() -> None:
                await stdio._Connection(server, lane, sink).run(source)
                os.close(source)
                os.close(sink)

            async with anyio.create_task_group() as group:
                group.start_soon(serve)
                answers.extend(await to_thread.run_sync(talk))

    answers: list[bytes] = []
    anyio.run(body)
    told = [steady(answer) for answer in answers]
    return {str(answer["id"]): answer for answer in told}, lane.taken


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("modern", [False, True])
def test_the_lane_answers_over_stdio_as_the_sdk_does(modern: bool, dialect: Dialect) -> None:
    (fast, taken), (slow, none) = (
        talked(modern, dialect, with_lane) for with_lane in (True, False)
    )
    assert len(fast) > 35
    assert {name: answer for name, answer in fast.items() if answer != slow[name]} == {}
    assert fast.keys() ^ slow.keys() == set()
    assert (taken > 25, none) == (True, 0)
