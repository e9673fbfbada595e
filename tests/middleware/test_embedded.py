"""Messages inside messages, and what of a message is the protocol's own."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, TextContent

from policyd.middleware.embedded import (
    UnreadableError,
    inputs_of,
    is_interim,
    keep_stamps,
    method_answered,
    read_request,
)

SERVER = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parametrize(
    ("answer", "method"),
    [
        (ElicitResult(action="decline"), "elicitation/create"),
        (ElicitResult(action="accept", content={"role": "admin"}), "elicitation/create"),
        (ListRootsResult(roots=[]), "roots/list"),
        (
            CreateMessageResult(role="assistant", model="m", content=TextContent(text="t")),
            "sampling/createMessage",
        ),
    ],
)
def test_every_answer_that_the_sdk_makes_is_told_by_its_members(answer: Any, method: str) -> None:
    wire = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert method_answered(wire) == method


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": "text"},
        {"role": "user", "content": "text"},
        {"action": "accept", "roots": []},
        {"action": "accept", "role": "user", "content": {}, "model": "m"},
    ],
)
def test_an_answer_of_no_kind_or_of_two_is_not_guessed(answer: Any) -> None:
    with pytest.raises(UnreadableError):
        method_answered(answer)


def test_a_request_without_params_has_an_empty_object() -> None:
    assert read_request({"method": "roots/list"}) == ("roots/list", {})
    assert read_request({"method": "m", "params": {"a": 1}}) == ("m", {"a": 1})


def test_absent_inputs_are_none() -> None:
    assert inputs_of({}, "inputRequests") == {}
    assert inputs_of({"inputRequests": None}, "inputRequests") == {}


ROOTS = {"a": {"method": "roots/list", "params": {}}}


@pytest.mark.parametrize(
    ("result", "interim"),
    [
        ({"resultType": "input_required", "inputRequests": ROOTS}, True),
        ({"resultType": "input_required", "requestState": "s", "_meta": {}}, True),
        ({"resultType": "complete", "inputRequests": ROOTS}, False),
        ({"inputRequests": ROOTS}, False),
        ({"resultType": "input_required", "inputRequests": ROOTS, "content": []}, False),
        (
            {"resultType": "input_required", "inputRequests": {"a": {**ROOTS["a"], "note": 1}}},
            False,
        ),
    ],
)
def test_only_a_result_that_holds_requests_alone_is_interim(result: Any, interim: bool) -> None:
    assert is_interim(result) is interim


VALUES = st.sampled_from([None, 1, "text", {"x": 1}])
METAS = st.none() | st.dictionaries(
    st.sampled_from([SERVER, "io.modelcontextprotocol/logLevel", "progressToken", "own"]), VALUES
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"resultType": st.sampled_from(["complete", "x"]), "_meta": METAS, "a": VALUES}
)


@given(MESSAGES, MESSAGES)
def test_stamps_survive_any_change_and_nothing_else_is_touched(old: Any, new: Any) -> None:
    before = copy.deepcopy((old, new))
    kept = keep_stamps(old, new)
    assert (old, new) == before
    if "resultType" in old:
        assert kept["resultType"] == old["resultType"]
    for key, value in (old.get("_meta") or {}).items():
        if key != "own":
            assert kept["_meta"][key] == value
    assert kept.get("a") == new.get("a")
    assert (kept.get("_meta") or {}).get("own") == (new.get("_meta") or {}).get("own")


@given(MESSAGES)
def test_a_message_that_kept_its_stamps_stays_the_very_object(message: Any) -> None:
    assert keep_stamps(message, message) is message
