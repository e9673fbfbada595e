"""Why a decision is what it is: every value in its place, and nothing of a secret."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from policyd.detectors import DETECTORS
from policyd.explanation import NOT_SHOWN, Account, Explanation, PolicyAccount, Term, explain
from policyd.expr.cel.trace import Trace
from policyd.model import Invocation
from policyd.source import make_bundle

HEAD = """\
policyd: v1
constants:
  names: [sh, bash]
validators:
  - name: shell
    match: {events: [tools/call], phase: request}
"""
SECRET = DETECTORS["github-token"].sample()


def explained(policy: str, payload: Any, event: str = "tools/call") -> Explanation:
    phase = "request" if event == "tools/call" else "response"
    return explain(make_bundle({"p.yaml": policy}), Invocation(event, phase, payload))


def one(expression: str, payload: Any, kind: str = "deny", variables: str = "") -> PolicyAccount:
    """The account of a policy with one rule."""
    rule = f"    rules:\n      - {{id: one, {kind}: {json.dumps(expression)}, message: no}}\n"
    return explained(HEAD + variables + rule, payload).policies[0]


def call(name: str = "sh", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def lines(term: Term, depth: int = 0) -> list[str]:
    """A term as it is shown: a line for each part."""
    value = "not needed" if not term.needed else term.value or f"error {term.error}"
    more = [f"{'  ' * (depth + 1)}{term.elided} more"] if term.elided else []
    below = [line for part in term.parts for line in lines(part, depth + 1)]
    return [f"{'  ' * depth}{term.text} = {value}", *below, *more]


def shown(expression: str, payload: Any) -> list[str]:
    (term,) = one(expression, payload).rules[0].expressions
    return lines(term)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "args.n > 1 && tool == 'sh' || args.n == 7",
            [
                "args.n > 1 && tool == 'sh' || args.n == 7 = true",
                "  args.n > 1 && tool == 'sh' = true",
                "    args.n > 1 = true",
                "      args.n = 2",
                "    tool == 'sh' = true",
                '      tool = "sh"',
                "  args.n == 7 = not needed",
            ],
        ),
        (
            "args.n > 1 ? tool in constants.names : false",
            [
                "args.n > 1 ? tool in constants.names : false = true",
                "  args.n > 1 = true",
                "    args.n = 2",
                "  tool in constants.names = true",
                '    tool = "sh"',
                '    constants.names = ["sh", "bash"]',
            ],
        ),
        (
            "args.l.exists(x, x == args.n + 2)",
            [
                "args.l.exists(x, x == args.n + 2) = true",
                "  args.l = [1, 2, 3, 4, 5]",
                "  x == args.n + 2 = false",
                "    x = 1",
                "    args.n + 2 = 4",
                "      args.n = 2",
                "  x == args.n + 2 = false",
                "    x = 2",
                "    args.n + 2 = 4",
                "      args.n = 2",
                "  x == args.n + 2 = false",
                "    x = 3",
                "    args.n + 2 = 4",
                "      args.n = 2",
                "  x == args.n + 2 = true",
                "    x = 4",
                "    args.n + 2 = 4",
                "      args.n = 2",
            ],
        ),
        (
            "args.t.trim().lowerAscii().startsWith('a')",
            [
                "args.t.trim().lowerAscii().startsWith('a') = true",
                '  (...).lowerAscii() = "ab"',
                '    args.t.trim() = "AB"',
                '      args.t = " AB "',
            ],
        ),
        (
            "args.x == 1 || type(args.n) == int",
            [
                "args.x == 1 || type(args.n) == int = true",
                "  args.x == 1 = error no such key `x`",
                "    args.x = error no such key `x`",
                '      args = {"n": 2, "l": [1, 2, 3, 4, 5], "t": " AB "}',
                "  type(args.n) == int = true",
                "    type(args.n) = int",
                "      args.n = 2",
            ],
        ),
        (
            "cel.bind(x, args.n + 1, x == 3 && x > args.n)",
            [
                "cel.bind(x, args.n + 1, x == 3 && x > args.n) = true",
                "  x == 3 && x > args.n = true",
                "    x == 3 = true",
                "      x = 3",
                "        args.n + 1 = 3",
                "          args.n = 2",
                "    x > args.n = true",
                "      x = 3",
                "      args.n = 2",
            ],
        ),
        (
            "[?args.?n, ?args.?o] == [2]",
            [
                "[?args.?n, ?args.?o] == [2] = true",
                "  [?args.?n, ?args.?o] = [2]",
                "    args.?n = 2",
                "    args.?o = no value",
                "  [2] = [2]",
            ],
        ),
    ],
)
def test_each_part_that_counts_is_shown_with_its_value(
    expression: str, expected: list[str]
) -> None:
    assert shown(expression, call(n=2, l=[1, 2, 3, 4, 5], t=" AB ")) == expected


def test_of_a_long_list_the_first_elements_and_the_last_are_shown() -> None:
    told = shown("args.l.exists(x, x == 9)", call(l=list(range(20))))
    assert [line for line in told if "  x = " in line] == [
        "    x = 0",
        "    x = 1",
        "    x = 2",
        "    x = 9",
    ]
    assert told[-1] == "  6 more"


def test_a_text_is_shown_on_one_line_and_cut() -> None:
    (text,) = shown(f"args.x == '{'a' * 120}' &&\n  true", call(x=1))[:1]
    assert text == f"args.x == '{'a' * 86}... = false"


@pytest.mark.parametrize(
    ("expression", "kind", "account", "reason"),
    [
        ("args.n > 1", "deny", Account.FIRED, "the condition is true"),
        ("args.n > 9", "deny", Account.SILENT, "the condition is false"),
        ("args.n > 9", "require", Account.FIRED, "the condition is false"),
        ("args.n > 9 || tool == 'sh'", "deny", Account.FIRED, "`tool == 'sh'` is true"),
        ("args.n > 1 && tool == 'x'", "deny", Account.SILENT, "`tool == 'x'` is false"),
        ("args.n > 1 && tool == 'sh'", "deny", Account.FIRED, "the condition is true"),
        ("args.n > 1 ? tool == 'x' : true", "deny", Account.SILENT, "`tool == 'x'` is false"),
        ("args.n > 1 ? true : tool == 'x'", "deny", Account.FIRED, "the condition is true"),
        ("size(args.m) > 1", "deny", Account.FAILED, "no such key `m`, in `args.m`"),
    ],
)
def test_the_reason_names_the_part_that_decided(
    expression: str, kind: str, account: Account, reason: str
) -> None:
    (rule,) = one(expression, call(n=2), kind).rules
    assert (rule.account, rule.reason) == (account, reason)


@pytest.mark.parametrize(
    ("rule", "payload", "account", "reason", "details"),
    [
        (
            "detect: [email], path: /arguments",
            call(x="a@example.com"),
            Account.FIRED,
            "a detector found something at /arguments",
            ("error at /arguments/x: no",),
        ),
        ("detect: [email]", call(), Account.SILENT, "nothing was found in the payload", ()),
        (
            "schema: {required: [n]}, path: /arguments",
            call(),
            Account.FIRED,
            "what stands at /arguments does not have the shape",
            ("error at /arguments: no",),
        ),
        ("schema: {}", call(), Account.SILENT, "what stands in the payload has the shape", ()),
        (
            "deny: {jmespath: \"name == 'sh'\"}",
            call(),
            Account.FIRED,
            "the expression is true",
            ("error: no",),
        ),
        (
            'deny: {jmespath: "length(arguments.x) > `1`"}',
            call(),
            Account.FAILED,
            "`length()` met a value of the wrong type",
            (),
        ),
    ],
)
def test_rules_without_an_expression_of_cel_are_told_too(
    rule: str, payload: Any, account: Account, reason: str, details: tuple[str, ...]
) -> None:
    policy = f"{HEAD}    rules:\n      - {{id: one, {rule}, message: no}}\n"
    (told,) = explained(policy, payload).policies[0].rules
    assert (told.account, told.reason, told.details) == (account, reason, details)


GUARDED = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request, tools: [sh], when: args.n > 1}
    variables: {big: args.n > 5, unused: args.n > 7}
    rules:
      - {id: one, deny: variables.big, message: no}
"""


@pytest.mark.parametrize(
    ("payload", "event", "account", "reason"),
    [
        (call(n=9), "tools/call", Account.FIRED, ""),
        (call(n=2), "tools/call", Account.SILENT, ""),
        (
            call("cat", n=9),
            "tools/call",
            Account.SKIPPED,
            "`tools` has no glob for the tool that is called",
        ),
        (
            call(n=1),
            "tools/call",
            Account.SKIPPED,
            "`when` is false: the condition is false",
        ),
        (call(), "tools/call", Account.FAILED, "p.yaml:4:12: no such key `n`"),
        (
            {"tools": []},
            "tools/list",
            Account.SKIPPED,
            "`match` names `tools/call` in the request phase, "
            "not `tools/list` in the response phase",
        ),
    ],
)
def test_a_policy_that_is_skipped_says_what_in_match_says_so(
    payload: Any, event: str, account: Account, reason: str
) -> None:
    (policy,) = explained(GUARDED, payload, event).policies
    assert (policy.account, policy.reason) == (account, reason)
    assert policy.hooked is (event == "tools/call")
    assert bool(policy.rules) is (account in (Account.FIRED, Account.SILENT))


def test_the_variables_that_were_needed_are_told_once() -> None:
    (policy,) = explained(GUARDED, call(n=9)).policies
    assert policy.when is not None
    assert policy.when.value == "true"
    assert [(name, term.text, term.value) for name, term in policy.variables] == [
        ("big", "args.n > 5", "true")
    ]


MUTATORS = """\
policyd: v1
mutators:
  - name: dry
    match: {events: [tools/call], phase: request}
    patch: [{op: add, path: /arguments/limit, value: {cel: args.n + 1}}]
  - name: hide
    match: {events: [tools/list], phase: response}
    drop:
      - {id: hidden, from: /tools, where: item.name.startsWith("x")}
      - {id: other, from: /tools, where: item.name == "other"}
  - name: cover
    match: {events: [tools/list], phase: response}
    redact: [{id: mail, detect: [email]}, {id: word, pattern: 'b[a]d', replace: good}]
validators:
  - name: judge
    match: {events: [tools/list], phase: response}
    rules: [{id: none, deny: size(result.tools) > 9, message: many}]
"""


def steps(policy: PolicyAccount) -> list[tuple[str, Account, str, tuple[str, ...]]]:
    return [(rule.id, rule.account, rule.reason, rule.details) for rule in policy.rules]


def test_each_step_of_a_mutator_is_told_with_what_it_changed() -> None:
    payload = {"tools": [{"name": "a"}, {"name": "x a@example.com"}, {"name": "b@example.com"}]}
    judge, dry, hide, cover = explained(MUTATORS, payload, "tools/list").policies
    assert (judge.account, dry.account) == (Account.SILENT, Account.SKIPPED)
    assert steps(hide) == [
        ("hidden", Account.FIRED, "", ("drop at /tools",)),
        ("other", Account.SILENT, "it changed nothing", ()),
    ]
    assert [term.value for term in hide.rules[0].expressions] == ["true"]
    assert [term.value for term in hide.rules[1].expressions] == ["false", "false"]
    assert steps(cover) == [
        ("mail", Account.FIRED, "", ("redact at /tools/1/name (email)",)),
        ("word", Account.SILENT, "it changed nothing", ()),
    ]


def test_how_often_a_step_changed_something_is_told() -> None:
    payload = {"tools": [{"name": "x"}, {"name": "xx"}]}
    hide = explained(MUTATORS, payload, "tools/list").policies[2]
    assert hide.rules[0].details == ("drop at /tools, 2 times",)


def test_a_step_that_fails_ends_the_chain_and_both_are_told() -> None:
    judge, _, hide, cover = explained(MUTATORS, {"tools": {}}, "tools/list").policies
    assert (hide.account, hide.reason) == (Account.FAILED, "p.yaml:9:7: no list at `/tools`")
    assert {step[1:3] for step in steps(hide)} == {
        (Account.FAILED, "nothing of the policy is applied")
    }
    assert (judge.account, judge.reason) == (
        Account.NOT_RUN,
        "the chain ended before: `hide` stopped it",
    )
    assert cover.account is Account.NOT_RUN


def test_the_value_that_a_patch_computes_is_told() -> None:
    dry = explained(MUTATORS, call(n=1)).policies[1]
    assert steps(dry) == [("patch[0]", Account.FIRED, "", ("add at /arguments/limit",))]
    assert [lines(term) for term in dry.rules[0].expressions] == [
        ["args.n + 1 = 2", "  args.n = 1"]
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "args.t.startsWith('ghp')",
        "args.t.substring(0, 12) == 'a'",
        "args.t.split('').exists(x, x == 'Q')",
        "args.t.split('_').map(x, x + x).size() > 9",
        "args.t.substring(4, 20).reverse() + 'x' == 'y'",
        "{'k': args.t.lowerAscii()}.k.contains('abc')",
        "cel.bind(x, args.t.substring(3, 30), x == 'a' || x == 'b')",
        "args.?t.optMap(x, x.substring(2, 20)).orValue('') == 'z'",
        "variables.half == 'x' || variables.half + 'a' == 'b'",
        "base64.encode(bytes(args.t)) == 'a'",
        "[args].exists(x, x.t.substring(2, 30) == x.t)",
        "int(args.t.substring(4, 5).matches('[0-9]') ? args.t.substring(4, 5) : '7') == 1",
    ],
)
def test_nothing_of_a_secret_is_shown(expression: str) -> None:
    variables = "    variables: {half: 'args.t.substring(4, 25)'}\n"
    account = one(expression, call(t=f"a {SECRET} b", n=1), variables=variables)
    told = json.dumps(asdict(account), default=str)
    body = SECRET[4:]
    pieces = {body[i : i + 6] for i in range(len(body) - 5)}
    pieces |= {piece.lower() for piece in pieces} | {piece[::-1] for piece in pieces}
    assert [piece for piece in pieces if piece in told] == []
    assert account.account in (Account.FIRED, Account.SILENT)
    assert NOT_SHOWN in told or "startsWith" in expression


def test_what_is_no_part_of_a_secret_is_shown_beside_one() -> None:
    assert shown("args.u.trim() == 'x' || size(args.t) > 9", call(u=" y", t=SECRET)) == [
        "args.u.trim() == 'x' || size(args.t) > 9 = true",
        "  args.u.trim() == 'x' = false",
        '    args.u.trim() = "y"',
        '      args.u = " y"',
        "  size(args.t) > 9 = true",
        f"    size(args.t) = {len(SECRET)}",
        '      args.t = "[github-token]"',
    ]


def test_of_what_cannot_be_watched_only_the_outcome_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Trace, "__call__", lambda *_: None)
    (policy,) = explained(GUARDED, call(n=9)).policies
    assert (policy.when, policy.variables) == (None, ())
    assert [(rule.reason, rule.expressions) for rule in policy.rules] == [
        ("the expression is true", ())
    ]


def test_of_a_loop_that_was_not_seen_to_its_end_nothing_that_it_made_is_shown() -> None:
    told = shown("args.l.map(x, x + 'b').exists(x, x == 'z')", call(l=["a"] * 3000))
    assert f"  args.l.map(x, x + 'b') = {NOT_SHOWN}" in told
    assert f"    x + 'b' = {NOT_SHOWN}" in told
    assert '      x = "a"' in told
