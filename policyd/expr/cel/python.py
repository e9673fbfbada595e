"""Pieces of Python's own syntax tree, as the fast path needs them.

Knows Python's `ast` module, and gives every piece the same place, since there is no text.  Knows
no CEL.
"""

from __future__ import annotations

import ast
from typing import Final, TypedDict


class _Place(TypedDict):
    lineno: int
    col_offset: int


PLACE: Final[_Place] = {"lineno": 1, "col_offset": 0}
"""What every node is given."""
LOAD: Final = ast.Load()
"""The context of what is read."""
STORE: Final = ast.Store()
"""The context of what is written."""

ORDER: Final[dict[str, ast.cmpop]] = {
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
"""The comparisons, as CEL and Python write them."""


def name(name: str) -> ast.expr:
    """A variable."""
    return ast.Name(name, LOAD, **PLACE)


def text(text: str) -> ast.expr:
    """A text."""
    return ast.Constant(text, **PLACE)


def read(key: str) -> ast.expr:
    """`activation[key]`."""
    return ast.Subscript(name("activation"), text(key), LOAD, **PLACE)


def made_tuple(*items: ast.expr) -> ast.expr:
    """`(a, b)`."""
    return ast.Tuple(list(items), LOAD, **PLACE)


def compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    """`left operator right`."""
    return ast.Compare(left, [operator], [right], **PLACE)


def spread(items: ast.expr) -> ast.expr:
    """`*items`."""
    return ast.Starred(items, LOAD, **PLACE)


def function(body: ast.expr, *parameters: str) -> ast.expr:
    """`lambda parameters: body`."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(parameter, **PLACE) for parameter in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.Lambda(arguments, body, **PLACE)
