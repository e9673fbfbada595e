from __future__ import annotations

import pytest

from policyd.expr.cel.check import Checked, check
from policyd.expr.cel.kinds import Kind, kind_of
from policyd.expr.cel.parse import parse
from policyd.expr.cel.tree import Node, walk
from policyd.expression import Scope


def root(text: str) -> Node:
    tree = parse(text)
    assert isinstance(tree, Node)
    checked = check(tree, text, Scope(frozenset({"a", "b"}), constants={"when": "never"}))
    assert isinstance(checked, Checked)
    return checked.root


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", Kind.UNKNOWN),
        ("a.b[0]", Kind.UNKNOWN),
        ("a == b", Kind.BOOL),
        ("a in b", Kind.BOOL),
        ("!a", Kind.BOOL),
        ("has(a.b)", Kind.BOOL),
        ("a.exists_one(x, x)", Kind.BOOL),
        ("a.endsWith(b)", Kind.BOOL),
        ("a ? !a : b == 1", Kind.BOOL),
        ("a ? !a : b", Kind.UNKNOWN),
        ("a ? b : 1", Kind.UNKNOWN),
        ("a ? true : 1", Kind.UNKNOWN),
        ("a ? 'x' : 1", Kind.OTHER),
        ("a + b", Kind.OTHER),
        ("a - 1.5", Kind.NUMBER),
        ("a % b", Kind.NUMBER),
        ("1u", Kind.NUMBER),
        ("a.size()", Kind.NUMBER),
        ("constants.when", Kind.STRING),
        ("duration(a)", Kind.TIME),
        ("timestamp('2026-01-31T12:00:00Z')", Kind.TIME),
        ("null", Kind.NULL),
        ("{a: b}", Kind.MAP),
        ("a.map(x, x)", Kind.LIST),
        ("google.protobuf.Duration", Kind.OTHER),
        ("a.split('x')", Kind.UNKNOWN),
    ],
)
def test_a_part_has_the_kind_that_its_form_gives_it(text: str, kind: Kind) -> None:
    assert kind_of(root(text)) is kind


def test_a_walk_meets_every_part_once_with_its_depth() -> None:
    text = "a.map(x, has(x.b), [x, {1: -x}])[0] in (a ? b : !a.exists(y, y)) && size(a) < 1"
    met = sorted((depth, type(node).__name__) for node, depth in walk(root(text)))
    assert met == [
        (1, "And"),
        (2, "Binary"),
        (2, "Binary"),
        (3, "Apply"),
        (3, "Conditional"),
        (3, "Index"),
        (3, "Literal"),
        (4, "Free"),
        (4, "Free"),
        (4, "Free"),
        (4, "Literal"),
        (4, "Loop"),
        (4, "Not"),
        (5, "Free"),
        (5, "Has"),
        (5, "ListLiteral"),
        (5, "Loop"),
        (6, "Free"),
        (6, "Local"),
        (6, "Local"),
        (6, "Local"),
        (6, "MapLiteral"),
        (7, "Literal"),
        (7, "Negate"),
        (8, "Local"),
    ]
