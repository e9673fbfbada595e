"""The parts of an expression, and the text of each."""

from __future__ import annotations

import pytest

from policyd.expr.cel.parts import Written, parts, with_parts
from policyd.expr.cel.tree import Name, Node


def texts(text: str) -> list[tuple[str, str]]:
    """Of every part, parents first: its text without and with the brackets around it."""
    written = Written(text)
    found: list[tuple[str, str]] = []
    pending: list[Node] = [written.tree]
    while pending:
        node = pending.pop()
        found.append((written.of(node), written.bracketed(node)))
        pending += reversed(list(parts(node)))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ["a"]),
        (".a.b", [".a.b", ".a"]),
        ("(a && b) && c", ["(a && b) && c", "a", "b", "c"]),
        ("a && (b || c)", ["a && (b || c)", "a", "b || c", "b", "c"]),
        ("f((a), [1, 2,])", ["f((a), [1, 2,])", "a", "[1, 2,]", "1", "2"]),
        ("a[0].b[c]", ["a[0].b[c]", "a[0].b", "a[0]", "a", "0", "c"]),
        (
            "!(a in {'k': -1})",
            ["!(a in {'k': -1})", "a in {'k': -1}", "a", "{'k': -1}", "'k'", "-1"],
        ),
        ("a ? b : c", ["a ? b : c", "a", "b", "c"]),
        ("a.f('(').g()", ["a.f('(').g()", "a.f('(')", "a", "'('"]),
        ("-(a)", ["-(a)", "a"]),
        ("[?a.?b]", ["[?a.?b]", "?a.?b", "a.?b", "a"]),
    ],
)
def test_each_part_has_its_text(text: str, expected: list[str]) -> None:
    assert [own for own, _ in texts(text)] == expected


def test_brackets_that_group_belong_to_a_part_only_when_asked_for() -> None:
    assert texts("((a)) == f(b)") == [
        ("((a)) == f(b)", "((a)) == f(b)"),
        ("a", "((a))"),
        ("f(b)", "f(b)"),
        ("b", "b"),
    ]


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("x && has(a.b)", 11, "has(a.b)"),
        ("x || a['b']", 7, "a['b']"),
        ("x || a[0]", 7, "0"),
        ("constants.c == 1", 10, "constants.c"),
    ],
)
def test_what_the_checker_makes_one_node_has_the_text_of_the_whole(
    text: str, offset: int, expected: str
) -> None:
    start, end = Written(text).stretches[offset]
    assert text[start:end] == expected


def test_a_part_that_is_not_in_the_text_has_the_text_that_its_node_points_at() -> None:
    assert Written("a + bc").of(Name(5, 1, "c")) == "c"


def test_a_text_of_any_depth_has_its_parts() -> None:
    deep = "-(" * 190 + "a" + ")" * 190
    assert len(texts(deep)) == 191


def test_a_text_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="no expression"):
        Written("a &&")


def test_a_node_can_be_made_again_with_other_parts() -> None:
    tree = Written("a ? [b] : {'k': c}").tree
    assert with_parts(tree, lambda part: part) == tree
    changed = with_parts(tree, lambda part: Name(0, 0, "x"))
    assert list(parts(changed)) == [Name(0, 0, "x")] * 3
