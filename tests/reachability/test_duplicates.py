"""What is said twice is told, and what only looks alike is not."""

from __future__ import annotations

import pytest

from policyd.compiler import compile_bundle
from policyd.source import make_bundle


def told(*texts: str) -> list[str]:
    bundle = make_bundle({f"{index}.yaml": text for index, text in enumerate(texts)})
    return [str(diagnostic) for diagnostic in compile_bundle(bundle).diagnostics]


def validator(rules: str, name: str = "p", match: str = "events: [tools/call]") -> str:
    return f"""\
policyd: v1
constants: {{a: 1}}
validators:
  - name: {name}
    match: {{{match}, phase: request}}
    variables: {{n: args.n}}
    rules:
{rules}
"""


def rules(*written: str) -> str:
    return "\n".join(f"      - {{id: r{i}, message: m{i}, {w}}}" for i, w in enumerate(written))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deny: args.a == 1", "deny: args.a == 1"),
        ("deny: args.a == 1", "deny: 1 == args.a"),
        ("deny: args.a == 1", "severity: warn, deny: (args.a == 1)"),
        ("deny: args.a == 1", "require: '!(args.a == 1)'"),
        ("deny: args.a < args.b && args.c", "deny: args.c && args.b > args.a"),
        ("deny: args.n == 1", "deny: variables.n == constants.a"),
        ("deny: 'args.xs.exists(x, x == 1)'", "deny: 'args.xs.exists(y, y == 1)'"),
        (
            "deny: 'args.xs.exists(x, x.exists(y, y == x))'",
            "deny: 'args.xs.exists(a, a.exists(b, b == a))'",
        ),
        ("detect: [secrets]", "detect: [secrets], hint: none"),
        ("schema: {type: object, required: [a]}", "schema: {required: [a], type: object}"),
        ("deny: {jmespath: 'a == `1`'}", "deny: {jmespath: 'a == `1`'}"),
    ],
)
def test_two_rules_that_fire_in_the_same_cases_are_told(one: str, other: str) -> None:
    lines = told(validator(rules(one, other)))
    assert len(lines) == 1, lines
    text = "warning[duplicate-rule]: rule `r1` fires where `r0` in line 8 does, and only there"
    assert lines[0].startswith("0.yaml:9:")
    assert lines[0].endswith(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deny: args.a == 1", "require: args.a == 1"),
        ("deny: args.a == 1", "deny: args.a == 1.0"),
        ("deny: args.a < args.b", "deny: args.b < args.a"),
        ("deny: 'args.xs.exists(x, x == 1)'", "deny: 'args.xs.all(x, x == 1)'"),
        (
            "deny: 'args.xs.exists(x, args.ys.exists(y, y == x))'",
            "deny: 'args.xs.exists(x, args.ys.exists(y, x == args.z))'",
        ),
        ("deny: has(args.a), path: /arguments/a", "deny: has(args.a), path: /arguments/b"),
        ("detect: [secrets]", "detect: [email]"),
        ("detect: [secrets], path: /arguments/a", "detect: [secrets], path: /arguments/b"),
        ("deny: args.?a.orValue(1) == 1", "deny: args.?b.orValue(1) == 1"),
        ("deny: 'cel.bind(x, args.a, x == 1)'", "deny: 'cel.bind(x, args.b, x == 1)'"),
    ],
)
def test_rules_that_differ_are_no_duplicates(one: str, other: str) -> None:
    assert told(validator(rules(one, other))) == []


def test_entries_of_a_drop_are_compared_with_their_lists() -> None:
    text = """\
policyd: v1
mutators:
  - name: p
    match: {events: [tools/call], phase: response}
    drop:
      - {from: /content, where: item.type == "image"}
      - {from: /structuredContent/rows, where: item.type == "image"}
      - {from: /content, where: '"image" == item.type'}
"""
    assert told(text) == [
        "0.yaml:8:9: warning[duplicate-rule]: rule `drop[2]` fires where `drop[0]` in line 6 "
        "does, and only there"
    ]


@pytest.mark.parametrize(
    ("match", "lines"),
    [
        ('events: [tools/call], tools: ["fs_*", fs_read]', ["51 `fs_read`: `fs_*`"]),
        ('events: [tools/call], tools: [fs_read, "fs_*"]', ["43 `fs_read`: `fs_*`"]),
        ("events: [tools/call], tools: [a, a]", ["46 `a`: `a`"]),
        ('events: [tools/call], tools: ["a*", "**"]', ["43 `a*`: `**`"]),
        ('events: [tools/call], tools: ["*b", "a*b", "a*"]', ["49 `a*b`: `*b`"]),
        ('events: [tools/call], tools: ["a?", "a*"]', ["43 `a?`: `a*`"]),
        ('events: [tools/call], tools: ["a*b", "a?", "*a"]', []),
        ('events: ["*", tools/call]', ["27 `tools/call`: `*`"]),
        ('events: [tools/call, "tools/*"]', ["22 `tools/call`: `tools/*`"]),
        ("events: [tools/call, tools/call]", ["34 `tools/call`: `tools/call`"]),
        ("events: [tools/call, tools/list]", []),
    ],
)
def test_an_entry_of_match_that_another_covers_is_told(match: str, lines: list[str]) -> None:
    expected = []
    for line in lines:
        column, _, words = line.partition(" ")
        entry, _, other = words.partition(": ")
        text = f"{entry} adds nothing: {other} covers it"
        expected.append(f"0.yaml:5:{column}: warning[covered-entry]: {text}")
    text = validator(rules("detect: [secrets]"), match=match)
    assert told(text.replace("    variables: {n: args.n}\n", "")) == expected


def test_two_policies_that_do_the_same_are_told() -> None:
    one = validator(rules("deny: args.a == 1"), "one")
    other = validator("      - {id: x, deny: args.a == 1, message: another}", "other").replace(
        "    match", "    version: 2.0.0\n    description: a copy\n    x-owner: us\n    match"
    )
    assert told(one, other) == [
        "1.yaml:4:11: warning[duplicate-policy]: policy `other` does what `one` does already: "
        "0.yaml:4 has it"
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("events: [tools/call]", "events: [prompts/get]"),
        ("args.a ==", "args.b =="),
        ("a: 1}", "a: 2}"),
        ("    variables", "    mode: audit\n    variables"),
        ("message: m0", "message: m0, severity: warn"),
    ],
)
def test_policies_that_differ_are_no_duplicates(before: str, after: str) -> None:
    one = validator(rules("""deny: 'args.a == "x"'"""), "one")
    assert told(one, one.replace("one", "other").replace(before, after)) == []


def test_a_name_that_is_taken_is_told_once() -> None:
    one = validator(rules("""deny: 'args.a == "x"'"""))
    assert told(one, one) == [
        "1.yaml:4:11: error[name-taken]: the name `p` is taken: 0.yaml:4 has it"
    ]
