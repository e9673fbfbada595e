"""The rules of what is worked out: calls, conditions, arithmetic, comparisons."""

from __future__ import annotations

from typing import Final

from policyd.expr.cel.infer import told
from policyd.expr.cel.infer.operators import KEYS, computed, ordered
from policyd.expr.cel.infer.signatures import signature_of
from policyd.expr.cel.infer.visit import Rules, Visit
from policyd.expr.cel.infer.world import place_of
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Conditional,
    Literal,
    Negate,
    Node,
    Not,
    OptionalOr,
    OptionalSelect,
    Or,
    Select,
)
from policyd.expression import Flaw
from policyd.types import (
    ANYTHING,
    BOOL,
    IP,
    LIST,
    NULL,
    NUMBER,
    OPEN_MAP,
    STRING,
    Anything,
    ListOf,
    ObjectOf,
    Scalar,
    Type,
    join,
    options,
    overlap,
)

CONTAINERS: Final = join((LIST, OPEN_MAP))
"""What `in` looks into, and what macros visit."""

_ORDER: Final = ("<", "<=", ">", ">=")


def apply(visit: Visit, node: Apply) -> Type:
    """A call of a function."""
    arguments = tuple([visit.type_of(argument) for argument in node.arguments])
    signature = signature_of(node.function)
    for part, wanted, found in zip(node.arguments, signature.takes, arguments, strict=False):
        if not overlap(wanted, found):
            visit.tell(part, told.wrong_argument(part, node.function.name, wanted, found))
        elif wanted == IP and found == ANYTHING and _is_sent(part):
            visit.tell(part, told.no_address(part, node.function.name))
    return signature.result(arguments)


def _is_sent(node: Node) -> bool:
    """True where *node* reads something that was sent, which is JSON."""
    place = place_of(node)
    return place is not None and place[0] in _SENT


_SENT: Final = frozenset({"payload", "args", "context", "principal", "invoker", "config", "item"})


def invert(visit: Visit, node: Not) -> Type:
    """`!a`."""
    visit.condition(node.operand, "`!` needs a condition")
    return BOOL


def negate(visit: Visit, node: Negate) -> Type:
    """`-a`."""
    operand = visit.type_of(node.operand)
    if not overlap(operand, NUMBER):
        visit.tell(node, told.misfit(node, "-", operand))
    return NUMBER


def logic(visit: Visit, node: And | Or) -> Type:
    """`a && b` and `a || b`: each part is asked only where those before it leave it open."""
    before = visit.world
    symbol = "&&" if isinstance(node, And) else "||"
    for operand in node.operands:
        visit.condition(operand, f"`{symbol}` needs conditions")
        visit.assume(operand, isinstance(node, And))
    visit.world = before
    return BOOL


def conditional(visit: Visit, node: Conditional) -> Type:
    """`a ? b : c`."""
    visit.condition(node.condition, "`?` needs a condition")
    before, parts = visit.world, []
    for part, truth in ((node.then, True), (node.otherwise, False)):
        visit.assume(node.condition, truth)
        if not visit.world.dead:
            parts.append(visit.type_of(part))
        visit.world = before
    return join(parts)


def binary(visit: Visit, node: Binary) -> Type:
    """`a + b` and its like."""
    left, right = visit.type_of(node.left), visit.type_of(node.right)
    if node.operator in ("==", "!="):
        _equality(visit, node, left, right)
    elif node.operator == "in":
        _membership(visit, node, left, right)
    elif node.operator in _ORDER:
        if not ordered(left, right):
            visit.tell(node, told.misfit(node, node.operator, left, right))
    else:
        found = computed(node.operator, left, right)
        if found is None:
            visit.tell(node, told.misfit(node, node.operator, left, right))
        return found or ANYTHING
    return BOOL


def _equality(visit: Visit, node: Binary, left: Type, right: Type) -> None:
    if overlap(left, right):
        return
    other = node.right if left == NULL else node.left
    if NULL in (left, right) and isinstance(other, Select | OptionalOr):
        return  # some peers send null for what they leave out
    flaw = told.never_equal(node, (node.left, left), (node.right, right), visit.text)
    visit.tell(node, flaw, partly=True)


def _membership(visit: Visit, node: Binary, element: Type, container: Type) -> None:
    if not overlap(container, CONTAINERS):
        help = "write `text.contains(part)`" if overlap(container, STRING) else None
        visit.tell(node, told.misfit(node, "in", element, container, help=help))
    elif not any(_may_hold(option, element) for option in options(container)):
        visit.tell(node, _never_in(visit, node, element, container), partly=True)


def _never_in(visit: Visit, node: Binary, element: Type, container: Type) -> Flaw:
    key = node.left
    lists = [option.item for option in options(container) if isinstance(option, ListOf)]
    if not lists and isinstance(key, Literal) and isinstance(key.value, str):
        field = OptionalSelect(key.offset, key.length, node.right, key.value)
        return told.no_field(field, node.right, container, visit.world, visit.text)
    items = join(lists or [STRING])
    return told.never_equal(node, (node.left, element), (node.right, items), visit.text)


def _may_hold(container: Type, element: Type) -> bool:
    if isinstance(container, ListOf):
        return overlap(container.item, element)
    if not isinstance(container, ObjectOf):
        return isinstance(container, Anything)
    if container.rest is not None or not overlap(element, STRING):
        return overlap(element, KEYS)
    listed = [option.values for option in options(element) if isinstance(option, Scalar)]
    names = frozenset().union(*(values or () for values in listed))
    return not names or not names.isdisjoint(container.members)


RULES: Final[Rules] = {
    Apply: apply,
    Not: invert,
    Negate: negate,
    And: logic,
    Or: logic,
    Conditional: conditional,
    Binary: binary,
}
"""The rules of this module."""
