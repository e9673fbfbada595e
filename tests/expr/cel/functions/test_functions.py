"""What holds for every function."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.functions.addresses import parse_cidr, parse_ip
from policyd.expr.cel.values import CelType, UInt
from policyd.expression import Budget

IP, CIDR = parse_ip("10.0.0.1"), parse_cidr("10.0.0.0/8")
SCALARS = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2.0,
        0.5,
        float("nan"),
        float("inf"),
        UInt(7),
        2**63,
        10**2000,
        b"\xff\x00",
        datetime(2026, 1, 31, 12, tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=UTC),
        timedelta(hours=-1),
        CelType("int"),
        IP,
        CIDR,
        "",
        "quetzal",
        "QUETZAL %s %5 %.999f",
        "quetzal(",
        "file:///quetzal/%2e%2e/%00",
        "http://quetzal@0x7f.1:81/?q#f",
        "::ffff:10.0.0.1",
        "2026-01-31T25:00:00Z",
        "1h30quetzal",
        "SELECT 'quetzal\\' FROM [a']",
        '{"quetzal": [1, NaN]}',
        "quetz\ud800al\x00",
        "+14:00",
        "secrets",
        "*quetzal?*",
    ]
)
VALUES = st.recursive(
    SCALARS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["quetzal", "k", 1, True]), inner, max_size=2)
    ),
    max_leaves=4,
)


def arities(name: str) -> list[int]:
    function = FUNCTIONS[name]
    return sorted({*function.function_arity, *function.method_arity})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_can_be_called_one_way_at_least(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.name == name
    assert arities(name)
    assert 0 not in function.method_arity, "the receiver counts"
    assert not function.method_arity or "." not in name


@given(st.data())
def test_no_function_raises_anything_but_evaluation_errors_or_tells_a_value(
    data: st.DataObject,
) -> None:
    function = FUNCTIONS[data.draw(st.sampled_from(sorted(FUNCTIONS)))]
    count = data.draw(st.sampled_from(arities(function.name)[:4]))
    arguments = [data.draw(VALUES) for _ in range(count)]
    leading = [Budget(10**7, time.monotonic() + 60)] if function.budgeted else []
    try:
        value, reason = function.call(*leading, *arguments), ""
    except EvaluationError as error:
        value, reason = False, error.reason
    assert not function.returns_bool or type(value) is bool
    assert "quetz" not in reason.lower()
    assert "\n" not in reason
    assert not reason.endswith(".")


@given(st.data())
def test_what_is_checked_and_specialised_at_load_never_raises(data: st.DataObject) -> None:
    function = FUNCTIONS[data.draw(st.sampled_from(sorted(FUNCTIONS)))]
    count = data.draw(st.sampled_from(arities(function.name)[:4]))
    known = tuple(data.draw(VALUES | st.just(NOT_LITERAL)) for _ in range(count))
    if function.literal is not None:
        assert isinstance(function.literal(known), str | None)
    if function.specialise is not None:
        special = function.specialise(known)
        assert special is None or callable(special)


LONG = "a" * 100_000
MANY = list(range(10_000))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("contains", (LONG, "b")),
        ("reverse", (LONG,)),
        ("reverse", (MANY,)),
        ("matches", (LONG, "b")),
        ("indexOf", (LONG, "b")),
        ("lastIndexOf", (LONG, "b")),
        ("substring", (LONG, 1)),
        ("split", (LONG, "b")),
        ("join", (MANY,)),
        ("replace", (LONG, "a", "b")),
        ("lowerAscii", (LONG,)),
        ("upperAscii", (LONG,)),
        ("trim", (LONG,)),
        ("strings.quote", (LONG,)),
        ("format", ("%s", [LONG])),
        ("format", (LONG, [])),
        ("format", ("%s", [MANY])),
        ("slice", (MANY, 0, 9_000)),
        ("flatten", ([MANY],)),
        ("distinct", (MANY,)),
        ("sort", (MANY,)),
        ("lists.range", (10_000,)),
        ("sets.contains", (MANY, MANY)),
        ("sets.equivalent", (MANY, MANY)),
        ("sets.intersects", (MANY, MANY)),
        ("sets.contains", ([[n] for n in range(500)], [[500]])),
        ("math.greatest", (MANY,)),
        ("base64.encode", (LONG.encode(),)),
        ("base64.decode", (LONG,)),
        ("url", ("http://a/" + LONG,)),
        ("path.within", (LONG, "/a")),
        ("path.within", ("/a", ["/b"] * 10_000)),
        ("path.normalize", (LONG,)),
        ("glob", (LONG, "b*c")),
        ("normalize", ("é" * 100_000,)),
        ("json", (f'"{LONG}"',)),
        ("detect", (LONG, "secrets")),
        ("detect", ([["a"]] * 10_000, "secrets")),
        ("sql.readOnly", ("SELECT " + LONG[:90_000],)),
    ],
)
def test_work_that_grows_with_the_value_is_paid_for(name: str, arguments: tuple[Any, ...]) -> None:
    assert FUNCTIONS[name].budgeted
    with pytest.raises(EvaluationError) as caught:
        FUNCTIONS[name].call(Budget(500, time.monotonic() + 60), *arguments)
    assert caught.value.cause is Cause.BUDGET


HUGE = "a" * (1 << 20)
HUGE_LIST = [0] * 100_000
TOO_LONG = "the result has more than 1048576 characters"
TOO_MANY = "the result has more than 100000 elements"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("join", ([HUGE, "a"],), TOO_LONG),
        ("replace", (HUGE, "a", "aa"), TOO_LONG),
        ("replace", ("a" * 10_000, "", "b" * 1000), TOO_LONG),
        ("reverse", (HUGE + "a",), TOO_LONG),
        ("lowerAscii", (HUGE + "a",), TOO_LONG),
        ("strings.quote", (HUGE,), TOO_LONG),
        ("substring", (HUGE + "a", 0), TOO_LONG),
        ("format", ("%s%s", [HUGE, "a"]), TOO_LONG),
        ("format", ("%x", [HUGE]), TOO_LONG),
        ("base64.encode", (HUGE.encode(),), TOO_LONG),
        ("normalize", (HUGE + "a",), TOO_LONG),
        ("normalize", ("\ufdfa" * 60_000,), TOO_LONG),
        ("url", ("http://a/" + HUGE,), TOO_LONG),
        ("split", (HUGE, "a"), TOO_MANY),
        ("split", (HUGE, ""), TOO_MANY),
        ("reverse", ([*HUGE_LIST, 0],), TOO_MANY),
        ("flatten", ([HUGE_LIST, [0]],), TOO_MANY),
        ("slice", ([*HUGE_LIST, 0], 0, 100_001), TOO_MANY),
        ("distinct", (list(range(100_001)),), TOO_MANY),
        ("sort", ([*HUGE_LIST, 0],), TOO_MANY),
        ("lists.range", (100_001,), TOO_MANY),
        ("json", ("[" + "0," * 100_000 + "0]",), TOO_MANY),
        ("json", (" " * (1 << 20) + "0",), "the JSON text has more than 1048576 characters"),
    ],
)
def test_what_a_function_builds_is_bounded(
    refuse: Callable[..., str], name: str, arguments: tuple[Any, ...], reason: str
) -> None:
    assert refuse(name, *arguments) == reason
