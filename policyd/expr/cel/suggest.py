"""What was probably meant by a name, a function or a call that does not exist.

Knows the usual slips of people who write policies.  Judges nothing: what is wrong is decided in
`check`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from policyd.diagnostics import closest, did_you_mean
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.macros import LOOPS, MACROS
from policyd.expr.cel.tree import Name
from policyd.expression import Scope
from policyd.types import member_names

_VALUES_ELSEWHERE: Final = {"None": "null", "nil": "null", "undefined": "null", "NULL": "null"}

_FUNCTIONS_ELSEWHERE: Final = {
    "not": "write `!`",
    "len": "did you mean `size`?",
    "length": "did you mean `size`?",
    "count": "did you mean `size`?",
    "lower": "did you mean `lowerAscii`?",
    "upper": "did you mean `upperAscii`?",
    "includes": "write `a in list`, or `text.contains(part)`",
    "str": "did you mean `string`?",
    "float": "did you mean `double`?",
}

_MACROS_ELSEWHERE: Final = {
    "any": "exists",
    "some": "exists",
    "every": "all",
    "find": "exists",
    "bind": "cel.bind",
    "let": "cel.bind",
}

_NAMING: Final = (*LOOPS, "optMap", "optFlatMap", "cel.bind")
"""The macros that name a variable."""

_DASHED = re.compile(r"\.([A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)+)")


def name_help(node: Name, text: str, scope: Scope, bound: Iterable[str]) -> str | None:
    """Advice for the unknown name at *node* in *text*, or None."""
    dashed = next((m for m in _DASHED.finditer(text) if m.start() < node.offset < m.end()), None)
    if dashed is not None:
        return f"a key with a dash is written `['{dashed[1]}']`"
    if node.name in _VALUES_ELSEWHERE:
        return f"did you mean `{_VALUES_ELSEWHERE[node.name]}`?"
    if _is_map_key(node, text):
        return f"a key that is a text is quoted: `'{node.name}'`"
    if "item" in scope.types and node.name in member_names(scope.types["item"]):
        return f"did you mean `item.{node.name}`?"
    words = {name: f"variables.{name}" for name in scope.variables}
    words |= {name: f"constants.{name}" for name in scope.constants}
    words |= {name: name for name in ("true", "false", "null", "constants", "variables")}
    words |= {name: name for name in scope.names}
    words |= {name: name for name in bound}
    match = closest(node.name, words)
    return f"did you mean `{words[match]}`?" if match is not None else None


def _is_map_key(node: Name, text: str) -> bool:
    """True when the name stands where the key of a map literal does."""
    before = text[: node.offset].rstrip()[-1:]
    after = text[node.offset + node.length :].lstrip()[:1]
    return before in ("{", ",") and after == ":"


def function_help(name: str) -> str | None:
    """Advice for the unknown function *name*, or None."""
    if name in _FUNCTIONS_ELSEWHERE:
        return _FUNCTIONS_ELSEWHERE[name]
    if name in _MACROS_ELSEWHERE:
        return f"did you mean `{_MACROS_ELSEWHERE[name]}`?"
    return did_you_mean(name, [*FUNCTIONS, *MACROS])


def is_like_macro(name: str) -> bool:
    """True when the unknown function *name* was probably meant to be a macro with a variable."""
    return closest(name, [*FUNCTIONS, *_NAMING]) in _NAMING or name in _MACROS_ELSEWHERE


def calls_written(function: Function, count: int, method: bool) -> tuple[str, str | None]:
    """What is wrong with a call with *count* arguments, receiver included, and advice.

    *method* tells `value.name(...)` from `name(...)`.
    """
    name = function.name
    if method and not function.method_arity:
        return f"`{name}` is not called on a value", f"write `{name}(...)`"
    if not method and not function.function_arity:
        return f"`{name}` is called on a value", f"write `value.{name}(...)`"
    arity = function.method_arity if method else function.function_arity
    counts = [str(number - method) for number in arity]
    wanted = " or ".join(counts)
    noun = "argument" if counts[-1] == "1" else "arguments"
    return f"`{name}` takes {wanted} {noun}, not {count - method}", None
