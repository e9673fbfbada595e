from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from policyd.activation import Activation, activate, moment_of
from policyd.errors import EvaluationError
from policyd.expression import Budget
from policyd.model import Invocation

MOMENT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def budget() -> Budget:
    return Budget(1000, time.monotonic() + 10)


def activation(invocation: Invocation, **variables: Any) -> Activation:
    named = {f"variables.{name}": value for name, value in variables.items()}
    return activate(invocation, invocation.payload).with_variables(budget(), named)


@pytest.mark.parametrize(
    ("event", "phase", "payload", "names"),
    [
        (
            "tools/call",
            "request",
            {"name": "t", "arguments": {"a": 1}},
            {"tool": "t", "args": {"a": 1}},
        ),
        ("tools/call", "request", {"name": "t"}, {"tool": "t", "args": {}}),
        ("tools/call", "request", {"name": "t", "arguments": None}, {"tool": "t", "args": {}}),
        ("tools/call", "request", {"name": 1, "arguments": []}, {}),
        ("tools/call", "request", {"method": "tools/call", "params": {}, "x": 1}, {}),
        ("tools/call", "request", {"name": "t", "arguments": []}, {"tool": "t"}),
        ("tools/call", "request", [], {}),
        ("prompts/get", "request", {"name": "p"}, {"prompt": "p", "args": {}}),
        ("resources/read", "request", {"uri": "file:///a"}, {"uri": "file:///a"}),
        ("resources/subscribe", "request", {"uri": 1}, {}),
        ("tools/list", "request", {"name": "t"}, {}),
    ],
)
def test_a_request_gives_the_names_of_its_event(
    event: str, phase: str, payload: Any, names: dict[str, Any]
) -> None:
    shared = activate(Invocation(event, phase, payload), payload)
    assert shared == {"payload": payload, "event": event, "phase": phase, **names}


def test_absent_params_count_as_an_empty_mapping_and_an_absent_result_does_not() -> None:
    request = activate(Invocation("tools/list", "request", None), None)
    response = activate(Invocation("tools/list", "response", None), None)
    assert request["payload"] == {}
    assert (response["payload"], response["result"]) == (None, None)


@pytest.mark.parametrize(
    ("context", "name", "value"),
    [
        ({}, "principal", {"type": "anonymous", "id": "", "claims": {}}),
        (
            {"principal": {"type": "user", "id": None, "team": "a"}},
            "principal",
            {"type": "user", "id": "", "claims": {}, "team": "a"},
        ),
        ({}, "invoker", {"type": "anonymous", "id": "", "scopes": [], "claims": {}}),
        ({"principal": "root"}, "principal", {"type": "anonymous", "id": "", "claims": {}}),
        ({"sessionId": "s"}, "session", "s"),
        ({"sessionId": 7}, "session", ""),
        ({"traceId": "t"}, "trace", "t"),
        ({}, "trace", ""),
        ({"x": 1}, "context", {"x": 1}),
        ({"timestamp": "2026-11-30T13:00:00+01:00"}, "now", MOMENT),
    ],
)
def test_what_the_context_leaves_out_has_a_value_all_the_same(
    context: dict[str, Any], name: str, value: Any
) -> None:
    assert activation(Invocation("tools/call", "request", {}, context))[name] == value


@pytest.mark.parametrize(
    ("now", "stamp", "moment"),
    [
        (MOMENT, "2020-01-01T00:00:00Z", MOMENT),
        (MOMENT.replace(tzinfo=None), None, MOMENT),
        (None, "2026-11-30T12:00:00Z", MOMENT),
        (None, "2026-11-30T12:00:00", None),
        (None, "yesterday", None),
        (None, "0001-01-01T00:00:00+14:00", None),
        (None, "2" * 100, None),
        (None, 5, None),
        (None, None, None),
    ],
)
def test_the_moment_is_the_invocations_own_or_its_contexts(
    now: datetime | None, stamp: Any, moment: datetime | None
) -> None:
    assert moment_of(Invocation("x", "request", {}, {"timestamp": stamp}, now=now)) == moment


def test_a_moment_in_another_zone_is_the_same_moment() -> None:
    zone = timezone(timedelta(hours=5))
    here = MOMENT.astimezone(zone)
    assert moment_of(Invocation("x", "request", {}, {"timestamp": here.isoformat()})) == MOMENT


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tool", "the payload has no text `name`, so `tool` is unknown"),
        ("now", "the invocation carries no moment, so `now` is unknown"),
        ("elsewhere", "`elsewhere` has no value here"),
    ],
)
def test_a_name_without_a_value_cannot_be_evaluated(name: str, reason: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        activation(Invocation("tools/call", "request", {}))[name]
    assert caught.value.reason == reason


def test_a_variable_is_computed_on_first_use_and_only_once() -> None:
    calls: list[str] = []

    def compute(names: Any, budget: Budget) -> str:
        calls.append(names["event"])
        return "v"

    names = activation(Invocation("tools/call", "request", {}), a=compute)
    assert calls == []
    assert (names["variables.a"], names["variables.a"]) == ("v", "v")
    assert calls == ["tools/call"]


def test_a_variable_that_fails_is_computed_only_once_and_fails_for_everybody() -> None:
    calls: list[int] = []

    def compute(names: Any, budget: Budget) -> None:
        calls.append(1)
        raise EvaluationError("no")

    names = activation(Invocation("tools/call", "request", {}), a=compute)
    for _ in range(3):
        with pytest.raises(EvaluationError):
            names["variables.a"]
    assert calls == [1]
