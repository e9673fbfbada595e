"""Which parts of expressions are the same computation, so that they give the same value.

Two parts are the same where they are written the same but for the place, the order of `==`, `&&`
and `||`, the direction of `<`, and the names of loop variables.  Every function is pure, so the
same computation gives the same value, or fails both times, throughout one invocation.  Knows
nodes by their fields alone, so that a kind of node it has never heard of is told apart too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final

from policyd.expr.cel.function import Function
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Free,
    Has,
    Index,
    Literal,
    Local,
    Loop,
    Node,
    Not,
    Or,
    Select,
)

JSON_NAMES: Final = frozenset(
    {
        "payload",
        "args",
        "tool",
        "prompt",
        "uri",
        "result",
        "event",
        "phase",
        "principal",
        "invoker",
        "session",
        "trace",
        "context",
        "config",
        "item",
    }
)
"""The names that stand for values that came as JSON, in which no number is NaN."""

FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""What a comparison becomes when its sides change places."""


_PLAIN: Final = frozenset({Select, Has})

_FIELD_NAMES: Final[dict[type[Node], tuple[str, ...]]] = {}


def field_names(node: Node) -> tuple[str, ...]:
    """The fields of a node, but for those that say where it stands."""
    names = _FIELD_NAMES.get(type(node))
    if names is None:
        names = tuple(f.name for f in fields(node) if f.name not in ("offset", "length"))
        _FIELD_NAMES[type(node)] = names
    return names


class Identity:
    """Numbers computations: two parts with one number are the same computation.

    json_slots: the loop variables that stand for values that came as JSON.
    """

    def __init__(self) -> None:
        self.json_slots: set[int] = set()
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[Node, int]] = {}
        self._within: dict[int, frozenset[int]] = {}

    def is_json(self, node: Node) -> bool:
        """True when the value of *node*, if it has one, came as JSON."""
        while isinstance(node, Select | Index):
            node = node.operand
        if isinstance(node, Local):
            return node.slot in self.json_slots
        return isinstance(node, Free) and node.key in JSON_NAMES

    def of(self, node: Node) -> int:
        """The number of *node*."""
        known = self._known.get(id(node))
        if known is None:
            # the node is kept, so that its id is not given to another
            known = self._known[id(node)] = (node, self._number(self._shape(node, ())))
        return known[1]

    def within(self, node: Node) -> frozenset[int]:
        """The numbers of *node* and of all parts below it."""
        number = self.of(node)
        found = self._within.get(number)
        if found is None:
            below = [self.within(child) for child in children(node)]
            found = self._within[number] = frozenset((number,)).union(*below)
        return found

    def _number(self, shape: Any) -> int:
        return self._numbers.setdefault(shape, len(self._numbers))

    def _below(self, node: Node, bound: tuple[int, ...]) -> int:
        return self._number(self._shape(node, bound)) if bound else self.of(node)

    def _shape(self, node: Node, bound: tuple[int, ...]) -> Any:
        """What *node* is made of; *bound* are the loop variables between it and the top."""
        kind = type(node)
        if kind in _PLAIN:
            return (kind, self._below(node.operand, bound), node.field)  # type: ignore[attr-defined]
        if isinstance(node, Literal):
            return (Literal, type(node.value), repr(node.value))
        if isinstance(node, Local) and node.slot in bound:
            return ("bound", len(bound) - bound.index(node.slot))
        if isinstance(node, Binary):
            return self._binary(node, bound)
        if isinstance(node, And | Or):
            return (kind, frozenset([self._below(operand, bound) for operand in node.operands]))
        parts: list[Any] = [kind]
        skipped: tuple[str, ...] = ()
        if isinstance(node, Loop):
            parts += [len(node.slots), self._below(node.source, bound)]
            bound, skipped = (*bound, *node.slots), ("source", "slots")
        for name in field_names(node):
            if name not in skipped:
                parts.append(self._part(getattr(node, name), bound))
        return tuple(parts)

    def _binary(self, node: Binary, bound: tuple[int, ...]) -> Any:
        operator = node.operator
        left, right = self._below(node.left, bound), self._below(node.right, bound)
        if operator in (">", ">=") or (operator in ("==", "!=") and right < left):
            operator, left, right = FLIPPED[operator], right, left
        return (Binary, operator, left, right)

    def _part(self, value: Any, bound: tuple[int, ...]) -> Any:
        if isinstance(value, Node):
            return self._below(value, bound)
        if isinstance(value, tuple):
            return tuple([self._part(item, bound) for item in value])
        # a function is a constant, and slow to compare
        return id(value) if isinstance(value, Function) else value


def children(node: Node) -> Sequence[Node]:
    """The parts right below *node*, in the order of its fields."""
    below = _BELOW.get(type(node))
    return _found(node) if below is None else below(node)


def _found(node: Node) -> list[Node]:
    found: list[Node] = []
    stack = [getattr(node, name) for name in reversed(field_names(node))]
    while stack:
        value = stack.pop()
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            stack += reversed(value)
    return found


_BELOW: Final[dict[type[Node], Callable[[Any], Sequence[Node]]]] = {
    Literal: lambda node: (),
    Free: lambda node: (),
    Local: lambda node: (),
    Select: lambda node: (node.operand,),
    Has: lambda node: (node.operand,),
    Not: lambda node: (node.operand,),
    Binary: lambda node: (node.left, node.right),
    Apply: lambda node: node.arguments,
    And: lambda node: node.operands,
    Or: lambda node: node.operands,
}
"""Shortcuts for the commonest kinds."""
