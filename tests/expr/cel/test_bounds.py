"""Nothing that an expression builds grows without limit, and nothing goes on after its time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import Program, bounds, compile_cel, operators
from policyd.expr.cel.values import OptionalValue
from policyd.expression import Budget, Scope

SCOPE = Scope(frozenset({"a", "b", "n"}))
TEXT, LIST = 200, 30
"""Small limits, so that an expression reaches them."""


def program(text: str) -> Program:
    found = compile_cel(text, SCOPE)
    assert isinstance(found, Program), found
    return found


def reason(text: str, **values: Any) -> str:
    with pytest.raises(EvaluationError) as caught:
        program(text)(values, Budget(10**6, time.monotonic() + 60))
    return caught.value.reason


# Sizes

ATOMS = ("a", "b", "n", "'xyz'", "[1, 'a']", "{'k': 1}", "lists.range(9)")
GROWN = (
    "({0} + {1})", "[{0}, {1}]", "{0}.join({1})", "{0}.join()", "{0}.map(x, {1})", "{0}.flatten()",
    "{0}.filter(x, true)", "{0}.replace('a', {1})", "{0}.split('')", "{0}.transformList(i, x, {1})",
    "'%s%s'.format([{0}, {1}])", "{0}.transformMap(i, x, {1})", "{0}.sortBy(x, 1)",
    "{0}.transformMapEntry(i, x, {{i: {1}}})", "{0}.reverse()", "{0}.distinct()", "[?{0}[?0], {1}]",
    "regex.replace({0}, '.', {1})", "regex.extractAll({0}, '.')", "{0}.sort()",
    "strings.quote({0})", "string({0})", "cel.bind(x, {0}, x + x)", "{0}.map(x, x + x)",
    "{0}.upperAscii()", "{0}.slice(0, 1)", "{0}.substring(1)", "base64.encode(bytes({0}))",
)  # fmt: skip


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    forms = st.sampled_from(GROWN)
    return st.builds(lambda form, one, two: form.format(one, two), forms, parts, parts)


def parts(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, OptionalValue):
            waiting.append(value.value)


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.sampled_from(ATOMS), grown, max_leaves=8))
def test_no_text_and_no_list_that_is_built_is_larger_than_its_limit(text: str) -> None:
    compiled = compile_cel(text, SCOPE)
    if not isinstance(compiled, Program):
        return
    values = {"a": "aé" * 40, "b": ["a", "b"] * 10, "n": {"k": ["a" * 20] * 10}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "MAX_TEXT", TEXT)
        patch.setattr(bounds, "MAX_LIST", LIST)
        patch.setattr(operators, "MAX_LIST", LIST)
        patch.setattr(operators, "FREE_COPY", 0)
        for run in (compiled, compiled._decide):
            try:
                value = run(values, Budget(10**5, time.monotonic() + 60))
            except EvaluationError:
                continue
            for part in parts(value):
                if isinstance(part, str | bytes):
                    assert len(part) <= TEXT
                elif isinstance(part, list | dict):
                    assert len(part) <= LIST


MANY = list(range(100_001))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.map(x, x)", {"a": MANY}),
        ("a.filter(x, true)", {"a": MANY}),
        ("a.transformList(i, x, x)", {"a": MANY}),
        ("a.transformMap(i, x, x)", {"a": MANY}),
        ("a.transformMapEntry(i, x, {i: x})", {"a": MANY}),
        ("a.sortBy(x, x)", {"a": MANY}),
        ("a.sort()", {"a": MANY}),
        ("a + b", {"a": MANY, "b": [1]}),
        ("a.flatten()", {"a": [MANY]}),
        ("a.reverse()", {"a": MANY}),
        ("a.distinct()", {"a": MANY}),
        ("a.slice(0, 100001)", {"a": MANY}),
        ("lists.range(100001)", {}),
        ("'%s'.format([a])", {"a": dict.fromkeys(map(str, MANY))}),
    ],
)
def test_a_list_is_at_most_so_long(text: str, values: dict[str, Any]) -> None:
    assert reason(text, **values) == "the result has more than 100000 elements"


def test_a_loop_may_look_at_more_elements_than_a_list_may_have() -> None:
    budget = Budget(10**6, time.monotonic() + 60)
    assert program("a.filter(x, x > 99999).size()")({"a": MANY}, budget) == 1
    assert program("a.exists(x, x > 99999)")({"a": MANY}, budget) is True


@pytest.mark.parametrize(
    "text", ["a + b", "a.replace('x', b)", "[a, b].join()", "strings.quote(a)"]
)
def test_a_text_is_at_most_so_long(text: str) -> None:
    values = {"a": "x" * (1 << 20), "b": "yz"}
    assert reason(text, **values) == "the result has more than 1048576 characters"
    assert reason("bytes(a) + bytes(b)", **values) == "the result has more than 1048576 characters"


# Time


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


NUMBERS = list(range(400_000))
BIG: dict[str, dict[str, Any]] = {
    "a.all(x, x >= 0)": {"a": NUMBERS},
    "a.all(i, x, x >= 0)": {"a": NUMBERS},
    "a.all(k, a[k] >= 0)": {"a": {str(number): number for number in NUMBERS}},
    "a.filter(x, x < 0)": {"a": NUMBERS[:100_000]},
    "a.all(x, a.all(y, a.all(z, x + y + z >= 0)))": {"a": NUMBERS[:500]},
    "a == b": {"a": NUMBERS, "b": list(NUMBERS)},
    "a.k == b.k": {"a": {"k": nested(400_000)}, "b": {"k": nested(400_000)}},
    "'x' in a": {"a": ["y" * 9] * 400_000},
    "-1 in a": {"a": NUMBERS},
    "a.sort()": {"a": NUMBERS[:100_000]},
    "a.sortBy(x, -x)": {"a": NUMBERS[:100_000]},
    "a.distinct()": {"a": NUMBERS[:100_000]},
    "sets.contains(a, a)": {"a": NUMBERS},
    "sets.equivalent(a, a)": {"a": NUMBERS},
    "sets.intersects(a, [-1])": {"a": NUMBERS},
    "math.greatest(a)": {"a": NUMBERS},
    "a.flatten(2)": {"a": [[1]] * 90_000},
    "a.join()": {"a": ["x"] * 400_000},
    "'%s'.format([a])": {"a": {str(number): number for number in NUMBERS[:90_000]}},
    "json(a)": {"a": "[" + "[]," * 200_000 + "1]"},
    "normalize(a)": {"a": "㌀" * 50_000},
    "detect(a, 'pii')": {"a": "1234567890" * 100_000},
    "glob(a, '*a??????????')": {"a": "ab" * 1_000_000},
    "regex.extractAll(a, 'a')": {"a": "a" * 90_000},
}


@pytest.mark.parametrize("text", BIG)
def test_what_takes_long_ends_with_its_time(text: str) -> None:
    compiled = program(text)
    budget = Budget(10**9, time.monotonic() + 0.005)
    with pytest.raises(EvaluationError) as caught:
        compiled(BIG[text], budget)
    assert caught.value.cause is Cause.DEADLINE


def test_work_that_is_short_is_begun_however_late_it_is() -> None:
    late = Budget(10**6, time.monotonic() + 0.5)
    assert program("json(a)")({"a": "[1]"}, late) == [1]


# Bad input

HUGE = 10**400_000


@pytest.mark.parametrize(
    "text",
    [
        "n * n",
        "n / 3",
        "n % 3",
        "n + 1",
        "n - 1",
        "-n",
        "string(n)",
        "{n: 1}",
        "int(n)",
        "double(n)",
    ],
)
def test_a_number_of_any_size_is_an_error_at_once(text: str) -> None:
    started = time.process_time()
    assert reason(text, n=HUGE)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("text", ["n > 1.5", "n == n", "n != 1", "n in [1, n]", "[n] == [n]"])
def test_a_number_of_any_size_is_compared(text: str) -> None:
    assert program(text)({"n": HUGE}, Budget(100, time.monotonic() + 60)) is True


@pytest.mark.parametrize(
    "text",
    [
        "(" * 2048 + ")" * 2048,
        "(" * 150 + "a" + ")" * 150,
        "[" * 2048 + "]" * 2048,
        "!" * 4096,
        "-" * 4095 + "a",
        "a" + ".a" * 2047,
        "a" + ".?a" * 1365,
        "a" + "[0]" * 1365,
        "a" + "[?0]" * 1023,
        "a ? b : " * 511 + "n",
        "1 + " * 1023 + "1",
        "1 + " * 20_000 + "1",
        "a && " * 818 + "a",
        "a || " * 20_000 + "a",
        "{'a': " * 600 + "1" + "}" * 600,
        "cel.bind(x, 1, " * 180 + "x" + ")" * 180,
        "a.optMap(x, " * 180 + "x" + ")" * 180,
        "a" + ".or(a)" * 500,
        "a.map(x, " * 100 + "x" + ")" * 100,
        "[" + "?a, " * 1000 + "]",
        "a.`" * 1000,
        "'" * 4096,
        "`" * 4096,
        "a" * 4096,
        "1" * 4096,
    ],
)
def test_an_expression_of_any_shape_is_a_program_or_a_flaw_soon(text: str) -> None:
    started = time.process_time()
    found = compile_cel(text, SCOPE)
    if isinstance(found, Program):
        with contextlib.suppress(EvaluationError):
            found({"a": {}, "b": 1, "n": True}, Budget(10**4, time.monotonic() + 60))
    else:
        assert found
        assert all(flaw.text for flaw in found)
    assert time.process_time() - started < 3
