"""CEL, the language of conditions: compiled once into Python over plain JSON values.

    text -> lex -> parse -> check -> infer -> interpret (exact) and generate (fast) -> Program

Semantics are those of the CEL language definition, over JSON: no protobuf messages, numbers on
one number line.  `infer` refuses what the types of the scope make impossible.  The two paths
believe no schema: what they leave out is what `kinds` knows of any value whatever.
"""

from __future__ import annotations

from dataclasses import replace

from policyd.expr.cel.check import check
from policyd.expr.cel.infer import assume, infer
from policyd.expr.cel.lex import SPLIT
from policyd.expr.cel.parse import parse
from policyd.expr.cel.program import Program, Result
from policyd.expression import Flaw, Scope

__all__ = ["Program", "Result", "compile_cel", "given_by"]


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


def given_by(condition: Program, scope: Scope) -> Scope:
    """*scope* for expressions that are asked only where *condition*, compiled in it, holds."""
    return replace(scope, given=assume(condition.checked.root, condition.text, scope))


def _compile(text: str, scope: Scope, result: Result) -> Program | tuple[Flaw, ...]:
    tree = parse(text)
    if isinstance(tree, tuple):
        return tree
    checked = check(tree, text, scope)
    if isinstance(checked, tuple):
        return checked
    inference = infer(checked.root, text, scope, boolean=result is Result.BOOL)
    return inference.flaws or Program(text, checked, result, inference.type)
