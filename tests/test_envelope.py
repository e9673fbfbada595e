from __future__ import annotations

from typing import Any

import pytest

from policyd.envelope import unwrap

PARAMS = {"name": "echo", "arguments": {"a": 1}}
RESULT: dict[str, Any] = {"content": []}


@pytest.mark.parametrize(
    ("phase", "sent", "bare", "member"),
    [
        ("request", PARAMS, PARAMS, None),
        ("request", {"method": "tools/call", "params": PARAMS}, PARAMS, "params"),
        (
            "request",
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": PARAMS},
            PARAMS,
            "params",
        ),
        ("request", {"method": "tools/call", "id": "x" * 64}, None, "params"),
        ("request", {"method": "tools/call", "id": None}, None, "params"),
        ("response", RESULT, RESULT, None),
        ("response", {"result": RESULT}, RESULT, "result"),
        ("response", {"jsonrpc": "2.0", "id": 1, "result": RESULT}, RESULT, "result"),
        ("request", None, None, None),
        ("response", [1], [1], None),
    ],
)
def test_both_shapes_give_the_same_bare_payload(
    phase: str, sent: Any, bare: Any, member: str | None
) -> None:
    envelope = unwrap("tools/call", phase, sent)
    assert (envelope.payload, envelope.member) == (bare, member)


@pytest.mark.parametrize(
    ("phase", "sent"),
    [
        ("request", {"method": "tools/list", "params": PARAMS}),
        ("request", {"method": "tools/call", "params": PARAMS, "name": "rm"}),
        ("request", {"result": RESULT}),
        ("response", {"result": RESULT, "content": []}),
        ("response", {"result": RESULT, "id": {"content": []}}),
        ("response", {"result": RESULT, "id": "x" * 65}),
        ("response", {"result": RESULT, "id": True}),
        ("response", {"result": RESULT, "jsonrpc": "a text"}),
        ("request", {"method": "tools/call", "params": PARAMS, "id": ["a"]}),
    ],
)
def test_what_is_more_than_an_envelope_is_judged_as_a_whole(phase: str, sent: Any) -> None:
    assert unwrap("tools/call", phase, sent).payload is sent


def test_a_changed_payload_goes_back_in_the_envelope_that_came() -> None:
    sent = {"id": 7, "method": "tools/call", "params": PARAMS}
    envelope = unwrap("tools/call", "request", sent)
    assert envelope.wrap({"name": "x"}) == {
        "id": 7,
        "method": "tools/call",
        "params": {"name": "x"},
    }
    assert sent["params"] is PARAMS
    assert unwrap("tools/call", "request", PARAMS).wrap(RESULT) is RESULT
