from __future__ import annotations

import pytest

from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Flaw, Scope

SCOPE = Scope(
    names=frozenset({"payload", "args", "principal"}),
    absent={"tool": "a response does not say which tool was called"},
    constants={"shells": ["bash"], "limit": 10},
    variables=frozenset({"command"}),
)


def flaws(text: str, result: Result = Result.ANY, scope: Scope = SCOPE) -> tuple[Flaw, ...]:
    found = compile_cel(text, scope, result)
    assert not isinstance(found, Program)
    return found


def flaw(text: str, result: Result = Result.ANY) -> tuple[str, str, str, str | None]:
    """Code, text, the words it points at, and the help of the only flaw."""
    (found,) = flaws(text, result)
    return found.code, found.text, text[found.offset : found.offset + found.length], found.help


@pytest.mark.parametrize(
    ("text", "problem", "at", "help"),
    [
        ("paylod.name", "unknown name `paylod`", "paylod", "did you mean `payload`?"),
        ("Payload.name", "unknown name `Payload`", "Payload", "did you mean `payload`?"),
        ("shells", "unknown name `shells`", "shells", "did you mean `constants.shells`?"),
        ("comand == ''", "unknown name `comand`", "comand", "did you mean `variables.command`?"),
        ("constant.limit", "unknown name `constant`", "constant", "did you mean `constants`?"),
        ("payload.x == True", "unknown name `True`", "True", "did you mean `true`?"),
        ("payload.x == None", "unknown name `None`", "None", "did you mean `null`?"),
        ("payload.list.all(item, itm > 0)", "unknown name `itm`", "itm", "did you mean `item`?"),
        ("payload.list.all(x, true) && x", "unknown name `x`", "x", None),
        ("payload.list.all(x, .x)", "unknown name `x`", "x", None),
        ("zzz.a.b", "unknown name `zzz`", "zzz", None),
        (
            "tool == 'shell'",
            "`tool` does not exist here: a response does not say which tool was called",
            "tool",
            None,
        ),
        (
            "variables",
            "`variables` is no value of its own",
            "variables",
            "write `variables.NAME`",
        ),
        ("{name: 1}", "unknown name `name`", "name", "a key that is a text is quoted: `'name'`"),
        ("{'a': 1, b: 2}", "unknown name `b`", "b", "a key that is a text is quoted: `'b'`"),
        ("[true ? b : 1, true]", "unknown name `b`", "b", None),
        (
            "payload.arguments.dry-run == true",
            "unknown name `run`",
            "run",
            "a key with a dash is written `['dry-run']`",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_probably_meant(
    text: str, problem: str, at: str, help: str | None
) -> None:
    assert flaw(text) == ("cel-unknown-name", problem, at, help)


def test_each_part_of_a_dashed_key_is_told_the_whole_key() -> None:
    found = flaws("payload.x-request-id == ''")
    assert [(f.text, f.help) for f in found] == [
        ("unknown name `request`", "a key with a dash is written `['x-request-id']`"),
        ("unknown name `id`", "a key with a dash is written `['x-request-id']`"),
    ]


def test_a_subtraction_with_an_unknown_name_is_no_dashed_key() -> None:
    assert flaw("payload.x - nope")[3] is None


@pytest.mark.parametrize(
    ("text", "code", "problem", "at", "help"),
    [
        (
            "constants.shels",
            "cel-unknown-constant",
            "unknown constant `shels`",
            "shels",
            "did you mean `shells`?",
        ),
        (
            "constants['shels']",
            "cel-unknown-constant",
            "unknown constant `shels`",
            "'shels'",
            "did you mean `shells`?",
        ),
        (
            "variables.comand",
            "cel-unknown-variable",
            "unknown variable `comand`",
            "comand",
            "did you mean `command`?",
        ),
        ("while", "cel-syntax", "`while` is a reserved word", "while", None),
        ("payload.for + if", "cel-syntax", "`if` is a reserved word", "if", None),
        (
            "startwith(payload.x, 'a')",
            "cel-unknown-function",
            "unknown function `startwith`",
            "startwith",
            "did you mean `startsWith`?",
        ),
        (
            "payload.x.startswith('a')",
            "cel-unknown-function",
            "unknown function `startswith`",
            "startswith",
            "did you mean `startsWith`?",
        ),
        (
            "len(payload.x)",
            "cel-unknown-function",
            "unknown function `len`",
            "len",
            "did you mean `size`?",
        ),
        (
            "not(payload.x)",
            "cel-unknown-function",
            "unknown function `not`",
            "not",
            "write `!`",
        ),
        (
            "path.witin(payload.x, '/srv')",
            "cel-unknown-function",
            "unknown function `path.witin`",
            "witin",
            "did you mean `path.within`?",
        ),
        (
            "payload.x.exist(c, true)",
            "cel-unknown-function",
            "unknown function `exist`",
            "exist",
            "did you mean `exists`?",
        ),
        (
            "size()",
            "cel-arity",
            "`size` takes 1 argument, not 0",
            "size",
            None,
        ),
        (
            "payload.x.size(1)",
            "cel-arity",
            "`size` takes 0 arguments, not 1",
            "size",
            None,
        ),
        (
            "startsWith(payload.x, 'a')",
            "cel-arity",
            "`startsWith` is called on a value",
            "startsWith",
            "write `value.startsWith(...)`",
        ),
        (
            "payload.x.timestamp()",
            "cel-arity",
            "`timestamp` is not called on a value",
            "timestamp",
            "write `timestamp(...)`",
        ),
        (
            "payload.x.replace('a')",
            "cel-arity",
            "`replace` takes 2 or 3 arguments, not 1",
            "replace",
            None,
        ),
        (
            "all(payload.x, true)",
            "cel-arity",
            "`all` is called on a list or a map",
            "all",
            "write `list.all(x, condition)`",
        ),
        (
            "payload.x.map(y)",
            "cel-arity",
            "`map` takes the name of a variable and what to do with it",
            "map",
            "write `list.map(x, value)`",
        ),
        (
            "payload.x.filter(y, y, y)",
            "cel-arity",
            "`filter` takes the name of a variable and what to do with it",
            "filter",
            "write `list.filter(x, condition)`",
        ),
        (
            "payload.x.all(payload.y, true)",
            "cel-syntax",
            "`all` needs the name of a variable here",
            "y",
            "write `list.all(x, condition)`",
        ),
        (
            "payload.x.all(for, true)",
            "cel-syntax",
            "`all` needs the name of a variable here",
            "for",
            "write `list.all(x, condition)`",
        ),
        (
            "payload.x.all(.y, true)",
            "cel-syntax",
            "`all` needs the name of a variable here",
            "y",
            "write `list.all(x, condition)`",
        ),
        (
            "payload.x.all(k, k, true)",
            "cel-syntax",
            "`k` is already the first variable",
            "k",
            None,
        ),
        (
            "has(payload.x, 1)",
            "cel-arity",
            "`has` takes one argument",
            "has",
            "write `has(a.b)`",
        ),
        (
            "payload.has(x)",
            "cel-arity",
            "`has` is not called on a value",
            "has",
            "write `has(a.b)`",
        ),
        (
            "has(payload)",
            "cel-syntax",
            "`has` takes the selection of a field",
            "payload",
            "write `has(a.b)`",
        ),
        (
            "has( payload.a['dry-run'] )",
            "cel-syntax",
            "`has` does not take a key in brackets",
            "[",
            "write `'dry-run' in payload.a`",
        ),
        (
            "payload.x.any(c, c.d)",
            "cel-unknown-function",
            "unknown function `any`",
            "any",
            "did you mean `exists`?",
        ),
    ],
)
def test_a_call_or_name_that_cannot_work_is_refused(
    text: str, code: str, problem: str, at: str, help: str | None
) -> None:
    assert flaw(text) == (code, problem, at, help)


def test_a_pattern_that_does_not_compile_is_pointed_at() -> None:
    code, problem, at, _ = flaw("payload.x.matches('(') || payload.y == ')'")
    assert (code, at) == ("bad-pattern", "'('")
    assert problem


def test_the_argument_that_is_to_blame_is_pointed_at() -> None:
    assert flaw("'a'.matches('(')")[2] == "'('"
    code, _, at, _ = flaw("'%d %d'.format(constants.shells)")
    assert (code, at) == ("cel-bad-argument", "shells")


def test_all_flaws_of_an_expression_are_told_in_order_of_place() -> None:
    text = "paylod.a == constants.x && payload.b.nope(zzz, [len(1), {yy: variables.z}])"
    assert [(f.code, text[f.offset : f.offset + f.length]) for f in flaws(text)] == [
        ("cel-unknown-name", "paylod"),
        ("cel-unknown-constant", "x"),
        ("cel-unknown-function", "nope"),
        ("cel-unknown-name", "zzz"),
        ("cel-unknown-function", "len"),
        ("cel-unknown-name", "yy"),
        ("cel-unknown-variable", "z"),
    ]


def test_a_function_of_an_unknown_value_is_checked_as_well() -> None:
    assert [f.text for f in flaws("zzz.nope(1)")] == [
        "unknown name `zzz`",
        "unknown function `nope`",
    ]


def test_a_flawed_macro_still_has_its_list_checked() -> None:
    assert [f.code for f in flaws("paylod.all(1)")] == ["cel-unknown-name", "cel-arity"]


@pytest.mark.parametrize(
    ("text", "yields"),
    [
        ("1", "a number"),
        ("'a'", "a string"),
        ("null", "null"),
        ("b'a'", "bytes"),
        ("[true]", "a list"),
        ("{'a': true}", "a map"),
        ("int", "a type"),
        ("constants.limit", "a number"),
        ("-payload.x", "a number"),
        ("payload.x + payload.y", "something else"),
        ("payload.x + 1", "a number"),
        ("payload.x * payload.y", "a number"),
        ("size(payload.x)", "a number"),
        ("payload.x.size()", "a number"),
        ("string(payload.x)", "a string"),
        ("timestamp(payload.x)", "a timestamp"),
        ("type(payload.x)", "a type"),
        ("payload.x.filter(y, true)", "a list"),
        ("payload.x.map(y, true)", "a list"),
        ("payload.x ? 1 : 2", "a number"),
        ("payload.x ? 1 : 'a'", "a number or a string"),
    ],
)
def test_a_condition_that_cannot_be_a_bool_is_refused(text: str, yields: str) -> None:
    code, problem, _, help = flaw(text, Result.BOOL)
    assert code == "cel-not-boolean"
    assert problem == f"a condition is needed, but this yields {yields}"
    assert help == "compare it, as in `... == ...`"
    assert isinstance(compile_cel(text, SCOPE), Program)
    assert isinstance(compile_cel(text, SCOPE, Result.TEXT), Program)


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "payload.x",
        "payload['x'][0]",
        "!payload.x",
        "payload.x in [1]",
        "payload.x && payload.y",
        "has(payload.x)",
        "has(constants.zzz)",
        "payload.x.exists(y, y)",
        "payload.x.startsWith('a')",
        "payload.x ? true : payload.y",
        "payload.x ? true : 1",
        "variables.command",
        "payload.x.all(constants, constants.limit > 1)",
        "payload.x.all(variables, variables)",
        "payload.x.all(size, size(size) == size)",
        "{'payload': true}.payload",
    ],
)
def test_what_may_be_a_bool_is_accepted_as_condition(text: str) -> None:
    assert isinstance(compile_cel(text, SCOPE, Result.BOOL), Program)


def test_a_program_knows_what_it_reads() -> None:
    program = compile_cel(
        "payload.x == constants.limit && args.all(principal, principal == variables.command)", SCOPE
    )
    assert isinstance(program, Program)
    assert program.free == {"payload", "args", "variables.command"}


def test_a_namespace_is_hidden_by_a_variable_of_its_name() -> None:
    hidden = Scope(frozenset({"path", "payload"}))
    assert [f.text for f in flaws("path.within('/a', '/b')", scope=hidden)] == [
        "unknown function `within`"
    ]
    assert [f.text for f in flaws("payload.all(path, path.within('/a', '/b'))")] == [
        "unknown function `within`"
    ]


TWO = "two variables and what to do with them"
ONE = "the name of a variable and what to do with it"


@pytest.mark.parametrize(
    ("text", "code", "problem", "at", "help"),
    [
        (
            "payload.?x.optMap(payload.y)",
            "cel-arity",
            f"`optMap` takes {ONE}",
            "optMap",
            "write `optional.optMap(x, value)`",
        ),
        (
            "payload.?x.optFlatMap('y', 1)",
            "cel-syntax",
            "`optFlatMap` needs the name of a variable here",
            "'y'",
            "write `optional.optFlatMap(x, optional)`",
        ),
        (
            "optMap(x, x)",
            "cel-arity",
            "`optMap` is called on an optional",
            "optMap",
            "write `optional.optMap(x, value)`",
        ),
        (
            "payload.?x.orValue()",
            "cel-arity",
            "`orValue` takes one argument",
            "orValue",
            "write `optional.orValue(value)`",
        ),
        (
            "or(payload)",
            "cel-arity",
            "`or` is called on an optional",
            "or",
            "write `optional.or(other optional)`",
        ),
        (
            "cel.bind(x, 1)",
            "cel-arity",
            "`cel.bind` takes the name of a variable, its value and an expression",
            "bind",
            "write `cel.bind(x, value, expression)`",
        ),
        (
            "cel.bind(payload.x, 1, true)",
            "cel-syntax",
            "`cel.bind` needs the name of a variable here",
            "x",
            "write `cel.bind(x, value, expression)`",
        ),
        (
            "cel.bnd(x, 1, x)",
            "cel-unknown-function",
            "unknown function `cel.bnd`",
            "bnd",
            "did you mean `cel.bind`?",
        ),
        (
            "payload.?x.optmap(x, x)",
            "cel-unknown-function",
            "unknown function `optmap`",
            "optmap",
            "did you mean `optMap`?",
        ),
        (
            "let(x, 1, x)",
            "cel-unknown-function",
            "unknown function `let`",
            "let",
            "did you mean `cel.bind`?",
        ),
        (
            "payload.x.transformList(x, x + 1)",
            "cel-arity",
            f"`transformList` takes {TWO}",
            "transformList",
            "write `list.transformList(i, x, value)`",
        ),
        (
            "payload.x.transformMap(k, k, 1)",
            "cel-syntax",
            "`k` is already the first variable",
            "k",
            None,
        ),
        (
            "payload.x.sortBy(-1)",
            "cel-arity",
            f"`sortBy` takes {ONE}",
            "sortBy",
            "write `list.sortBy(x, key)`",
        ),
        (
            "has(payload.?x)",
            "cel-syntax",
            "`has` takes no optional selection",
            "x",
            "write `has(a.b)`, or `a.?b.hasValue()`",
        ),
        (
            "has(payload[?'x'])",
            "cel-syntax",
            "`has` takes no optional selection",
            "[",
            "write `has(a.b)`, or `a.?b.hasValue()`",
        ),
        (
            "regex.extract(payload.x, '(a)(b)')",
            "bad-pattern",
            "the pattern has more than one group; write `(?:...)`",
            "'(a)(b)'",
            None,
        ),
    ],
)
def test_a_macro_that_is_written_wrong_is_told_how_it_is_written(
    text: str, code: str, problem: str, at: str, help: str | None
) -> None:
    assert flaw(text) == (code, problem, at, help)


def test_what_a_misused_macro_is_called_on_is_looked_at_all_the_same() -> None:
    for text in ("nope.?x.orValue()", "nope.?x.optMap(1)", "nope.transformList(1)"):
        assert "unknown name `nope`" in [f.text for f in flaws(text)]


def test_a_condition_that_is_an_optional_says_what_to_do() -> None:
    text = "payload.?x"
    assert flaw(text, Result.BOOL) == (
        "cel-not-boolean",
        "a condition is needed, but this yields an optional",
        "x",
        "say what holds where there is no value, as in `... .orValue(false)`",
    )
