"""What expressions mean: one table, every row through both paths."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.cel.values import CelType, UInt
from policyd.expression import Budget, Scope

P: dict[str, Any] = {
    "i": 1,
    "zero": 0,
    "n": -7,
    "f": 1.0,
    "g": 2.5,
    "big": 2**70,
    "s": "abc",
    "empty": "",
    "yes": True,
    "no": False,
    "nil": None,
    "list": [1, 2, 3],
    "words": ["a", "b"],
    "mixed": [1, "a", None, 2.0, True],
    "none": [],
    "map": {"a": 1, "b": {"c": "x"}},
    "dash": {"dry-run": True},
    "rows": [{"k": "v", "n": 1}, {"k": "w"}, {"n": 2}],
    "at": "2026-01-31T12:00:00Z",
}
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCOPE = Scope(
    frozenset({"p", "now"}),
    constants={"shells": ["bash", "sh"], "limit": 10, "none": None},
    variables=frozenset({"command", "broken"}),
)


class Activation(dict[str, Any]):
    """Like the real one: a variable is computed when it is read, and may fail."""

    def __missing__(self, key: str) -> Any:
        if key == "variables.broken":
            raise EvaluationError("no such key `command`", offset=400)
        raise KeyError(key)


def evaluate(text: str) -> Any:
    program = compile_cel(text, SCOPE)
    assert isinstance(program, Program), program
    activation = Activation({"p": P, "now": NOW, "variables.command": "rm -rf /"})
    budget = Budget(10_000, time.monotonic() + 60)
    value = program(activation, budget)
    exact = program._decide(activation, budget)
    assert (type(value), repr(value)) == (type(exact), repr(exact))
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # one number line, and bools are not on it
        ("1 == 1.0", True),
        ("p.f == 1", True),
        ("p.i == 1.0", True),
        ("1u == 1", True),
        ("p.i == true", False),
        ("p.yes == 1", False),
        ("p.zero == false", False),
        ("p.i != true", True),
        ("p.g > p.i", True),
        ("10 <= 10.5", True),
        ("10.5 >= 10", True),
        ("p.big > 9223372036854775807", True),
        ("p.big == p.big", True),
        ("9223372036854775807 < 9223372036854775808.0", True),
        ("9223372036854775807 == 9223372036854775808.0", False),
        ("9007199254740993 == 9007199254740992.0", False),
        ("-9223372036854775808", -(2**63)),
        ("- 9223372036854775807", -(2**63) + 1),
        ("0x10", 16),
        ("-0x10", -16),
        ("18446744073709551615u", UInt(2**64 - 1)),
        (".5 + 1e1", 10.5),
        ("0.0 / 0.0 == 0.0 / 0.0", False),
        # arithmetic
        ("1 + 2 * 3 - 4", 3),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7u / 2u", UInt(3)),
        ("7u % 4u", UInt(3)),
        ("2u * 3u - 1u + 1u", UInt(6)),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0.0", -math.inf),
        ("1.0 / -0.0", -math.inf),
        ("1.5 * 2.0 - 0.5", 2.5),
        ("-(p.g)", -2.5),
        ("--1", 1),
        ("'a' + p.s", "aabc"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + p.list", [1, 1, 2, 3]),
        # equality and order
        ("p.s == 'abc'", True),
        ("'abc' == p.s", True),
        ("p.s == 1", False),
        ("p.s != 1", True),
        ("p.nil == null", True),
        ("null != p.nil", False),
        ("p.nil == 0", False),
        ("null == null", True),
        ("1 == null", False),
        ("p.none == null", False),
        ("p.list == [1, 2.0, 3u]", True),
        ("p.list == [1, 2]", False),
        ("[1, true] == [true, 1]", False),
        ("p.map == {'a': 1.0, 'b': {'c': 'x'}}", True),
        ("p.map == {'a': 1}", False),
        ("{'a': 1} == {'b': 1}", False),
        ("{1: 'a'} == {1u: 'a'}", True),
        ("{true: 'a'} == {1: 'a'}", False),
        ("[[1], [{'a': null}]] == [[1.0], [{'a': null}]]", True),
        ("'a' < 'b' && b'a' < b'b' && false < true", True),
        ("p.s <= 'abd'", True),
        # membership
        ("p.s in ['abc', 'x']", True),
        ("p.i in [1, 2]", True),
        ("p.f in [1, 2]", True),
        ("p.g in [1, 2]", False),
        ("p.yes in [0, 1]", False),
        ("p.g in [2, 2.5]", True),
        ("p.nil in [null, 'a']", True),
        ("p.list in [[1, 2, 3]]", True),
        ("p.list in ['a']", False),
        ("1 in p.mixed && true in p.mixed && null in p.mixed", True),
        ("2 in p.mixed", True),
        ("'a' in p.map", True),
        ("1 in p.map", False),
        ("1.0 in {1: 'a'} && !(true in {1: 'a'}) && !(1 in {true: 'a'})", True),
        ("'bash' in constants.shells", True),
        ("p.s in constants.shells", False),
        ("p.i in []", False),
        # selection and index
        ("p.map.b.c", "x"),
        ("p['map']['b'].c", "x"),
        ("p.dash['dry-run']", True),
        ("p.list[0]", 1),
        ("p.list[1.0]", 2),
        ("p.list[1u]", 2),
        ("{1: 'a', 'b': 2}[1.0]", "a"),
        ("{true: 'a'}[true]", "a"),
        ("p.rows[0].k", "v"),
        ("has(p.map.a)", True),
        ("has(p.map.z)", False),
        ("has(p.dash) && has(p.nil)", True),
        ("'dry-run' in p.dash && p.dash['dry-run'] == true", True),
        # logic
        ("true || p.zz", True),
        ("p.zz || true", True),
        ("p.zz.y == 1 || p.s == 'abc'", True),
        ("false && p.zz", False),
        ("p.zz && false", False),
        ("p.s && false", False),
        ("p.zz || p.s || true", True),
        ("!p.no", True),
        ("!!p.yes", True),
        ("p.yes ? 'a' : p.zz", "a"),
        ("p.no ? p.zz : 'b'", "b"),
        ("p.yes ? 1 : p.no ? 2 : 3", 1),
        ("has(p.zz) ? p.zz : 'none'", "none"),
        # macros
        ("p.list.all(x, x > 0)", True),
        ("p.none.all(x, x.zz)", True),
        ("p.none.exists(x, x.zz)", False),
        ("p.mixed.exists(x, x == 'a')", True),
        ("p.mixed.exists(x, x > 1)", True),
        ("p.mixed.all(x, x > 1)", False),
        ("p.rows.exists(r, r.k == 'w')", True),
        ("p.rows.all(r, r.k == 'v')", False),
        ("p.list.exists_one(x, x > 2)", True),
        ("p.list.existsOne(x, x > 1)", False),
        ("p.list.filter(x, x > 1)", [2, 3]),
        ("p.list.map(x, x * 2)", [2, 4, 6]),
        ("p.list.map(x, x > 1, x * 2)", [4, 6]),
        ("p.map.map(k, k)", ["a", "b"]),
        ("p.map.filter(k, k == 'a')", ["a"]),
        ("p.map.all(k, k in p.map)", True),
        ("p.list.all(i, x, x == i + 1)", True),
        ("p.map.exists(k, v, k == 'a' && v == 1)", True),
        ("p.list.exists_one(i, x, i == x)", False),
        ("p.words.map(x, p.words.map(y, x + y))", [["aa", "ab"], ["ba", "bb"]]),
        ("p.list.map(x, p.list.filter(x, x > 2))", [[3], [3], [3]]),
        ("p.list.exists(p, p == 3)", True),
        ("p.list.exists(p, .p.s == 'abc')", True),
        # literals
        ("[1, 'a', [true, null,],]", [1, "a", [True, None]]),
        ("{'a': 1, 2: 'b', 3u: {}, true: [],}", {"a": 1, 2: "b", UInt(3): {}, True: []}),
        ("{p.s: p.i}", {"abc": 1}),
        ("{}", {}),
        ("r'\\d' + '\\\\d' + \"\\u00e9\\x41\\101\\n\"", "\\d\\déAA\n"),
        ("b'\\xff\\101'", b"\xffA"),
        ("'''it's'''", "it's"),
        ("1 // one", 1),
        # types and times
        ("type(p.i) == int && type(1.0) == double", True),
        ("type(now) == google.protobuf.Timestamp", True),
        ("type(type)", CelType("type")),
        ("type(null) == null_type", True),
        ("now - timestamp(p.at)", timedelta(0)),
        ("now + duration('1h') > now", True),
        ("duration('1h') + now - duration('1h') == now", True),
        ("now - timestamp(p.at) < duration('1h')", True),
        ("duration('1h') - duration('1m') == duration('59m')", True),
        # constants and variables
        ("constants.limit + 1", 11),
        ("constants['limit']", 10),
        ("constants.none", None),
        ("constants", {"shells": ["bash", "sh"], "limit": 10, "none": None}),
        ("has(constants.limit) && !has(constants.zz)", True),
        ("has(variables.command) && !has(variables.zz)", True),
        ("variables.command.startsWith('rm ')", True),
        ("variables['command']", "rm -rf /"),
        ("true || variables.broken", True),
        ("variables.broken || true", True),
        # sizes and texts
        ("size(p.s) + size(p.list) + size(p.map) + p.s.size() + size(b'ab')", 13),
        ("size('\\U0001F600')", 1),
        ("p.s.startsWith('a') && p.s.endsWith('c') && p.s.contains('b')", True),
        ("p.s.startsWith(p.empty)", True),
        ("p.s.matches('^a.c$')", True),
    ],
)
def test_an_expression_has_the_value_that_cel_gives_it(text: str, value: Any) -> None:
    found = evaluate(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("p.zz", "no such key `zz`", 2),
        ("p.zz == 1 || p.s == 'x'", "no such key `zz`", 2),
        ("p.s == 'abc' && p.zz.y", "no such key `zz`", 18),
        ("p.map['zz']", "no such key `zz`", 6),
        ("p.map[p.s]", "no such key", 5),
        ("p.s.length", "`length` is a key of a map, but this is a string", 4),
        ("has(p.zz.y)", "no such key `zz`", 6),
        ("has(p.s.y)", "`y` is a key of a map, but this is a string", 8),
        ("p.list[3]", "the index is outside of the list", 6),
        ("p.list[-1]", "the index is outside of the list", 6),
        ("p.list[1.5]", "the index is outside of the list", 6),
        ("p.list[0.0 / 0.0]", "the index is outside of the list", 6),
        ("p.list[1.0 / 0.0]", "the index is outside of the list", 6),
        ("p.list[true]", "`[]` does not take list and bool", 6),
        ("p.list['a']", "`a` is a key of a map, but this is a list", 7),
        ("p.s[0]", "`[]` does not take string and int", 3),
        ("p.map[null]", "`[]` does not take map and null", 5),
        ("p.s > 1", "`>` does not take string and int", 4),
        ("p.yes > 0", "`>` does not take bool and int", 6),
        ("0 < p.yes", "`<` does not take int and bool", 2),
        ("p.nil <= 1", "`<=` does not take null and int", 6),
        ("p.s < p.i", "`<` does not take string and int", 4),
        ("p.list < [1]", "`<` does not take list and list", 7),
        ("p.s + 1", "`+` does not take string and int", 4),
        ("1 + 1.0", "`+` does not take int and double", 2),
        ("1 - 1u", "`-` does not take int and uint", 2),
        ("p.s - p.s", "`-` does not take string and string", 4),
        ("p.s * 2", "`*` does not take string and int", 4),
        ("p.list * 2", "`*` does not take list and int", 7),
        ("1 / 1.0", "`/` does not take int and double", 2),
        ("1.5 % 1.0", "`%` does not take double and double", 4),
        ("p.yes + p.yes", "`+` does not take bool and bool", 6),
        ("-p.s", "`-` does not take string", 0),
        ("-p.yes", "`-` does not take bool", 0),
        ("-(1u)", "`-` does not take uint", 0),
        ("!p.i", "`!` does not take int", 0),
        ("1 / 0", "division by zero", 2),
        ("1u / 0u", "division by zero", 3),
        ("1 % 0", "modulus by zero", 2),
        ("9223372036854775807 + 1", "integer overflow", 20),
        ("-9223372036854775808 - 1", "integer overflow", 21),
        ("-9223372036854775808 * -1", "integer overflow", 21),
        ("-9223372036854775808 / -1", "integer overflow", 21),
        ("-(-9223372036854775808)", "integer overflow", 0),
        ("p.big + 1", "integer overflow", 6),
        ("1u - 2u", "unsigned integer overflow", 3),
        ("18446744073709551615u * 2u", "unsigned integer overflow", 22),
        ("18446744073709551615u + 2u", "unsigned integer overflow", 22),
        ("'a' in p.s", "`in` does not take string and string", 4),
        ("p.nil in p.map", "`in` does not take null and map", 6),
        ("1 in p.nil", "`in` does not take int and null", 2),
        ("p.s && true", "a bool is needed here, not a string", 2),
        ("p.i || false", "a bool is needed here, not an int", 2),
        ("true && p.nil", "a bool is needed here, not null", 10),
        ("p.s ? 1 : 2", "a bool is needed here, not a string", 2),
        ("p.s.all(c, true)", "a list or a map is needed here, not a string", 2),
        ("p.nil.exists(c, true)", "a list or a map is needed here, not null", 2),
        ("p.i.all(k, v, true)", "a list or a map is needed here, not an int", 2),
        ("p.list.all(x, x)", "a bool is needed here, not an int", 14),
        ("p.rows.all(r, r.k != '')", "no such key `k`", 16),
        ("p.rows.exists(r, r.k == 'z')", "no such key `k`", 19),
        ("p.rows.exists_one(r, r.k == 'v')", "no such key `k`", 23),
        ("p.list.exists_one(x, x == 1 || p.zz)", "no such key `zz`", 33),
        ("p.list.filter(x, x)", "a bool is needed here, not an int", 17),
        ("p.list.map(x, x.y)", "`y` is a key of a map, but this is an int", 16),
        ("{'a': 1, 'a': 2}", "a key is in the map twice", 0),
        ("{1: 1, 1u: 2}", "a key is in the map twice", 0),
        ("{p.i: 1, 1: 2}", "a key is in the map twice", 0),
        ("{1.5: 1}", "a key of a map cannot be a double", 0),
        ("{null: 1}", "a key of a map cannot be null", 0),
        ("{p.list: 1}", "a key of a map cannot be a list", 0),
        ("now + now", "`+` does not take timestamp and timestamp", 4),
        ("now - 1", "`-` does not take timestamp and int", 4),
        ("duration('1h') - now", "`-` does not take duration and timestamp", 15),
        ("variables.broken", "no such key `command`", 10),
        ("size(p.i)", "`size` does not take int", 0),
        ("size(now - now)", "`size` does not take duration", 0),
        ("p.i.startsWith('a')", "`startsWith` does not take int and string", 4),
    ],
)
def test_an_expression_that_errs_says_why_and_where(text: str, reason: str, offset: int) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert (caught.value.reason, caught.value.offset) == (reason, offset)
