"""Known failures of such systems (C37, C38): patterns and payloads that are made to take long.

Each takes half a second at most on a machine of its own; where work grows faster than the
payload it would take minutes, so the limit can be a wide one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from policyd.compiler import compile_bundle
from policyd.detectors import DETECTORS
from policyd.execution import Decision, Status
from policyd.model import Invocation
from policyd.snapshot import Snapshot
from policyd.source import make_bundle

LIMIT = 10.0


def snapshot(text: str) -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": f"policyd: v1\n{text}"}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot


def redacting(entry: str) -> Snapshot:
    return snapshot(f"""
mutators:
  - name: m
    match: {{events: [tools/call], phase: both}}
    timeout: 10s
    redact: [{entry}]
""")


def decide(snapshot: Snapshot, payload: Mapping[str, Any], phase: Any = "request") -> Decision:
    return snapshot.decide(Invocation(event="tools/call", phase=phase, payload=payload))


def seconds_of(snapshot: Snapshot, payload: Mapping[str, Any], phase: Any = "request") -> float:
    begun = time.perf_counter()
    assert decide(snapshot, payload, phase).allowed
    return time.perf_counter() - begun


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|aa)+$", "(x(a+)+y)", r"(\w+\s*)+:", "^(([a-z])+.)+[A-Z]([a-z])+$"],
)
def test_a_pattern_that_explodes_where_others_backtrack_does_not(pattern: str) -> None:
    payload = {"name": "x", "arguments": {"s": "a" * 4000 + "!"}}
    assert seconds_of(redacting(f"{{pattern: '{pattern}'}}"), payload) < LIMIT


HOSTILE = {
    "addresses": "a@" * 50_000,
    "hosts": "http://" * 20_000,
    "numbers": "1-" * 100_000,
    "keys": ("-----BEGIN " + "PRIVATE KEY-----") * 2_000,
    "tokens": "eyJ" * 50_000,
    "labels": ("a" * 64 + ".") * 2_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_detectors_are_not_slowed_down_by_what_they_almost_find(text: str) -> None:
    everything = redacting(f"{{detect: [{', '.join(DETECTORS)}]}}")
    payload = {"content": [{"type": "text", "text": text}]}
    assert seconds_of(everything, payload, "response") < LIMIT


@pytest.mark.parametrize(
    "pattern", ["a" * 100_000, "|".join(f"word{n}" for n in range(2000)), "(a{1,1000}){1,1000}"]
)
def test_a_large_pattern_compiles_or_is_refused_at_once(pattern: str) -> None:
    begun = time.perf_counter()
    text = f"""policyd: v1
mutators:
  - name: m
    match: {{events: [tools/call], phase: request}}
    redact: [{{pattern: '{pattern}'}}]
"""
    compilation = compile_bundle(make_bundle({"p.yaml": text}))
    assert time.perf_counter() - begun < LIMIT
    assert compilation.snapshot is not None or compilation.diagnostics[0].code == "bad-pattern"


def test_a_payload_of_many_small_texts_is_walked_once() -> None:
    masked = redacting("{detect: [email]}")
    blocks = {"content": [{"type": "text", "text": f"b {n:>8}"} for n in range(100_000)]}
    assert seconds_of(masked, blocks, "response") < LIMIT
    members = {"structuredContent": {f"k{n}": n for n in range(200_000)}}
    assert seconds_of(masked, members, "response") < LIMIT


def test_loops_within_loops_end_at_a_limit_and_are_no_pass() -> None:
    nested = snapshot("""
validators:
  - name: v
    match: {events: [tools/call], phase: request}
    timeout: 200ms
    rules:
      - id: r
        require: args.l.all(a, args.l.all(b, args.l.all(c, a + b + c >= 0)))
        message: m
""")
    begun = time.perf_counter()
    decision = decide(nested, {"name": "x", "arguments": {"l": list(range(2000))}})
    assert time.perf_counter() - begun < LIMIT
    assert decision.status is not Status.SUCCESS
    assert not decision.allowed
