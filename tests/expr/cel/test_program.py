from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expr.cel.values import CelType, OptionalValue, UInt
from policyd.expression import Budget, Scope

SCOPE = Scope(
    names=frozenset({"a", "b", "c"}),
    constants={"words": ["a", "abc"], "numbers": [2, 3.5, None], "bits": [0, 1], "k": {"k": 1}},
    variables=frozenset({"v"}),
)


def budget(steps: int = 100_000) -> Budget:
    return Budget(steps, time.monotonic() + 60)


def compiled(text: str, result: Result = Result.ANY, scope: Scope = SCOPE) -> Program:
    program = compile_cel(text, scope, result)
    assert isinstance(program, Program), program
    return program


def failure(program: Callable[..., Any], activation: Mapping[str, Any], left: Budget) -> Any:
    with pytest.raises(EvaluationError) as caught:
        program(activation, left)
    return caught.value


def typed(value: Any) -> Any:
    """*value* so that `==` tells 1 from 1.0 from true, and NaN equals itself."""
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, dict):
        return [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, OptionalValue):
        return OptionalValue, typed(value.value)
    return type(value), repr(value)


# Expressions and values at random

ATOMS = (
    "a", "b", "c", "x", "constants.words", "constants.numbers", "constants.bits", "constants.k",
    "variables.v", "true", "false", "null", "0", "1", "-1", "2", "3.5", "1.0", "-0.0", "1u", "7u",
    "9223372036854775807", "''", "'a'", "'abc'", "b'a'", "[]", "{}", "int", "[1, 'a']",
    "['a', 'abc']", "[0, 1, true]", "[null, 2]", "{'a': 1}", "{'k': {'k': 'a'}}",
    "{1: 'a', true: 2}", "timestamp('2026-01-31T12:00:00Z')", "duration('90s')",
)  # fmt: skip
UNARY = (
    "-{0}", "!{0}", "!({0})", "{0}.k", "{0}.a", "{0}['k']", "{0}[0]", "{0}[1.0]", "has({0}.k)",
    "size({0})", "{0}.size()", "string({0})", "type({0})", "{0}.startsWith('a')",
    "{0}.endsWith('c')", "{0}.contains('b')", "{0}.matches('^a')", "[{0}]", "{{'k': {0}}}",
    "timestamp({0})", "duration({0})", "int({0})", "double({0})", "({0})", "{0} == null",
    "{0} != true", "{0} == 'a'", "{0} == 2", "{0} == 1", "{0} < 2", "1.5 >= {0}", "{0} < 'b'",
    "{0}.?k", "{0}.?k.a", "{0}[?0]", "{0}[?'k']", "{0}.`a`", "optional.of({0})", "{0}.hasValue()",
    "optional.ofNonZeroValue({0})", "{0}.value()", "[?{0}]", "{{?'k': {0}}}", "{0}.first()",
    "{0}.last()", "{0}.sort()", "{0}.distinct()", "{0}.flatten()", "has({0}.?k.a)",
    "{0} in [2,'a']", "{0} in constants.words", "{0} in constants.numbers", "{0} in constants.bits",
)  # fmt: skip
BINARY = (
    "({0} == {1})", "({0} != {1})", "({0} < {1})", "({0} >= {1})", "({0} in {1})", "({0} + {1})",
    "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} % {1})", "({0} && {1})", "({0} || {1})",
    "{0}[{1}]", "[{0}, {1}]", "{{{0}: {1}}}", "{0}.startsWith({1})", "{0}.matches({1})",
    "{0}.all(x, {1})", "{0}.exists(x, {1})", "{0}.exists_one(x, {1})", "{0}.filter(x, {1})",
    "{0}.map(x, {1})", "{0}.all(y, x, {1})", "{0}.exists(x, y, {1})",
    "{0}.or({1})", "{0}.orValue({1})", "{0}.?k.orValue({1})", "{0}.optMap(x, {1})", "[?{0}, {1}]",
    "{0}.optFlatMap(x, {1})", "cel.bind(x, {0}, {1})", "{0}[?{1}]", "{{?{0}: {1}}}",
    "{0}.transformList(y, x, {1})", "{0}.transformMap(y, x, {1})", "{0}.sortBy(x, {1})",
    "{0}.transformMapEntry(y, x, {1})", "{0}.transformMapEntry(y, x, {{x: {1}}})",
    "cel.bind(y, {0}, y == 1 || {1})",
)  # fmt: skip
TERNARY = (
    "({0} ? {1} : {2})", "{0}.map(x, {1}, {2})", "({0} && {1} && {2})", "({0}||{1}||{2})",
    "{0}.transformMap(y, x, {1}, {2})", "{0}.transformList(x, y, {1}, {2})",
    "cel.bind(x, {0}, cel.bind(y, {1}, {2}))",
)  # fmt: skip

FORMS: dict[int, tuple[str, ...]] = {1: UNARY, 2: BINARY, 3: TERNARY}


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def fill(form: str, count: int) -> st.SearchStrategy[str]:
        return st.tuples(*[parts] * count).map(lambda inner: form.format(*inner))

    return st.one_of(
        [st.sampled_from(forms).flatmap(lambda form, n=count: fill(form, n))  # type: ignore[misc]
         for count, forms in FORMS.items()]
    )  # fmt: skip


EXPRESSIONS = st.recursive(st.sampled_from(ATOMS), grown, max_leaves=6)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2, -1, 3.5, 1.0, 0.0, 2**63, -(2**63), 10**400, 1e308]),
    st.floats(),
    st.sampled_from(["", "a", "abc", "k", "1", "\ud800", "2026-01-31T12:00:00Z", "5s"]),
    st.text(max_size=3),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["k", "a", "abc", ""]), inner, max_size=3),
    ),
    max_leaves=8,
)
VALUES = st.one_of(
    JSON,
    st.sampled_from(
        [
            UInt(0),
            UInt(2),
            b"a",
            OptionalValue(),
            OptionalValue({"k": [1]}),
            CelType("int"),
            timedelta(seconds=90),
            datetime(2026, 1, 31, 12, tzinfo=UTC),
            datetime.max.replace(tzinfo=UTC),
        ]
    ),
)
ACTIVATIONS = st.fixed_dictionaries(dict.fromkeys(("a", "b", "c", "variables.v"), VALUES))


def exact(program: Program, activation: Mapping[str, Any]) -> Any:
    """The typed value of the exact path, or None where it errs."""
    try:
        return typed(program._decide(activation, budget()))
    except EvaluationError:
        return None


def fast(program: Program, activation: Mapping[str, Any]) -> Any:
    """The typed value of the fast path, or None where it gives up."""
    assert program._fast is not None
    try:
        return typed(program._fast(activation, budget()))
    except Exception:
        return None


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, ACTIVATIONS, st.sampled_from([Result.ANY, Result.BOOL]))
def test_what_the_fast_path_returns_is_what_the_exact_path_returns(
    text: str, activation: dict[str, Any], result: Result
) -> None:
    program = compile_cel(text, SCOPE, result)
    if isinstance(program, Program):
        assert fast(program, activation) in (None, exact(program, activation))


SAMPLES: list[Any] = [
    *[None, True, False, 0, 1, 2, -1, 3.5, 1.0, -0.0, math.nan, math.inf, 2**63, 10**400],
    *["", "a", "abc", "^a", "\ud800", "2026-01-31T12:00:00Z", b"", b"a", UInt(0), UInt(2)],
    *[[], [1, "a"], ["a", "abc"], [0, 1, True], [None], [["a"]], {}, {"k": 1, "a": {}}, {1: "a"}],
    *[compiled("ip('::1')")({}, budget()), compiled("cidr('10.0.0.0/8')")({}, budget())],
    *[OptionalValue(), OptionalValue(1), OptionalValue({"k": 1}), OptionalValue([OptionalValue()])],
    *[CelType("int"), timedelta(0), timedelta(seconds=90), datetime(2026, 1, 31, 12, tzinfo=UTC)],
]


@pytest.mark.parametrize("form", [*UNARY, *BINARY])
def test_the_two_paths_agree_on_every_pair_of_values(form: str) -> None:
    program = compiled(form.format("a", "b"))
    others = SAMPLES if form in BINARY else [None]
    for one, other in itertools.product(SAMPLES, others):
        activation = {"a": one, "b": other}
        assert fast(program, activation) in (None, exact(program, activation)), activation


@pytest.mark.parametrize("form", UNARY)
def test_the_two_paths_agree_on_every_known_value(form: str) -> None:
    for atom in ATOMS:
        program = compile_cel(form.format(atom), SCOPE)
        if isinstance(program, Program):
            activation = dict.fromkeys(["a", "b", "c", "variables.v"], "abc")
            assert fast(program, activation) in (None, exact(program, activation)), atom


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, ACTIVATIONS)
def test_no_payload_makes_a_program_raise_anything_but_an_evaluation_error(
    text: str, activation: dict[str, Any]
) -> None:
    program = compile_cel(text, SCOPE)
    if not isinstance(program, Program):
        return
    offset: int | None = 0
    try:
        program(activation, budget())
    except EvaluationError as error:
        offset = error.offset
    assert offset is not None
    assert 0 <= offset < len(text)


def test_a_typical_condition_takes_the_fast_path() -> None:
    program = compiled("a.name in ['rm', 'shell'] && a.args.all(k, size(a.args[k]) < 9)")
    assert fast(program, {"a": {"name": "rm", "args": {"x": "y"}}}) == typed(True)
    assert fast(program, {"a": {"name": "rm", "args": {"x": "y" * 9}}}) == typed(False)
    assert fast(program, {"a": {"name": "rm", "args": "x"}}) is None


def test_a_program_that_must_yield_a_bool_refuses_another_value() -> None:
    program = compiled("  a", Result.BOOL)
    assert program({"a": True}, budget()) is True
    error = failure(program, {"a": "yes"}, budget())
    assert (error.reason, error.offset) == ("a bool is needed here, not a string", 2)
    assert compiled("a")({"a": "yes"}, budget()) == "yes"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_values_are_compared_however_deep_they_nest() -> None:
    program = compiled("a == b")
    assert program({"a": nested(50_000), "b": nested(50_000)}, budget(10**6)) is True
    assert program({"a": nested(50_000), "b": nested(50_001)}, budget(10**6)) is False


def test_a_program_works_without_its_fast_path() -> None:
    program = compiled("a.b")
    program._fast = None
    assert program({"a": {"b": 1}}, budget()) == 1
    assert failure(program, {"a": {}}, budget()).reason == "no such key `b`"


@pytest.mark.parametrize(
    ("raised", "reason", "cause"),
    [
        (MemoryError, "a value is too large", Cause.BUDGET),
        (RecursionError, "a value is nested too deep", Cause.ERROR),
    ],
)
def test_what_python_cannot_hold_is_an_error(
    raised: type[Exception], reason: str, cause: Cause
) -> None:
    class Endless(dict[str, Any]):
        def __missing__(self, key: str) -> Any:
            raise raised

    error = failure(compiled(" a"), Endless(), budget())
    assert (error.reason, error.cause, error.offset) == (reason, cause, 1)


def test_a_name_without_value_is_an_error_at_its_place() -> None:
    error = failure(compiled("1 + a"), {}, budget())
    assert (error.reason, error.offset) == ("`a` has no value here", 4)


def test_an_error_of_a_variable_is_told_at_the_place_that_reads_it() -> None:
    kept = EvaluationError("no such key `x`", offset=99)

    class Failing(dict[str, Any]):
        def __missing__(self, key: str) -> Any:
            raise kept

    error = failure(compiled("1 + variables.v"), Failing(), budget())
    assert (error.reason, error.cause, error.offset) == ("no such key `x`", Cause.ERROR, 14)
    assert kept.offset == 99


def test_a_variable_is_read_only_where_it_is_needed() -> None:
    reads: list[str] = []

    class Recording(dict[str, Any]):
        def __missing__(self, key: str) -> Any:
            reads.append(key)
            self[key] = key == "c"
            return self[key]

    program = compiled("c || variables.v || variables.v || a")
    assert program(Recording(), budget()) is True
    assert reads == ["c"]
    assert program(Recording(c=False, a=True), budget()) is True
    assert reads == ["c", "variables.v"]


@pytest.mark.parametrize("text", ["a.all(x, a.all(y, a.all(z, true)))", "a.map(x, a + a)"])
def test_nested_loops_end_with_the_budget(text: str) -> None:
    error = failure(compiled(text), {"a": list(range(500))}, budget(5_000))
    assert (error.reason, error.cause) == ("the step budget is used up", Cause.BUDGET)


def test_what_the_budget_ends_is_not_absorbed() -> None:
    activation = {"a": list(range(500)), "b": False}
    for text in ("a.all(x, true) && b", "a.exists(x, a.all(y, true)) || true", "b.c || a == a"):
        error = failure(compiled(text), activation, budget(400))
        assert error.cause is Cause.BUDGET


def test_a_loop_ends_at_the_deadline() -> None:
    error = failure(compiled("a.all(x, true)"), {"a": [1]}, Budget(10, time.monotonic() - 1))
    assert error.cause is Cause.DEADLINE


def test_both_paths_share_one_budget() -> None:
    left = budget(100)
    failure(compiled("a.all(x, x)"), {"a": list(range(10))}, left)
    assert left.steps == 80


def test_a_program_is_pure() -> None:
    payload = {"list": [3, 1], "map": {"a": [1]}}
    program = compiled("[a.list + [1], a.map, constants.words + ['x']]")
    first = program({"a": payload}, budget())
    assert first == [[3, 1, 1], {"a": [1]}, ["a", "abc", "x"]]
    assert payload == {"list": [3, 1], "map": {"a": [1]}}
    assert SCOPE.constants["words"] == ["a", "abc"]


def test_one_program_may_run_in_several_threads() -> None:
    text = "a.filter(x, x > b).map(x, c.zz || x == b + 1)"
    program = compiled(text)

    def run(number: int) -> Any:
        return program({"a": [number, number + 1], "b": number, "c": {"zz": False}}, budget())

    def fail(number: int) -> Any:
        return failure(program, {"a": [number], "b": 0, "c": {}}, budget()).offset

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(1, 200))) == [[True]] * 199
        assert set(pool.map(fail, range(2, 200))) == {text.index("zz")}


@pytest.mark.parametrize(
    ("form", "depth", "value"),
    [
        ("[{}]", 195, nested(195)),
        ("({} + 0)", 195, 1),
        ("-({})", 196, 1),
        ("(b ? {} : 0)", 195, 1),
        ("((b && {} == 1) ? 1 : 2)", 65, 1),
        ("dyn({})", 195, 1),
        ("[0].map(x, {})[0]", 98, 1),
        ("[0].filter(x, {} == 1).size()", 49, 1),
    ],
)
def test_the_deepest_expression_that_is_allowed_has_a_value(
    form: str, depth: int, value: Any
) -> None:
    text = "a"
    for _ in range(depth):
        text = form.format(text)
    program = compiled(text)
    activation = {"a": 1, "b": True}
    assert program(activation, budget()) == value
    assert program._decide(activation, budget()) == value
