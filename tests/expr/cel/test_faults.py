"""Faults put into an expression: which there are, and that each is an expression again."""

from __future__ import annotations

import pytest

from policyd.expr.cel.faults import Edit, faults_of
from policyd.expr.cel.parse import parse


def changed(text: str, *, condition: bool = False) -> list[tuple[str, str]]:
    return [(fault.change, fault.text) for fault in faults_of(text, condition=condition)]


@pytest.mark.parametrize(
    ("operator", "opposite"),
    [("==", "!="), ("!=", "=="), ("<", ">="), (">=", "<"), (">", "<="), ("<=", ">")],
)
def test_a_comparison_is_flipped(operator: str, opposite: str) -> None:
    assert faults_of(f"a {operator} 1", condition=True) == (
        Edit(
            2,
            len(operator),
            f"`{operator}` becomes `{opposite}`",
            f"a {opposite} 1",
        ),
    )


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a + 1", []),
        ("a in b", [("`in` is negated", "(!(a in b))")]),
        ("!(a)", [("`!` is dropped", "(a)")]),
        (
            "a && (b || c)",
            [
                ("`a` is dropped from `&&`", "(b || c)"),
                ("`b || c` is dropped from `&&`", "a"),
                ("`b` is dropped from `||`", "a && (c)"),
                ("`c` is dropped from `||`", "a && (b)"),
            ],
        ),
        (
            "x.f(a ? b : c)",
            [("`a` counts as true", "x.f((b))"), ("`a` counts as false", "x.f((c))")],
        ),
        ("f([1, (2)])", [("the list is cut to its first element", "f([1])")]),
        ("f([1])", []),
    ],
)
def test_each_operator_has_its_faults(text: str, faults: list[tuple[str, str]]) -> None:
    assert changed(text) == faults


@pytest.mark.parametrize("text", ["a", "f(a)", "a ? b : c", "a.exists(x, x)"])
def test_a_condition_without_an_operator_is_negated_as_a_whole(text: str) -> None:
    assert ("the condition is negated", f"!({text})") in changed(text, condition=True)
    assert ("the condition is negated", f"!({text})") not in changed(text)


def test_a_long_part_is_quoted_in_short() -> None:
    part = "a" * 70
    change, _ = changed(f"{part} && b")[0]
    assert change == f"`{'a' * 57}...` is dropped from `&&`"


@pytest.mark.parametrize(
    "text",
    [
        "!has(a.b) || a.b in ['x', \"y\"] && (c ? !d : e == -1)",
        "(a && b) && !(c in [1, 2]) || {'k': [d, e]}.k[0] > 3",
        "a.all(x, x != '(' && ![x, x].exists(y, y in x)) ? b : !(c)",
    ],
)
def test_what_comes_out_is_an_expression(text: str) -> None:
    faults = faults_of(text, condition=True)
    assert len(faults) > 5
    assert [fault for fault in faults if isinstance(parse(fault.text), tuple)] == []
    assert text not in [fault.text for fault in faults]
