from __future__ import annotations

from pathlib import Path

import pytest

import policyd

POLICY = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules:
      - id: rm
        deny: args.command.startsWith("rm ") && now > timestamp(0)
        message: not this
        hint: name one file
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "p.yaml").write_text(POLICY)
    return tmp_path


def test_policies_are_loaded_and_decide(directory: Path) -> None:
    engine = policyd.load(directory)
    payload = {"name": "shell", "arguments": {"command": "rm x"}}
    decision = engine.decide(policyd.Invocation("tools/call", "request", payload))
    assert not decision.allowed
    assert decision.findings == (
        policyd.Finding(
            "no-rm", "rm", decision.findings[0].severity, "not this", None, "name one file"
        ),
    )
    assert decision.audited == ()
    assert decision.payload is payload
    answer = decision.to_json()
    assert (answer["allowed"], answer["generation"]) == (False, engine.current.generation)
    assert answer["status"] == policyd.Status.VALIDATION_FAILED


def test_policies_that_do_not_compile_raise_with_every_diagnostic(directory: Path) -> None:
    (directory / "q.yaml").write_text("policyd: v2\n")
    (directory / "p.yaml").write_text(POLICY.replace("args.", "arg."))
    with pytest.raises(policyd.PolicyError) as caught:
        policyd.load(directory)
    assert [d.code for d in caught.value.diagnostics] == ["cel-unknown-name", "unknown-version"]
    assert str(caught.value).splitlines()[:4] == [
        f"{directory}/p.yaml:8:15: error[cel-unknown-name]: unknown name `arg`",
        '    8 |         deny: arg.command.startsWith("rm ") && now > timestamp(0)',
        "      |               ^^^",
        "      = help: did you mean `args`?",
    ]


def test_nothing_is_loaded_from_nowhere_unless_that_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(policyd.PolicyError):
        policyd.load(tmp_path)
    assert policyd.load(tmp_path, allow_empty=True).current.descriptors == ()


def test_one_decision_is_made_by_one_generation(directory: Path) -> None:
    engine = policyd.load(directory)
    before = engine.current
    (directory / "p.yaml").write_text(POLICY.replace("rm ", "ls "))
    engine.install(policyd.load(directory).current)
    payload = {"name": "shell", "arguments": {"command": "rm x"}}
    invocation = policyd.Invocation(
        "tools/call", "request", payload, {"timestamp": "2026-01-01T00:00:00Z"}
    )
    assert engine.decide(invocation).allowed
    assert before.decide(invocation).generation == before.generation != engine.current.generation
    assert not before.decide(invocation).allowed


@pytest.mark.parametrize("value", [("a",), b"a", {"a"}, float("nan"), {1: 2}, "\ud800"])
def test_a_payload_that_is_not_json_is_refused_and_not_overlooked(
    directory: Path, value: object
) -> None:
    engine = policyd.load(directory)
    payload = {"name": "shell", "arguments": {"command": "ls", "x": value}}
    with pytest.raises(policyd.InvocationError) as caught:
        engine.decide(policyd.Invocation("tools/call", "request", payload))
    assert str(caught.value).startswith("Invalid params: `payload` ")


def test_the_json_of_a_decision_holds_no_payload_but_the_final_one(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("""
policyd: v1
mutators:
  - name: first
    match: {events: [tools/call], phase: response}
    priority: 1
    redact: [{pattern: nothing-like-it}]
  - name: second
    match: {events: [tools/call], phase: response}
    priority: 2
    redact: [{pattern: hidden}]
""")
    payload = {"content": [{"type": "text", "text": "a hidden thing"}]}
    decision = policyd.load(tmp_path).decide(policyd.Invocation("tools/call", "response", payload))
    answer = decision.to_json()
    assert answer["finalPayload"]["content"][0]["text"] == "a [redacted] thing"
    assert "hidden" not in str(answer)
