"""The macros: calls whose arguments are not values.

Knows how each macro is written, and takes one call apart.  Resolves no name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from policyd.expr.cel.tree import Call, Index, Literal, Name, Node, Select
from policyd.expression import Flaw

RESERVED: Final = frozenset(
    ["as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"]
).union(["package", "namespace", "return", "var", "void", "while"])
"""Words that no variable may have as its name.  Source: the CEL language definition."""

LOOPS: Final = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2, 3),
    "existsOne": (2, 3),
    "filter": (2,),
    "map": (2, 3),
}
"""The macros that are called on a list or a map, and how many arguments they take."""

_USES: Final = {
    "filter": "list.filter(x, condition)",
    "map": "list.map(x, value)",
}


@dataclass(frozen=True, slots=True)
class LoopCall:
    """A call of a looping macro, taken apart.

    macro: its name, `exists_one` also for `existsOne`.
    variables: one name; two for `all`, `exists` and `exists_one` with three arguments.
    """

    macro: str
    variables: tuple[Name, ...]
    test: Node | None
    result: Node | None


def take_loop(call: Call) -> LoopCall | Flaw:
    """The parts of a call of one of LOOPS, or what is wrong with it."""
    use = _USES.get(call.name, f"list.{call.name}(x, condition)")
    if call.receiver is None:
        text = f"`{call.name}` is called on a list or a map"
        return _flaw(call, "cel-arity", text, f"write `{use}`")
    count = len(call.arguments)
    if count not in LOOPS[call.name]:
        text = f"`{call.name}` takes the name of a variable and what to do with it"
        return _flaw(call, "cel-arity", text, f"write `{use}`")
    names = 2 if count == 3 and call.name != "map" else 1
    variables: list[Name] = []
    for argument in call.arguments[:names]:
        if not isinstance(argument, Name) or argument.absolute or argument.name in RESERVED:
            text = f"`{call.name}` needs the name of a variable here"
            return _flaw(argument, "cel-syntax", text, f"write `{use}`")
        if any(argument.name == other.name for other in variables):
            text = f"`{argument.name}` is already the first variable"
            return _flaw(argument, "cel-syntax", text, None)
        variables.append(argument)
    macro = "exists_one" if call.name == "existsOne" else call.name
    body = call.arguments[names:]
    if macro == "map":
        test = body[0] if len(body) == 2 else None
        return LoopCall(macro, tuple(variables), test, body[-1])
    return LoopCall(macro, tuple(variables), body[0], None)


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
