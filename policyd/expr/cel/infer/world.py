"""What is known at one place of an expression because of the conditions before it.

In `event == "tools/call" && args.x == 1` the right side is only asked in one event; behind
`type(x) == string &&` a value is a text whatever its schema says.  Knows which conditions say
such things; knows no flaw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Free,
    Has,
    ListLiteral,
    Literal,
    Local,
    Node,
    Not,
    Or,
    Select,
)
from policyd.expr.cel.values import CelType
from policyd.types import (
    BOOL,
    BYTES,
    CIDR,
    DURATION,
    INTEGER,
    IP,
    LIST,
    NULL,
    NUMBER,
    OPEN_MAP,
    STRING,
    TIMESTAMP,
    TYPE,
    Moment,
    Type,
    join,
    moment,
)

Place = tuple[str | int, ...]
"""A variable and the fields that lead from it to a value."""

_OF_NAMES: Final[Mapping[str, Type]] = {
    "bool": BOOL,
    "int": INTEGER,
    "uint": INTEGER,
    "double": NUMBER,
    "string": STRING,
    "bytes": BYTES,
    "list": LIST,
    "map": OPEN_MAP,
    "null_type": NULL,
    "type": TYPE,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
    "net.IP": IP,
    "net.CIDR": CIDR,
}


@dataclass(frozen=True, slots=True)
class World:
    """What is known.

    moments: those in which this place is reached; empty where nobody says in which.
    facts: what the value of a place is, stronger than any schema.
    dead: it is never reached.
    """

    moments: tuple[Moment, ...] = ()
    facts: Mapping[Place, Type] | None = None
    dead: bool = False

    def with_fact(self, place: Place, type: Type) -> World:
        """The same, and the value at *place* is of *type*."""
        return replace(self, facts={**(self.facts or {}), place: type})


def place_of(node: Node) -> Place | None:
    """The place that *node* reads, each under one name; None for any other part."""
    fields: list[str | int] = []
    while isinstance(node, Select):
        fields.append(node.field)
        node = node.operand
    if isinstance(node, Local):
        fields.append(node.slot)
    elif isinstance(node, Free):
        fields.append("payload" if node.key == "result" else node.key)
    else:
        return None
    place = tuple(reversed(fields))
    return ("args", *place[2:]) if place[:2] == ("payload", "arguments") else place


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What worlds are narrowed with.

    tools: what the arguments of each known tool are.
    exists: False for a `has(...)` that nothing can have, at this moment.
    """

    tools: Mapping[str, Type]
    exists: Callable[[Has], bool]

    def assume(self, world: World, node: Node, truth: bool) -> World:
        """*world* where the condition *node* has turned out to be *truth*."""
        if isinstance(node, Not):
            return self.assume(world, node.operand, not truth)
        if isinstance(node, And | Or):
            if isinstance(node, And) is truth:
                for operand in node.operands:
                    world = self.assume(world, operand, truth)
            return world
        if isinstance(node, Has):
            return replace(world, dead=True) if truth and not self.exists(node) else world
        return self._compared(world, node, truth) if isinstance(node, Binary) else world

    def _compared(self, world: World, node: Binary, truth: bool) -> World:
        if node.operator == "!=":
            truth = not truth
        elif node.operator not in ("==", "in"):
            return world
        subject, values = node.left, _values(node)
        if values is None and node.operator != "in":
            subject, values = node.right, _known(node.left)
        if values is None:
            return world
        if isinstance(subject, Apply) and subject.function.name == "type":
            return _typed(world, subject.arguments[0], values) if truth else world
        place = place_of(subject)
        if place in (("event",), ("phase",)):
            return _in_moments(world, str(place[0]), values, truth)
        return self._of_tools(world, values) if truth and _is_tool(world, place) else world

    def _of_tools(self, world: World, tools: tuple[Any, ...]) -> World:
        if not tools or not all(isinstance(tool, str) and tool in self.tools for tool in tools):
            return world
        return world.with_fact(("args",), join(self.tools[tool] for tool in tools))


def _values(node: Binary) -> tuple[Any, ...] | None:
    """What the right side says: one value, or the elements of a list; None where unknown."""
    if node.operator != "in":
        return _known(node.right)
    if isinstance(node.right, ListLiteral):
        found = [_known(item) for item in node.right.items]
        known = [values[0] for values in found if values is not None]
        return tuple(known) if len(known) == len(found) else None
    if isinstance(node.right, Literal) and isinstance(node.right.value, list):
        return tuple(node.right.value)
    return None


def _known(node: Node) -> tuple[Any, ...] | None:
    if not isinstance(node, Literal) or not isinstance(node.value, str | CelType):
        return None
    return (node.value,)


def _is_tool(world: World, place: Place | None) -> bool:
    if place == ("tool",):
        return True
    calls = all((m.event, m.phase) == ("tools/call", "request") for m in world.moments)
    return place == ("payload", "name") and bool(world.moments) and calls


def _typed(world: World, node: Node, values: tuple[Any, ...]) -> World:
    place = place_of(node)
    kinds = [_OF_NAMES.get(value.name) for value in values if isinstance(value, CelType)]
    known = [kind for kind in kinds if kind is not None]
    if place is None or not known or len(known) < len(values):
        return world
    return world.with_fact(place, join(known))


def _in_moments(world: World, name: str, values: tuple[Any, ...], truth: bool) -> World:
    """*world* in the moments whose event or phase is (not) among *values*."""
    if not world.moments:
        return world
    kept = [m for m in world.moments if (getattr(m, name) in values) is truth]
    if name == "event" and truth:
        # events that nobody has listed turn out to be listed ones
        rest = {m.phase for m in world.moments if m.event == "*"}
        seen = {(m.event, m.phase) for m in kept}
        named = [value for value in values if isinstance(value, str)]
        wanted = [(event, phase) for event in named for phase in sorted(rest)]
        kept += [moment(*pair) for pair in wanted if pair not in seen]
    return replace(world, moments=tuple(kept), dead=world.dead or not kept)
