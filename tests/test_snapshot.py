from __future__ import annotations

import copy
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from policyd.compiler import compile_bundle
from policyd.errors import Cause, InvocationError
from policyd.execution import Status
from policyd.model import (
    Failure,
    Invocation,
    Kind,
    MutationResult,
    Phase,
    ValidationResult,
)
from policyd.snapshot import Snapshot, dated
from policyd.source import make_bundle

POLICIES = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules:
      - id: rm
        deny: args.command.startsWith("rm ")
        message: not this
        path: /arguments/command
  - name: limited
    match: {events: [tools/call], phase: request, tools: [limited]}
    configSchema:
      type: object
      properties: {most: {type: integer, default: 3}, least: {type: integer}, any: true}
    rules:
      - {id: most, deny: args.n > config.most, message: too many}
  - name: anything
    match: {events: ["*"], phase: response}
    rules:
      - {id: bad, deny: 'has(result.bad)', message: bad}
mutators:
  - name: stamp
    match: {events: [tools/call], phase: request}
    patch:
      - {op: add, path: /arguments/stamped, value: true}
"""

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CALL = {"name": "shell", "arguments": {"command": "ls"}}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": POLICIES}))
    assert compilation.snapshot is not None
    return compilation.snapshot


def call(payload: Any, **more: Any) -> Invocation:
    return Invocation("tools/call", "request", payload, **more)


def test_an_interceptor_that_is_not_there_is_the_callers_mistake(snapshot: Snapshot) -> None:
    with pytest.raises(InvocationError) as caught:
        snapshot.invoke("absent", call(CALL))
    assert (caught.value.code, caught.value.data) == (-32602, {"interceptor": "absent"})


@pytest.mark.parametrize("phase", ["both", "", "Request"])
def test_a_phase_that_is_none_is_the_callers_mistake(snapshot: Snapshot, phase: str) -> None:
    for ask in (snapshot.decide, lambda i: snapshot.invoke("no-rm", i)):
        with pytest.raises(InvocationError) as caught:
            ask(Invocation("tools/call", phase, CALL))
        assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("event", "phase"), [("tools/call", "response"), ("tools/list", "request"), ("x", "response")]
)
def test_an_interceptor_says_nothing_where_it_is_not_hooked(
    snapshot: Snapshot, event: str, phase: str
) -> None:
    payload = {"command": "rm x"}
    invocation = Invocation(event, phase, payload)
    assert snapshot.invoke("no-rm", invocation) == ValidationResult(
        "no-rm", Phase(phase), True, skipped="not_hooked"
    )
    skipped = snapshot.invoke("stamp", invocation)
    assert isinstance(skipped, MutationResult)
    assert (skipped.modified, skipped.payload, skipped.skipped) == (False, payload, "not_hooked")
    assert skipped.payload is payload


@pytest.mark.parametrize(
    "payload", [CALL, {"method": "tools/call", "params": CALL}, {"method": "tools/call", "id": 1}]
)
def test_a_mutated_payload_comes_back_in_the_shape_that_came(
    snapshot: Snapshot, payload: Any
) -> None:
    before = copy.deepcopy(payload)
    result = snapshot.invoke("stamp", call(payload))
    if "id" in payload:
        assert isinstance(result, Failure)  # there are no arguments to stamp
    else:
        stamped = {"name": "shell", "arguments": {"command": "ls", "stamped": True}}
        assert isinstance(result, MutationResult)
        assert result.payload == (
            {**payload, "params": stamped} if "params" in payload else stamped
        )
    assert payload == before


def test_a_decision_takes_all_interceptors_and_changes_no_object_of_the_caller(
    snapshot: Snapshot,
) -> None:
    payload = copy.deepcopy(CALL)
    decision = snapshot.decide(call({"method": "tools/call", "params": payload}))
    assert decision.allowed
    assert decision.generation == snapshot.generation
    assert [outcome.interceptor for outcome in decision.outcomes] == [
        "no-rm",
        "limited",
        "stamp",
    ]
    assert decision.payload["params"]["arguments"] == {"command": "ls", "stamped": True}
    assert payload == CALL


def test_a_denied_payload_is_the_very_object_that_came(snapshot: Snapshot) -> None:
    payload = {"name": "shell", "arguments": {"command": "rm x"}}
    decision = snapshot.decide(call(payload))
    assert (decision.allowed, decision.status) == (False, Status.VALIDATION_FAILED)
    assert decision.payload is payload
    assert [(f.interceptor, f.rule, f.path) for f in decision.findings] == [
        ("no-rm", "rm", "/arguments/command")
    ]


def test_an_argument_that_is_absent_is_a_failure_and_not_a_pass(snapshot: Snapshot) -> None:
    decision = snapshot.decide(call({"name": "shell"}))
    assert not decision.allowed
    assert [failure.reason for failure in decision.failures] == [
        "p.yaml:8:15: rule `rm`: no such key `command`"
    ]


@pytest.mark.parametrize(
    ("config", "n", "allowed"),
    [({}, 3, True), ({}, 4, False), ({"limited": {"most": 9}}, 9, True)],
)
def test_a_config_lies_over_the_defaults_of_its_schema(
    snapshot: Snapshot, config: Any, n: int, allowed: bool
) -> None:
    payload = {"name": "limited", "arguments": {"command": "ls", "n": n}}
    assert snapshot.decide(call(payload, config=config)).allowed is allowed


@pytest.mark.parametrize("config", [{"most": "9"}, [9], {"most": "\ud8009"}])
def test_a_config_that_breaks_its_schema_is_the_callers_mistake(
    snapshot: Snapshot, config: Any
) -> None:
    payload = {"name": "limited", "arguments": {"command": "ls", "n": 1}}
    for ask in (snapshot.decide, lambda i: snapshot.invoke("limited", i)):
        with pytest.raises(InvocationError) as caught:
            ask(call(payload, config={"limited": config}))
        assert caught.value.data["interceptor"] == "limited"
        assert "9" not in caught.value.data["reason"]


def test_a_wildcard_runs_for_events_that_nobody_has_heard_of(snapshot: Snapshot) -> None:
    denied = snapshot.decide(Invocation("acme/deploy", "response", {"bad": 1}))
    assert [f.interceptor for f in denied.findings] == ["anything"]


def test_some_interceptors_of_one_kind_can_be_run_alone(snapshot: Snapshot) -> None:
    payload = {"name": "shell", "arguments": {"command": "rm x"}}
    names = frozenset({"no-rm", "stamp"})
    judged = snapshot.invoke_many(Kind.VALIDATION, call(payload), names)
    assert [outcome.interceptor for outcome in judged.outcomes] == ["no-rm"]
    changed = snapshot.invoke_many(Kind.MUTATION, call(payload), names)
    assert [outcome.interceptor for outcome in changed.outcomes] == ["stamp"]
    assert changed.payload["arguments"]["stamped"] is True


SLOW = """
policyd: v1
validators:
  - name: slow
    match: {events: [tools/call], phase: request}
    failOpen: true
    rules:
      - id: r
        deny: args.l.exists(a, args.l.exists(b, args.l.exists(c, a + b + c < 0)))
        message: no
"""


def slow() -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": SLOW}))
    assert compilation.snapshot is not None
    return compilation.snapshot


LONG = {"name": "x", "arguments": {"l": list(range(400))}}


def test_an_invocation_that_is_dated_keeps_everything_else() -> None:
    given: dict[str, Any] = {field.name: object() for field in fields(Invocation)}
    given |= {"context": {}, "now": None}
    assert dated(Invocation(**given), NOW) == Invocation(**{**given, "now": NOW})
    assert dated(Invocation(**given), NOW).watch is given["watch"]


def test_the_time_of_the_invocation_bounds_one_interceptor() -> None:
    outcome = slow().invoke("slow", call(LONG, timeout=0.001))
    assert isinstance(outcome, Failure)
    assert outcome.cause is Cause.DEADLINE


def test_the_time_of_a_whole_chain_counts_even_where_the_interceptor_fails_open() -> None:
    decision = slow().decide(call(LONG, timeout=0.001))
    assert decision.status is Status.TIMEOUT
    assert [failure.cause for failure in decision.failures] == [Cause.CHAIN_DEADLINE]


def test_a_glance_and_a_closer_look_agree() -> None:
    # more steps than a glance may take, fewer than an interceptor has
    payload = {"name": "x", "arguments": {"l": list(range(25))}}
    assert slow().decide(call(payload)).status is Status.SUCCESS
    (outcome,) = slow().decide(call({"name": "x", "arguments": {"l": [-1]}})).outcomes
    assert isinstance(outcome, ValidationResult)
    assert [finding.rule for finding in outcome.findings] == ["r"]
