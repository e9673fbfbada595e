"""Writes an expression out: its variables put in, what is constant computed.

What comes out has the same outcome as what went in, whatever the payload: the same value, or an
error in the same cases.  A part that fails for every payload becomes `Broken`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel.interpret import Frame, interpret
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Conditional,
    Free,
    Has,
    Index,
    ListLiteral,
    Literal,
    Local,
    Loop,
    MapLiteral,
    Negate,
    Node,
    Not,
    Or,
    Select,
)
from policyd.expression import Budget
from policyd.reachability.domain import kind_of
from policyd.reachability.identity import Identity, children, field_names

MAX_NODES: Final = 2_000
"""Parts that the variables of one expression may add to it; what would be more stays a name."""

MAX_VARIABLE: Final = 200
"""Parts of a variable that is put in; a larger one stays a name wherever it is used."""

_FIRST_SLOT: Final = 4_096
"""Above every number that the checker gives to a loop variable: one takes a character or more."""

_STEPS: Final = 10_000
"""What computing one constant may cost."""

_OPERATORS: Final = frozenset(
    {Select, Has, Index, Apply, Not, Negate, Binary, ListLiteral, MapLiteral}
)
"""The kinds of nodes whose value is computed from the values of all their parts."""

_LOGIC: Final = frozenset({And, Or, Conditional})

_MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})


@dataclass(frozen=True, slots=True)
class Broken(Node):
    """What cannot be evaluated, whatever the payload."""


class Writer:
    """Writes expressions out, so that loop variables stay apart."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._slots = _FIRST_SLOT
        self._variables: dict[str, Node] = {}

    def define(self, key: str, root: Node) -> None:
        """Put *root*, written out, in where the activation would be asked for *key*."""
        tree = self.write_out(root)
        if _size(tree) <= MAX_VARIABLE:
            self._variables[key] = tree

    def write_out(self, root: Node) -> Node:
        """*root* with the variables defined so far put in."""
        return _Pass(self._identity, self._variables, {}, self).visit(root, {})

    def put_in(self, root: Node, known: Mapping[int, Literal]) -> Node:
        """*root*, written out, with the values of computations that are known put in."""
        return _Pass(self._identity, {}, known, self).visit(root, {})

    def new_slot(self) -> int:
        """A number that no loop variable has yet."""
        self._slots += 1
        return self._slots - 1


class _Pass:
    """One expression on its way."""

    def __init__(
        self,
        identity: Identity,
        variables: Mapping[str, Node],
        known: Mapping[int, Literal],
        writer: Writer,
    ) -> None:
        self._identity = identity
        self._variables = variables
        self._known = known
        self._writer = writer
        self._room = MAX_NODES

    def visit(self, node: Node, slots: Mapping[int, int]) -> Node:
        """*node* written out; *slots* are the new numbers of the loop variables around it."""
        kind = type(node)
        if kind is Literal or kind is Broken:
            return node
        value = self._known.get(self._identity.of(node)) if self._known else None
        if value is not None:
            return value
        if isinstance(node, Free):
            return self._free(node)
        if isinstance(node, Local):
            return replace(node, slot=slots[node.slot]) if node.slot in slots else node
        return self._loop(node, slots) if isinstance(node, Loop) else self._inner(node, slots)

    def _inner(self, node: Node, slots: Mapping[int, int]) -> Node:
        if isinstance(node, Select | Has | Not | Negate):
            operand = self.visit(node.operand, slots)
            if operand is not node.operand:
                node = replace(node, operand=operand)
            return self._settled(node, (operand,))
        if isinstance(node, Binary):
            left, right = self.visit(node.left, slots), self.visit(node.right, slots)
            if left is not node.left or right is not node.right:
                node = replace(node, left=left, right=right)
            return self._settled(node, (left, right))
        node = self._rebuilt(node, slots)
        return self._settled(node, children(node))

    def _rebuilt(self, node: Node, slots: Mapping[int, int]) -> Node:
        changed = {}
        for name in field_names(node):
            before = getattr(node, name)
            after = self._part(before, slots)
            if after is not before:
                changed[name] = after
        return replace(node, **changed) if changed else node

    def _part(self, value: Any, slots: Mapping[int, int]) -> Any:
        if isinstance(value, Node):
            return self.visit(value, slots)
        if isinstance(value, tuple):
            parts = tuple([self._part(item, slots) for item in value])
            same = all(one is other for one, other in zip(parts, value, strict=True))
            return value if same else parts
        return value

    def _free(self, node: Free) -> Node:
        written = self._variables.get(node.key)
        if written is None:
            return node
        size = _size(written)
        if size > self._room:
            return node
        self._room -= size
        return self._moved(written, node, {})

    def _moved(self, node: Node, place: Node, slots: Mapping[int, int]) -> Node:
        """*node* as if it stood at *place*, with loop variables of its own."""
        changed: dict[str, Any] = {"offset": place.offset, "length": place.length}
        if isinstance(node, Local):
            return replace(node, **changed, slot=slots.get(node.slot, node.slot))
        if isinstance(node, Loop):
            slots = self._renewed(node, slots)
            changed["slots"] = tuple([slots[slot] for slot in node.slots])
        for name in field_names(node):
            if name not in changed and not isinstance(node, Literal):
                changed[name] = self._moved_part(getattr(node, name), place, slots)
        return replace(node, **changed)

    def _moved_part(self, value: Any, place: Node, slots: Mapping[int, int]) -> Any:
        if isinstance(value, Node):
            return self._moved(value, place, slots)
        if isinstance(value, tuple):
            return tuple([self._moved_part(item, place, slots) for item in value])
        return value

    def _renewed(self, loop: Loop, slots: Mapping[int, int]) -> dict[int, int]:
        """*slots* and new numbers for the variables of *loop*."""
        new = {slot: self._writer.new_slot() for slot in loop.slots}
        if loop.macro in _MACROS and self._identity.is_json(loop.source):
            self._identity.json_slots.update(new.values())
        return {**slots, **new}

    def _loop(self, node: Loop, slots: Mapping[int, int]) -> Node:
        source = self.visit(node.source, slots)
        node = replace(node, source=source)
        inner = self._renewed(node, slots)
        changed: dict[str, Any] = {"slots": tuple([inner[slot] for slot in node.slots])}
        for name in field_names(node):
            if name not in ("source", "slots"):
                changed[name] = self._part(getattr(node, name), inner)
        return self._settled(replace(node, **changed), ())

    def _settled(self, node: Node, below: Sequence[Node]) -> Node:
        """*node*, of which *below* are the parts, or what is known of it already."""
        kind = type(node)
        if isinstance(node, Loop):
            if isinstance(node.source, Broken):
                return node.source
            return _computed(node) if _is_closed(node) else node
        if kind not in _OPERATORS and kind not in _LOGIC:
            return node
        constant = True
        for child in below:
            known = type(child)
            if known is Broken and kind in _OPERATORS:
                return Broken(*hull(node))
            constant = constant and known is Literal
        return _computed(node) if constant else node


def _size(root: Node) -> int:
    size, stack = 0, [root]
    while stack:
        size += 1
        stack += children(stack.pop())
    return size


def _is_closed(loop: Loop) -> bool:
    """True when *loop* depends on nothing but itself."""
    own: set[int] = set()
    used: set[int] = set()
    stack: list[Node] = [loop]
    while stack:
        node = stack.pop()
        if isinstance(node, Free | Broken) or type(node) not in _KNOWN:
            return False
        if isinstance(node, Loop):
            own.update(node.slots)
        if isinstance(node, Local):
            used.add(node.slot)
        stack += children(node)
    return used <= own


_KNOWN: Final = _OPERATORS | _LOGIC | {Literal, Local, Loop}


def _computed(node: Node) -> Node:
    """The value of *node*, which depends on no payload; *node* itself where it costs too much."""
    slots = max((slot for loop in _loops(node) for slot in loop.slots), default=-1) + 1
    try:
        value = interpret(node)(Frame({}, Budget(_STEPS, math.inf), slots))
    except EvaluationError as error:
        return Broken(*hull(node)) if error.cause is Cause.ERROR else node
    return Literal(*hull(node), value) if _is_plain(value) else node


def hull(root: Node) -> tuple[int, int]:
    """The offset and the length of the text between the first and the last word of *root*."""
    start, end = root.offset, root.offset + root.length
    stack = list(children(root))
    while stack:
        node = stack.pop()
        start, end = min(start, node.offset), max(end, node.offset + node.length)
        stack += children(node)
    return start, end - start


def _loops(root: Node) -> list[Loop]:
    found: list[Loop] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Loop):
            found.append(node)
        stack += children(node)
    return found


def _is_plain(value: Any) -> bool:
    """True for values that a text tells apart: those of JSON and times."""
    stack = [value]
    while stack:
        item = stack.pop()
        if kind_of(item) == "other":
            return False
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
    return True
