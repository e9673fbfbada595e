from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Budget, Scope

SCOPE = Scope(
    frozenset({"payload", "args"}),
    absent={"tool": "a response does not say which tool was called"},
    constants={"shells": ["sh"]},
    variables=frozenset({"command"}),
)
KEY = "PRIVATE " + "KEY"


class Text(str):
    """A text that knows more than its characters, as the strings of a policy file do."""

    __slots__ = ()


def outcome(text: str, payload: Any) -> Any:
    """The value for *payload*, or the reason why there is none."""
    program = compile_cel(text, SCOPE, Result.BOOL)
    assert isinstance(program, Program), program
    try:
        return program({"payload": payload}, Budget(1000, time.monotonic() + 60))
    except EvaluationError as error:
        return error.reason


@pytest.mark.parametrize(
    ("text", "payload", "expected"),
    [
        # a missing key is neither a pass nor a crash
        ("payload.arguments.branch != 'main'", {"arguments": {}}, "no such key `branch`"),
        ("payload.arguments.branch != 'main'", {"name": "list"}, "no such key `arguments`"),
        ("payload.arguments.branch != 'main'", {"arguments": {"branch": None}}, True),
        (
            "!has(payload.arguments.branch) || payload.arguments.branch != 'main'",
            {"arguments": {"owner": "acme"}},
            True,
        ),
        (
            "'dry-run' in payload.arguments && payload.arguments['dry-run'] == true",
            {"arguments": {"dry-run": True}},
            True,
        ),
        (
            "'dry-run' in payload.arguments && payload.arguments['dry-run'] == true",
            {"arguments": {}},
            False,
        ),
        (
            "'dry-run' in payload.arguments && payload.arguments['dry-run'] == true",
            {"arguments": {"dry-run": False}},
            False,
        ),
        (
            "payload.arguments.mode == 'ro' || payload.name == 'read_file'",
            {"name": "read_file", "arguments": {"path": "/srv/a"}},
            True,
        ),
        ("has(payload.options.depth.max)", {"name": "x"}, "no such key `options`"),
        # numbers compare on one line, whatever their spelling in JSON
        ("payload.temperature <= 1", {"temperature": 1.0}, True),
        ("payload.temperature == 1", {"temperature": 1.0}, True),
        ("payload.arguments.size in [1, 2, 5]", {"arguments": {"size": 2.0}}, True),
        ("payload.arguments.size in [1, 2, 5]", {"arguments": {"size": 2.5}}, False),
        ("payload.arguments.cost < 10.5", {"arguments": {"cost": 10}}, True),
        ("10.5 > payload.arguments.cost", {"arguments": {"cost": 10}}, True),
        ("payload.arguments.cost < 10.5", {"arguments": {"cost": 11}}, False),
        ("10.5 > payload.arguments.cost", {"arguments": {"cost": 11}}, False),
        ("payload.arguments.n == 1000", {"arguments": {"n": 1e3}}, True),
        # blocks of different types in one list
        (
            f"payload.content.all(c, !c.text.contains('{KEY}'))",
            {"content": [{"type": "text", "text": "ok"}, {"type": "image", "data": "aGk="}]},
            "no such key `text`",
        ),
        (
            f"payload.content.all(c, !c.text.contains('{KEY}'))",
            {"content": [{"type": "image"}, {"type": "text", "text": f"BEGIN {KEY}"}]},
            False,
        ),
        (
            f"payload.content.all(c, c.type != 'text' || !c.text.contains('{KEY}'))",
            {"content": [{"type": "text", "text": "ok"}, {"type": "image", "data": "aGk="}]},
            True,
        ),
        (
            f"payload.content.all(c, c.type != 'text' || !c.text.contains('{KEY}'))",
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": KEY}]},
            False,
        ),
        (
            f"payload.content.all(c, c.type != 'text' || !c.text.contains('{KEY}'))",
            {"content": []},
            True,
        ),
        (
            f"payload.content.all(c, c.type != 'text' || !c.text.contains('{KEY}'))",
            {"structuredContent": {"k": KEY}},
            "no such key `content`",
        ),
    ],
)
def test_policies_that_went_wrong_elsewhere_go_right(
    text: str, payload: Any, expected: object
) -> None:
    assert outcome(text, payload) == expected


def test_a_program_keeps_its_text_as_plain_text() -> None:
    program = compile_cel(Text("payload.a == 'x'"), SCOPE)
    assert isinstance(program, Program)
    assert type(program.text) is str
    assert program.text == "payload.a == 'x'"


def test_an_expression_that_is_compiled_deep_in_the_stack_is_refused_not_crashed() -> None:
    text = "[" * 190 + "]" * 190

    def down(depth: int) -> Any:
        return down(depth - 1) if depth else compile_cel(text, SCOPE)

    for depth in range(0, 1000, 25):
        try:
            found = down(depth)
        except RecursionError:
            break
        if isinstance(found, tuple):
            (flaw,) = found
            assert (flaw.code, flaw.offset, flaw.length) == ("cel-too-deep", 0, len(text))
            return
    pytest.fail("the stack never ran out inside of the compiler")


PIECES = [
    *"()[]{}.,?:!-+*/%<>=&|#;'\"\\\n",
    *["payload", "args", "tool", "constants", "variables", "command", "shells", ".command", "x"],
    *["has(", "size(", ".all(x, ", ".map(", ".matches(", "path.within(", "in", "true", "null"],
    *["==", "!=", "<=", "&&", "||", "1", "1.5", "-1", "2u", "'a'", "r'\\d'", "b''", "'('"],
]


@settings(max_examples=500, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
        st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    ),
    st.sampled_from(Result),
)
def test_any_text_is_a_program_or_flaws_inside_of_the_text(text: str, result: Result) -> None:
    found = compile_cel(text, SCOPE, result)
    if isinstance(found, Program):
        return
    assert found
    for flaw in found:
        assert 0 <= flaw.offset <= flaw.offset + flaw.length <= len(text)
        assert "\n" not in flaw.text
        assert flaw.text[0] == flaw.text[0].lower() or flaw.text[0] == "`"
