"""The rules of what is read: literals, variables, fields, elements.

A field is a flaw where no value of its operand's type has it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from policyd.expr.cel.infer import told
from policyd.expr.cel.infer.operators import KEYS
from policyd.expr.cel.infer.visit import Rules, Visit
from policyd.expr.cel.tree import (
    Entry,
    Free,
    Has,
    Index,
    ListLiteral,
    Literal,
    Local,
    MapLiteral,
    Node,
    OptionalIndex,
    OptionalSelect,
    Select,
)
from policyd.expr.cel.values import CelType, UInt
from policyd.types import (
    ANYTHING,
    BOOL,
    BYTES,
    DURATION,
    INTEGER,
    NUMBER,
    TIMESTAMP,
    TYPE,
    Anything,
    ListOf,
    Member,
    ObjectOf,
    OptionalOf,
    Type,
    join,
    member_of,
    options,
    overlap,
    type_of_value,
)

_BESIDE_JSON: Final[dict[type, Type]] = {
    UInt: INTEGER,
    bytes: BYTES,
    datetime: TIMESTAMP,
    timedelta: DURATION,
    CelType: TYPE,
}


def literal(visit: Visit, node: Literal) -> Type:
    """A value that is known."""
    return _BESIDE_JSON.get(type(node.value)) or type_of_value(node.value)


def free(visit: Visit, node: Free) -> Type:
    """A variable of the activation."""
    return visit.fact(node) or visit.named(node.key)


def local(visit: Visit, node: Local) -> Type:
    """The variable of a macro."""
    return visit.fact(node) or visit.variables.get(node.slot, ANYTHING)


def select(visit: Visit, node: Select) -> Type:
    """`a.b`; of an optional, an optional."""
    operand = visit.type_of(node.operand)
    fact = visit.fact(node)
    if fact is not None:
        return fact
    if isinstance(operand, OptionalOf):
        return OptionalOf(_member(visit, node, operand.value, partly=False))
    return _member(visit, node, operand, partly=False)


def optional_select(visit: Visit, node: OptionalSelect) -> Type:
    """`a.?b`: what can never have it makes it useless, not wrong."""
    operand = visit.type_of(node.operand)
    held = operand.value if isinstance(operand, OptionalOf) else operand
    return OptionalOf(_member(visit, node, held, partly=True))


def has(visit: Visit, node: Has) -> Type:
    """`has(a.b)`; of what can never have it, the answer is known."""
    _member(visit, node, visit.type_of(node.operand), partly=True)
    return BOOL


def _member(
    visit: Visit, node: Select | OptionalSelect | Has, operand: Type, *, partly: bool
) -> Type:
    if operand is ANYTHING:
        return ANYTHING
    found = member_of(operand, node.field)
    if found is None:
        flaw = told.no_field(node, node.operand, operand, visit.world, visit.text)
        visit.tell(node, flaw, partly=partly)
        return ANYTHING
    return found


def index(visit: Visit, node: Index) -> Type:
    """`a[b]`; of an optional, an optional."""
    operand = visit.type_of(node.operand)
    if isinstance(operand, OptionalOf):
        return OptionalOf(_element(visit, node, operand.value))
    return _element(visit, node, operand)


def optional_index(visit: Visit, node: OptionalIndex) -> Type:
    """`a[?b]`."""
    operand = visit.type_of(node.operand)
    held = operand.value if isinstance(operand, OptionalOf) else operand
    return OptionalOf(_element(visit, node, held))


def _element(visit: Visit, node: Index | OptionalIndex, operand: Type) -> Type:
    key = visit.type_of(node.index)
    found = [part for option in options(operand) for part in _elements(option, key)]
    if not found:
        visit.tell(node, told.misfit(node, "[]", operand, key))
    return join(found)


def _elements(option: Type, key: Type) -> tuple[Type, ...]:
    """What *option* gives for a key that is not known; nothing where it takes no such key."""
    if isinstance(option, Anything):
        return (ANYTHING,)
    if isinstance(option, ListOf) and overlap(key, NUMBER):
        return (option.item,)
    if isinstance(option, ObjectOf) and overlap(key, KEYS):
        return (*(member.type for member in option.members.values()), option.rest or ANYTHING)
    return ()


def list_literal(visit: Visit, node: ListLiteral) -> Type:
    """`[a, b]`."""
    return ListOf(join([_entry(visit, item) for item in node.items]))


def map_literal(visit: Visit, node: MapLiteral) -> Type:
    """`{a: b}`."""
    members: dict[str, Member] = {}
    rest: Type | None = None
    for key, value in node.entries:
        visit.type_of(key)
        found = _entry(visit, value)
        if isinstance(key, Literal) and isinstance(key.value, str):
            members[key.value] = Member(found, not isinstance(value, Entry))
        else:
            rest = ANYTHING
    return ObjectOf("", members, rest)


def _entry(visit: Visit, node: Node) -> Type:
    """The type of an element of a literal, `?optional` among them."""
    if not isinstance(node, Entry):
        return visit.type_of(node)
    found = visit.type_of(node.optional)
    if not overlap(found, OptionalOf(ANYTHING)):
        visit.tell(node.optional, told.misfit(node, "?", found))
    return found.value if isinstance(found, OptionalOf) else ANYTHING


RULES: Final[Rules] = {
    Literal: literal,
    Free: free,
    Local: local,
    Select: select,
    OptionalSelect: optional_select,
    Has: has,
    Index: index,
    OptionalIndex: optional_index,
    ListLiteral: list_literal,
    MapLiteral: map_literal,
}
"""The rules of this module."""
