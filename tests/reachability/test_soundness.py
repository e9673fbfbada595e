"""No proof is wrong: what is said never to be is not, whatever the values.

Conditions are made at random and judged; where an outcome is said to be impossible, every
assignment of a small domain is evaluated with the program that a policy would run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Budget, Scope
from policyd.reachability.facts import Facts, Origin
from policyd.reachability.fold import Writer
from policyd.reachability.formula import formula
from policyd.reachability.identity import Identity
from policyd.reachability.search import Search

NAMES = frozenset({"args", "tool"})
VARIABLES = ("w", "v")

ABSENT = object()
VALUES: tuple[Any, ...] = (
    ABSENT,
    *("a", "ab", "b", ""),
    *(0, 1, 2, -1, 1.0, 1.5, -0.0, 2**70),
    *(True, False, None),
    *([], ["a"], [1, 2.0]),
    *({"y": 1}, {"a": "a", "y": "ab"}),
)
TOOLS = ("a", "ab", "fs_x")

TEXTS = st.sampled_from(['"a"', '"ab"', '"b"', '""', '"abc"'])
NUMBERS = st.sampled_from(["0", "1", "2", "1.0", "1.5", "-1", "0u", "1u", "-0.0"])
LITERALS = (
    TEXTS | NUMBERS | st.sampled_from(["true", "false", "null", "[1, 2]", '["a"]', '{"y": 1}'])
)
SUBJECTS = st.sampled_from(["args.a", "args.b", "tool", "args.a.y", "variables.v"])
ORDER = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "%"])
TEXT_TESTS = st.sampled_from(["startsWith", "endsWith", "contains", "matches"])
LOOPS = st.sampled_from(["exists", "all", "exists_one"])
SOURCES = st.sampled_from(["args.a", "[args.a, 1]", "args", "[args.b]", '["a"]'])


def made(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: pattern.format(*found))


def listed(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, max_size=3).map(", ".join)


def conditions_of(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    globs = st.sampled_from(['"a*"', '"*b"', '"a?c"', '"*"', '"fs_*"'])
    return st.one_of(
        made("args.a {} {}", ORDER, LITERALS),
        made("{} {} {}", values, ORDER, LITERALS),
        made("{} {} {}", values, ORDER, values),
        made("{} in [{}]", values, listed(LITERALS)),
        made("{} in [{}]", values, listed(values)),
        made("{} in {{{}: 1}}", values, TEXTS),
        made("{} in {}", TEXTS | values, st.sampled_from(["args", "args.a", "args.b"])),
        made("has({})", st.sampled_from(["args.a", "args.b", "args.a.y"])),
        made("args.a.{}({})", TEXT_TESTS, TEXTS),
        made("{}.{}({})", values, TEXT_TESTS, TEXTS | values),
        made("glob({}, {})", values, globs),
        st.sampled_from(["true", "false", "args.a", "args.b", "args.a == args.b"]),
    )


def larger(conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(conditions, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda parts: f"({' && '.join(parts)})"),
        several.map(lambda parts: f"({' || '.join(parts)})"),
        made("!({})", conditions),
        made("({} ? {} : {})", conditions, conditions, conditions),
        made("{}.{}(x, {})", SOURCES, LOOPS, conditions),
        made("{}.{}(x, x {} {})", SOURCES, LOOPS, ORDER, LITERALS),
        made("{}.{}(x, x {} {} && x {} {})", SOURCES, LOOPS, ORDER, LITERALS, ORDER, LITERALS),
        made("cel.bind(x, {}, x == {} && {})", SUBJECTS, LITERALS, conditions),
    )


SIMPLE = st.recursive(conditions_of(SUBJECTS | LITERALS), larger, max_leaves=3)


def larger_values(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        made("size({})", values),
        made("({} {} {})", values, ARITHMETIC, values),
        made("({} ? {} : {})", SIMPLE, values, values),
        made("{}({})", st.sampled_from(["string", "type", "int", "dyn", "-"]), values),
        made("{}.lowerAscii()", values),
        made("[{}]", values),
        made("[{}, {}].filter(x, x != {})", values, values, values),
        made("[?{}, {}]", st.sampled_from(["args.?a", "args.a.?y"]), values),
        made("{}.orValue({})", st.sampled_from(["args.?a", "args.a.?y"]), values),
        st.sampled_from(["(args.a / 0.0)", 'double("NaN")', "args.a[args.b]", "args[tool]"]),
    )


PARTS = st.recursive(SUBJECTS | LITERALS, larger_values, max_leaves=3)
CONDITIONS = st.recursive(conditions_of(PARTS), larger, max_leaves=6)
DEFINITIONS = st.tuples(
    PARTS.map(lambda text: text.replace("variables.v", "1")),
    PARTS.map(lambda text: text.replace("variables.v", "variables.w")),
)


def assignments(text: str) -> Iterator[dict[str, Any]]:
    """Every choice of values for what *text* names; the rest stays as it is."""
    second = VALUES if "args.b" in text else VALUES[1:3]
    tools = TOOLS if "tool" in text else TOOLS[:1]
    for a, b, tool in itertools.product(VALUES, second, tools):
        members = {"a": a, "b": b}
        present = {name: value for name, value in members.items() if value is not ABSENT}
        yield {"args": present, "tool": tool}


class Names(dict[str, Any]):
    """An activation whose variables are worked out when they are read."""

    def __init__(self, values: Mapping[str, Any], programs: Mapping[str, Program]) -> None:
        super().__init__(values)
        self._programs = programs

    def __missing__(self, key: str) -> Any:
        return self._programs[key](self, plenty())


def plenty() -> Budget:
    return Budget(1_000_000, math.inf)


def program(text: str, variables: tuple[str, ...], result: Result = Result.ANY) -> Program | None:
    compiled = compile_cel(text, Scope(NAMES, variables=frozenset(variables)), result)
    return compiled if isinstance(compiled, Program) else None


def outcomes(condition: Program, programs: Mapping[str, Program]) -> Iterator[tuple[bool, Any]]:
    texts = " ".join([condition.text, *(each.text for each in programs.values())])
    for values in assignments(texts):
        try:
            yield condition(Names(values, programs), plenty()), values
        except EvaluationError:
            continue


def possible(condition: Program, programs: Mapping[str, Program]) -> dict[bool, bool]:
    """Which outcomes of *condition* are not ruled out."""
    identity = Identity()
    writer = Writer(identity)
    for key, variable in programs.items():
        writer.define(key, variable.checked.root)
    tree = writer.write_out(condition.checked.root)
    search = Search(Facts(identity), writer)
    return {
        wanted: search.possible([formula(tree, wanted, Origin(""))]) for wanted in (True, False)
    }


def check(text: str, definitions: tuple[str, str]) -> bool:
    """True where something was proven of the condition *text*, and was not wrong."""
    programs: dict[str, Program] = {}
    for name, before, definition in zip(VARIABLES, ((), ("w",)), definitions, strict=True):
        variable = program(definition, before)
        if variable is None:
            return False
        programs[f"variables.{name}"] = variable
    condition = program(text, VARIABLES, Result.BOOL)
    if condition is None:
        return False
    left = possible(condition, programs)
    if all(left.values()):
        return False
    for outcome, values in outcomes(condition, programs):
        assert left[outcome], f"`{text}` with {definitions} is {outcome} for {values}"
    return True


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(CONDITIONS, DEFINITIONS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_is_said_never_to_be_is_for_no_value(text: str, definitions: tuple[str, str]) -> None:
    check(text, definitions)
