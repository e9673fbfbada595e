"""The port that connects itself through the SDK: in memory and to subprocesses."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client.session import ClientSession
from mcp.server.mcpserver import MCPServer
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.exceptions import MCPError

from policyd import Engine
from policyd.ports import Port, Refusal, Unreachable, open_port
from policyd.ports.backoff import Backoff
from policyd.ports.client import ClientPort, command_line, in_memory, subprocess
from policyd.server.methods import Methods
from policyd.server.protocol import build_server
from policyd.wire import Dialect

if TYPE_CHECKING:
    from tests.ports.conftest import Command

MakeCommand = Callable[..., "Command"]

DENIED: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"command": "rm -rf /"}},
}


MUTE = "while read line; do :; done"
"""Reads all and says nothing."""


def unhurried() -> Backoff:
    """A back-off whose clock runs so fast that every connection has lived long."""
    ticks = count(step=1000)
    return Backoff(lambda: float(next(ticks)))


def talk(port: Port, conversation: Callable[[Port], Awaitable[None]]) -> None:
    async def main() -> None:
        with anyio.fail_after(20):
            await conversation(port)
            await port.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    anyio.run(main)


async def denied(port: Port, timeout: float = 15) -> bool:
    result = await port.call("interceptor/invoke", DENIED, timeout)
    return result["valid"] is False


def test_a_server_in_this_process_is_called(engine: Engine) -> None:
    async def conversation(port: Port) -> None:
        listed = await port.call("interceptors/list", {}, 10)
        assert listed["interceptors"][0]["name"] == "no-rm"
        assert all(await asyncio.gather(*(denied(port) for _ in range(20))))
        with pytest.raises(Refusal) as caught:
            await port.call("interceptor/invoke", {**DENIED, "name": "nobody"}, 10)
        assert (caught.value.code, caught.value.data) == (-32602, {"interceptor": "nobody"})

    talk(open_port(build_server(Methods(engine, Dialect.UNIVERSAL))), conversation)


def test_a_server_that_serves_no_interceptors_refuses() -> None:
    async def conversation(port: Port) -> None:
        with pytest.raises(Refusal) as caught:
            await port.call("interceptors/list", {}, 10)
        assert caught.value.code == -32601

    talk(open_port(MCPServer("tools")), conversation)


@pytest.mark.parametrize("kind", [list, tuple, command_line])
def test_a_command_is_a_list_a_tuple_or_the_parameters_of_the_sdk(
    kind: Callable[[list[str]], Any], command: MakeCommand
) -> None:
    made = command("exit 1")

    async def conversation(port: Port) -> None:
        assert made.pids == []
        with pytest.raises(Unreachable):
            await denied(port)

    talk(open_port(kind(made.words)), conversation)
    assert len(made.pids) == 1


def test_a_process_is_started_at_the_first_call_shared_and_ended(command: MakeCommand) -> None:
    made = command()

    async def conversation(port: Port) -> None:
        assert made.pids == []
        assert all(await asyncio.gather(*(denied(port) for _ in range(5))))
        assert len(made.alive) == 1

    talk(open_port(made.words), conversation)
    assert (len(made.pids), made.alive) == (1, [])


def test_a_port_that_was_never_called_starts_nothing(command: MakeCommand) -> None:
    made = command()

    async def conversation(port: Port) -> None:
        await port.aclose()
        with pytest.raises(Unreachable, match=r"^the port is closed$"):
            await denied(port)

    talk(open_port(made.words), conversation)
    assert made.pids == []


def test_a_process_that_died_is_started_again_by_the_next_call(command: MakeCommand) -> None:
    made = command()

    async def conversation(port: Port) -> None:
        for killed in range(2):
            assert await denied(port)
            (pid,) = made.alive
            assert len(made.pids) == killed + 1
            os.kill(pid, signal.SIGKILL)

    parameters = partial(subprocess, command_line(made.words))
    talk(ClientPort(parameters, unhurried()), conversation)
    assert made.alive == []


FRAGILE = """
import os, anyio
from mcp_types import RequestParams
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

async def die(context, params):
    os._exit(3)

async def main():
    server = Server("fragile")
    server.add_request_handler("interceptor/invoke", RequestParams, die)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


def test_calls_on_a_process_that_dies_end_at_once(command: MakeCommand, tmp_path: Path) -> None:
    script = tmp_path / "fragile.py"
    script.write_text(FRAGILE)
    made = command(f"exec {sys.executable} {script}")

    async def conversation(port: Port) -> None:
        with pytest.raises(Unreachable, match=r"^the connection to the server was lost$"):
            await denied(port)
        with pytest.raises(Unreachable, match="tried again later"):
            await denied(port)

    talk(open_port(made.words), conversation)
    assert (len(made.pids), made.alive) == (1, [])


def test_a_crash_loop_costs_one_start_for_each_pause(command: MakeCommand) -> None:
    made = command("exit 1")
    now = [0.0]
    backoff = Backoff(lambda: now[0])

    async def conversation(port: Port) -> None:
        for expected in (1, 2, 3):
            for _ in range(3):
                with pytest.raises(Unreachable):
                    await denied(port)
            assert len(made.pids) == expected
            with pytest.raises(Unreachable, match="tried again later"):
                await denied(port)
            now[0] += 60

    talk(ClientPort(partial(subprocess, command_line(made.words)), backoff), conversation)


def test_a_command_that_does_not_exist_is_unreachable() -> None:
    async def conversation(port: Port) -> None:
        with pytest.raises(Unreachable, match=r"^no connection to the server$"):
            await denied(port)

    talk(open_port(StdioServerParameters(command="/does/not/exist")), conversation)


def test_a_mute_process_is_left_in_time_and_ended(command: MakeCommand) -> None:
    made = command(MUTE)

    async def conversation(port: Port) -> None:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await denied(port, timeout=0.5)
        assert time.monotonic() - start < 5
        assert len(made.pids) == 1

    talk(open_port(made.words), conversation)
    assert made.alive == []


def test_closing_ends_calls_that_wait_for_a_connection(command: MakeCommand) -> None:
    made = command(MUTE)

    async def conversation(port: Port) -> None:
        async def call() -> None:
            with pytest.raises(Unreachable, match=r"^the port is closed$"):
                await denied(port, timeout=60)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            while not made.pids:
                await anyio.sleep(0.01)
            await port.aclose()

    talk(open_port(made.words), conversation)
    assert made.alive == []


def test_a_cancelled_first_call_leaves_the_connection_to_the_others(engine: Engine) -> None:
    opens = asyncio.Event()
    opened = 0

    @asynccontextmanager
    async def slowly() -> AsyncGenerator[ClientSession]:
        nonlocal opened
        opened += 1
        await opens.wait()
        async with in_memory(build_server(Methods(engine, Dialect.UNIVERSAL))) as session:
            yield session

    async def conversation(port: Port) -> None:
        with pytest.raises(TimeoutError):
            await denied(port, timeout=0.01)
        opens.set()
        assert await denied(port)
        assert opened == 1

    talk(ClientPort(slowly), conversation)


def test_a_connection_that_broke_between_calls_is_replaced(engine: Engine) -> None:
    breaks = asyncio.Event()
    ended: list[str] = []

    @asynccontextmanager
    async def fragile() -> AsyncGenerator[ClientSession]:
        async def snap() -> None:
            await breaks.wait()
            raise OSError

        server = build_server(Methods(engine, Dialect.UNIVERSAL))
        try:
            async with in_memory(server) as session, anyio.create_task_group() as group:
                group.start_soon(snap)
                yield session
                group.cancel_scope.cancel()
        finally:
            ended.append("broken" if breaks.is_set() else "closed")
            breaks.clear()

    async def conversation(port: Port) -> None:
        assert await denied(port)
        breaks.set()
        while not ended:
            await anyio.lowlevel.checkpoint()
        assert all(await asyncio.gather(*(denied(port) for _ in range(3))))

    talk(ClientPort(fragile, unhurried()), conversation)
    assert ended == ["broken", "closed"]


def test_calls_that_lose_the_same_connection_share_the_new_one(engine: Engine) -> None:
    opened: list[ClientSession] = []
    lost = asyncio.Event()

    class Losing(ClientSession):
        async def send_request(self, *arguments: Any, **options: Any) -> Any:
            await lost.wait()
            raise MCPError(-32000, "Connection closed")

    @asynccontextmanager
    async def session() -> AsyncGenerator[ClientSession]:
        async with in_memory(build_server(Methods(engine, Dialect.UNIVERSAL))) as good:
            bad = Losing(dispatcher=create_direct_dispatcher_pair()[0])
            opened.append(good if opened else bad)
            yield opened[-1]

    async def conversation(port: Port) -> None:
        with pytest.raises(TimeoutError):
            await denied(port, timeout=0.01)  # now there is a connection
        calls = [asyncio.create_task(denied(port)) for _ in range(3)]
        await asyncio.sleep(0)
        lost.set()
        assert await asyncio.gather(*calls) == [True] * 3
        assert len(opened) == 2

    talk(ClientPort(session, unhurried()), conversation)


def test_a_port_serves_one_event_loop_after_the_other(engine: Engine) -> None:
    port = ClientPort(
        partial(in_memory, build_server(Methods(engine, Dialect.UNIVERSAL))), unhurried()
    )

    async def main() -> None:
        assert await denied(port)

    anyio.run(main)
    anyio.run(main)
