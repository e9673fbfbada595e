from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from policyd.server import stdio

if TYPE_CHECKING:
    from tests.conftest import Running
    from tests.server.conftest import Start

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def call(request_id: int, **changed: Any) -> dict[str, Any]:
    params = {
        "name": "no-rm",
        "event": "tools/call",
        "phase": "request",
        "payload": {"name": "shell", "arguments": {"command": "rm -rf /"}},
        **changed,
    }
    return {"jsonrpc": "2.0", "id": request_id, "method": "interceptor/invoke", "params": params}


def lines(*messages: dict[str, Any] | str) -> str:
    return "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)


class Peer:
    """The client's end of a server on standard input and output."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.ask(INITIALIZE)
        self.send(INITIALIZED)

    def send(self, *messages: dict[str, Any] | str) -> None:
        stdin = self.running.process.stdin
        assert stdin is not None
        with self.running.bounded():
            stdin.write(lines(*messages))
            stdin.flush()

    def receive(self) -> Any:
        """The next answer."""
        stdout = self.running.process.stdout
        assert stdout is not None
        with self.running.bounded():
            return json.loads(stdout.readline())

    def ask(self, message: dict[str, Any] | str) -> Any:
        self.send(message)
        return self.receive()

    def close(self) -> int:
        stdin = self.running.process.stdin
        assert stdin is not None
        stdin.close()
        return self.running.wait()


@pytest.fixture
def fresh(start: Start) -> Peer:
    """A server of its own, for a test that ends it."""
    return Peer(start("--stdio", pipe=True))


@pytest.fixture(scope="module")
def peer(served_stdio: Running) -> Peer:
    return Peer(served_stdio)


def test_the_end_of_the_input_ends_the_server_with_code_0(fresh: Peer) -> None:
    assert fresh.ask(call(1))["result"]["valid"] is False
    assert fresh.close() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_code_0(fresh: Peer, number: signal.Signals) -> None:
    assert fresh.running.stop(number) == 0


def test_a_signal_before_the_first_message_ends_it_too(start: Start) -> None:
    assert start("--stdio", pipe=True).stop() == 0


def test_a_peer_that_reads_no_more_ends_the_server(fresh: Peer) -> None:
    assert fresh.running.process.stdout is not None
    fresh.running.process.stdout.close()
    fresh.send(call(1))
    assert fresh.running.wait() == 0


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        ("{", -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"ping"}garbage', -32700, None),
        ("[" * 500 + "]" * 500, -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}', -32600, 7),
        ("[]", -32600, None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        ('"' + "x" * (4 << 20), -32600, None),
    ],
)
def test_a_line_that_is_no_message_is_an_error_and_costs_nothing_else(
    peer: Peer, line: str, code: int, request_id: int | None
) -> None:
    answer = peer.ask(line)
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    assert peer.ask(PING) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_malformed_lines_before_the_first_message_do_not_decide_the_era(start: Start) -> None:
    running = start("--stdio", pipe=True)
    stdin, stdout = running.process.stdin, running.process.stdout
    assert stdin is not None
    assert stdout is not None
    with running.bounded():
        stdin.write(lines("{", "", " \r", INITIALIZE))
        stdin.flush()
        assert json.loads(stdout.readline())["error"]["code"] == -32700
        assert json.loads(stdout.readline())["result"]["protocolVersion"] == "2025-11-25"


def test_notifications_are_never_answered(peer: Peer) -> None:
    notification = {"jsonrpc": "2.0", "method": "interceptor/invoke", "params": {}}
    odd = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}
    bare = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    peer.send(notification, odd, bare)
    assert peer.ask(PING)["id"] == 1


def test_what_is_cancelled_is_not_answered(peer: Peer) -> None:
    slow = {"name": "slow", "payload": {"name": "sum", "arguments": {"l": list(range(60))}}}
    cancelled = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 5},
    }
    peer.send(call(5, **slow), cancelled)
    assert peer.ask(call(6, **slow))["id"] == 6


def test_a_large_line_is_judged_and_answered(peer: Peer) -> None:
    payload = {"texts": ["employee-7 " * 10] * 5000}
    result = peer.ask(call(1, name="mask", payload=payload))["result"]
    assert result["payload"] == {"texts": ["[employee] " * 10] * 5000}


def test_everything_sent_is_answered_although_the_input_ends(policies: Path) -> None:
    text = lines(INITIALIZE, INITIALIZED, *(call(i) for i in range(1, 301)))
    command = [sys.executable, "-m", "policyd", "serve", "--stdio", str(policies)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert sorted(answer["id"] for answer in answers) == list(range(301))
    assert all("result" in answer for answer in answers)


def test_regular_files_serve_as_well_as_pipes(policies: Path, tmp_path: Path) -> None:
    # the last line needs no end
    source, sink = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(lines(INITIALIZE, INITIALIZED, call(1)).rstrip(), encoding="utf-8")
    command = [sys.executable, "-m", "policyd", "serve", "--stdio", str(policies)]
    with source.open() as stdin, sink.open("w") as stdout:
        done = subprocess.run(
            command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, timeout=60, check=False
        )
    answers = [json.loads(line) for line in sink.read_text(encoding="utf-8").splitlines()]
    assert (done.returncode, [answer["id"] for answer in answers]) == (0, [0, 1])


STRAY = """
import anyio
import os
import sys

from policyd.server import stdio

async def main():
    with stdio._diverted() as (source, sink):
        print("stray print", flush=True)
        os.system("echo stray child")
        assert sys.stdin.read() == ""
        assert not os.get_blocking(sink)
        os.write(sink, os.read(source, 100))
        print("stray, not flushed")
    assert os.get_blocking(1)
    print("after")

anyio.run(main)
"""


def test_stray_output_goes_to_stderr_and_the_descriptors_come_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRAY], input="wire\n", capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "wire\nafter\n"
    assert done.stderr == "stray print\nstray child\nstray, not flushed\n"
    assert done.returncode == 0


def test_a_line_may_come_in_any_pieces() -> None:
    async def split() -> list[bytes]:
        return [line async for line in stdio._lines(source)]

    source, sink = os.pipe()
    os.write(sink, b"one\ntwo\r\n\nthree")
    os.close(sink)
    try:
        assert anyio.run(split) == [b"one", b"two\r", b"", b"three"]
    finally:
        os.close(source)
