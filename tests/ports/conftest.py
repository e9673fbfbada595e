"""Servers to be called: real ones, and HTTP servers that answer as a test wants."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from policyd import Engine, load

if TYPE_CHECKING:
    pass

POLICIES = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules: [{id: rm, deny: "args.command.startsWith('rm ')", message: no}]
"""

SECONDS = 20.0
"""After which a conversation that does not end is given up."""


@dataclass
class Received:
    """One request, its header names in lower case."""

    headers: dict[str, str]
    message: dict[str, Any]


@dataclass
class Scripted:
    """What an HTTP server has seen: requests, and connections that were closed by its peer."""

    url: str = ""
    port: int = 0
    connections: int = 0
    received: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)


Answer = Callable[[Received], bytes | None]
"""The bytes to answer with; None for no answer at all, b"" for closing the connection."""

HTTPServer = Callable[..., AbstractAsyncContextManager[Scripted]]


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    lines = [line.partition(":") for line in head.split("\r\n")[1:] if line]
    headers = {name.lower(): value.strip() for name, _, value in lines}
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(headers, json.loads(body))


@asynccontextmanager
async def _scripted(
    answer: Answer, *, port: int = 0, closes: bool = False
) -> AsyncGenerator[Scripted]:
    seen = Scripted()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        writers.append(writer)
        while (request := await _read_request(reader)) is not None:
            seen.received.append(request)
            seen.arrived.set()
            content = answer(request)
            if content is not None:
                writer.write(content)
            if content == b"" or closes:
                break
        else:
            seen.left.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 23)
    seen.port = server.sockets[0].getsockname()[1]
    seen.url = f"http://127.0.0.1:{seen.port}/mcp"
    try:
        yield seen
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()


@pytest.fixture
def http_server() -> HTTPServer:
    """Runs a server: `async with http_server(answer, port=0, closes=False) as seen`."""
    return _scripted


def _reply(
    request: Received, *, status: int = 200, media_type: str = "application/json", **members: Any
) -> bytes:
    body = {"jsonrpc": "2.0", "id": request.message["id"], **members}
    return _response(json.dumps(body).encode(), status=status, media_type=media_type)


def _response(body: bytes, *, status: int = 200, media_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} Some\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
def reply() -> Callable[..., bytes]:
    """An answer to a request: `reply(request, result={}, status=200)`."""
    return _reply


@pytest.fixture
def response() -> Callable[..., bytes]:
    """An HTTP answer with a body: `response(b"x", status=200, media_type="text/html")`."""
    return _response


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policies, which no test changes."""
    made = tmp_path_factory.mktemp("policies")
    (made / "main.yaml").write_text(POLICIES, encoding="utf-8")
    return made


@dataclass
class Command:
    """A command line that notes the id of each process it starts."""

    words: list[str]
    file: Path

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.file.read_text().split()] if self.file.exists() else []

    @property
    def alive(self) -> list[int]:
        return [pid for pid in self.pids if _is_alive(pid)]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def command(tmp_path: Path, directory: Path) -> Callable[..., Command]:
    """A command line for a policyd over pipes, or for another shell command."""
    file = tmp_path / "pids"

    def make(shell: str | None = None) -> Command:
        policyd = f"exec {sys.executable} -m policyd serve --stdio {directory} 2>/dev/null"
        return Command(["sh", "-c", f"echo $$ >> {file}; {shell or policyd}"], file)

    return make


@pytest.fixture
def engine(directory: Path) -> Engine:
    """The policies in this process."""
    return load(directory)
