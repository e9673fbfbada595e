"""Which outcomes of a condition are ruled out, whatever the types of its names."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Scope
from policyd.reachability.facts import Facts, Origin
from policyd.reachability.fold import Writer
from policyd.reachability.formula import formula
from policyd.reachability.identity import Identity
from policyd.reachability.search import Search

NAMES = frozenset({"args", "tool"})
CONSTANTS = {"huge": 10**400}


def compiled(text: str, defined: Iterable[str], result: Result = Result.ANY) -> Program:
    names = frozenset(defined)
    program = compile_cel(text, Scope(NAMES, constants=CONSTANTS, variables=names), result)
    assert isinstance(program, Program), program
    return program


def outcomes(text: str, **variables: str) -> str:
    """`T` where the condition may be true, `F` where it may be false."""
    identity = Identity()
    writer = Writer(identity)
    defined: list[str] = []
    for name, definition in variables.items():
        writer.define(f"variables.{name}", compiled(definition, defined).checked.root)
        defined.append(name)
    tree = writer.write_out(compiled(text, defined, Result.BOOL).checked.root)
    search = Search(Facts(identity), writer)
    found = ""
    for letter, wanted in (("T", True), ("F", False)):
        possible = search.possible([formula(tree, wanted, Origin(""))])
        found += letter if possible else ""
    return found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("args.a < true", "TF"),
        ("args.a < true && args.a == 1", "F"),
        ("args.a > null", ""),
        ('args.a < double("NaN")', "F"),
        ('args.a == double("NaN")', "F"),
        ('args.a in [double("NaN")]', "F"),
        ('args.a in [double("NaN"), 1]', "TF"),
        ('args.a in [[1], "a"] && args.a == 2', "F"),
        ('args.a in {"a": 1} && args.a == "b"', "F"),
        ('!(args.a in {"a": 1}) && args.a == null', "F"),
        ('args.a in "abc"', ""),
        ('1 in args.a && args.a == "a"', "F"),
        ("isUrl(args.a) && args.a == 3", "F"),
        ("args.a.startsWith(1)", "TF"),
        ("args.a.startsWith(args.b)", "TF"),
        ("has(args.a.y) == true && args.a == 3", "F"),
        ('!glob(args.a, "a*") && args.a == "ab"', "F"),
        ('{"a": args.x.y}.a == 1 && !has(args.x.y)', "F"),
        ("[args.x.y] == [1] && !has(args.x.y)", "F"),
        ("args.x[args.x.y] == 1 && !has(args.x.y)", "F"),
        ("-args.x.y == 1 && !has(args.x.y)", "F"),
        ("(args.x.y ? 1 : 2) == 1 && !has(args.x.y)", "F"),
        ("(args.b ? args.x.y : 2) == 2 && !has(args.x.y)", "TF"),
        ("args.a && args.b in [args.c].filter(x, false)", "TF"),
        ("args.a in [args.b].filter(x, x == 1) || args.c", "TF"),
        ("[1][5].exists(x, x == args.a)", ""),
        ("[1][5] == args.a", ""),
        ("[1][5] == 1 || args.a", "T"),
        ('{"a": {"b": 1}}.a.b == 2', "F"),
        ('ip("10.0.0.1") == ip("10.0.0.1")', "TF"),
        ('size("a") == 1 && 1 + 1 == 2', "T"),
        ("true && (1 == 2 || true)", "T"),
        ("[1, 2].all(x, x > 0) && args.a", "TF"),
        ("lists.range(100000).exists(x, x == 5)", "TF"),
        ("args.a in [1.5, 2.5] && args.a * 2.0 == 4.0", "F"),
        ("args.a in [-1, -2] && args.a * 2 == 4", "F"),
        ("args.a in [1, 2] && args.a * 2 == 4", "TF"),
        ("args.a == 0 && args.a * 2 == 4", "F"),
        ('args.a == 0 && string(args.a) == "-0"', "TF"),
        ("args.a == constants.huge && string(args.a) == 'x'", "F"),
        ('args.a == "A" && args.a.lowerAscii() == "b"', "F"),
        ('args.a == "A" && args.a.lowerAscii() == "a"', "TF"),
        ("args.a > constants.huge && args.a < 3", "F"),
        ("args.a <= args.b && args.b <= args.a && args.a != args.b", "F"),
        ("args.a <= args.b && args.b < args.a", "F"),
        ("args.a + 0.0 == args.a + 0.0", "TF"),
        ("args.a + 0.0 <= args.b || args.a + 0.0 > args.b", "TF"),
        ("args.a <= args.b || args.a > args.b", "T"),
        ('args.xs.exists(x, x == "a" && x == "b")', "F"),
        ('args.xs.all(x, x != "a" || x != "b")', "T"),
        ("args.xs.exists(x, has(x.a) && !has(x.a))", "F"),
        ("args.xs.exists(k, v, k == 1 && v == 2)", "TF"),
        ("args.xs.exists_one(x, x == 1 && x == 2)", "TF"),
        ("args.xs.exists(x, x == 1) && !args.xs.exists(y, y == 1)", "F"),
        ("has(tool.size().a) && !has(tool.size().b)", "TF"),
        ("args.?a.orValue(1) == 1 && !has(args.a)", "TF"),
        ("cel.bind(x, args.a, x == 1) && !cel.bind(x, args.a, x == 1)", "TF"),
        ("args.a in [args.b, 1] && args.a == 2 && args.b == 3", "TF"),
        ('args.a in [args.b, "a"] && args.a == "b" && args.b == "c"', "F"),
        ("args.a in [?args.?b] && args.a == 2", "TF"),
        ('timestamp("2026-01-01T00:00:00Z") < timestamp("2025-01-01T00:00:00Z")', "F"),
        ('args.a == "a" ? args.a == "b" : false', "F"),
        ('[1][5] == 1 ? args.a : args.b', ""),
    ],
)  # fmt: skip
def test_an_outcome_is_ruled_out_where_it_is_impossible(text: str, left: str) -> None:
    assert outcomes(text) == left


def test_a_variable_is_what_it_stands_for() -> None:
    first = "args.xs.exists(x, x == 1)"
    assert outcomes("variables.v && !variables.v", v=first) == "F"
    assert outcomes("variables.v && !args.xs.exists(y, y == 1)", v=first) == "F"
    assert outcomes("variables.w && args.n < 3", v="args.n", w="variables.v > 5") == "F"
    assert outcomes("variables.v == variables.v", v="args.xs.map(x, x)") == "TF"


def test_a_variable_that_is_too_large_stays_a_name() -> None:
    sums = {"v0": "args.n"}
    for i in range(14):
        sums[f"v{i + 1}"] = f"variables.v{i} + variables.v{i}"
    assert outcomes("variables.v14 > 5 && variables.v14 < 3", **sums) == "F"
    assert outcomes("variables.v14 > 5 && args.n == 'a'", **sums) == "TF"


def test_many_large_variables_stay_names() -> None:
    large = " + ".join(["args.n"] * 60)
    uses = " && ".join(f"variables.v > {i}" for i in range(20))
    assert outcomes(f"{uses} && args.n < -1", v=large) == "TF"


def test_what_would_take_too_long_is_possible() -> None:
    choices = " && ".join(f"(args.a{i} == 1 || args.a{i} == 2)" for i in range(14))
    hidden = "(args.z == 1 || args.z == 2) && (args.z == 3 || args.z == 4)"
    assert outcomes(hidden) == "F"
    assert outcomes(f"{choices} && {hidden}") == "TF"
    many = " && ".join(f"(args.b{i} == 1 || args.b{i} == 2)" for i in range(40))
    assert outcomes(f"{many} && {hidden}") == "TF"
