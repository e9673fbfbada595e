"""What is said of conditions that never are, or always are, what was meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from policyd.compiler import compile_bundle
from policyd.expr.cel.lex import MAX_LENGTH
from policyd.source import make_bundle

POLICY = """\
policyd: v1
constants: {{none: [], off: false, tools: [a, b], limit: 10}}
validators:
  - name: p
    match: {{events: [{events}], phase: {phase}{match}}}
    variables: {variables}
    rules:
      - id: r
        message: m
        {rule}
"""


def policy(
    rule: str,
    match: str = "",
    *,
    variables: str = "{command: args.command, low: args.n < 3}",
    moment: tuple[str, str] = ("tools/call", "request"),
) -> str:
    match = match and f", {match}"
    events, phase = moment
    return POLICY.format(rule=rule, match=match, variables=variables, events=events, phase=phase)


def told(text: str) -> list[str]:
    """Each diagnostic as `LEVEL[CODE] «WHAT IT POINTS AT» TEXT (HELP)`."""
    lines = text.split("\n")
    found = []
    for diagnostic in compile_bundle(make_bundle({"p.yaml": text})).diagnostics:
        span = diagnostic.span
        part = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        line = f"{diagnostic.level}[{diagnostic.code}] «{part}» {diagnostic.text}"
        found.append(line if diagnostic.help is None else f"{line} ({diagnostic.help})")
    return found


OR = "(did you mean `||` instead of `&&`?)"
AND = "(did you mean `&&` instead of `||`?)"


# a condition, what is wrong with it, and what that contradicts
CONTRADICTIONS = r"""
args.n > 5 && args.n < 3
    args.n < 3
    args.n > 5
5 < args.n && 3.0 > args.n
    3.0 > args.n
    5 < args.n
args.n >= 5 && args.n < 5
    args.n < 5
    args.n >= 5
args.n == 1 && args.n > 1.5
    args.n > 1.5
    args.n == 1
args.x == "a" && args.x == "b"
    args.x == "b"
    args.x == "a"
args.x == "a" && args.x in ["b"]
    args.x in ["b"]
    args.x == "a"
!(args.x in ["a", "b"]) && args.x == "a"
    args.x == "a"
    not args.x in ["a", "b"]
args.x in []
    args.x in []
    never
size(args.x) < 0
    size(args.x) < 0
    never
size(args.x) > 2 && size(args.x) < 3
    size(args.x) < 3
    size(args.x) > 2
args.x.startsWith("a") && args.x.startsWith("b")
    args.x.startsWith("b")
    args.x.startsWith("a")
args.x.endsWith(".md") && args.x.endsWith(".txt")
    args.x.endsWith(".txt")
    args.x.endsWith(".md")
args.x == "/etc/x" && args.x.startsWith("/srv")
    args.x.startsWith("/srv")
    args.x == "/etc/x"
args.x in ["a", "b"] && args.x.matches("^c")
    args.x.matches("^c")
    args.x in ["a", "b"]
glob(args.x, "a*") && args.x == "b"
    args.x == "b"
    glob(args.x, "a*")
!args.x.contains("a") && args.x.startsWith("ba")
    args.x.startsWith("ba")
    not args.x.contains("a")
has(args.y) && !has(args.y)
    not has(args.y)
    has(args.y)
!has(args.y) && args.y == 3
    args.y == 3
    not has(args.y)
!("y" in args) && args.y.z
    args.y.z
    not "y" in args
args.x.startsWith("a") && args.x > 3
    args.x > 3
    args.x.startsWith("a")
args.a == args.b && args.a < args.b
    args.a < args.b
    args.a == args.b
args.a && !args.a
    not args.a
    args.a
args.a < args.a
    args.a < args.a
    never
type(args.a) == int && type(args.a) == string
    type(args.a) == string
    type(args.a) == int
variables.low && args.n > 5
    args.n > 5
    variables.low
variables.command == "a" && args.command == "b"
    args.command == "b"
    variables.command == "a"
args.n > constants.limit && args.n < 3
    args.n < 3
    args.n > constants.limit
args.xs.exists(x, x.n > 3 && x.n < 2)
    args.xs.exists(x, x.n > 3 && x.n < 2)
    never
(args.x == 'a') && ((args.x == 'b'))
    args.x == 'b'
    args.x == 'a'
args["x"] == "a" && args.x == "b"
    args.x == "b"
    args["x"] == "a"
"""


def contradictions() -> Iterator[tuple[str, str, str]]:
    lines = CONTRADICTIONS.strip().split("\n")
    for condition, part, other in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        yield condition, part.strip(), other.strip()


def claim(written: str) -> str:
    bare = written.removeprefix("not ")
    return f"`{bare}`" if bare == written else f"that `{bare}` is false"


@pytest.mark.parametrize(("condition", "part", "other"), list(contradictions()))
def test_a_deny_that_is_never_true_is_refused_with_the_reason(
    condition: str, part: str, other: str
) -> None:
    if other == "never":
        why = f"`{part}` is never true"
    else:
        why = f"{claim(part)} contradicts {claim(other)}"
        if not part.startswith("not ") and not other.startswith("not "):
            why += f" {OR}"
    effect = "`deny` can never be true, so the rule does nothing"
    (line,) = told(policy(f"deny: >-\n          {condition}"))
    assert line == f"error[never-fires] «{part.removeprefix('not ')}» {effect}: {why}"


@pytest.mark.parametrize(
    "condition",
    [
        "args.a && (!args.a || args.b == 1 && args.b == 2)",
        "args.n >= 5 && args.n <= 5 && args.n != 5",
        'tool == "a" ? tool == "b" : tool == "a"',
        'size("abc") > 5',
        "[1, 2].exists(i, i > 3)",
        'args.x == "a" && args.y == "b" && args.x == args.y',
    ],
)
def test_a_deny_that_is_never_true_for_several_reasons_is_refused_as_a_whole(
    condition: str,
) -> None:
    (line,) = told(policy(f"deny: '{condition}'"))
    assert line.startswith("error[never-fires]")
    assert "can never be true, so the rule does nothing" in line


@pytest.mark.parametrize(
    ("rule", "told_once"),
    [
        (
            """require: 'args.x != "a" || args.x != "b"'""",
            'error[never-fires] «args.x != "b"» `require` can never be false, so the rule does '
            f'nothing: `args.x != "a"` and `args.x != "b"` are never both false {AND}',
        ),
        (
            "require: 'size(args.x) >= 0'",
            "error[never-fires] «size(args.x) >= 0» `require` can never be false, so the rule does "
            "nothing: `size(args.x) >= 0` is never false",
        ),
        (
            """deny: 'args.x != "a" || args.x != "b"'""",
            'warning[always-fires] «args.x != "b"» `deny` is always true, so the rule finds '
            'something every time: `args.x != "a"` and `args.x != "b"` are never both false '
            f"{AND}",
        ),
        (
            """deny: 'tool == "a" || tool != "a"'""",
            'warning[always-fires] «tool != "a"» `deny` is always true, so the rule finds '
            'something every time: `tool == "a"` and `tool != "a"` are never both false '
            f"{AND}",
        ),
        (
            """require: 'args.x == "a" && args.x == "b"'""",
            'warning[always-fires] «args.x == "b"» `require` is always false, so the rule finds '
            f'something every time: `args.x == "b"` contradicts `args.x == "a"` {OR}',
        ),
        (
            "deny: '1 / 0 > args.n'",
            "error[never-evaluates] «1 / 0 > args.n» `deny` can never be evaluated, so the policy "
            "always fails: `1 / 0 > args.n` cannot be evaluated",
        ),
        (
            """deny: 'args.x == "a" || args.x == "b" && args.x == "c"'""",
            'warning[never-fires] «args.x == "c"» this part of `deny` can never make it true: '
            f'`args.x == "c"` contradicts `args.x == "b"` {OR}',
        ),
        (
            """require: 'args.y && (args.x != "a" || args.x != "b")'""",
            'warning[never-fires] «args.x != "b"» this part of `require` can never make it false: '
            f'`args.x != "a"` and `args.x != "b"` are never both false {AND}',
        ),
    ],
)
def test_a_rule_that_does_not_depend_on_the_payload_is_told(rule: str, told_once: str) -> None:
    assert told(policy(rule)) == [told_once]


@pytest.mark.parametrize(
    ("rule", "part", "why"),
    [
        ("deny: 'false'", "false", ""),
        ("require: 'true'", "true", ""),
        ("deny: constants.off && args.x", "constants.off", ""),
        ("deny: args.x in constants.none", "args.x in constants.none",
         ": `args.x in constants.none` is never true"),
    ],
)  # fmt: skip
def test_what_a_constant_turns_off_is_only_a_warning(rule: str, part: str, why: str) -> None:
    word = rule.split(":")[0]
    never = "false" if word == "require" else "true"
    text = f"`{word}` can never be {never}, so the rule does nothing{why}"
    assert told(policy(rule)) == [f"warning[never-fires] «{part}» {text}"]


@pytest.mark.parametrize(
    ("match", "rule", "told_once"),
    [
        (
            "when: tool == \"a\"",
            "deny: tool == \"b\" && args.x",
            'error[never-fires] «tool == "b"» `deny` can never be true, so the rule does nothing: '
            '`tool == "b"` contradicts `tool == "a"` of `when` in line 5',
        ),
        (
            "when: tool in constants.tools",
            "deny: tool == \"c\"",
            'error[never-fires] «tool == "c"» `deny` can never be true, so the rule does nothing: '
            '`tool == "c"` contradicts `tool in constants.tools` of `when` in line 5',
        ),
        (
            "when: '!(tool in constants.tools)'",
            "deny: tool == \"a\"",
            'error[never-fires] «tool == "a"» `deny` can never be true, so the rule does nothing: '
            '`tool == "a"` contradicts that `tool in constants.tools` is false of `when` in line 5',
        ),
        (
            "when: 'args.x in [args.y]'",
            "deny: args.x != args.y",
            "error[never-fires] «args.x != args.y» `deny` can never be true, so the rule does "
            "nothing: `args.x != args.y` contradicts `args.x in [args.y]` of `when` in line 5",
        ),
        (
            'tools: ["fs_*"]',
            'deny: tool == "git_push"',
            'error[never-fires] «tool == "git_push"» `deny` can never be true, so the rule does '
            'nothing: `tool == "git_push"` contradicts `tools` in line 5',
        ),
        (
            'tools: ["fs_*", "a?", b]',
            'deny: tool.startsWith("git_")',
            'error[never-fires] «tool.startsWith("git_")» `deny` can never be true, so the rule '
            'does nothing: `tool.startsWith("git_")` contradicts `tools` in line 5',
        ),
        (
            "tools: [a]",
            'require: tool == "a"',
            'error[never-fires] «tool == "a"» `require` can never be false, so the rule does '
            'nothing: that `tool == "a"` is false contradicts `tools` in line 5',
        ),
        (
            'tools: [a], when: tool == "b"',
            "deny: args.x",
            'error[never-runs] «tool == "b"» `when` can never be true, so the policy never runs: '
            '`tool == "b"` contradicts `tools` in line 5',
        ),
        (
            'tools: [a], when: \'tool in ["a", "b"]\'',
            'deny: tool.startsWith("b") && args.x',
            'error[never-fires] «tool.startsWith("b")» `deny` can never be true, so the rule does '
            'nothing: `tool.startsWith("b")` contradicts `tools` in line 5',
        ),
        (
            "when: 'false'",
            "deny: args.x",
            "warning[never-runs] «false» `when` can never be true, so the policy never runs",
        ),
        (
            "when: 'true'",
            "deny: args.x",
            "warning[always-runs] «true» `when` is always true, so it says nothing",
        ),
        (
            'when: tool != "a" || tool != "b"',
            "deny: args.x",
            'warning[always-runs] «tool != "b"» `when` is always true, so it says nothing: '
            f'`tool != "a"` and `tool != "b"` are never both false {AND}',
        ),
    ],
)  # fmt: skip
def test_match_and_the_rules_are_read_together(match: str, rule: str, told_once: str) -> None:
    assert told(policy(rule, match)) == [told_once]


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ("deny: 'true'", ""),
        ("require: 'false'", ""),
        ('deny: tool == "a"', "tools: [a]"),
        ('deny: tool.startsWith("x_")', 'tools: ["fs_*", "x_*"]'),
        ('deny: tool.endsWith("_x")', 'tools: ["fs_*"]'),
        ('deny: args.x == "a"', 'when: args.x == "a"'),
        ("deny: args.n > 1 || args.m < 3", ""),
        ("deny: args.n > 1 && args.n < 3", ""),
        ("deny: args.x != 'a' && args.x != 'b'", ""),
        ('deny: args.x in ["a", args.y] && args.x == "b"', ""),
        ("deny: 'args.x in [args.y] || args.x in {args.z: 1}'", ""),
        ("deny: args.x == args.x + 0.0", ""),
        ("deny: args.x / 0.0 == args.x / 0.0", ""),
        ("deny: args.a.y == 1 || has(args.a.y) && args.b", ""),
        ("deny: args.?x.orValue(1) == 1 && !has(args.x)", ""),
        ("deny: cel.bind(x, args.x, x == 1 && x != 2)", ""),
        ("deny: args.x in [?args.?y] && args.x == 2", ""),
        ("deny: '{jmespath: a == `1`}'", ""),
        ("deny: args.xs.all(x, x > 5 && x < 3)", ""),
        ("deny: args.xs.exists_one(x, x > 5 && x < 8)", ""),
        ("deny: args.x.lowerAscii() == args.x && args.x.startsWith('a')", ""),
        ("deny: type(args.x) == int && args.x == 1.0", ""),
        ("deny: string(args.x) == '-0' && args.x == 0", ""),
        ("deny: args.x == [1] && args.x == [1.0]", ""),
        ("deny: args.x.contains('a') && args.x.startsWith('b')", ""),
        ("deny: args.a || constants.off && args.b", ""),
        ("deny: args.a || args.b", "when: {jmespath: 'a == `1`'}"),
    ],
)
def test_nothing_is_said_of_what_can_happen(rule: str, match: str) -> None:
    text = policy(rule.replace("'{jmespath: a == `1`}'", "{jmespath: 'a == `1`'}"), match)
    assert told(text) == []


def test_a_schema_that_every_payload_meets_is_refused() -> None:
    text = "`schema` accepts every payload, so the rule does nothing"
    assert told(policy("schema: {title: a}")) == [f"error[never-fires] «{{title: a}}» {text}"]
    assert told(policy("schema: {}, path: ''".replace(", ", "\n        "))) == [
        f"error[never-fires] «{{}}» {text}"
    ]
    assert told(policy("schema: {}\n        path: /arguments/a")) == []
    assert told(policy("schema: {type: object}")) == []


def test_a_drop_that_takes_nothing_and_one_that_takes_all_are_told() -> None:
    text = """\
policyd: v1
mutators:
  - name: p
    match: {events: [tools/list], phase: response}
    drop:
      - {from: /tools, where: 'item.name.startsWith("a") && item.name == "b"'}
      - {from: /tools, where: 'has(item.name) || !has(item.name)'}
      - {from: /tools, where: 'true'}
      - {from: /tools, where: {jmespath: "name == 'x'"}}
"""
    assert told(text) == [
        'error[never-fires] «item.name == "b"» `where` can never be true, so the rule does '
        f'nothing: `item.name == "b"` contradicts `item.name.startsWith("a")` {OR}',
        "warning[always-fires] «has(item.name)» `where` is always true, so every element is "
        "dropped: `has(item.name)` contradicts that `has(item.name)` is false",
    ]


@pytest.mark.parametrize(
    "condition",
    [
        " && ".join(f"(args.a{i} == 1 || args.b{i} == 2)" for i in range(90)),
        " && ".join(f"(args.a == {i} || args.a == {i + 1})" for i in range(90)),
        " || ".join(f"args.a == {i}" for i in range(220)),
        "(" * 150 + "args.a" + " && !args.b)" * 150,
        "args.a.exists(x, x.b && " * 60 + "x == 1 && x == 2" + ")" * 60,
    ],
)
def test_large_conditions_are_judged_soon_or_not_at_all(condition: str) -> None:
    assert len(condition) <= MAX_LENGTH
    assert all(line.startswith("error[never-fires]") for line in told(policy(f"deny: {condition}")))


def test_variables_within_variables_are_followed_up_to_a_bound() -> None:
    doubled = {"v0": "args.n > 5"}
    for i in range(30):
        doubled[f"v{i + 1}"] = f"variables.v{i} && variables.v{i}"
    written = "{" + ", ".join(f"{name}: {text!r}" for name, text in doubled.items()) + "}"
    (line,) = told(policy("deny: variables.v4 && args.n < 3", variables=written))
    assert line.startswith("error[never-fires] «args.n < 3»")
    assert told(policy("deny: variables.v30 && args.n < 3", variables=written)) == []
