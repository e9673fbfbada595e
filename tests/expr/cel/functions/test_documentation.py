"""docs/functions.md says what is true."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.values import equal, type_name
from policyd.expression import Budget, Scope

TEXT = (Path(__file__).parents[4] / "docs" / "functions.md").read_text("utf-8")
CODE = [line for block in re.findall(r"```cel\n(.*?)```", TEXT, re.S) for line in block.split("\n")]
EXAMPLES = [line.split("  // => ") for line in CODE if line and not line.startswith("//")]
SIGNATURES = "\n".join(line.partition(":")[0] for line in CODE if line.startswith("//"))


def budget() -> Budget:
    return Budget(10**6, time.monotonic() + 60)


def fails(expression: str) -> bool:
    program = compile_cel(expression, Scope(frozenset()))
    if not isinstance(program, Program):
        return True
    try:
        program({}, budget())
    except EvaluationError:
        return True
    return False


def value(expression: str) -> object:
    program = compile_cel(expression, Scope(frozenset()))
    assert isinstance(program, Program), program
    return program({}, budget())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[0])
def test_an_example_yields_what_it_says(example: list[str]) -> None:
    expression, expected = example
    if expected == "error":
        assert fails(expression)
        return
    left, right = value(expression), value(expected)
    assert type_name(left) == type_name(right)
    assert equal(left, right, budget())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_documented_with_an_example(name: str) -> None:
    assert re.search(rf"(?<![\w]){re.escape(name)}\(", SIGNATURES)
    assert any(f"{name}(" in expression for expression, _ in EXAMPLES)


def test_no_other_function_is_documented() -> None:
    called = set(re.findall(r"[a-z][A-Za-z0-9]*(?:\.[a-zA-Z0-9]+)?(?=\()", SIGNATURES))
    plain = {name.rpartition(".")[2] for name in called} | called
    assert {
        name for name in called if not {name, name.rpartition(".")[2]} & set(FUNCTIONS)
    } == set()
    assert set(FUNCTIONS) <= plain
