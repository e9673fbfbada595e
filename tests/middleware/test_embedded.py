"""Messages inside messages."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, TextContent

from policyd.middleware.embedded import (
    UnreadableError,
    check_interim,
    inputs_of,
    method_answered,
    read_request,
)


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


@pytest.mark.parametrize("key", ["", "a b", "a\n", "schl\u00fcssel", "k" * 257])
def test_a_key_is_short_and_plain(key: str) -> None:
    assert inputs_of({"inputRequests": {"app.tools:ask.<locals>.sure#2": {}}}, "inputRequests")
    with pytest.raises(UnreadableError, match="a key that is too long, or no plain ASCII"):
        inputs_of({"inputRequests": {key: {}}}, "inputRequests")


def test_one_message_holds_64_others_at_most() -> None:
    entries: dict[str, Any] = {f"k{number}": {} for number in range(64)}
    assert len(inputs_of({"inputResponses": entries}, "inputResponses")) == 64
    with pytest.raises(UnreadableError, match="`inputResponses` has more than 64 entries"):
        inputs_of({"inputResponses": {**entries, "more": {}}}, "inputResponses")


ROOTS = {"a": {"method": "roots/list", "params": {}}}


@pytest.mark.parametrize(
    "result",
    [
        {"inputRequests": ROOTS},
        {"requestState": ""},
        {"inputRequests": {}, "requestState": "s"},
    ],
)
def test_an_interim_result_asks_for_something(result: Any) -> None:
    check_interim(result)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({}, "neither input requests nor a request state"),
        ({"inputRequests": {}, "requestState": None}, "neither input requests nor a request state"),
        ({"inputRequests": ROOTS, "requestState": {"a": 1}}, "`requestState` is not a string"),
    ],
)
def test_an_interim_result_that_asks_for_nothing_is_none(result: Any, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        check_interim(result)
