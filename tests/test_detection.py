"""`detectors` in policy files: what is declared, what is loaded, and how mistakes are told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from policyd import Invocation, compile_bundle
from policyd.compiler import read_detectors
from policyd.detection import GROUP
from policyd.diagnostics import Report
from policyd.source import DirectorySource, make_bundle

REDACT = """
mutators:
  - name: r
    match: {events: [tools/call], phase: response}
    redact: [{detect: [NAMES]}]
"""

RULES = b"""
[[rules]]
id = "acme"
regex = '''acme_([0-9]{6})'''

[[rules]]
id = "backwards"
regex = '''(?<=a)b'''
"""


def policy(detectors: str, names: str = "custom") -> str:
    return "policyd: v1\n" + textwrap.dedent(detectors) + REDACT.replace("NAMES", names)


def told(text: str, rules: bytes | None = None) -> list[str]:
    files: dict[str, str | bytes] = {"p.yaml": text}
    if rules is not None:
        files["rules.toml"] = rules
    return [str(found) for found in compile_bundle(make_bundle(files)).diagnostics]


def redacted(text: str, value: str, rules: bytes | None = None) -> str:
    files: dict[str, str | bytes] = {"p.yaml": text}
    if rules is not None:
        files["rules.toml"] = rules
    snapshot = compile_bundle(make_bundle(files)).snapshot
    assert snapshot is not None
    asked = Invocation(event="tools/call", phase="response", payload={"x": value})
    payload = snapshot.decide(asked).payload
    return str(payload["x"])


EMPLOYEE = r"""
detectors:
  - name: employee-id
    groups: [staff]
    pattern: '\bE-(\d{7})\b'
    group: 1
    context: [employee]
    examples: {match: [employee E-1234567], ignore: [E-1234567]}
"""


@pytest.mark.parametrize("name", ["employee-id", "staff", "custom", "all"])
def test_a_declared_detector_is_used_by_its_name_and_by_its_groups(name: str) -> None:
    text = policy(EMPLOYEE, name)
    assert redacted(text, "the employee E-1234567") == "the employee E-[employee-id]"
    assert redacted(text, "the part E-1234567") == "the part E-1234567"


@pytest.mark.parametrize(
    ("evidence", "found", "left"),
    [
        ("pattern: 'N\\d{4}', keywords: [Number]", "a NUMBER N1234", "a N1234"),
        ("pattern: 'N\\d{4}', context: [number]", "number: N1234", "numbers: N1234"),
        (
            "pattern: 'N\\d{4}', context: [number]",
            "N1234 is a number",
            "number" + " " * 70 + "N1234",
        ),
        ("pattern: '[0-9-]{6,}', checksum: luhn", "79-927-398-713", "79-927-398-710"),
        ("pattern: '[0-9]{8,}', checksum: verhoeff", "123456789012", "123456789011"),
        ("pattern: '[a-z0-9]{8,}', entropy: 2.5", "q7w8e9r0", "aaaaaaa1"),
    ],
)
def test_a_match_needs_all_the_evidence(evidence: str, found: str, left: str) -> None:
    text = policy(f"detectors:\n  - {{name: own, {evidence}}}\n")
    if "verhoeff" in evidence:
        from stdnum import verhoeff

        found = "12345678901" + verhoeff.calc_check_digit("12345678901")
        left = found[:-1] + str((int(found[-1]) + 1) % 10)
    assert "[own]" in redacted(text, found)
    assert redacted(text, left) == left


@pytest.mark.parametrize(
    ("detectors", "expected"),
    [
        (
            r"detectors: [{name: a, pattern: 'a(b'}]",
            "p.yaml:2:34: error[bad-pattern]: this `(` is never closed",
        ),
        (
            "detectors: [{name: a, pattern: 'ab', group: 1}]",
            "p.yaml:2:45: error[unknown-group]: the pattern has no group 1, only 0",
        ),
        (
            "detectors: [{name: a, pattern: 'a*'}]",
            "p.yaml:2:32: error[matches-empty]: the pattern matches the empty "
            "text, so it would match "
            "everywhere",
        ),
        (
            "detectors: [{name: a}]",
            "p.yaml:2:14: error[missing-field]: a detector needs `pattern`, or `from` alone",
        ),
        (
            "detectors: [{name: email, pattern: ab}]",
            "p.yaml:2:20: error[name-taken]: the name `email` is taken",
        ),
        (
            "detectors: [{name: a, pattern: ab}, {name: a, pattern: cd}]",
            "p.yaml:2:44: error[name-taken]: the name `a` is taken",
        ),
        (
            "detectors: [{name: a, pattern: ab, examples: {match: [ab, xy]}}]",
            "p.yaml:2:59: error[example-fails]: the example is not found, so the "
            "detector does not do "
            "what it should",
        ),
        (
            "detectors: [{name: a, pattern: ab, examples: {ignore: [xaby]}}]",
            "p.yaml:2:56: error[example-fails]: the example is found, so the "
            "detector does not do what "
            "it should",
        ),
        (
            "detectors: {from: other.toml}",
            "p.yaml:2:19: error[missing-file]: there is no rule file `other.toml` "
            "among the policy files",
        ),
        (
            "detectors: [{from: rules.toml, group: 1}]",
            "p.yaml:2:32: error[unused-field]: `group` has no effect beside `from`",
        ),
        (
            "detectors: {from: rules.toml}",
            "p.yaml:2:19: warning[refused-rules]: rules of `rules.toml` that RE2 "
            "cannot take are left "
            "out: `backwards`",
        ),
        ("detectors: 7", "p.yaml:2:12: "),
        ("detectors: [{name: A b, pattern: ab}]", "p.yaml:2:20: "),
    ],
)
def test_a_mistake_is_told_at_its_place(detectors: str, expected: str) -> None:
    found = told(policy(detectors, "email"), RULES)
    assert any(expected in each for each in found), found


@pytest.mark.parametrize("content", [b"\xff", b"a = ", b"a = 1", b"rules = [{id = 1}]"])
def test_a_rule_file_that_is_none_is_refused(content: bytes) -> None:
    found = told(policy("detectors: {from: rules.toml}", "email"), content)
    assert any(
        "p.yaml:2:19: error[bad-rule-file]: `rules.toml` cannot be used: it" in f for f in found
    )


def test_a_rule_file_is_loaded_as_it_is() -> None:
    text = policy("detectors: {from: rules.toml}", "gitleaks")
    assert redacted(text, "k acme_123456", RULES) == "k acme_[gitleaks-acme]"
    assert told(text, RULES.partition(b'[[rules]]\nid = "backwards"')[0]) == []


def test_a_file_may_hold_nothing_but_detectors_and_serves_the_others() -> None:
    alone = "policyd: v1\n" + EMPLOYEE
    bundle = make_bundle({"a.yaml": alone, "b.yaml": policy("", "employee-id")})
    assert compile_bundle(bundle).diagnostics == ()
    (only,) = compile_bundle(make_bundle({"a.yaml": alone})).diagnostics
    assert only.code == "no-policies"


def test_the_words_of_the_group_are_no_name() -> None:
    found = told(policy(f"detectors: [{{name: {GROUP}, pattern: ab}}]", "email"))
    assert any("name-taken" in each for each in found)


def test_another_rule_file_is_another_generation(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(policy("detectors: {from: rules.toml}", "gitleaks"))
    (tmp_path / "rules.toml").write_bytes(RULES)
    source = DirectorySource([tmp_path])
    before = source.read()
    (tmp_path / "rules.toml").write_bytes(RULES + b"\n# another\n")
    after = source.read()
    assert [rule.name for rule in after.rules] == [str(tmp_path / "rules.toml")]
    assert before.files == after.files
    assert before.revision != after.revision
    assert compile_bundle(after).snapshot is not None


def test_detectors_are_read_without_the_policies_around_them(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(policy(EMPLOYEE, "no-such"), encoding="utf-8")
    report = Report()
    bundle = DirectorySource([tmp_path, tmp_path / "none"]).read()
    assert "employee-id" in read_detectors(bundle, report).detectors
    assert len(report.diagnostics) == 1
