"""Watched policies decide as they do otherwise, and tell what they did."""

from __future__ import annotations

from typing import Any

import pytest

from policyd.compiler import compile_bundle, read_policies
from policyd.diagnostics import Report
from policyd.model import Invocation
from policyd.observation import Seen, Watched, watch_policies
from policyd.snapshot import make_snapshot
from policyd.source import make_bundle

POLICY = """\
policyd: v1
validators:
  - name: shell
    match:
      events: [tools/call]
      phase: request
      tools: [sh, cat]
      when: args.n > 0
    variables: {big: args.n > 5}
    rules:
      - {id: one, deny: variables.big, message: big}
      - {id: two, deny: args.m == 1, message: one}
      - {id: three, require: {jmespath: name == 'sh'}, message: sh}
mutators:
  - name: dry
    match: {events: [tools/call], phase: request}
    patch: [{op: add, path: /arguments/limit, value: {cel: args.n + 1}}]
  - name: hide
    match: {events: [tools/list], phase: response}
    drop: [{from: /tools, where: item.name == "x"}]
  - name: cover
    match: {events: [tools/list], phase: response}
    redact: [{detect: [email]}]
"""
BUNDLE = make_bundle({"p.yaml": POLICY})


def decided(event: str, phase: str, payload: Any) -> dict[str, Seen]:
    """What each policy did; the decision is compared with that of policies not watched."""
    watched = watch_policies(BUNDLE)
    interceptors = tuple(one for each in watched for one in each.interceptors)
    invocation = Invocation(event, phase, payload)
    told = make_snapshot(BUNDLE.revision, interceptors).decide(invocation)
    snapshot = compile_bundle(BUNDLE).snapshot
    assert snapshot is not None
    plain = snapshot.decide(invocation)
    assert (told.allowed, told.payload, told.findings) == (
        plain.allowed,
        plain.payload,
        plain.findings,
    )
    assert [type(outcome) for outcome in told.outcomes] == [type(o) for o in plain.outcomes]
    return {each.policy.name: each.seen for each in watched}


def values(seen: Seen) -> dict[str, list[Any]]:
    """What each expression gave, by the last steps of its place."""
    return {
        str(path[-1]): [each.value if each.error is None else each.error.reason for each in found]
        for path, found in seen.expressions.items()
    }


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_every_rule_and_expression_is_seen() -> None:
    seen = decided("tools/call", "request", call("sh", n=9, m=1))["shell"]
    assert seen.tool_admitted is True
    assert values(seen) == {"when": [True], "big": [True], "deny": [True], "require": [True]}
    assert {id: len(run.findings) for id, run in seen.rules.items()} == {
        "one": 1,
        "two": 1,
        "three": 0,
    }


@pytest.mark.parametrize(
    ("payload", "admitted", "expressions"),
    [
        (call("other", n=9), False, {}),
        (call("sh", n=0), True, {"when": [False]}),
        (call("sh"), True, {"when": ["no such key `n`"]}),
    ],
)
def test_what_match_says_is_seen(
    payload: Any, admitted: bool, expressions: dict[str, list[Any]]
) -> None:
    seen = decided("tools/call", "request", payload)["shell"]
    assert (seen.tool_admitted, values(seen), seen.rules) == (admitted, expressions, {})


def test_a_rule_that_cannot_be_evaluated_is_seen() -> None:
    error = decided("tools/call", "request", call("sh", n=1))["shell"].rules["two"].error
    assert error is not None
    assert error.reason == "no such key `m`"


def test_the_work_of_mutators_is_seen() -> None:
    seen = decided("tools/call", "request", call("sh", n=1, m=2))["dry"]
    assert [change.path for change in seen.changes or ()] == ["/arguments/limit"]
    assert values(seen) == {"cel": [2]}


def test_each_item_of_a_drop_is_seen() -> None:
    payload = {"tools": [{"name": "x"}, {"name": "a@example.com"}]}
    seen = decided("tools/list", "response", payload)
    assert values(seen["hide"]) == {"where": [True, False]}
    assert [change.detail for change in seen["cover"].changes or ()] == ["redact"]


def test_a_step_that_cannot_be_carried_out_is_seen() -> None:
    seen = decided("tools/list", "response", {"tools": {}})["hide"]
    assert seen.error is not None
    assert (seen.error.reason, seen.changes) == ("no list at `/tools`", None)


def test_what_was_seen_can_be_forgotten() -> None:
    watched = Watched(read_policies(BUNDLE, Report())[0], ())
    watched.seen.tool_admitted = True
    watched.forget()
    assert watched.seen == Seen()
