"""Warnings of what is probably not meant, and the ways to write the same that are let be."""

from __future__ import annotations

from textwrap import indent

import pytest

from policyd.compiler import compile_bundle
from policyd.pattern import Pattern, compile_pattern, matches_always, matches_whole
from policyd.pattern_mistakes import as_glob, as_pattern
from policyd.source import make_bundle

RULE = """
validators:
  - name: v
    match: {events: [tools/call], phase: request%s}
    variables: {inside: "path.within(args.path, '/etc')"}
    rules:
      - {id: r, %s}
"""

MUTATOR = """
mutators:
  - name: m
    match: {events: [tools/list, tools/call], phase: response}
%s
"""


def slips(text: str) -> list[str]:
    bundle = make_bundle({"p.yaml": f"policyd: v1\n{text}"})
    compilation = compile_bundle(bundle)
    assert compilation.snapshot is not None, compilation.diagnostics
    return [told.code for told in compilation.diagnostics]


def of_rule(rule: str, match: str = "") -> list[str]:
    return slips(RULE % (match, rule if "message" in rule else f"{rule}, message: m"))


PROOF = "path.within(args.path, '/etc')"


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        (f'deny: "{PROOF}"', ["doubt-passes"]),
        (f'deny: "!{PROOF}"', []),
        (f'require: "{PROOF}"', []),
        (f'require: "!{PROOF}"', ["doubt-passes"]),
        (f'require: "!(args.a == 1 || {PROOF})"', ["doubt-passes"]),
        (f'deny: "args.a == 1 && !!{PROOF}"', ["doubt-passes"]),
        (f'deny: "args.a == 1 ? {PROOF} : args.b == 2"', ["doubt-passes"]),
        (f'deny: "{PROOF} ? args.a == 1 : args.b == 2"', []),
        (f'deny: "{PROOF} == args.flag"', []),
        (f'deny: "!({PROOF} == args.flag)"', []),
        ("deny: \"args.paths.exists(p, path.within(p, '/etc'))\"", ["doubt-passes"]),
        ("deny: \"args.paths.all(p, path.within(p, '/etc'))\"", ["doubt-passes"]),
        ("deny: \"size(args.paths.filter(p, path.within(p, '/etc'))) > 1\"", []),
        ("deny: \"path.outside(args.path, '/srv')\"", ["doubt-passes"]),
        ("deny: sql.readOnly(args.sql)", ["doubt-passes"]),
        ("deny: variables.inside", []),
        ("deny: {jmespath: arguments.flag}", []),
        ("detect: [secrets]", []),
    ],
)
def test_a_proof_that_is_denied_lets_through_what_is_doubtful(rule: str, codes: list[str]) -> None:
    assert of_rule(rule) == codes


def test_a_doubt_in_a_precondition_leaves_the_policy_out() -> None:
    when = f', when: "{PROOF}"'
    assert of_rule("deny: args.a == 1", when) == ["doubt-passes"]
    assert of_rule("deny: args.a == 1", when.replace("path.within", "!path.within")) == []
    assert of_rule("deny: args.a == 1", ", when: {jmespath: arguments.a}") == []


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("require: 'args.host.matches(\"a.example\")'", ["unanchored-pattern"]),
        ("deny: '!args.host.matches(\"a.example\")'", ["unanchored-pattern"]),
        ("require: 'args.host.matches(\"^a.example$\")'", []),
        ("require: 'args.host.matches(\"^a.example\")'", []),
        ("require: 'args.text.matches(\".*TICKET-[0-9]+\")'", []),
        ("deny: 'args.host.matches(\"a.example\")'", []),
        ('require: \'size(args.host.matches("a.example") ? "a" : "b") == 1\'', []),
        ("require: 'args.host.matches(args.pattern)'", []),
        ("deny: 'args.host.matches(\".*\")'", ["matches-everything"]),
        ("deny: 'args.host.matches(\"^a*\")'", ["matches-everything"]),
        ("deny: 'args.host.matches(\"fs_*\")'", ["glob-as-pattern"]),
        ("deny: 'args.host.matches(\"/^rm/i\")'", ["glob-as-pattern"]),
        ("deny: 'glob(args.host, \"^a*\")'", ["pattern-as-glob"]),
        ("deny: 'glob(args.host, \"a*\")'", []),
        ("deny: 'glob(args.host, args.glob)'", []),
        ("deny: 'tool == \"fs_*\"'", ["glob-as-text"]),
        ("deny: '\"fs_*\" == tool'", ["glob-as-text"]),
        ('deny: \'tool in ["a", "fs_*"]\'', ["glob-as-text"]),
        ("deny: 'tool.startsWith(\"fs_*\")'", ["glob-as-text"]),
        ("deny: 'args.text.startsWith(\"* \")'", []),
        ("deny: 'args.text == \"*\"'", []),
        ("deny: 'args.n > 3'", []),
        ("deny: 'args.n in [3, 4]'", []),
    ],
)
def test_globs_and_patterns_that_are_taken_for_one_another(rule: str, codes: list[str]) -> None:
    assert of_rule(rule) == codes


@pytest.mark.parametrize(
    ("message", "slip"),
    [
        ("{{ tool }} is {{ args.n }} much", False),
        ("tool }} is out", True),
        ("{{ tool }} }} is out", True),
        ("{tool} is out", True),
        ("${tool} is out", True),
        ("{ args.path } is out", True),
        ("{{ tool }} and {tool}", True),
        ("{% if x %}", True),
        ('write {"tool": 1}', False),
        ("a { b } c {", False),
        ("{args.n + 1}", False),
    ],
)
def test_braces_in_a_message_that_are_printed(message: str, slip: bool) -> None:
    quoted = message.replace("'", "''")
    assert of_rule(f"deny: args.a == 1, message: '{quoted}'") == ["literal-braces"] * slip
    hinted = f"deny: args.a == 1, message: m, hint: '{quoted}'"
    assert of_rule(hinted) == ["literal-braces"] * slip


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ("{pattern: '.+'}", ["matches-everything"]),
        (r"{pattern: '(?s)^[\s\S]+$'}", ["matches-everything"]),
        ("{pattern: '(.)+', group: 1}", []),
        (r"{pattern: '\S+'}", []),
        (r"{pattern: 'id (\d+)', replace: 'id \1'}", ["literal-replacement"]),
        (r"{pattern: 'id (\d+)', replace: '$1'}", ["literal-replacement"]),
        (r"{pattern: 'id (\d+)', replace: '\g<1>'}", ["literal-replacement"]),
        (r"{pattern: 'id (\d+)', replace: '{{ tool }}'}", ["literal-replacement"]),
        (r"{pattern: 'id (\d+)', replace: 'about $'}", []),
        (r"{pattern: 'id (\d+)', replace: {mask: '*'}}", []),
        ("{detect: [email], replace: '[{detector}]'}", []),
        ("{detect: [email], replace: '[{{detector}}]'}", ["literal-replacement"]),
        ("{detect: [email], replace: '[{name}]'}", ["literal-replacement"]),
        ("{detect: [email], replace: '{'}", []),
        ("{detect: [email], replace: '{a b}'}", []),
    ],
)
def test_what_a_replacement_does_not_fill_in(entry: str, codes: list[str]) -> None:
    assert slips(MUTATOR % f"    redact: [{entry}]") == codes


def test_an_expression_as_value_of_an_operation() -> None:
    patch = (
        MUTATOR % "    patch: [{op: add, path: /_meta, value: VALUE}, {op: remove, path: /_meta}]"
    )
    assert slips(patch.replace("VALUE", "'{{ result.a }}'")) == ["literal-value"]
    assert slips(patch.replace("VALUE", "{cel: '1 + 1'}")) == []
    assert slips(patch.replace("VALUE", "plain")) == []


def test_the_conditions_of_a_drop_are_looked_at() -> None:
    drop = indent(
        "drop:\n  - {from: /tools, where: WHERE}\n  - {from: /tools, where: {jmespath: x}}", "    "
    )
    lists = (MUTATOR % drop).replace(", tools/call", "")
    assert slips(lists.replace("WHERE", "'item.name.matches(\"fs_*\")'")) == ["glob-as-pattern"]


def test_globs_of_tools_that_look_like_patterns() -> None:
    for glob, codes in (("delete_.*", ["pattern-as-glob"]), ("delete_*", [])):
        assert of_rule("deny: args.a == 1", f", tools: ['{glob}']") == codes


@pytest.mark.parametrize(
    ("glob", "odd"),
    [
        ("^a", True),
        ("a$", True),
        ("_.*", True),
        (".*", True),
        ("[ab]*", True),
        ("(a)", True),
        ("{a,b}", True),
        ("", False),
        ("fs.*", False),
        ("a.b", False),
        ("[a", False),
        ("(a", False),
        ("{a}", False),
        ("a?*", False),
    ],
)
def test_a_glob_that_looks_like_a_pattern(glob: str, odd: bool) -> None:
    assert (as_pattern(glob) is not None) is odd


@pytest.mark.parametrize(
    ("pattern", "odd"),
    [
        ("fs_*", True),
        ("a*b", True),
        ("/^rm/", True),
        ("/rm/i", True),
        ("rm$/", False),
        ("/rm$/", True),
        ("/srv/data", False),
        ("/", False),
        ("fs_.*", False),
        ("a*b+", False),
        ("abc", False),
        ("(a)*", False),
    ],
)
def test_a_pattern_that_looks_like_another_dialect(pattern: str, odd: bool) -> None:
    assert (as_glob(pattern) is not None) is odd


@pytest.mark.parametrize(
    ("source", "always", "whole"),
    [
        (".*", True, False),
        ("^.*", True, False),
        ("^.*$", False, False),
        ("a*", True, False),
        (".+", False, True),
        ("(?s)^.+$", False, True),
        (".", False, True),
        ("[a-z]+", False, False),
        ("x", False, False),
    ],
)
def test_a_pattern_that_is_about_everything(source: str, always: bool, whole: bool) -> None:
    pattern = compile_pattern(source)
    assert isinstance(pattern, Pattern)
    assert matches_always(pattern) is always
    if not pattern.matches_empty:
        assert matches_whole(pattern) is whole
