from __future__ import annotations

import dis
import time
import types
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel.check import Checked, check
from policyd.expr.cel.generate import Fast, generate
from policyd.expr.cel.operators import number, truth
from policyd.expr.cel.parse import parse
from policyd.expr.cel.tree import Node
from policyd.expr.cel.values import UInt
from policyd.expression import Budget, Scope

SCOPE = Scope(
    frozenset({"a", "b"}), constants={"words": ["x", "y"]}, variables=frozenset({"v", "w"})
)


def checked(text: str) -> Checked:
    tree = parse(text)
    assert isinstance(tree, Node)
    found = check(tree, text, SCOPE)
    assert isinstance(found, Checked)
    return found


def fast(text: str, *, boolean: bool = False) -> types.FunctionType:
    function: Fast | None = generate(checked(text).root, boolean=boolean)
    assert isinstance(function, types.FunctionType)
    return function


def run(text: str, activation: Mapping[str, Any]) -> Any:
    return fast(text)(activation, Budget(1000, time.monotonic() + 60))


def constants(function: types.FunctionType) -> set[Any]:
    return {i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_CONST"}


def calls(text: str) -> set[Any]:
    """The functions that the code for *text* may call."""
    return {value for name, value in fast(text).__globals__.items() if name.startswith("global_")}


def test_the_code_reaches_nothing_but_what_it_was_given() -> None:
    assert fast("a.b == 'x'").__globals__ == {"__builtins__": {}}


@pytest.mark.parametrize(
    "text",
    [
        "a.b",
        "a.b.c == 'x' && a['d'] != null",
        "a.b == true || a.c == 5",
        "a.b < 'x'",
        "(a.b == 'x') ? a.c : [a.d, {'k': a}]",
        "a.b.startsWith('x') && a.b.endsWith('y')",
        "!(a.b == 'x')",
    ],
)
def test_common_parts_become_plain_python(text: str) -> None:
    assert calls(text) <= {truth}


def test_a_list_of_known_words_becomes_a_set() -> None:
    for text in ("a in ['x', 'y']", "a in constants.words"):
        assert calls(text) == {frozenset({"x", "y"})}
        assert run(text, {"a": "x"}) is True
        assert run(text, {"a": 1}) is False
        with pytest.raises(TypeError):
            run(text, {"a": []})


def test_what_is_read_twice_is_read_once_and_a_variable_only_where_it_stands() -> None:
    reads: list[str] = []

    class Recording(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            reads.append(key)
            return super().__getitem__(key)

    text = "a.x && a.y || variables.v == 1 || variables.v == 2 || b.x"
    values = {"a": {"x": True, "y": True}, "b": {}, "variables.v": 1}
    assert run(text, Recording(values)) is True
    assert reads == ["a"]
    reads.clear()
    assert run(text, Recording(values, a={"x": False}, b={"x": True})) is True
    assert reads == ["a", "variables.v"]


def test_a_call_with_known_arguments_is_made_once() -> None:
    function = fast("a < timestamp('2026-01-31T12:00:00Z')")
    (moment,) = [v for k, v in function.__globals__.items() if k.startswith("global_")]
    assert moment.year == 2026


def test_a_list_that_is_made_of_known_arguments_is_made_anew_each_time() -> None:
    function = fast("'a,b'.split(',')")
    budget = Budget(1000, time.monotonic() + 60)
    first, second = function({}, budget), function({}, budget)
    assert first == second == ["a", "b"]
    assert first is not second


def test_a_call_that_fails_with_known_arguments_fails_when_it_runs() -> None:
    text = "a || 'x'.charAt(9) == 'y'"
    with pytest.raises(EvaluationError):
        run(text, {"a": False})
    assert run(text, {"a": True}) is True


@pytest.mark.parametrize(
    "text",
    [
        "1 == null",
        "'a' != true",
        "1.b",
        "'a'.b",
        "[1].b",
        "[1]['b']",
        "(1 + 1).b",
        "{'a': 1}.a",
        "a.map(x, x).b",
        "size(a).b",
        "null == null",
        "[1, 2][0]['x']",
        "constants.words.b",
        "b'a'.b",
    ],
)
def test_python_never_warns_of_the_code(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(text)


def test_a_guard_passes_its_type_only() -> None:
    assert [number(1), number(1.5), number(UInt(1))] == [1, 1.5, UInt(1)]
    assert [truth(True), truth(False)] == [True, False]
    others: list[Any] = [True, None, "1", [], {}]
    for value in others:
        with pytest.raises(TypeError):
            number(value)
    for other in (1, 0, None, "true"):
        with pytest.raises(TypeError):
            truth(other)


def test_what_python_cannot_compile_has_no_fast_path() -> None:
    tree = checked("a").root
    for _ in range(4_000):
        tree = type(checked("!a").root)(0, 1, tree)  # type: ignore[call-arg]
    assert generate(tree, boolean=False) is None
