"""The macros: calls whose arguments are not values.

Knows how each macro is written, and takes one call apart.  Resolves no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policyd.expr.cel.tree import (
    Call,
    Index,
    Literal,
    Name,
    Node,
    OptionalIndex,
    OptionalSelect,
    Select,
)
from policyd.expression import Flaw

RESERVED: Final = frozenset(
    ["as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"]
).union(["package", "namespace", "return", "var", "void", "while"])
"""Words that no variable may have as its name.  Source: the CEL language definition."""

LOOPS: Final[Mapping[str, tuple[str, tuple[tuple[int, int], ...]]]] = {
    "all": ("all", ((1, 1), (2, 1))),
    "exists": ("exists", ((1, 1), (2, 1))),
    "exists_one": ("exists_one", ((1, 1), (2, 1))),
    "existsOne": ("exists_one", ((1, 1), (2, 1))),
    "filter": ("filter", ((1, 1),)),
    "map": ("map", ((1, 1), (1, 2))),
    "transformList": ("map", ((2, 1), (2, 2))),
    "transformMap": ("transformMap", ((2, 1), (2, 2))),
    "transformMapEntry": ("transformMapEntry", ((2, 1), (2, 2))),
    "sortBy": ("sortBy", ((1, 1),)),
}
"""The macros that visit a list or a map: what the tree calls each, and how it may be written.

The numbers are those of variables and of expressions after them; where two expressions may
stand, the first is a condition.
"""

OPTIONALS: Final = ("optMap", "optFlatMap", "or", "orValue")
"""The macros that are called on an optional."""

MACROS: Final = (*LOOPS, *OPTIONALS, "cel.bind", "has")
"""Every macro, as it is called."""

_RESULTS: Final = frozenset({"map", "transformMap", "transformMapEntry", "sortBy"})

_USES: Final = {
    "filter": "list.filter(x, condition)",
    "map": "list.map(x, value)",
    "sortBy": "list.sortBy(x, key)",
    "transformList": "list.transformList(i, x, value)",
    "transformMap": "map.transformMap(k, x, value)",
    "transformMapEntry": "map.transformMapEntry(k, x, {key: value})",
    "optMap": "optional.optMap(x, value)",
    "optFlatMap": "optional.optFlatMap(x, optional)",
    "or": "optional.or(other optional)",
    "orValue": "optional.orValue(value)",
    "cel.bind": "cel.bind(x, value, expression)",
}


def _use(name: str) -> str:
    return f"write `{_USES.get(name, f'list.{name}(x, condition)')}`"


@dataclass(frozen=True, slots=True)
class LoopCall:
    """A call of a macro that visits a list or a map, taken apart.

    macro: what the tree calls it.
    variables: one or two names.
    """

    macro: str
    source: Node
    variables: tuple[Name, ...]
    test: Node | None
    result: Node | None


@dataclass(frozen=True, slots=True)
class BindCall:
    """`cel.bind(variable, value, body)`, taken apart; also `value.optMap(variable, body)`."""

    variable: Name
    value: Node
    body: Node


def take_loop(call: Call) -> LoopCall | Flaw:
    """The parts of a call of one of LOOPS, or what is wrong with it."""
    if call.receiver is None:
        text = f"`{call.name}` is called on a list or a map"
        return _flaw(call, "cel-arity", text, _use(call.name))
    macro, shapes = LOOPS[call.name]
    names = next((n for n, rest in shapes if n + rest == len(call.arguments)), 0)
    if not names:
        wanted = "two variables and what to do with them"
        if shapes[0][0] == 1:
            wanted = "the name of a variable and what to do with it"
        text = f"`{call.name}` takes {wanted}"
        return _flaw(call, "cel-arity", text, _use(call.name))
    variables = _variables(call, call.arguments[:names])
    if isinstance(variables, Flaw):
        return variables
    *tests, last = call.arguments[names:]
    if macro not in _RESULTS:
        return LoopCall(macro, call.receiver, variables, last, None)
    return LoopCall(macro, call.receiver, variables, tests[0] if tests else None, last)


def _variables(call: Call, written: tuple[Node, ...], name: str = "") -> tuple[Name, ...] | Flaw:
    """The variables of a macro, or what is wrong with them."""
    name = name or call.name
    variables: list[Name] = []
    for argument in written:
        if not isinstance(argument, Name) or argument.absolute or argument.name in RESERVED:
            text = f"`{name}` needs the name of a variable here"
            return _flaw(argument, "cel-syntax", text, _use(name))
        if any(argument.name == other.name for other in variables):
            text = f"`{argument.name}` is already the first variable"
            return _flaw(argument, "cel-syntax", text, None)
        variables.append(argument)
    return tuple(variables)


def take_bind(call: Call) -> BindCall | Flaw:
    """The parts of `cel.bind(...)`, or what is wrong with it."""
    if len(call.arguments) != 3:
        text = "`cel.bind` takes the name of a variable, its value and an expression"
        return _flaw(call, "cel-arity", text, _use("cel.bind"))
    variables = _variables(call, call.arguments[:1], "cel.bind")
    if isinstance(variables, Flaw):
        return variables
    return BindCall(variables[0], call.arguments[1], call.arguments[2])


def take_optional_map(call: Call) -> BindCall | Flaw:
    """The parts of `optMap` or `optFlatMap`, or what is wrong with the call."""
    if call.receiver is None:
        return _flaw(call, "cel-arity", f"`{call.name}` is called on an optional", _use(call.name))
    if len(call.arguments) != 2:
        text = f"`{call.name}` takes the name of a variable and what to do with it"
        return _flaw(call, "cel-arity", text, _use(call.name))
    variables = _variables(call, call.arguments[:1])
    if isinstance(variables, Flaw):
        return variables
    return BindCall(variables[0], call.receiver, call.arguments[1])


def take_or(call: Call) -> tuple[Node, Node] | Flaw:
    """The optional of `or` or `orValue` and what stands in for it, or what is wrong."""
    if call.receiver is None:
        return _flaw(call, "cel-arity", f"`{call.name}` is called on an optional", _use(call.name))
    if len(call.arguments) != 1:
        return _flaw(call, "cel-arity", f"`{call.name}` takes one argument", _use(call.name))
    return call.receiver, call.arguments[0]


def take_has(call: Call, text: str) -> Select | Flaw:
    """The selection that `has(...)` asks for, or what is wrong with it.

    *text* is the whole expression, quoted in the advice.
    """
    if call.receiver is not None:
        return _flaw(call, "cel-arity", "`has` is not called on a value", "write `has(a.b)`")
    if len(call.arguments) != 1:
        return _flaw(call, "cel-arity", "`has` takes one argument", "write `has(a.b)`")
    (argument,) = call.arguments
    if isinstance(argument, Select):
        return argument
    if isinstance(argument, OptionalSelect | OptionalIndex):
        advice = "write `has(a.b)`, or `a.?b.hasValue()`"
        return _flaw(argument, "cel-syntax", "`has` takes no optional selection", advice)
    if isinstance(argument, Index) and isinstance(argument.index, Literal):
        key = argument.index
        opened = text.index("(", call.offset) + 1
        inside = text[opened : argument.offset].strip()
        written = text[key.offset : key.offset + key.length]
        advice = f"write `{written} in {inside}`"
        return _flaw(argument, "cel-syntax", "`has` does not take a key in brackets", advice)
    return _flaw(argument, "cel-syntax", "`has` takes the selection of a field", "write `has(a.b)`")


def _flaw(node: Node, code: str, text: str, help: str | None) -> Flaw:
    return Flaw(code, text, node.offset, node.length, help)
