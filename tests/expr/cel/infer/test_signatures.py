"""The table of signatures against the functions themselves."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.infer.signatures import SIGNATURES, signature_of
from policyd.expr.cel.values import TYPES, OptionalValue, UInt
from policyd.expression import Budget
from policyd.types import (
    ANYTHING,
    BOOL,
    BYTES,
    CIDR,
    DURATION,
    IP,
    LIST,
    NULL,
    NUMBER,
    OPEN_MAP,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    Type,
    overlap,
)

VALUES: list[tuple[Any, Type]] = [
    (None, NULL),
    (True, BOOL),
    (1, NUMBER),
    (1.5, NUMBER),
    (UInt(1), NUMBER),
    ("1", STRING),
    ("10.0.0.1", STRING),
    ("10.0.0.0/8", STRING),
    ("https://example.com/", STRING),
    ("/srv", STRING),
    ("2026-01-01T00:00:00Z", STRING),
    ("1h", STRING),
    ("true", STRING),
    ("pii", STRING),
    ("UTC", STRING),
    (b"a", BYTES),
    (["a"], LIST),
    ([1, 2], LIST),
    ({"a": 1}, OPEN_MAP),
    (datetime(2026, 1, 1, tzinfo=UTC), TIMESTAMP),
    (timedelta(hours=1), DURATION),
    (TYPES["int"], TYPE),
    (FUNCTIONS["ip"].call("10.0.0.1"), IP),
    (FUNCTIONS["cidr"].call("10.0.0.0/8"), CIDR),
    (OptionalValue(1), OPTIONAL),
]


def type_of(value: Any) -> Type:
    return next(kind for known, kind in VALUES if type(known) is type(value))


def call(function: Function, arguments: tuple[Any, ...]) -> Any:
    budget = (Budget(10**6, math.inf),) if function.budgeted else ()
    return function.call(*budget, *arguments)


def calls(function: Function) -> list[tuple[tuple[Any, Type], ...]]:
    arities = {*function.function_arity, *function.method_arity}
    counts = sorted(count for count in arities if count <= 2) or [min(arities)]
    return [one for count in counts for one in itertools.product(VALUES, repeat=count)]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "format"])
def test_what_a_signature_refuses_the_function_refuses_and_it_gives_what_is_said(name: str) -> None:
    function = FUNCTIONS[name]
    signature = signature_of(function)
    worked = 0
    for pairs in calls(function):
        values, types = tuple(v for v, _ in pairs), tuple(t for _, t in pairs)
        fits = all(map(overlap, signature.takes, types))
        try:
            value = call(function, values)
        except EvaluationError:
            continue
        worked += 1
        assert fits, f"{name} takes {types}"
        assert overlap(signature.result(types), type_of(value)), f"{name} of {types}"
    assert worked


def test_every_function_has_a_signature_and_every_signature_a_function() -> None:
    assert set(SIGNATURES) == set(FUNCTIONS)


def test_of_a_function_without_a_signature_it_is_known_whether_it_gives_a_bool() -> None:
    asked = Function("asked", bool, (1,), (), returns_bool=True)
    assert signature_of(asked).result(()) == BOOL
    assert signature_of(Function("made", str, (1,), ())).result(()) == ANYTHING
