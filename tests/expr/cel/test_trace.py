"""A traced evaluation sees what the exact path does, and changes nothing of it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expr.cel import trace as trace_module
from policyd.expr.cel.parts import Written
from policyd.expr.cel.trace import Trace, Visit
from policyd.expression import Budget, Scope

SCOPE = Scope(names=frozenset({"a", "b", "args"}))


def program(text: str) -> Program:
    compiled = compile_cel(text, SCOPE, Result.ANY)
    assert isinstance(compiled, Program), compiled
    return compiled


def budget(steps: int = 10_000) -> Budget:
    return Budget(steps, time.monotonic() + 60)


def traced(text: str, **names: Any) -> Visit:
    visit = Trace(program(text))(names, budget())
    assert visit is not None
    return visit


def seen(text: str, **names: Any) -> list[tuple[str, Any]]:
    """The text of each part that was evaluated, with its value, or the reason of its error."""
    written = Written(text)
    return [
        (written.of(visit.node), visit.value if visit.error is None else visit.error.reason)
        for visit in traced(text, **names).walk()
    ]


def test_every_part_that_is_evaluated_is_seen_with_its_value() -> None:
    assert seen("size(args.x) > 2 && a", args={"x": "abc"}, a=False) == [
        ("size(args.x) > 2 && a", False),
        ("size(args.x) > 2", True),
        ("size(args.x)", 3),
        ("args.x", "abc"),
        ("args", {"x": "abc"}),
        ("a", False),
    ]


def test_what_is_not_needed_is_not_seen() -> None:
    assert seen("a || b", a=True) == [("a || b", True), ("a", True)]
    assert seen("a ? 1 : b", a=True) == [("a ? 1 : b", 1), ("a", True)]


def test_the_body_of_a_loop_is_seen_once_for_each_element() -> None:
    assert seen("[1, 2, 3].exists(x, x == 2)") == [
        ("[1, 2, 3].exists(x, x == 2)", True),
        ("[1, 2, 3]", [1, 2, 3]),
        ("x == 2", False),
        ("x", 1),
        ("x == 2", True),
        ("x", 2),
    ]


def test_an_error_is_seen_where_it_comes_from_and_on_the_way_out() -> None:
    assert seen("args.x == 1 || a", args={}, a=True) == [
        ("args.x == 1 || a", True),
        ("args.x == 1", "no such key `x`"),
        ("args.x", "no such key `x`"),
        ("args", {}),
        ("a", True),
    ]


def test_a_name_without_a_value_is_an_error_of_its_own() -> None:
    assert seen("a") == [("a", "`a` has no value here")]


def test_entries_and_literals_are_no_values_of_their_own() -> None:
    assert seen("[?a.?x, 1]", a={"x": 2})[0] == ("[?a.?x, 1]", [2, 1])
    assert [text for text, _ in seen("[?a.?x, 1]", a={"x": 2})] == ["[?a.?x, 1]", "a.?x", "a"]


def test_the_visits_of_one_part_are_found_by_its_node() -> None:
    root = traced("a && b", a=True, b=True)
    first, second = root.below
    assert (root.of(first.node), root.of(second.node)) == ([first], [second])


def test_only_so_many_visits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "MAX_VISITS", 5)
    root = traced("args.all(x, x > 0)", args=list(range(1, 100)))
    assert (root.value, len(list(root.walk()))) == (True, 5)


def test_a_budget_that_is_used_up_ends_the_trace_with_an_error() -> None:
    visit = Trace(program("args.all(x, x > 0)"))({"args": [1, 2, 3]}, budget(steps=1))
    assert visit is not None
    assert visit.error is not None
    assert visit.error.reason == "the step budget is used up"


def test_the_names_of_an_evaluation_are_those_of_the_activation() -> None:
    reading = trace_module._Reading({"a": 1, "b": 2}, {})
    assert (len(reading), list(reading)) == (2, ["a", "b"])


def test_what_nests_too_deep_to_be_watched_is_not_told() -> None:
    trace = Trace(program("!" * 190 + "a"))

    def below(frames: int) -> Visit | None:
        return below(frames - 1) if frames else trace({"a": True}, budget())

    assert below(0) is not None
    assert below(700) is None


@pytest.mark.parametrize(
    "text",
    [
        "args.x.map(y, y * 2).filter(z, z > 2)",
        "args.x.all(y, y < 3) ? 'small' : 'large'",
        "cel.bind(y, size(args.x), y + y)",
        "args.?y.orValue(7)",
        "args.x[1] + size(args.x)",
        "has(args.x) && !(args.x[0] in [2, 3])",
    ],
)
def test_a_trace_comes_to_what_the_program_comes_to(text: str) -> None:
    names = {"args": {"x": [1, 2, 3]}}
    visit = traced(text, **names)
    assert (visit.error, visit.value) == (None, program(text)(names, budget()))


def test_a_trace_fails_as_the_program_fails() -> None:
    visit = traced("args.x[1] + args.y", args={"x": [1, 2]})
    with pytest.raises(EvaluationError) as raised:
        program("args.x[1] + args.y")({"args": {"x": [1, 2]}}, budget())
    assert visit.error is not None
    assert visit.error.reason == raised.value.reason
