"""What a settings file changes about policies, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policyd.compiler import Compilation, compile_bundle
from policyd.model import Invocation
from policyd.observation import watch_policies
from policyd.settings import SettingsWatch
from policyd.source import Bundle, DirectorySource, SourceFile, make_bundle

POLICIES = """
policyd: v1
validators:
  - name: calls
    match: {events: ["tools/*", prompts/get], phase: both}
    rules: [{id: stop, deny: has(payload.name), message: stop}]
mutators:
  - name: mask
    match: {events: [tools/call], phase: request}
    priority: 7
    patch: [{path: /arguments/a, op: remove}]
  - name: both
    match: {events: [tools/call], phase: both}
    priority: {request: 1, response: 2}
    patch: [{path: /_meta, op: remove}]
"""


def bundle(overrides: str, policies: str = POLICIES) -> Bundle:
    content = f"settings: v1\n{overrides}\n".encode()
    return replace(make_bundle({"p.yaml": policies}), settings=SourceFile("policyd.yaml", content))


def compiled(overrides: str) -> Compilation:
    return compile_bundle(bundle(overrides))


def listed(overrides: str) -> list[dict[str, Any]]:
    """Of each interceptor, what overrides can change."""
    snapshot = compiled(overrides).snapshot
    assert snapshot is not None
    return [
        {
            "name": one.name,
            "mode": str(one.mode),
            "open": one.fail_open,
            "timeout": one.timeout,
            "priority": one.priority,
            "events": list(one.events),
            "phases": [str(phase) for phase in one.phases],
        }
        for one in snapshot.descriptors
    ]


PLAIN = listed("x-none: 1")


def changed(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, **changes.get(one["name"], {})} for one in PLAIN]


def test_without_overrides_policies_are_as_written() -> None:
    names = ["calls", "mask", "both/request", "both/response"]
    assert [one["name"] for one in PLAIN] == names
    assert {one["mode"] for one in PLAIN} == {"enforce"}


def test_all_policies_are_changed_and_single_ones_outweigh() -> None:
    text = (
        "allPolicies: {mode: audit, failOpen: true, timeout: 2s}\n"
        "policies: {mask: {mode: enforce, priority: 9}}"
    )
    every = {"mode": "audit", "open": True, "timeout": 2.0}
    assert listed(text) == [
        {**one, **every, **({"mode": "enforce", "priority": 9} if one["name"] == "mask" else {})}
        for one in PLAIN
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("calls: {match: {phase: response}}", changed(calls={"phases": ["response"]})),
        (
            "calls: {match: {events: [tools/call, prompts/get]}}",
            changed(calls={"events": ["tools/call", "prompts/get"]}),
        ),
        (
            "both: {match: {phase: response}}",
            [*PLAIN[:2], {**PLAIN[3], "name": "both"}],
        ),
        ("both: {priority: {response: 5}}", [*PLAIN[:3], {**PLAIN[3], "priority": 5}]),
        (
            "both: {priority: 4}",
            [*PLAIN[:2], {**PLAIN[2], "name": "both", "priority": 4, "phases": [*"xy"]}],
        ),
    ],
)
def test_a_policy_is_narrowed_or_ordered(text: str, expected: list[dict[str, Any]]) -> None:
    for one in expected:
        one["phases"] = ["request", "response"] if one["phases"] == [*"xy"] else one["phases"]
    assert listed(f"policies: {{{text}}}") == expected


@pytest.mark.parametrize(
    ("text", "code", "told", "help"),
    [
        ("call: {mode: audit}", "unknown-policy", "there is no policy `call` to", "did you mean"),
        ("zz: {mode: audit}", "unknown-policy", "there is no policy `zz` to", "`policyd list`"),
        (
            "mask: {match: {events: [tools/cal]}}",
            "wider-match",
            "`mask` is not for `tools/cal`: an override can only narrow",
            "did you mean `tools/call`?",
        ),
        (
            "calls: {match: {events: ['*']}}",
            "wider-match",
            "`calls` is not for `*`: an override can only narrow",
            "its own `events`: `tools/*`, `prompts/get`",
        ),
        (
            "mask: {match: {phase: both}}",
            "wider-match",
            "`mask` is for the request phase only: an override can only narrow",
            "leave `phase` out",
        ),
        ("calls: {priority: 1}", "never-runs", "`calls` is a validator", "leave `priority` out"),
        (
            "mask: {priority: {response: 1}}",
            "never-runs",
            "`mask` does not run in the response phase",
            None,
        ),
        ("mask: {timeout: 61s}", "bad-value", "`61s` is no usable timeout", None),
        ("mask: {mode: adit}", "unknown-value", "`adit` is not a value of `mode`", "did you mean"),
    ],
)
def test_an_override_that_cannot_be_is_refused(
    text: str, code: str, told: str, help: str | None
) -> None:
    compilation = compiled(f"policies: {{{text}}}")
    assert compilation.snapshot is None
    (found,) = compilation.diagnostics
    assert (found.span.file, found.span.line, found.code) == ("policyd.yaml", 2, code)
    assert found.text.startswith(told)
    assert (found.help or "").startswith(help or "")


def test_names_are_not_looked_up_while_policies_are_broken() -> None:
    broken = bundle("policies: {calls: {mode: audit}}", "policyd: v1\nvalidators: [{name: calls}]")
    codes = {found.code for found in compile_bundle(broken).diagnostics}
    assert codes == {"missing-field"}


def test_an_override_makes_no_policy_wrong() -> None:
    policies = POLICIES.replace("deny: has(payload.name)", "deny: event == 'prompts/get'")
    narrowed = bundle("policies: {calls: {match: {events: [tools/call]}}}", policies)
    assert compile_bundle(narrowed).diagnostics == compile_bundle(bundle("", policies)).diagnostics


def test_decisions_and_explanations_follow_the_overrides() -> None:
    audited = bundle("allPolicies: {mode: audit}")
    snapshot = compile_bundle(audited).snapshot
    assert snapshot is not None
    call = Invocation("tools/call", "request", {"name": "t", "arguments": {"a": 1}})
    decision = snapshot.decide(call)
    assert (decision.allowed, decision.payload) == (True, call.payload)
    assert [finding.rule for finding in decision.audited] == ["stop"]
    assert {str(each.policy.mode) for each in watch_policies(audited)} == {"audit"}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(POLICIES)
    return tmp_path


def read(directory: Path, settings: str | None) -> Bundle:
    if settings is not None:
        (directory / "policyd.yaml").write_text(settings)
    path = None if settings is None else "policyd.yaml"
    return DirectorySource(["."], settings=path, digest=SettingsWatch().digest).read()


def test_only_overrides_make_another_generation(directory: Path) -> None:
    plain = read(directory, None)
    options = read(directory, "settings: v1\nhttp: h:1\n")
    audit = read(directory, "settings: v1\nallPolicies: {mode: audit}\n")
    assert options.revision == plain.revision != audit.revision
    assert [file.name for file in audit.files] == ["p.yaml"]
    assert audit.settings is not None
    assert audit.texts().keys() == {"p.yaml", "policyd.yaml"}


def test_settings_among_policies_are_known_by_their_name(directory: Path) -> None:
    (directory / "env").mkdir()
    (directory / "env" / "policyd.yaml").write_text("settings: v1\nallPolicies: {mode: audit}\n")
    compilation = compile_bundle(read(directory, None))
    assert compilation.snapshot is not None
    assert {one.mode for one in compilation.snapshot.descriptors} == {"enforce"}
    (directory / "staging.yaml").write_text("settings: v1\n")
    (found,) = compile_bundle(read(directory, None)).diagnostics
    assert (found.span.file, found.code) == ("staging.yaml", "not-policies")


def test_a_policy_file_may_be_called_as_settings_are(directory: Path) -> None:
    (directory / "policyd.yaml").write_text(POLICIES.replace("name: ", "name: x-"))
    compilation = compile_bundle(read(directory, None))
    assert compilation.snapshot is not None
    assert len(compilation.snapshot.descriptors) == 2 * len(PLAIN)


@pytest.mark.parametrize("given", [".", "policyd.yaml"])
def test_settings_alone_are_no_policies(directory: Path, given: str) -> None:
    (directory / "p.yaml").unlink()
    (directory / "policyd.yaml").write_text("settings: v1\n")
    for settings in ("policyd.yaml", None):
        source = DirectorySource([given], settings=settings)
        (found,) = compile_bundle(source.read()).diagnostics
        assert found.code == "no-policies"


def test_settings_that_are_gone_are_told(directory: Path) -> None:
    missing = DirectorySource(["p.yaml"], settings="policyd.yaml").read()
    assert [(found.span.file, found.code) for found in missing.diagnostics] == [
        ("policyd.yaml", "missing-path")
    ]
