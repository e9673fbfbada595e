from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from policyd.model import Invocation, Phase
from policyd.wire import Call, dump_json, invocation_from_json, invocation_to_json

NOW = datetime(2026, 12, 1, tzinfo=UTC)
LEAST = Invocation("tools/call", Phase.REQUEST, {"name": "ls"})
FULL = Invocation(
    event="tools/call",
    phase=Phase.RESPONSE,
    payload={"content": []},
    context=MappingProxyType({"sessionId": "s-1", "principal": {"type": "user"}}),
    config=MappingProxyType({"no-rm": MappingProxyType({"limit": 3}), "other": {"limit": 4}}),
    timeout=9.0,
)


def test_what_is_absent_is_left_out() -> None:
    assert invocation_to_json("no-rm", LEAST, timeout=None) == {
        "name": "no-rm",
        "event": "tools/call",
        "phase": "request",
        "payload": {"name": "ls"},
    }


def test_an_interceptor_is_sent_its_own_config_only() -> None:
    params = invocation_to_json("no-rm", FULL, timeout=0.25)
    assert params == {
        "name": "no-rm",
        "event": "tools/call",
        "phase": "response",
        "payload": {"content": []},
        "config": {"limit": 3},
        "timeoutMs": 250,
        "context": {"sessionId": "s-1", "principal": {"type": "user"}},
    }
    # read-only mappings have become objects that every encoder knows
    assert dump_json(params).startswith(b'{"name":"no-rm"')


def test_an_empty_config_is_sent_and_an_absent_one_is_not() -> None:
    invocation = Invocation("tools/call", "request", None, config={"a": {}})
    assert invocation_to_json("a", invocation, timeout=None)["config"] == {}
    assert "config" not in invocation_to_json("b", invocation, timeout=None)


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(0.0, 1), (0.0001, 1), (0.0156, 16), (0.29, 290), (30.0, 30_000)],
)
def test_a_timeout_is_an_integer_of_at_least_one_millisecond(
    seconds: float, milliseconds: int
) -> None:
    sent = invocation_to_json("no-rm", LEAST, timeout=seconds)["timeoutMs"]
    assert (type(sent), sent) == (int, milliseconds)


def test_the_params_read_back_as_the_invocation() -> None:
    params = invocation_to_json("no-rm", FULL, timeout=FULL.timeout)
    call = invocation_from_json(params, NOW)
    expected = Invocation(
        event="tools/call",
        phase=Phase.RESPONSE,
        payload={"content": []},
        context={"sessionId": "s-1", "principal": {"type": "user"}},
        config={"no-rm": {"limit": 3}},
        timeout=9.0,
        now=NOW,
    )
    assert call == Call("no-rm", expected, call.size)
