from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tests.conftest import Running
    from tests.server.conftest import Start

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
INVOKE = "interceptor/invoke"
DENIED = {"name": "shell", "arguments": {"command": "rm -rf /"}}
CALL: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": DENIED,
}
SECRET = "hunter2-in-the-payload"


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, Any]:
        error = self.json["error"]
        return error["code"], error["message"], error.get("data")


def request(running: Running, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=20)
    sent = {"content-type": "application/json", "accept": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, sent)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def legacy(running: Running, body: bytes, **headers: str) -> Answer:
    return request(running, "POST", "/mcp", body, **headers)


def modern(running: Running, body: bytes, **headers: str) -> Answer:
    era = {"mcp_protocol_version": "2026-07-28", "mcp_method": INVOKE}
    return request(running, "POST", "/mcp", body, **{**era, **headers})


ERAS = pytest.mark.parametrize("post", [legacy, modern])


def message(params: Any, method: str = INVOKE, request_id: Any = 1) -> bytes:
    whole = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return json.dumps(whole).encode()


def call(**changed: Any) -> bytes:
    return message({**CALL, "_meta": META, **changed})


def bare(**changed: Any) -> bytes:
    """A call in the handshake era, whose params carry no envelope."""
    return message({**CALL, **changed})


def test_a_denial_comes_in_one_json_answer(served: Running) -> None:
    answer = legacy(served, bare())
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    result = answer.json["result"]
    assert next(iter(result)) == "type"
    assert type(result["durationMs"]) is int
    assert result["messages"][0] == {
        "path": "arguments.command",
        "message": "recursive delete is not allowed for shell (delete one named file at a time)",
        "severity": "error",
    }
    assert (result["valid"], result["severity"]) == (False, "error")
    assert result["validation"] == {k: result[k] for k in ("valid", "severity", "messages")}


def test_both_eras_and_both_names_of_the_method_give_the_same_verdict(served: Running) -> None:
    answers = [
        legacy(served, bare()),
        legacy(served, bare(), mcp_protocol_version="2025-11-25"),
        legacy(served, message(CALL, "interceptors/invoke")),
        modern(served, call()),
        modern(served, call(), mcp_method=f" {INVOKE}  "),
    ]
    assert len({json.dumps(a.json["result"]["messages"]) for a in answers}) == 1


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xef\xbb\xbf{}", -32700, None),
        (bare() + b"garbage", -32700, None),
        (bare().decode().encode("utf-16"), -32700, None),
        (bare().replace(b'"shell"', b"NaN"), -32700, None),
        (bare().replace(b'"shell"', b'"\\ud800"'), -32700, None),
        (bare().replace(b'"shell"', b"[" * 500 + b"]" * 500), -32700, None),
        (bare().replace(b'"name": "shell"', b'"name": "shell", "name": "ls"'), -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600, None),
        (b"[" + bare() + b"]", -32600, None),
        (b"7", -32600, None),
        (message(CALL, request_id=None), -32600, None),
        (message(CALL, request_id=1.5), -32600, None),
        (message([CALL]), -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600, 1),
    ],
)
@ERAS
def test_what_is_no_message_is_an_error_that_quotes_nothing(
    served: Running, post: Any, body: bytes, code: int, request_id: int | None
) -> None:
    answer = post(served, body.replace(b"rm -rf /", SECRET.encode()))
    assert answer.status == 400
    assert (answer.error[0], answer.json["id"]) == (code, request_id)
    assert SECRET.encode() not in answer.body
    assert legacy(served, bare()).status == 200


@pytest.mark.parametrize(
    ("changed", "data"),
    [
        ({"name": "nobody"}, {"interceptor": "nobody"}),
        ({"phase": "both"}, "`phase` must be `request` or `response`"),
        ({"timeoutMs": 0}, "`timeoutMs` must be a number greater than 0"),
        ({"payload": int("9" * 400)}, "`payload` holds a number that is not finite"),
        (
            {"payload": json.loads("[" * 150 + "]" * 150)},
            "`payload` is nested more than 128 levels deep",
        ),
        ({"config": SECRET}, "`config` must be an object"),
    ],
)
@ERAS
def test_what_is_no_call_is_invalid_params(
    served: Running, post: Any, changed: dict[str, Any], data: Any
) -> None:
    body = call(**changed) if post is modern else bare(**changed)
    answer = post(served, body)
    if isinstance(data, str):
        data = {"interceptor": "no-rm", "reason": data}
    assert answer.status == (400 if post is modern else 200)
    assert (answer.error[0], answer.error[2]) == (-32602, data)
    assert SECRET.encode() not in answer.body


@ERAS
def test_a_rule_that_cannot_be_evaluated_is_a_failure_without_internals(
    served: Running, post: Any
) -> None:
    payload = {"name": "shell", "arguments": {"a": SECRET}}
    changed = {"name": "fragile", "payload": payload}
    answer = post(served, call(**changed) if post is modern else bare(**changed))
    data = {
        "interceptor": "fragile",
        "phase": "request",
        "reason": "the policy could not be evaluated",
    }
    assert answer.error == (-32603, "Interceptor execution failed", data)
    assert SECRET not in "\n".join(served.log)


@pytest.mark.parametrize(("asked", "told"), [({}, 50), ({"timeoutMs": 20}, 20)])
def test_a_deadline_is_the_timeout_of_the_sep(
    served: Running, asked: dict[str, int], told: int
) -> None:
    payload = {"name": "sum", "arguments": {"l": list(range(60))}}
    answer = legacy(served, bare(name="slow", payload=payload, **asked))
    data = {"interceptor": "slow", "phase": "request", "timeoutMs": told}
    assert answer.error == (-32000, "Interceptor execution timeout", data)


@ERAS
def test_payloads_come_back_exactly(served: Running, post: Any) -> None:
    payload = {"z": [2**70, 1, 1.0, -0.0, 1e300, None], "a": {"b": None}, "": "é\u0000😀"}
    changed = {"name": "mask", "payload": payload}
    answer = post(served, call(**changed) if post is modern else bare(**changed))
    result = answer.json["result"]
    assert result["modified"] is False
    assert json.dumps(result["payload"]) == json.dumps(payload)


def test_a_large_payload_is_changed_like_a_small_one(served: Running) -> None:
    texts = ["employee-7 " * 10] * 3000
    answer = legacy(served, bare(name="mask", payload={"texts": texts}))
    result = answer.json["result"]
    assert result["modified"] is True
    assert result["payload"] == {"texts": ["[employee] " * 10] * 3000}


@pytest.mark.parametrize("size", [(4 << 20) + 1, 6 << 20])
def test_a_body_that_is_too_large_is_refused(served: Running, size: int) -> None:
    answer = legacy(served, b" " * size)
    assert (answer.status, answer.error[0]) == (413, -32600)


@ERAS
def test_a_notification_is_never_answered(served: Running, post: Any) -> None:
    notification = json.dumps({"jsonrpc": "2.0", "method": INVOKE, "params": CALL})
    answer = post(served, notification.encode())
    assert (answer.status, answer.body) in ((202, b""), (202, b"null"))


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_posts_are_served(served: Running, method: str) -> None:
    answer = request(served, method, "/mcp")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"host": "localhost"}, 200),
        ({"content_type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
    ],
)
@ERAS
def test_requests_of_strange_origin_are_refused(
    served: Running, post: Any, headers: dict[str, str], status: int
) -> None:
    body = call() if post is modern else bare()
    assert post(served, body, **headers).status == status


def test_what_is_no_http_at_all_leaves_the_server_alive(served: Running) -> None:
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as peer:
        peer.sendall(b"\x00\x01garbage\r\n\r\n")
        assert peer.recv(64).startswith(b"HTTP/1.1 400")
    assert legacy(served, bare()).status == 200


def test_health_and_readiness(served: Running) -> None:
    health = request(served, "GET", "/healthz")
    assert (health.status, health.body) == (200, b"ok")
    ready = request(served, "GET", "/readyz")
    assert ready.status == 200
    assert {k: ready.json[k] for k in ("ready", "policies")} == {"ready": True, "policies": 6}
    assert len(ready.json["generation"]) == 12
    assert "rejected" not in ready.json


def test_an_edit_is_in_force_and_a_broken_one_is_told_and_changes_nothing(
    start: Start, policies: Path
) -> None:
    running = start("--http", "127.0.0.1:0")
    file = policies / "main.yaml"
    good = file.read_text(encoding="utf-8")
    first = request(running, "GET", "/readyz").json["generation"]
    file.write_text(good.replace("recursive delete", "deleting"), encoding="utf-8")
    running.wait_for("is in force")
    text = legacy(running, bare()).json["result"]["messages"][0]["message"]
    assert text.startswith("deleting is not allowed")
    file.write_text(good.replace("deny: args.command", "deny: argz.command"), encoding="utf-8")
    running.wait_for("does not compile")
    state = request(running, "GET", "/readyz")
    assert (state.status, state.json["lastReload"]["outcome"]) == (200, "rejected")
    assert state.json["generation"] != first
    (line,) = state.json["rejected"]["diagnostics"]
    assert line.startswith(f"{file}:10:15: error[")
    assert "argz" in line
    # a page that reached the port under a name of its own must not read policy text
    stranger = request(running, "GET", "/readyz", host="evil.example")
    assert (stranger.status, sorted(stranger.json)) == (200, ["generation", "policies", "ready"])
    assert legacy(running, bare()).json["result"]["messages"][0]["message"] == text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_code_0(start: Start, number: signal.Signals) -> None:
    running = start("--http", "127.0.0.1:0")
    assert running.stop(number) == 0


def test_requests_in_flight_are_answered_before_the_end(start: Start) -> None:
    running = start("--http", "127.0.0.1:0")
    address = urlsplit(running.url)
    body = bare()
    head = f"POST /mcp HTTP/1.1\r\nhost: {address.netloc}\r\naccept: application/json\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
    # the server says that it waits for the body, so the request is in flight
    head += "expect: 100-continue\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=20) as peer:
        peer.sendall(head.encode())
        assert peer.recv(64).startswith(b"HTTP/1.1 100")
        running.process.send_signal(signal.SIGTERM)
        peer.sendall(body)
        answer = b""
        while chunk := peer.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"valid":false' in answer
    assert running.wait() == 0


def test_an_address_that_is_taken_is_one_line_and_code_1(start: Start, policies: Path) -> None:
    address = urlsplit(start("--http", "127.0.0.1:0").url).netloc
    command = [sys.executable, "-m", "policyd", "serve", str(policies), "--http", address]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert second.returncode == 1
    text = f"policyd: cannot listen on `{address}`: address already in use\n"
    assert (second.stdout, second.stderr) == ("", text)
