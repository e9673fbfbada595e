"""What CEL got later: optionals, bindings, two variables, fields between backticks.

Every row goes through both paths.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.cel.values import OptionalValue
from policyd.expression import Budget, Scope

P: dict[str, Any] = {"a": {"b": 1, "c-d": 2, "e/f g": 3}, "list": [3, 1, 2], "nil": None, "s": "x"}
SCOPE = Scope(frozenset({"p"}), constants={"limits": {"max": 5}}, variables=frozenset({"v"}))


def budget(steps: int = 10_000) -> Budget:
    return Budget(steps, time.monotonic() + 60)


def program(text: str) -> Program:
    found = compile_cel(text, SCOPE)
    assert isinstance(found, Program), found
    return found


def plain(value: Any) -> Any:
    return ("optional", value.value) if isinstance(value, OptionalValue) else value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # fields between backticks
        ("p.a.`c-d`", 2),
        ("p.a.`e/f g`", 3),
        ("p.a.?`c-d`.value()", 2),
        ("has(p.a.`c-d`) && !has(p.a.`c.d`)", True),
        ("p.a.`c-d` -1", 1),
        # selection
        ("p.?a.b.value()", 1),
        ("p.?a.x.hasValue()", False),
        ("p.?x.b.hasValue()", False),
        ("p.?x.?y.z[0].hasValue()", False),
        ("p.?nil.hasValue()", True),
        ("p.list[?1].value()", 1),
        ("p.list[?1.0].value()", 1),
        ("p.list[?3].hasValue()", False),
        ("p.list[?-1].hasValue()", False),
        ("p.list[?0.5].hasValue()", False),
        ("p.?list[2].value()", 2),
        ("p[?'s'].value()", "x"),
        ("p.a[?p.s].hasValue()", False),
        ("{1: 'a'}[?1.0].value()", "a"),
        ("{true: 'a'}[?1].hasValue()", False),
        ("has(p.?a.b) && !has(p.?a.x) && !has(p.?x.b)", True),
        ("optional.of(optional.of({'a': 1})).a.value()", 1),
        ("constants.?limits.max.orValue(1)", 5),
        ("constants.limits.?min.orValue(1)", 1),
        ("constants.limits[?'min'].orValue(1)", 1),
        # what is made of an optional
        ("p.?a.b.orValue(0) + p.?a.x.orValue(10)", 11),
        ("p.?x.or(p.?s).value()", "x"),
        ("p.?s.or(optional.none()).value()", "x"),
        ("p.?s.orValue(1 / 0)", "x"),
        ("p.?s.or(optional.of(1 / 0)).value()", "x"),
        ("p.?s.optMap(y, y + y).orValue('')", "xx"),
        ("p.?x.optMap(y, y + y).orValue('')", ""),
        ("p.?a.optFlatMap(y, y.?b).orValue(0)", 1),
        ("p.?a.optFlatMap(y, y.?x).orValue(0)", 0),
        ("p.?x.optFlatMap(y, y.?x).orValue(0)", 0),
        ("[1, 2].exists(y, p.?list.optMap(y, size(y)).value() == 3 && y == 2)", True),
        # equality and types
        ("optional.of(1) == optional.of(1.0)", True),
        ("optional.of([1]) == optional.of([true])", False),
        ("optional.none() == optional.of(null)", False),
        ("optional.of(1) == 1", False),
        ("type(p.?a) == optional_type", True),
        ("p.?x in [optional.none()]", True),
        # in lists and maps
        ("[?p.?s, ?p.?x, 1, ?p.list[?0]]", ["x", 1, 3]),
        ("{?'k': p.?s, ?'l': p.?x, 'm': 1}", {"k": "x", "m": 1}),
        ("{?p.s: p.?s}", {"x": "x"}),
        # bindings
        ("cel.bind(y, p.s + p.s, y + y)", "xxxx"),
        ("cel.bind(y, 1 / 0, true)", True),
        ("cel.bind(y, 1 / 0, y == 1 || true)", True),
        ("cel.bind(y, 1, cel.bind(y, y + 1, y + y))", 4),
        ("p.list.map(y, cel.bind(z, y * 2, z + z))", [12, 4, 8]),
        ("cel.bind(y, p.list, y.map(z, cel.bind(w, z, [1].map(v, v + w))))", [[4], [2], [3]]),
        # two variables
        ("p.list.transformList(i, x, x * i)", [0, 1, 4]),
        ("p.list.transformList(i, x, i > 0, x)", [1, 2]),
        ("p.a.transformList(k, x, x)", [1, 2, 3]),
        ("p.list.transformMap(i, x, x)", {0: 3, 1: 1, 2: 2}),
        ("p.a.transformMap(k, x, k.startsWith('c'), x)", {"c-d": 2}),
        ("p.list.transformMapEntry(i, x, {string(x): i})", {"3": 0, "1": 1, "2": 2}),
        ("p.list.transformMapEntry(i, x, i == 1, {x: x})", {1: 1}),
        ("p.list.existsOne(i, x, i == x)", False),
        ("p.list.sortBy(x, -x)", [3, 2, 1]),
        ("[].sortBy(x, x)", []),
        ("p.list.sortBy(x, x > 1)", [1, 3, 2]),
        ("p.list.first().value() - p.list.last().value()", 1),
    ],
)
def test_a_value(text: str, value: Any) -> None:
    compiled = program(text)
    for run in (compiled, compiled._decide):
        found = run({"p": P}, budget())
        assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "reason", "at"),
    [
        ("p.?s.b", "`b` is a key of a map, but this is a string", "b"),
        ("p.s.?b", "`b` is a key of a map, but this is a string", "b"),
        ("has(p.?s.b)", "`b` is a key of a map, but this is a string", "b"),
        ("p.s[?0]", "`[?]` does not take string and int", "["),
        ("p.list[?'a']", "`a` is a key of a map, but this is a list", "'a'"),
        ("p.list[?p.s]", "`[?]` does not take list and string", "["),
        ("p.s.orValue(1)", "`orValue` needs an optional, not a string", "orValue"),
        ("p.s.or(p.?s)", "`or` needs an optional, not a string", "or"),
        ("p.?x.or(p.s)", "`or` needs an optional, not a string", "or"),
        ("p.s.optMap(y, y)", "`optMap` needs an optional, not a string", "optMap"),
        ("p.?s.optFlatMap(y, y)", "`optFlatMap` needs an optional, not a string", "optFlatMap"),
        ("p.?s.optMap(y, y.z)", "`z` is a key of a map, but this is a string", "z"),
        ("p.?x.orValue(p.x)", "no such key `x`", "x"),
        ("[?p.s]", "`?` needs an optional, not a string", "?"),
        ("{?'a': p.s}", "`?` needs an optional, not a string", "?"),
        ("p.?x.value()", "the optional has no value", "value"),
        ("p.s.hasValue()", "`hasValue` needs an optional, not a string", "hasValue"),
        ("string(p.?s)", "`string` does not take optional", "string"),
        ("'%s'.format([p.?s])", "`%s` does not take optional", "format"),
        ("p.?s + 'a'", "`+` does not take optional and string", "+"),
        ("cel.bind(y, p.x, y == 1)", "no such key `x`", "x"),
        ("[1, 2].transformMapEntry(i, x, {'a': i})", "a key is in the map twice", None),
        ("[1].transformMapEntry(i, x, x)", "a map is needed here, not an int", None),
        ("[1.5].transformMapEntry(i, x, {x: 1})", "a key of a map cannot be a double", "{"),
        ("p.a.sortBy(x, x)", "a list is needed here, not a map", "a"),
        ("[1, 'a'].sortBy(x, x)", "`<` does not take int and string", "sortBy"),
        ("p.s.transformMap(k, x, x)", "a list or a map is needed here, not a string", "s"),
    ],
)
def test_an_error_and_its_place(text: str, reason: str, at: str | None) -> None:
    compiled = program(text)
    for run in (compiled, compiled._decide):
        with pytest.raises(EvaluationError) as caught:
            run({"p": P}, budget())
        assert (caught.value.reason, caught.value.cause) == (reason, Cause.ERROR)
        offset = caught.value.offset
        assert offset is not None
        assert text[offset:].startswith(at or "transform")


def test_new_syntax_has_a_fast_path() -> None:
    for text in ("p.?a.b.orValue(0)", "cel.bind(y, p.s, y + y)", "p.list.sortBy(x, -x)"):
        fast = program(text).fast
        assert fast is not None
        assert fast({"p": P}, budget()) == program(text)({"p": P}, budget())


def test_an_optional_is_the_value_of_an_expression() -> None:
    assert plain(program("p.?a.b")({"p": P}, budget())) == ("optional", 1)
