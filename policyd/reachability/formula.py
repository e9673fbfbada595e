"""A condition with a wanted outcome, as facts that hold together and alternatives.

Knows the logic of CEL: `!`, `&&`, `||`, `?:`, and `in` a list that is spelt out.  CEL's third
outcome, the error, is neither true nor false: a fact that fails is in no alternative.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policyd.expr.cel.tree import And, Binary, Conditional, Entry, ListLiteral, Node, Not, Or
from policyd.reachability.facts import Fact, Origin


@dataclass(frozen=True, slots=True)
class All:
    """What holds together."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Of which at least one holds; there is one at least."""

    options: tuple[Formula, ...]


Formula = Fact | All | Either


def formula(node: Node, wanted: bool, origin: Origin) -> Formula:
    """That the outcome of *node*, which is written out, is *wanted*."""
    if isinstance(node, Not):
        return formula(node.operand, not wanted, origin)
    if isinstance(node, And | Or):
        parts = tuple([formula(operand, wanted, origin) for operand in node.operands])
        return All(parts) if isinstance(node, And) is wanted else Either(parts)
    if isinstance(node, Conditional):
        then = (formula(node.condition, True, origin), formula(node.then, wanted, origin))
        otherwise = (
            formula(node.condition, False, origin),
            formula(node.otherwise, wanted, origin),
        )
        return Either((All(then), All(otherwise)))
    if isinstance(node, Binary) and node.operator == "in" and _is_spelt_out(node.right):
        assert isinstance(node.right, ListLiteral)
        parts = tuple([_is(node, item, wanted, origin) for item in node.right.items])
        return Either(parts) if wanted else All(parts)
    return Fact(node, wanted, origin)


def _is_spelt_out(node: Node) -> bool:
    """True for a list of which all elements are surely there."""
    return isinstance(node, ListLiteral) and not any(isinstance(i, Entry) for i in node.items)


def _is(node: Binary, item: Node, wanted: bool, origin: Origin) -> Fact:
    return Fact(Binary(node.offset, node.length, "==", node.left, item), wanted, origin)


def first_alternative(formulas: Iterable[Formula]) -> list[Fact]:
    """The facts of *formulas* where always the first option is taken."""
    found: list[Fact] = []
    stack = list(formulas)
    while stack:
        part = stack.pop()
        if isinstance(part, Fact):
            found.append(part)
        elif isinstance(part, All):
            stack += part.parts
        else:
            stack.append(part.options[0])
    return found
