"""CEL, the language of conditions: compiled once into Python over plain JSON values.

    text -> lex -> parse -> check -> interpret (exact) and generate (fast) -> Program

Semantics are those of the CEL language definition, over JSON: no protobuf messages, numbers on
one number line.  The typed check against the MCP schemas will stand between `check` and the two
paths, where `kinds` stands now.
"""

from __future__ import annotations

from policyd.expr.cel.check import check, not_boolean
from policyd.expr.cel.lex import SPLIT
from policyd.expr.cel.parse import parse
from policyd.expr.cel.program import Program, Result
from policyd.expression import Flaw, Scope

__all__ = ["Program", "Result", "compile_cel"]


def compile_cel(text: str, scope: Scope, result: Result = Result.ANY) -> Program | tuple[Flaw, ...]:
    """The program for *text*, or every flaw in it.  Never raises, whatever the text.

    With `Result.BOOL` the program yields exactly a bool, and a text that cannot is a flaw.
    """
    text = str(text)
    try:
        return _compile(text, scope, result)
    except RecursionError:
        # nesting is limited, so this takes a caller that is itself deep in the stack
        return (Flaw("cel-too-deep", "the expression nests too deep", 0, len(text), SPLIT),)


def _compile(text: str, scope: Scope, result: Result) -> Program | tuple[Flaw, ...]:
    tree = parse(text)
    if isinstance(tree, tuple):
        return tree
    checked = check(tree, text, scope)
    if isinstance(checked, tuple):
        return checked
    flaw = not_boolean(checked.root) if result is Result.BOOL else None
    return (flaw,) if flaw is not None else Program(text, checked, result)
