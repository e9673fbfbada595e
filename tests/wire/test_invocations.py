from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.errors import InvocationError
from policyd.model import Invocation, Phase
from policyd.wire import MAX_TIMEOUT, Call, invocation_from_json

NOW = datetime(2026, 12, 1, tzinfo=UTC)

LEAST: dict[str, Any] = {
    "name": "no-rm",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "ls"},
}


def test_the_least_that_is_a_call() -> None:
    invocation = Invocation("tools/call", Phase.REQUEST, {"name": "ls"}, now=NOW)
    assert invocation_from_json(LEAST, NOW) == Call("no-rm", invocation, 8)


def test_every_member_is_read_and_unknown_ones_are_ignored() -> None:
    context = {"principal": {"type": "user", "id": "u-1"}, "traceId": "t", "future": {}}
    params = {
        **LEAST,
        "phase": "response",
        "config": {"limit": 3},
        "timeoutMs": 100.0,
        "context": context,
        "_meta": {"progressToken": 1},
        "futureField": 1,
    }
    assert invocation_from_json(params, NOW).invocation == Invocation(
        event="tools/call",
        phase=Phase.RESPONSE,
        payload={"name": "ls"},
        context=context,
        config={"no-rm": {"limit": 3}},
        timeout=0.1,
        now=NOW,
    )


@pytest.mark.parametrize("context", [None, "root", 7, ["admin"], {}])
def test_an_odd_context_is_no_context(context: object) -> None:
    assert invocation_from_json({**LEAST, "context": context}, NOW).invocation.context == {}


def test_the_timestamp_of_the_context_is_the_moment() -> None:
    context = {"timestamp": "2026-12-01T02:00:00+01:00"}
    moment = invocation_from_json({**LEAST, "context": context}, NOW).invocation.now
    assert moment == NOW + timedelta(hours=1)


def test_what_is_larger_than_asked_for_is_not_wholly_looked_at() -> None:
    params = {**LEAST, "payload": [[0] * 100, [float("nan")]]}
    assert invocation_from_json(params, NOW, most=50).size > 50
    assert refusal(params)["reason"] == "`payload` holds a number that is not finite"


def test_null_stands_for_absent_except_in_the_payload() -> None:
    params = {**LEAST, "payload": None, "config": None, "timeoutMs": None, "context": None}
    invocation = Invocation("tools/call", Phase.REQUEST, None, now=NOW)
    assert invocation_from_json(params, NOW) == Call("no-rm", invocation, 1)


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (50, 0.05),
        (0.5, 0.0005),
        (29_999, 29.999),
        (30_000, MAX_TIMEOUT),
        (1e9, MAX_TIMEOUT),
        (10**400, MAX_TIMEOUT),
    ],
)
def test_a_timeout_is_milliseconds_and_clamped(sent: float, seconds: float) -> None:
    assert invocation_from_json({**LEAST, "timeoutMs": sent}, NOW).invocation.timeout == seconds


@pytest.mark.parametrize("sent", [0, -5, -1e9, True, "100", [], float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_refused(sent: object) -> None:
    assert refusal({**LEAST, "timeoutMs": sent}) == {
        "interceptor": "no-rm",
        "reason": "`timeoutMs` must be a number greater than 0",
    }


@pytest.mark.parametrize("name", [None, "", 7, ["no-rm"]])
def test_a_name_is_required(name: object) -> None:
    assert refusal({**LEAST, "name": name}) == {
        "reason": "`name` must be a string that is not empty"
    }


def test_params_are_required() -> None:
    assert refusal(None) == {"reason": "`name` must be a string that is not empty"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"event": ""}, "`event` must be a string that is not empty"),
        ({"event": ["tools/call"]}, "`event` must be a string that is not empty"),
        ({"phase": "both"}, "`phase` must be `request` or `response`"),
        ({"phase": None}, "`phase` must be `request` or `response`"),
        ({"phase": ["request"]}, "`phase` must be `request` or `response`"),
        ({"config": []}, "`config` must be an object"),
        ({"config": "x"}, "`config` must be an object"),
        ({"payload": [1e999]}, "`payload` holds a number that is not finite"),
        ({"config": {"a": "\ud800"}}, "`config` holds a lone surrogate"),
        ({"context": {"a": {1}}}, "`context` holds a value that is not JSON"),
    ],
)
def test_a_slip_is_refused_with_the_name_and_the_reason(
    changed: dict[str, Any], reason: str
) -> None:
    assert refusal({**LEAST, **changed}) == {"interceptor": "no-rm", "reason": reason}


def test_a_missing_payload_is_refused() -> None:
    params = {key: value for key, value in LEAST.items() if key != "payload"}
    assert refusal(params) == {"interceptor": "no-rm", "reason": "`payload` is missing"}


def refusal(params: dict[str, Any] | None) -> dict[str, Any]:
    with pytest.raises(InvocationError) as caught:
        invocation_from_json(params, NOW)
    assert (caught.value.code, caught.value.message) == (-32602, "Invalid params")
    return caught.value.data
