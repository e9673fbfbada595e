from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.expr.cel.parse import parse
from policyd.expr.cel.tree import (
    And,
    Binary,
    Call,
    Conditional,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Name,
    Negate,
    Node,
    Not,
    Or,
    Select,
)
from policyd.expression import Flaw


def flaw(text: str) -> Flaw:
    found = parse(text)
    assert not isinstance(found, Node)
    (only,) = found
    return only


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "1 + 2 * x",
            Binary(
                2, 1, "+", Literal(0, 1, 1), Binary(6, 1, "*", Literal(4, 1, 2), Name(8, 1, "x"))
            ),
        ),
        (
            "a.b['c']",
            Index(3, 1, Select(2, 1, Name(0, 1, "a"), "b"), Literal(4, 3, "c")),
        ),
        (
            "f(x, .y).g()",
            Call(
                9,
                1,
                "g",
                Call(0, 1, "f", None, (Name(2, 1, "x"), Name(6, 1, "y", absolute=True))),
                (),
            ),
        ),
        (".f(1)", Call(1, 1, "f", None, (Literal(3, 1, 1),))),
        (
            "a || b || (c || d) && e && f",
            Or(
                2,
                2,
                (
                    Name(0, 1, "a"),
                    Name(5, 1, "b"),
                    And(
                        19,
                        2,
                        (
                            Or(13, 2, (Name(11, 1, "c"), Name(16, 1, "d"))),
                            Name(22, 1, "e"),
                            Name(27, 1, "f"),
                        ),
                    ),
                ),
            ),
        ),
        (
            "!a ? -b : c ? d : e",
            Conditional(
                3,
                1,
                Not(0, 1, Name(1, 1, "a")),
                Negate(5, 1, Name(6, 1, "b")),
                Conditional(12, 1, Name(10, 1, "c"), Name(14, 1, "d"), Name(18, 1, "e")),
            ),
        ),
        (
            "[1, [], {'a': b, 2: {}}]",
            ListLiteral(
                0,
                1,
                (
                    Literal(1, 1, 1),
                    ListLiteral(4, 1, ()),
                    MapLiteral(
                        8,
                        1,
                        (
                            (Literal(9, 3, "a"), Name(14, 1, "b")),
                            (Literal(17, 1, 2), MapLiteral(20, 1, ())),
                        ),
                    ),
                ),
            ),
        ),
        (
            "a <= b in c",
            Binary(
                7, 2, "in", Binary(2, 2, "<=", Name(0, 1, "a"), Name(5, 1, "b")), Name(10, 1, "c")
            ),
        ),
        ("a.package.for()", Call(10, 3, "for", Select(2, 7, Name(0, 1, "a"), "package"), ())),
        ("'a'.size()", Call(4, 4, "size", Literal(0, 3, "a"), ())),
    ],
)
def test_a_text_becomes_a_tree_with_places(text: str, tree: Node) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "problem", "at", "help"),
    [
        ("a and b", "`and` is not an operator", "and", "write `&&`"),
        ("a or b", "`or` is not an operator", "or", "write `||`"),
        ("a AND b", "`AND` is not an operator", "AND", "write `&&`"),
        ("not a", "`not` is not an operator", "not", "write `!`"),
        ("a == not b", "`not` is not an operator", "not", "write `!`"),
        ("a is null", "`is` is not an operator", "is", "write `==`"),
        (
            "if a then b",
            "`if` is not an operator",
            "if",
            "a choice is written `condition ? value : other value`",
        ),
        ("a <> b", "`>` is not expected here, after `<`", ">", "write `!=`"),
        (
            "a.b contains 'c'",
            "`contains` is not expected here",
            "contains",
            "write `value.contains(...)`",
        ),
        ("a not in b", "`not` is not an operator", "not", "write `!(a in b)`"),
        ("a &&", "the expression ends after `&&`", "&&", "add what follows `&&`, or remove it"),
        ("a == ", "the expression ends after `==`", "==", "add what follows `==`, or remove it"),
        ("a.", "the expression ends after `.`", ".", "add what follows `.`, or remove it"),
        ("!", "the expression ends after `!`", "!", "add what follows `!`, or remove it"),
        (
            "a ?",
            "the expression ends after `?`",
            "?",
            "a choice is written `condition ? value : other value`",
        ),
        (
            "a ? 'b'",
            "the expression ends after `'b'`",
            "'b'",
            "a choice is written `condition ? value : other value`",
        ),
        ("&& a", "`&&` is not expected here", "&&", None),
        ("a b", "`b` is not expected here", "b", "an operator is missing before it"),
        ("a.x 1", "`1` is not expected here", "1", "an operator is missing before it"),
        (
            "a == 'it's b",
            "`s` is not expected here",
            "s",
            "a quote inside of a string is written with a backslash, or an operator is missing",
        ),
        ("a.in", "`in` is not expected here, after `.`", "in", "write `['in']` for this key"),
        ("a.true", "`true` is not expected here", "true", "write `['true']` for this key"),
        ("a == == b", "`==` is not expected here, after `==`", "==", None),
        ("a[]", "`]` is not expected here, after `[`", "]", None),
        ("f(a,)", "`)` is not expected here, after `,`", ")", None),
        ("a, b", "`,` is not expected here, after `a`", ",", None),
        ("a.5", "`.5` is not expected here", ".5", "an operator is missing before it"),
        (
            "a{b: 1}",
            "messages cannot be made here",
            "{",
            "a map is written {'key': value}, without a name before it",
        ),
        (
            "a '''b\nc'''",
            "`'''b...` is not expected here",
            "'''b\nc'''",
            "an operator is missing before it",
        ),
        (
            f"{'x' * 30} {'y' * 30}",
            f"`{'y' * 24}...` is not expected here",
            "y" * 30,
            "an operator is missing before it",
        ),
    ],
)
def test_a_slip_in_a_phrase_is_pointed_at(
    text: str, problem: str, at: str, help: str | None
) -> None:
    found = flaw(text)
    assert found == Flaw("cel-syntax", problem, found.offset, len(at), help)
    assert text[found.offset : found.offset + found.length] == at


@pytest.mark.parametrize("text", ["", "  ", "\n", "// nothing"])
def test_an_empty_text_is_said_to_be_empty(text: str) -> None:
    assert flaw(text) == Flaw("cel-syntax", "the expression is empty", 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "1" + " + 1" * 900,
        "a" + ".b" * 2000,
        "!" * 4000 + "a",
        "-" * 4000 + "a",
        "a ? b : " * 500 + "c",
        "a" + "[0]" * 1000,
        "a == " * 800 + "a",
    ],
)
def test_an_expression_nests_to_a_limit(text: str) -> None:
    found = flaw(text)
    assert (found.code, found.text) == ("cel-too-deep", "an expression nests at most 200 deep")
    assert 0 <= found.offset < len(text)


def test_a_long_chain_of_conditions_is_not_deep() -> None:
    tree = parse(" || ".join(["a && b && c"] * 250))
    assert isinstance(tree, Or)
    assert len(tree.operands) == 250


CHARS = "ab1()[]{}.,?:!-+*/%<>=&|#;'\"\\\n\ud800😀`"
WORDS = (
    "in", "not", "and", "true", "null", "1.5", "'x'", '"y"', "r'\\'", "b''", "\'\'\'", "<=", ">=",
    "==", "!=", "&&", "||", "//", "0x", "1u", "-1", "has", "all", "for",
)  # fmt: skip
PIECES = st.lists(st.sampled_from([*CHARS, *WORDS]), max_size=25)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=40), PIECES.map("".join), PIECES.map(" ".join)))
def test_any_text_has_a_tree_or_flaws_inside_of_it(text: str) -> None:
    found = parse(text)
    if isinstance(found, Node):
        return
    assert found
    for one in found:
        assert 0 <= one.offset <= one.offset + one.length <= len(text)


def test_celpy_is_not_imported() -> None:
    script = (
        "import sys; from policyd.expr.cel.parse import parse; parse('a'); "
        "print('celpy' in sys.modules, sys.getrecursionlimit())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "1000"]


@pytest.mark.parametrize(
    ("text", "problem", "at", "help"),
    [
        (
            "a.?b()",
            "`(` is not expected here, after `b`",
            "(",
            "a method is not optional; write `a.?b.optMap(x, x.method())`",
        ),
        (
            "a.`b`()",
            "`(` is not expected here, after `b`",
            "(",
            "a method is not optional; write `a.?b.optMap(x, x.method())`",
        ),
        (
            "a?.b",
            "the expression ends after `b`",
            "b",
            "a field that may be missing is written `a.?b`",
        ),
        (
            "a ?? b",
            "`?` is not expected here, after `?`",
            "?",
            "write `a.?b.orValue(other value)`",
        ),
        (
            "f(?a)",
            "`?` is not expected here, after `(`",
            "?",
            "`?` stands before an element of a list or a map, not before an argument",
        ),
        (
            "`a-b` == 1",
            "`a-b` is not expected here",
            "`a-b`",
            "a field between backticks stands after a dot, as in a.`b-c`",
        ),
        (
            "a `b`",
            "`b` is not expected here",
            "`b`",
            "a field between backticks stands after a dot, as in a.`b-c`",
        ),
    ],
)
def test_a_slip_in_what_is_newer(text: str, problem: str, at: str, help: str) -> None:
    found = parse(text)
    assert isinstance(found, tuple)
    (flaw,) = found
    pointed = text[flaw.offset : flaw.offset + flaw.length]
    assert (flaw.text, pointed, flaw.help) == (problem, at, help)
