"""What of a message is the protocol's own, and what a mutator may do to it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.middleware.stamps import StampError, keep_request_stamps, keep_result_stamps

MCP = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = MCP + "protocolVersion", MCP + "clientCapabilities"


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ({"resultType": "complete"}, {"a": 1}, {"a": 1, "resultType": "complete"}),
        ({"resultType": "input_required"}, {}, {"resultType": "input_required"}),
        ({"resultType": "complete"}, {"resultType": None}, {"resultType": "complete"}),
        # what is no word of the protocol's may be somebody's text
        ({"resultType": "text"}, {"a": 1}, {"a": 1}),
        ({"resultType": ["complete"]}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"resultType": "complete"}, {"resultType": "complete"}),
        # `serverInfo` is not required, and free text
        ({"_meta": {MCP + "serverInfo": {"name": "n"}}}, {"a": 1}, {"a": 1}),
    ],
)
def test_a_result_keeps_its_type_and_nothing_else(old: Any, new: Any, kept: Any) -> None:
    assert keep_result_stamps(old, new) == kept


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"resultType": "complete"}, {"resultType": "input_required"}),
        ({"resultType": "input_required"}, {"resultType": "complete"}),
        ({"resultType": "text"}, {"resultType": "other"}),
        ({}, {"resultType": "input_required"}),
    ],
)
def test_a_result_may_not_become_one_of_another_type(old: Any, new: Any) -> None:
    with pytest.raises(StampError, match="`resultType` may not be changed"):
        keep_result_stamps(old, new)


SENT: dict[str, Any] = {
    VERSION: "2026-07-28",
    CAPABILITIES: {
        "roots": {"listChanged": True},
        "sampling": {"tools": {"text": "free"}, "own": {}},
        "elicitation": "text",
        "experimental": {"text": {"free": "text"}},
        "extensions": {"text/text": {}},
    },
    MCP + "clientInfo": {"name": "free text", "version": "1"},
    MCP + "logLevel": "debug",
    MCP + "anything": "free text",
    "progressToken": "free text",
    "own": "free text",
}

REQUIRED = {VERSION: "2026-07-28", CAPABILITIES: {"roots": {}, "sampling": {"tools": {}}}}


@pytest.mark.parametrize("new", [{}, {"_meta": None}, {"_meta": {}}])
def test_params_made_anew_get_what_is_required_and_no_text(new: Any) -> None:
    assert keep_request_stamps({"_meta": SENT}, {"a": 1, **new}) == {"a": 1, "_meta": REQUIRED}


@pytest.mark.parametrize(
    "meta", [None, "text", {}, {"own": 1}, {VERSION: "text", CAPABILITIES: "text"}]
)
def test_what_was_not_readable_is_not_put_back(meta: Any) -> None:
    assert keep_request_stamps({"_meta": meta}, {"a": 1}) == {"a": 1}


def test_what_a_mutator_changed_stays_changed() -> None:
    changed = {
        VERSION: "2026-07-28",
        CAPABILITIES: {"roots": {}},
        MCP + "clientInfo": {"name": "[redacted]", "version": "1"},
        "progressToken": "free text",
        "more": 1,
    }
    new = {"_meta": changed}
    assert keep_request_stamps({"_meta": SENT}, new) is new


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (VERSION, "2025-11-25"),
        (VERSION, None),
        ("progressToken", "[redacted]"),
        ("progressToken", None),
    ],
)
def test_what_a_peer_goes_by_may_not_be_changed(key: str, value: Any) -> None:
    with pytest.raises(StampError, match=f"`{key}` may not be changed"):
        keep_request_stamps({"_meta": SENT}, {"_meta": {**SENT, key: value}})


@pytest.mark.parametrize("old", [{}, {"_meta": {"progressToken": 1}}])
def test_a_token_may_not_be_made_up_and_keeps_its_type(old: Any) -> None:
    with pytest.raises(StampError, match="`progressToken` may not be changed"):
        keep_request_stamps(old, {"_meta": {"progressToken": True}})


@pytest.mark.parametrize("meta", ["text", [], 1])
def test_meta_stays_an_object(meta: Any) -> None:
    with pytest.raises(StampError, match="`_meta` must be an object"):
        keep_request_stamps({"_meta": SENT}, {"_meta": meta})


TEXTS = st.sampled_from(["PRIVATE", "2026-07-28", "complete"])
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
METAS = VALUES | st.dictionaries(
    st.sampled_from([*SENT, MCP + "serverInfo"]) | TEXTS, VALUES, max_size=6
)


@given(METAS, VALUES)
def test_no_text_of_the_peers_comes_back_once_it_is_out(meta: Any, kind: Any) -> None:
    old = {"_meta": meta, "resultType": kind}
    before = copy.deepcopy(old)
    for keep in (keep_request_stamps, keep_result_stamps):
        assert "PRIVATE" not in repr(keep(old, {}))
    assert old == before


@given(METAS, VALUES)
def test_a_message_that_kept_its_stamps_stays_the_very_object(meta: Any, kind: Any) -> None:
    message = {"_meta": meta, "a": 1}
    again = {**message, "a": 2}
    assert keep_request_stamps(message, again) is again
    kept = {**message, "resultType": kind}
    assert keep_result_stamps(kept, kept) is kept
