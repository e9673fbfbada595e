"""What an HTTP answer means, and which server it tells of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyd.ports.answer import HTTPAnswer, read_answer
from policyd.ports.port import OtherEra, Refusal, Unreachable

JSON = "application/json"


def answer(status: int, media_type: str = JSON, **members: Any) -> HTTPAnswer:
    body = {"jsonrpc": "2.0", "id": 7, **members}
    return HTTPAnswer(status, media_type, json.dumps(body).encode())


def error(status: int, code: int) -> HTTPAnswer:
    return answer(status, error={"code": code, "message": "m"})


def outcome(given: HTTPAnswer, *, probing: bool) -> Any:
    """The result, the code of a Refusal, or the type and reason of another failure."""
    try:
        return read_answer(given, 7, probing=probing)
    except Refusal as refusal:
        return refusal.code
    except Unreachable as failure:
        return type(failure), failure.reason


@pytest.mark.parametrize("probing", [True, False])
def test_a_result_is_returned_as_it_is(probing: bool) -> None:
    result = {"n": 2**70, "none": None, "_meta": {"a": 1}}
    assert outcome(answer(200, result=result), probing=probing) == result


@pytest.mark.parametrize("probing", [True, False])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, -32000),
        (200, -32603),
        (200, 42),
        (400, -32602),
        (400, -32700),
        (400, -32021),
        (404, -32601),
        (413, -32600),
        (500, -32603),
        (503, -32000),
    ],
)
def test_an_error_with_the_status_of_the_modern_era_is_a_refusal(
    status: int, code: int, probing: bool
) -> None:
    assert outcome(error(status, code), probing=probing) == code


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, -32022),  # another version
        (400, -32020),  # other headers
        (400, -32600),  # Python: `Missing session ID`
        (404, -32600),  # Python: `Session not found`
        (400, -32000),  # TypeScript: no session, not initialized
        (404, -32001),  # TypeScript: `Session not found`
        (200, 0),  # Go: before `initialize`
        (200, -32600),
        (200, -32601),
        (200, -32602),
        (405, -32601),
        (406, -32000),
    ],
)
def test_an_error_of_the_handshake_era_is_told_apart_while_probing(status: int, code: int) -> None:
    failure, reason = outcome(error(status, code), probing=True)
    assert (failure, str(status) in reason) == (OtherEra, True)
    assert outcome(error(status, code), probing=False) == code


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
@pytest.mark.parametrize("body", [b"", b"Bad Request", b"[]", b'{"error": "no"}'])
@pytest.mark.parametrize("media_type", [JSON, "text/plain", ""])
def test_a_client_error_without_words_is_another_era_while_probing(
    status: int, body: bytes, media_type: str
) -> None:
    given = HTTPAnswer(status, media_type, body)
    assert outcome(given, probing=True)[0] is OtherEra
    reason = f"the server answered HTTP {status}"
    assert outcome(given, probing=False) == (Unreachable, reason)


def test_an_event_stream_is_another_era_while_probing() -> None:
    stream = HTTPAnswer(200, "text/event-stream", b"")
    assert outcome(stream, probing=True)[0] is OtherEra
    assert outcome(stream, probing=False) == (Unreachable, "the answer is not JSON")


@pytest.mark.parametrize("probing", [True, False])
@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_access_says_nothing_else(status: int, probing: bool) -> None:
    expected = (Unreachable, f"the server refuses access (HTTP {status})")
    assert outcome(error(status, -32600), probing=probing) == expected
    assert outcome(HTTPAnswer(status, "", b""), probing=probing) == expected


@pytest.mark.parametrize("probing", [True, False])
@pytest.mark.parametrize("status", [202, 204, 301, 307, 410, 429, 500, 502, 503])
def test_any_other_status_is_told(status: int, probing: bool) -> None:
    expected = (Unreachable, f"the server answered HTTP {status}")
    assert outcome(HTTPAnswer(status, "text/html", b""), probing=probing) == expected
    assert outcome(answer(status, result={}), probing=probing) == expected


@pytest.mark.parametrize("probing", [True, False])
@pytest.mark.parametrize(
    ("media_type", "body", "reason"),
    [
        ("text/html", b"", "the answer is not JSON"),
        (JSON, b"", "the answer is no JSON-RPC response"),
        (JSON, b"secret", "the answer is no JSON-RPC response"),
        (JSON, b"[]", "the answer is no JSON-RPC response"),
        (JSON, b'{"id": 7, "result": {}}', "the answer is no JSON-RPC response"),
        (JSON, b'{"jsonrpc": "2.0", "id": 7}', "the answer is no JSON-RPC response"),
        (JSON, b'{"jsonrpc": "2.0", "id": 7, "result": 1}', "the answer is no JSON-RPC response"),
        (JSON, b'{"jsonrpc": "2.0", "id": 7, "error": 1}', "the answer is no JSON-RPC response"),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": true, "result": {}}',
            "the answer is no JSON-RPC response",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": 7, "error": {"code": "1", "message": "m"}}',
            "the answer is no JSON-RPC response",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": 7, "result": {"a": 1, "a": 2}}',
            "the answer is no JSON-RPC response",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": 8, "result": {}}',
            "the answer belongs to another request",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": "7", "result": {}}',
            "the answer belongs to another request",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": null, "result": {}}',
            "the answer belongs to another request",
        ),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": 8, "error": {"code": 1, "message": "m"}}',
            "the answer belongs to another request",
        ),
    ],
)
def test_what_is_no_answer_is_told_without_its_words(
    media_type: str, body: bytes, reason: str, probing: bool
) -> None:
    assert outcome(HTTPAnswer(200, media_type, body), probing=probing) == (Unreachable, reason)


def test_an_error_of_a_request_that_could_not_be_read_has_no_id() -> None:
    given = answer(400, id=None, error={"code": -32700, "message": "Parse error", "data": [1]})
    with pytest.raises(Refusal, match=r"^the server answered error -32700$") as caught:
        read_answer(given, 7, probing=True)
    refusal = caught.value
    assert (refusal.code, refusal.message, refusal.data) == (-32700, "Parse error", [1])


def test_an_error_without_words_is_a_refusal() -> None:
    with pytest.raises(Refusal) as caught:
        read_answer(answer(200, error={"code": 1, "message": 5}), 7, probing=False)
    assert (caught.value.message, caught.value.data) == ("", None)
