from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from policyd.wire import MAX_MESSAGE_BYTES, Rejection, dump_json, read_message, too_large

CALL = {"jsonrpc": "2.0", "id": 1, "method": "interceptors/list", "params": {}}
TWICE = "an object has the same key twice"


@pytest.mark.parametrize(
    "message",
    [
        CALL,
        {**CALL, "id": "seven"},
        {**CALL, "params": None},
        {"jsonrpc": "2.0", "id": 0, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ],
)
def test_requests_and_notifications_are_read(message: dict[str, object]) -> None:
    assert read_message(dump_json(message)) == message


@pytest.mark.parametrize(
    ("data", "rejection"),
    [
        (b"{", Rejection(-32700, "Parse error", "not valid JSON at line 1 column 1")),
        (b"[]", Rejection(-32600, "Invalid Request", "a message is one JSON object")),
        (
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
            Rejection(-32600, "Invalid Request", "a message is one JSON object"),
        ),
        (
            b'{"id":1,"method":"ping"}',
            Rejection(-32600, "Invalid Request", '`jsonrpc` must be "2.0"', 1),
        ),
        (
            b'{"jsonrpc":"2.0","id":"a","result":{}}',
            Rejection(-32600, "Invalid Request", "`method` must be a string", "a"),
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
            Rejection(-32600, "Invalid Request", "`params` must be an object", 1),
        ),
    ],
)
def test_everything_else_is_rejected(data: bytes, rejection: Rejection) -> None:
    assert read_message(data) == rejection


@pytest.mark.parametrize("request_id", ["null", "1.5", "true", "[]", "{}"])
def test_an_id_is_an_integer_or_a_string(request_id: str) -> None:
    data = f'{{"jsonrpc":"2.0","id":{request_id},"method":"ping"}}'.encode()
    reason = "`id` must be an integer or a string"
    assert read_message(data) == Rejection(-32600, "Invalid Request", reason, None)


@pytest.mark.parametrize(
    ("data", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}', 7),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping","method":"pong"}', "x"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping","params":{"a":1,"a":2}}', None),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"a":1,"a":2}}', None),
        (b'[{"a":1,"a":2}]', None),
        (b'[{"a":1,"a":2,"a":3}]', None),
        (b'[{"a":1,"a":2},7]', None),
        (b'{"id":1,"a":1,"a":2', None),
        (b'{"id":1,"a":1,"a":' + b"[" * 100_000, None),
    ],
)
def test_a_repeated_key_is_rejected_with_the_id_where_that_is_certain(
    data: bytes, request_id: int | str | None
) -> None:
    assert read_message(data) == Rejection(-32600, "Invalid Request", TWICE, request_id)


def test_a_message_that_is_too_large_is_not_read() -> None:
    reason = "a message may have at most 4194304 bytes"
    assert too_large() == Rejection(-32600, "Invalid Request", reason)
    assert read_message(b"x" * (MAX_MESSAGE_BYTES + 1)) == too_large()
    assert read_message(b"x" * MAX_MESSAGE_BYTES) != too_large()


def test_a_rejection_is_a_json_rpc_error() -> None:
    assert json.loads(Rejection(-32600, "Invalid Request", "why", "a").to_bytes()) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32600, "message": "Invalid Request", "data": {"reason": "why"}},
    }


@given(st.binary(max_size=64) | st.text(max_size=64).map(str.encode))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    assert isinstance(read_message(data), Rejection)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
            "id": st.none() | st.integers() | st.text() | st.floats(allow_nan=False) | st.just([]),
            "method": st.text() | st.none(),
            "params": st.none() | st.just({}) | st.just([]) | st.just(1),
        },
    )
)
def test_whatever_is_read_is_a_message_of_the_sdk(message: dict[str, object]) -> None:
    found = read_message(dump_json(message))
    if isinstance(found, dict):
        jsonrpc_message_adapter.validate_python(found, by_name=False)
