"""The rules of macros: loops, `cel.bind`, and what is asked of optionals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from policyd.expr.cel.infer import told
from policyd.expr.cel.infer.operations import CONTAINERS
from policyd.expr.cel.infer.visit import Rules, Visit
from policyd.expr.cel.tree import Bind, Loop, OptionalMap, OptionalOr
from policyd.types import (
    ANYTHING,
    BOOL,
    INTEGER,
    OPEN_MAP,
    OPTIONAL,
    STRING,
    Anything,
    ListOf,
    ObjectOf,
    OptionalOf,
    Type,
    join,
    options,
    overlap,
)

_GIVES: Final[dict[str, Callable[[Type, Type], Type]]] = {
    "filter": lambda item, result: ListOf(item),
    "sortBy": lambda item, result: ListOf(item),
    "map": lambda item, result: ListOf(result),
    "transformMap": lambda item, result: ObjectOf("", {}, result),
    "transformMapEntry": lambda item, result: OPEN_MAP,
}
"""What a macro gives, of its first variable and its result; all others give a bool."""


def loop(visit: Visit, node: Loop) -> Type:
    """A macro over the elements of a list, or the keys of a map."""
    source = visit.type_of(node.source)
    if not overlap(source, CONTAINERS):
        visit.tell(node, told.no_loop(node, node.macro, source))
        source = ANYTHING
    visited = [_visited(option, len(node.slots)) for option in options(source)]
    for place, slot in enumerate(node.slots):
        visit.variables[slot] = join(types[place] for types in visited if types)
    before = visit.world
    if node.test is not None:
        visit.condition(node.test, f"`{node.macro}` needs a condition")
        visit.assume(node.test, True)
    result = ANYTHING if node.result is None else visit.type_of(node.result)
    visit.world = before
    gives = _GIVES.get(node.macro)
    return BOOL if gives is None else gives(visit.variables[node.slots[0]], result)


def _visited(source: Type, variables: int) -> tuple[Type, ...]:
    """What the variables of a loop over *source* are; nothing where it cannot be visited."""
    if isinstance(source, ListOf):
        return (source.item,) if variables == 1 else (INTEGER, source.item)
    if isinstance(source, ObjectOf):
        return (STRING,) if variables == 1 else (STRING, _values_of(source))
    return (ANYTHING,) * variables if isinstance(source, Anything) else ()


def _values_of(source: ObjectOf) -> Type:
    rest = () if source.rest is None else (source.rest,)
    return join((*(member.type for member in source.members.values()), *rest))


def bind(visit: Visit, node: Bind) -> Type:
    """`cel.bind(x, value, body)`."""
    visit.variables[node.slot] = visit.type_of(node.value)
    return visit.type_of(node.body)


def optional_map(visit: Visit, node: OptionalMap) -> Type:
    """`a.optMap(x, result)` and `a.optFlatMap(x, result)`."""
    source = visit.type_of(node.source)
    name = "optFlatMap" if node.flat else "optMap"
    if not overlap(source, OPTIONAL):
        visit.tell(node, told.misfit(node, name, source))
    visit.variables[node.slot] = source.value if isinstance(source, OptionalOf) else ANYTHING
    result = visit.type_of(node.result)
    return result if node.flat else OptionalOf(result)


def optional_or(visit: Visit, node: OptionalOr) -> Type:
    """`a.or(b)` and `a.orValue(b)`."""
    operand, otherwise = visit.type_of(node.operand), visit.type_of(node.otherwise)
    if not overlap(operand, OPTIONAL):
        visit.tell(node, told.misfit(node, "orValue" if node.unwrapped else "or", operand))
        return ANYTHING
    held = operand.value if isinstance(operand, OptionalOf) else ANYTHING
    return join((held, otherwise)) if node.unwrapped else join((OptionalOf(held), otherwise))


RULES: Final[Rules] = {
    Loop: loop,
    Bind: bind,
    OptionalMap: optional_map,
    OptionalOr: optional_or,
}
"""The rules of this module."""
