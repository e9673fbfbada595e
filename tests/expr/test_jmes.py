from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.jmes import MAX_LENGTH, JmesProgram, compile_jmespath
from policyd.expression import Budget

TOO_WIDE = ("jmespath-too-large", 0, 70, None)
NEGATED = (
    "jmespath-negated-ordering",
    5,
    1,
    "turn the comparison round: `a <= b` instead of `!(a > b)`",
)


def compiled(text: str) -> JmesProgram:
    program = compile_jmespath(text)
    assert isinstance(program, JmesProgram)
    return program


def evaluate(text: str, payload: Any, steps: int = 1000) -> Any:
    return compiled(text)({"payload": payload}, Budget(steps, time.monotonic() + 10))


@pytest.mark.parametrize(
    ("text", "payload", "value"),
    [
        ("name != 'delete_repo'", {"name": "delete_repo"}, False),
        ("arguments.\"x-request-id\" == 'r1'", {"arguments": {"x-request-id": "r1"}}, True),
        ("arguments.limit == '10'", {"arguments": {"limit": 10}}, False),
        ("arguments.confirm == `true`", {"arguments": {"confirm": True}}, True),
        ("arguments.confirm == `true`", {"arguments": {"confirm": 1}}, False),
        ("arguments.confirm == `true`", {"arguments": {"confirm": "true"}}, False),
        ("arguments.confirm == `true`", {"arguments": {}}, False),
        ("arguments.tier != 'premium'", {"arguments": {}}, True),
        ("arguments.tier && arguments.tier != 'premium'", {"arguments": {}}, None),
        ("arguments.args.tool || @.tool", {"arguments": {"args": {"tool": 1}}}, 1),
        ("messages[?tool == 'x'].now | [0]", {"messages": [{"tool": "x", "now": 2}]}, 2),
        ("arguments.count", {"arguments": {"count": 0}}, 0),
        ("arguments.flags == null || length(arguments.flags) < `5`", {"arguments": {}}, True),
        ("arguments[]", {"arguments": 1}, None),
        ("join(',', arguments.tags) == 'a,b'", {"arguments": {"tags": ["a", "b"]}}, True),
    ],
)
def test_jmespath_means_what_its_specification_says(text: str, payload: Any, value: Any) -> None:
    assert evaluate(text, payload) == value


@pytest.mark.parametrize(
    ("text", "payload", "reason"),
    [
        (
            "starts_with(arguments.path, '/srv/')",
            {"arguments": {}},
            "`starts_with()` met a value of the wrong type",
        ),
        (
            "arguments.limit <= `100`",
            {"arguments": {"limit": "500"}},
            "a comparison or function met a value of the wrong type",
        ),
        (
            "arguments[::0]",
            {"arguments": [1]},
            "a comparison or function met a value of the wrong type",
        ),
        (
            "to_number(arguments) > `1` || abs('x') == `1`",
            {},
            "`abs()` met a value of the wrong type",
        ),
    ],
)
def test_whatever_the_library_raises_is_an_evaluation_error(
    text: str, payload: Any, reason: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, payload)
    assert caught.value.reason == reason


def test_a_payload_too_deep_for_the_library_is_an_evaluation_error() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EvaluationError) as caught:
        evaluate("to_string(@) == 'x'", deep, 10**6)
    assert caught.value.reason == "the payload is too large for the expression"


@pytest.mark.parametrize(
    ("text", "payload", "steps"),
    [
        ("[?a].b", [{"a": 1, "b": 2}] * 1000, 1000),
        ("[] | [] | [] | length(@)", [[1] * 500] * 10, 5000),
        ("to_string(@)", [[]] * 2000, 1000),
        ("sort(@)", [1] * 9000, 1000),
        ("join(',', @)", ["a" * 6400] * 20, 1000),
    ],
)
def test_what_visits_much_is_paid_for(text: str, payload: Any, steps: int) -> None:
    evaluate(text, payload, 10**6)
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, payload, steps)
    assert caught.value.cause is Cause.BUDGET


def test_a_text_that_is_too_large_is_not_made() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate("join('', [@, @, @])", "a" * (1 << 21), 10**6)
    assert caught.value.reason == "the text that `join()` makes is too large"
    with pytest.raises(EvaluationError) as caught:
        evaluate("to_string(@)", {"a": ["b" * (1 << 21)] * 3}, 10**6)
    assert caught.value.cause is Cause.BUDGET


def test_a_function_is_not_begun_that_would_end_after_the_deadline() -> None:
    program = compiled("sort(@)")
    with pytest.raises(EvaluationError) as caught:
        program({"payload": [1] * 300_000}, Budget(10**6, time.monotonic() + 0.01))
    assert caught.value.reason == "the deadline would pass before this is done"
    assert caught.value.cause is Cause.DEADLINE


@pytest.mark.parametrize(
    ("text", "code", "offset", "length", "help"),
    [
        ('name != "x"', "jmespath-quoted-field", 8, 3, "a text stands in single quotes: `'x'`"),
        ("a.limit == 10", "jmespath-syntax", 11, 1, "a literal stands in backticks: `` `10` ``"),
        (
            "a.b-c == `1`",
            "jmespath-syntax",
            3,
            1,
            'a name with a dash stands in double quotes: `"a-b"`',
        ),
        ("a = `1`", "jmespath-syntax", 2, 1, "a comparison is written `==`"),
        ("a == `1`)", "jmespath-syntax", 8, 1, None),
        ("", "jmespath-syntax", 0, 1, None),
        ("a[?", "jmespath-syntax", 2, 1, None),
        ("a # b", "jmespath-syntax", 2, 1, None),
        ("tool == 'a'", "jmespath-unknown-name", 0, 4, "write `name`"),
        ("contains(args.x, 'a')", "jmespath-unknown-name", 9, 4, "write `arguments`"),
        (
            "name == 'a' && principal.id",
            "jmespath-unknown-name",
            15,
            9,
            "use CEL where you need it",
        ),
        ("args[?a] | b", "jmespath-unknown-name", 0, 4, "write `arguments`"),
        ("lenght(a)", "jmespath-unknown-function", 0, 6, "did you mean `length`?"),
        ("a && starts_with(b)", "jmespath-arity", 5, 11, None),
        ("merge()", "jmespath-arity", 0, 5, None),
        ("length(a, b)", "jmespath-arity", 0, 6, None),
        (
            "a == `{bad`",
            "jmespath-literal",
            5,
            6,
            "a text stands in single quotes: `'...'`",
        ),
        ("a" * (MAX_LENGTH + 1), "jmespath-too-long", MAX_LENGTH, 1, None),
        ("!" * 101 + "a", "jmespath-too-deep", 0, 102, None),
        ("[@,@]|" * 9 + "@", "jmespath-too-large", 0, 55, None),
        ("a.[@,@,@,@,@,@,@,@,@][].[@,@,@,@,@,@,@,@,@].{a: @, b: @, c: @, d: @}[]", *TOO_WIDE),
        ("x || !(a > `1`)", *NEGATED),
        ("(" * 1500, "jmespath-syntax", 0, 1500, None),
    ],
)
def test_a_mistake_is_told_when_the_expression_is_compiled(
    text: str, code: str, offset: int, length: int, help: str | None
) -> None:
    flaws = compile_jmespath(text)
    assert isinstance(flaws, tuple)
    found = [(flaw.code, flaw.offset, flaw.length, flaw.help) for flaw in flaws]
    assert found == [(code, offset, length, help)]


@given(st.text(max_size=60) | st.text(alphabet="ab.[]{}()'`\"@&|=!<>,*? 0123-", max_size=40))
def test_any_text_compiles_or_is_refused_with_flaws_inside_of_it(text: str) -> None:
    result = compile_jmespath(text)
    if isinstance(result, tuple):
        assert result
        assert all(0 <= flaw.offset <= len(text) for flaw in result)
