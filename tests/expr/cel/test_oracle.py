"""Random expressions, evaluated by us and by Google's own implementation of CEL."""

from __future__ import annotations

import json
import os
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expression import Budget, Scope

cel = pytest.importorskip("cel_expr_python.cel")

CONFIGURED = ("two-var-comprehensions", "lists", "sets", "regex")

PAYLOAD: dict[str, Any] = {
    "i": 1,
    "j": 0,
    "n": -7,
    "f": 1.0,
    "g": 2.5,
    "s": "abc",
    "e": "",
    "u": "é😀",
    "t": True,
    "fa": False,
    "nil": None,
    "li": [1, 2, 3],
    "ls": ["a", "b"],
    "lm": [1, "a", None, 2.0, True],
    "em": [],
    "m": {"a": 1, "b": {"c": "x"}},
    "lo": [{"k": "v", "n": 1}, {"k": "w"}, {"n": 2}],
}
FIELDS = (
    *PAYLOAD, "zz", "m.a", "m.b.c", "m.zz", "m.zz.y", "lo[0].k", "li[0]", "li[9]", "m['a']",
    "ls[1]",
)  # fmt: skip
OPTIONALS = (
    "p.?s", "p.?zz", "p.?m.b.c", "p.?m.?zz.y", "p.m[?'a']", "p.li[?1]", "p.li[?9]", "p.?nil",
    "optional.none()", "optional.of(p.i)", "optional.ofNonZeroValue(p.e)", "p.?i.b", "p[?'m'].a",
    "p.ls[?0]", "p.?lo[0].k", "p.em[?0]", "p.li.first()", "p.em.last()", "p.i.?k", "p.lo[1].?n",
)  # fmt: skip
LITERALS = ("1", "0", "2.5", "'a'", "'abc'", "''", "true", "false", "null", "[1, 2]", "['a']", "-1")
TEXTS = ("'a'", "'c'", "p.s")
LISTS = ("p.li", "p.ls", "p.lm", "p.lo", "p.em", "p.m", "p.s", "p.zz")
METHODS = (
    "flatten()", "sortBy(x, x)", "reverse()", "distinct()", "sort()", "slice(0, 1)", "join()",
    "join('-')", "lowerAscii()", "upperAscii()", "trim()", "charAt(0)", "indexOf('b')", "size()",
    "lastIndexOf('a')", "substring(1)", "substring(1, 2)", "split('b')", "replace('a', 'xy')",
)  # fmt: skip
REGEX = ("replace({}, 'b', 'x')", "extractAll({}, '[a-c]')", "extract({}, 'b.').orValue('')")
PAIR_TESTS = ("x == 1", "i == 0 || x == 1", "i == 'a'", "has(x.k) && i > 0")
TESTS = ("x > 1", "x == 1", "x.k == 'v'", "has(x.k)", "x", "x != null && x == 1")


EXCEPTIONS = tuple(
    re.compile(entry["expressions"])
    for entry in json.loads(Path(__file__).with_name("oracle_exceptions.json").read_text("utf-8"))
)
"""Expressions that may differ, each with the reason in the file."""

EXPRESSIONS = int(os.environ.get("POLICYD_FUZZ", "2500"))
"""How many are written; `make fuzz` asks for 20,000."""


class Writer:
    """Writes expressions, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def _any(self, options: tuple[str, ...]) -> str:
        return self._random.choice(options)

    def value(self, depth: int) -> str:
        chance = self._random.random()
        if chance < 0.5 or depth <= 0:
            return f"p.{self._any(FIELDS)}"
        if chance < 0.64:
            return self._any((*LITERALS, "{'a': 1}"))
        if chance < 0.7:
            return self.newer(depth)
        if chance < 0.8:
            operator = self._any(("+", "-", "*", "/", "%"))
            return f"({self.value(depth - 1)} {operator} {self.value(depth - 1)})"
        if chance < 0.92:
            return f"{self._any(('size', 'string', 'int', 'double'))}({self.value(depth - 1)})"
        if chance < 0.96:
            choice = (self.condition(depth - 1), self.value(depth - 1), self.value(depth - 1))
            return "({} ? {} : {})".format(*choice)
        macro = self._any(("map", "filter"))
        return f"{self.value(depth - 1)}.{macro}(x, {self._any(('x == 1', 'true', 'x != null'))})"

    def newer(self, depth: int) -> str:
        """A value written with what CEL got later: optionals, bindings, two variables."""
        chance = self._random.random()
        if chance < 0.35:
            return f"{self.optional(depth)}.orValue({self.value(depth - 1)})"
        if chance < 0.45:
            return f"{self.optional(depth)}.value()"
        if chance < 0.55:
            return f"cel.bind(x, {self.value(depth - 1)}, {self._any(('x', '[x, x]', '1'))})"
        if chance < 0.65:
            return f"{self._any(LISTS)}.transformList(i, x, {self._any(('x', 'i', '[i, x]'))})"
        if chance < 0.75:
            return f"[?{self.optional(depth)}, {self.value(depth - 1)}]"
        if chance < 0.9:
            return f"{self.value(depth - 1)}.{self._any(METHODS)}"
        if chance < 0.93:
            return f"regex.{self._any(REGEX)}".format(self.value(depth - 1))
        return f"p.`{self._any(('i', 's', 'zz', 'li'))}`"

    def optional(self, depth: int) -> str:
        chance = self._random.random()
        if depth <= 0 or chance < 0.7:
            return self._any(OPTIONALS)
        if chance < 0.8:
            return f"{self.optional(depth - 1)}.or({self.optional(depth - 1)})"
        if chance < 0.9:
            return f"{self.optional(depth - 1)}.optMap(x, {self._any(('x', '[x]', 'x == 1'))})"
        return f"{self.optional(depth - 1)}.optFlatMap(x, {self._any(OPTIONALS)})"

    def condition(self, depth: int) -> str:
        chance = self._random.random()
        if depth <= 0 or chance > 0.92:
            return self._any(("true", "false", "p.t", "p.s", "has(p.m.a)", "has(p.zz.y)"))
        if chance < 0.35:
            operator = self._any(("==", "!=", "<", "<=", ">", ">=", "in"))
            return f"{self.value(depth - 1)} {operator} {self.value(depth - 1)}"
        if chance < 0.6:
            operator = self._any(("&&", "||"))
            return f"({self.condition(depth - 1)} {operator} {self.condition(depth - 1)})"
        if chance < 0.68:
            return f"!({self.condition(depth - 1)})"
        if chance < 0.82:
            macro = self._any(("all", "exists", "exists_one"))
            tests = (*TESTS, f"x == {self.value(depth - 1)}", self.condition(depth - 1))
            return f"{self._any(LISTS)}.{macro}(x, {self._any(tests)})"
        if chance < 0.86:
            macro = self._any(("all", "exists", "existsOne"))
            return f"{self._any(LISTS)}.{macro}(i, x, {self._any(PAIR_TESTS)})"
        if chance < 0.88:
            return f"{self.optional(depth)}.hasValue()"
        method = self._any(("startsWith", "endsWith", "contains", "matches"))
        return f"{self.value(depth - 1)}.{method}({self._any(TEXTS)})"


def typed(value: Any) -> Any:
    if isinstance(value, list):
        return [typed(item) for item in value]
    return type(value).__name__, value


def theirs(program: Any) -> Any:
    """What the oracle answers; an error is one of its values, and `None` stands for it."""
    try:
        result = program.eval(data={"p": PAYLOAD})
    except RuntimeError:
        return None
    if result.type() == cel.Type.ERROR:
        return None
    return typed(unwrapped(result))


def unwrapped(result: Any) -> Any:
    # its null results release None once too often before Python 3.12, so they are not taken
    if result.type() == cel.Type.NULL:
        return "null"
    value = result.value()
    return [unwrapped(item) for item in value] if isinstance(value, list) else value


def compiled(text: str) -> Program | None:
    """The program, or None where a call is refused at load because its literals always fail."""
    program = compile_cel(text, Scope(frozenset({"p"})))
    if isinstance(program, Program):
        return program
    assert {flaw.code for flaw in program} == {"cel-bad-argument"}, (text, program)
    return None


def ours(program: Program) -> Any:
    try:
        value = program({"p": PAYLOAD}, Budget(10**6, time.monotonic() + 60))
    except EvaluationError:
        return None
    return typed(value)


def environment() -> Any:
    from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

    config = "extensions:\n" + "".join(f"- name: {name}\n" for name in CONFIGURED)
    return cel.NewEnv(
        variables={"p": cel.Type.DYN},
        extensions=[
            ext_bindings.ExtBindings(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ],
        config=cel.NewEnvConfigFromYaml(config),
    )


def test_random_conditions_mean_the_same_to_the_reference_implementation() -> None:
    reference_environment = environment()
    writer = Writer(20)
    compared = values = 0
    differing = []
    for _ in range(EXPRESSIONS):
        text = writer.condition(3)
        try:
            reference = reference_environment.compile(text)
        except RuntimeError:
            continue  # its checker refuses what ours leaves to the evaluation
        program = compiled(text)
        if program is None or any(exception.search(text) for exception in EXCEPTIONS):
            continue
        expected = theirs(reference)
        if ours(program) != expected:
            differing.append((text, expected, ours(program)))
        compared += 1
        values += expected is not None
    assert differing == []
    assert compared > EXPRESSIONS / 2
    assert values > EXPRESSIONS / 6
