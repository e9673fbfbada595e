from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from policyd.detectors import DETECTORS
from policyd.expr.message import MAX_PART, Template, compile_template, printable
from policyd.expression import Budget, Flaw, Scope

SCOPE = Scope(frozenset({"tool", "args"}))


def rendered(text: str, **values: Any) -> str:
    template = compile_template(text, SCOPE)
    assert isinstance(template, Template)
    return template(values, Budget(1000, time.monotonic() + 10))


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("plain", {}, "plain"),
        ("{{ tool }} is out", {"tool": "shell"}, "shell is out"),
        ("{{tool}}{{ tool }}", {"tool": "x"}, "xx"),
        ("{{ '}}' + tool }}", {"tool": "x"}, "}}x"),
        (r"{{ 'it\'s }}' + tool }}", {"tool": "x"}, "it's }}x"),
        ('{{ {"a": tool}.a }}', {"tool": "x"}, "x"),
        ('{{ {"a": {"b": tool}}}}', {"tool": "x"}, '{"a": {"b": "x"}}'),
        ("{{ size(args) }} of {{ 1.5 }}", {"args": [1, 2]}, "2 of 1.5"),
        ("{{ args }}", {"args": {"a": [True, None]}}, '{"a": [true, null]}'),
        ("{{ args.missing }} is out", {"args": {}}, "? is out"),
        ("a } b {c} {", {}, "a } b {c} {"),
    ],
)
def test_a_message_is_text_around_values(text: str, values: Any, message: str) -> None:
    assert rendered(text, **values) == message


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        (
            "no {{ tool here",
            Flaw(
                "unclosed-part",
                "`{{` opens an expression that does not end",
                3,
                2,
                "close it with `}}`",
            ),
        ),
        (
            "é {{ tol }}",
            Flaw("cel-unknown-name", "unknown name `tol`", 5, 3, "did you mean `tool`?"),
        ),
    ],
)
def test_a_mistake_in_a_part_is_told_at_its_place_in_the_message(text: str, flaw: Flaw) -> None:
    assert compile_template(text, SCOPE) == (flaw,)


def test_a_value_is_cut_and_kept_on_one_line() -> None:
    assert printable("a\nb\x1b[31m\u202e") == "a b [31m "
    assert printable("x" * 1000) == "x" * MAX_PART + "..."
    assert printable("x" * MAX_PART) == "x" * MAX_PART


@pytest.mark.parametrize("name", [n for n, d in DETECTORS.items() if "secrets" in d.groups])
def test_a_secret_in_a_value_is_never_printed(name: str) -> None:
    sample = DETECTORS[name].sample()
    shown = printable(f"key: {sample} {sample}")
    assert sample not in shown
    assert "[" in shown


def test_a_value_that_has_no_text_is_a_question_mark() -> None:
    assert printable({(1, 2): 3}) == "?"
    assert printable([timedelta(1), b"\xff"]) == '["86400s", "?"]'


def test_a_value_that_is_deep_or_wide_is_not_shown_to_the_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert printable(loop) == '[[[[[[[[["..."]]]]]]]]]'
    assert printable({str(n): n for n in range(10**6)}).endswith("...")


def test_a_secret_beside_a_line_break_is_not_printed_in_a_list() -> None:
    sample = DETECTORS["aws-access-key-id"].sample()
    for value in ({"a": f"l1\n{sample}"}, [f"\t{sample}"], {f"\n{sample}": [1]}):
        assert sample not in printable(value)
