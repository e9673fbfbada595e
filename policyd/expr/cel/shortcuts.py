"""Where Python's own operators mean what CEL's do.

Knows the parts of a checked tree and what is known of their values.  Knows nothing of how code
is made.
"""

from __future__ import annotations

from typing import Any

from policyd.expr.cel import values
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.kinds import Kind, kind_of
from policyd.expr.cel.tree import ListLiteral, Literal, Node, literal_values


def is_singleton(value: Any) -> bool:
    """True for the values of which there is one each: `is` tells them."""
    return value is None or value is True or value is False


def is_plain_equality(left: Node, right: Node) -> bool:
    """True where Python's `==` is CEL's: it differs for `1 == true` and inside of lists."""
    kinds = (kind_of(left), kind_of(right))
    if Kind.STRING in kinds or kinds == (Kind.NUMBER, Kind.NUMBER):
        return True
    return any(
        isinstance(node, Literal)
        and type(node.value) in values.NUMBERS
        and node.value not in (0, 1)
        for node in (left, right)
    )


def members(node: Node) -> list[Any] | None:
    """The elements of a list that is known."""
    if isinstance(node, Literal) and type(node.value) is list:
        return node.value
    if isinstance(node, ListLiteral) and NOT_LITERAL not in literal_values(node.items):
        return list(literal_values(node.items))
    return None


def is_plain_member(value: Any) -> bool:
    """True where a set finds *value* as CEL does; `0` and `1` are no bools to CEL."""
    kind = type(value)
    return kind is str or value is None or (kind in (int, float) and value not in (0, 1))
