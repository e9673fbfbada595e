"""Serving over standard input and output, one JSON-RPC message a line.

Knows file descriptors and the SDK's streams.  The SDK's own transport reads on a thread that
no signal can end, so this one waits on the descriptors themselves.  While it serves,
descriptor 0 is empty and descriptor 1 is standard error: no stray print reaches the wire.

The first request is always the SDK's: its answer tells which protocol era the connection is
in.  From then on what is plainly a request of ours is answered here, at a tenth of the cost.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio import CancelScope, Event, Lock, Semaphore, create_task_group, to_thread
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from policyd.engine import INLINE_SIZE
from policyd.server.lane import Answer, Lane, Message
from policyd.wire import MAX_MESSAGE_BYTES, Rejection, read_message

CHUNK = 64 << 10

IDLE_SECONDS = 0.2
"""After the end of the input, so long may each answer that is due let wait for itself."""


MAX_RUNNING = 64
"""Requests that are judged in threads or wait for one; while there are so many, no more is
read."""


async def serve_stdio(
    server: Server[Any], lane: Lane, stop: Event, on_ready: Callable[[], None]
) -> None:
    """Serve the peer on descriptors 0 and 1 until it closes either, or *stop* is set.

    *lane* answers what it takes, *server* the rest.
    """
    with _diverted() as (source, sink):
        async with create_task_group() as group:

            async def watch() -> None:
                await stop.wait()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            on_ready()
            await _Connection(server, lane, sink).run(source)
            group.cancel_scope.cancel()


class _Connection:
    """One peer: lines in, lines out, the lane and the SDK's server between them."""

    def __init__(self, server: Server[Any], lane: Lane, sink: int) -> None:
        self._server = server
        self._lane = lane
        self._sink = sink
        self._writing = Lock()
        self._due: set[Any] = set()
        self._answered = Event()
        self._group = create_task_group()
        self._opening: Message | None = None
        self._modern: bool | None = None
        self._running: dict[Any, CancelScope] = {}
        self._room = Semaphore(MAX_RUNNING)

    async def run(self, source: int) -> None:
        requests, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        server_out, answers = anyio.create_memory_object_stream[SessionMessage](0)
        options = self._server.create_initialization_options()
        async with self._group:
            self._group.start_soon(self._read_requests, source, requests)
            self._group.start_soon(self._write_answers, answers)
            await self._server.run(server_in, server_out, options)
            self._group.cancel_scope.cancel()

    async def _read_requests(
        self, source: int, requests: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        async with requests:
            async for line in _lines(source):
                message = await _read(line)
                if isinstance(message, Rejection):
                    await self._write(message.to_bytes())
                elif message is not None:
                    self._expect(message)
                    if self._modern is not None and self._lane.takes(message, self._modern):
                        await self._serve(message, self._modern, len(line) <= INLINE_SIZE)
                        continue
                    parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
                    await requests.send(SessionMessage(parsed))
            await self._drain()

    def _expect(self, message: Message) -> None:
        if "id" in message:
            self._opening = self._opening or message
            self._due.add(message["id"])
        elif message["method"] == "notifications/cancelled":
            cancelled = (message.get("params") or {}).get("requestId")
            # what was cancelled is never answered
            self._due = {request for request in self._due if request != cancelled}
            if type(cancelled) in (int, str) and cancelled in self._running:
                self._running[cancelled].cancel()

    async def _serve(self, message: Message, modern: bool, small: bool) -> None:
        """Answer a request in the lane; one that takes longer while others are read."""
        answer = self._lane.at_once(message, modern) if small else None
        if answer is None:
            await self._room.acquire()
            # here, because the next line may be its cancellation
            scope = self._running[message["id"]] = CancelScope()
            self._group.start_soon(self._serve_thoroughly, message, modern, scope)
        else:
            await self._write(answer.body)
            self._due.discard(message["id"])

    async def _serve_thoroughly(self, message: Message, modern: bool, scope: CancelScope) -> None:
        request = message["id"]
        answer: Answer | None = None
        try:
            with scope:
                answer = await self._lane.thorough(message, modern)
        finally:
            self._running.pop(request, None)
            self._room.release()
        if answer is not None:
            await self._write(answer.body)
        self._due.discard(request)
        self._answered.set()

    async def _drain(self) -> None:
        """Wait for the answers that are due, as long as they keep coming."""
        while self._due:
            self._answered = Event()
            with anyio.move_on_after(IDLE_SECONDS) as scope:
                await self._answered.wait()
            if scope.cancelled_caught:
                return

    async def _write_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for item in answers:
                message = item.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._write(text.encode())
                if isinstance(message, (JSONRPCResponse, JSONRPCError)):
                    self._note_era(message)
                    self._due.discard(message.id)
                    self._answered.set()

    def _note_era(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        """Take the era from the first answer: a handshake, or a request that needed none."""
        opening = self._opening
        if self._modern is None and opening is not None and answer.id == opening["id"]:
            if isinstance(answer, JSONRPCResponse):
                self._modern = opening["method"] != "initialize"
            else:
                self._opening = None

    async def _write(self, message: bytes) -> None:
        rest = memoryview(message + b"\n")
        async with self._writing:
            while rest:
                try:
                    rest = rest[os.write(self._sink, rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._sink)
                except (BrokenPipeError, ConnectionResetError):
                    # nobody reads any more, which ends the connection like the end of input
                    self._group.cancel_scope.cancel()
                    return


async def _read(line: bytes) -> dict[str, Any] | Rejection | None:
    """The message in *line*, its refusal, or None for an empty line."""
    if not line.strip():
        return None
    if len(line) <= INLINE_SIZE:
        return read_message(line)
    return await to_thread.run_sync(read_message, line, abandon_on_cancel=True)


async def _lines(source: int) -> AsyncIterator[bytes]:
    """The lines of the input without their ends; the last one needs none.

    A line beyond MAX_MESSAGE_BYTES comes out cut, yet still beyond it.
    """
    held = bytearray()
    while chunk := await _read_chunk(source):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            held += end
            yield bytes(held)
            held.clear()
        held += rest
        del held[MAX_MESSAGE_BYTES + 1 :]
    yield bytes(held)


async def _read_chunk(source: int) -> bytes:
    await checkpoint()  # a regular file never has to be waited for
    while True:
        try:
            return os.read(source, CHUNK)
        except BlockingIOError:
            await anyio.wait_readable(source)


@contextmanager
def _diverted() -> Iterator[tuple[int, int]]:
    """Descriptors that carry the wire, while 0 is empty and 1 is standard error."""
    wire = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1)]
    blocking = [os.get_blocking(fd) for fd in wire]
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    for fd in wire:
        os.set_blocking(fd, False)
    try:
        yield wire[0], wire[1]
    finally:
        sys.stdout.flush()
        for number, fd in enumerate(wire):
            # the open file may be shared, as a terminal is with the shell
            os.set_blocking(fd, blocking[number])
            os.dup2(fd, number)
            os.close(fd)
