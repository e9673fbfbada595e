"""The syntax tree of an expression.

Knows what an expression is made of, and where in the text each part stands.  The parser makes
names, selections and calls as they are written; the checker turns them into what they refer to
(`Free`, `Local`, `Apply`, `Loop`, `Bind`, ...), so that after it no `Name` and no `Call` is left.
Evaluates nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policyd.expr.cel.function import NOT_LITERAL, Function


@dataclass(frozen=True, slots=True)
class Node:
    """Any part of an expression.

    offset, length: the word to point at when something is wrong with this part, such as the
        operator or the name; code points from the start of the text.
    """

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A value that is known: a literal, a constant of the policy file, the name of a type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name as written; *absolute* when a dot stands before it, which skips loop variables."""

    name: str
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Free(Node):
    """A value that the activation holds under *key*: a variable, or `variables.NAME`."""

    key: str


@dataclass(frozen=True, slots=True)
class Local(Node):
    """The variable of a macro; *slot* is unique in the expression."""

    slot: int


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`, and `operand['field']`."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Has(Node):
    """`has(operand.field)`."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class OptionalSelect(Node):
    """`operand.?field`, and `operand[?'field']`: an optional, empty where there is no such key."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`operand[index]`."""

    operand: Node
    index: Node


@dataclass(frozen=True, slots=True)
class OptionalIndex(Node):
    """`operand[?index]`: an optional, empty where there is no such element."""

    operand: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call as written: of a function, a method, a namespaced function or a macro."""

    name: str
    receiver: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """A call of a known function; the receiver is the first argument."""

    function: Function
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """`!operand`."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """`-operand`."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And(Node):
    """`a && b && c`: a chain is one node, so that its length is not depth."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """`a || b || c`."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`condition ? then : otherwise`."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`left operator right`, for `== != < <= > >= in + - * / %`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """`[item, ...]`; an item may be an Entry."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """`{key: value, ...}`; a value may be an Entry."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Entry(Node):
    """`?optional` in a list or map literal: there when the optional has a value, else left out."""

    optional: Node


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """A macro that visits *source*, a list or a map.

    macro: all, exists, exists_one, filter, map (with two variables it is `transformList`),
        transformMap, transformMapEntry or sortBy.
    slots: of its one or two variables, in the order of writing.
    test: the condition; None where a macro has none.
    result: what `map` makes of each element: `transformMap` a value, `transformMapEntry` a map
        of new entries, `sortBy` what is compared; None for all, exists, exists_one and filter.
    """

    macro: str
    source: Node
    slots: tuple[int, ...]
    test: Node | None
    result: Node | None


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """`cel.bind(x, value, body)`: *body* with *value* in *slot*, worked out when first read."""

    slot: int
    value: Node
    body: Node


@dataclass(frozen=True, slots=True)
class OptionalMap(Node):
    """`source.optMap(x, result)`, or `optFlatMap` where *flat*: then *result* is an optional."""

    source: Node
    slot: int
    result: Node
    flat: bool


@dataclass(frozen=True, slots=True)
class OptionalOr(Node):
    """`operand.or(otherwise)`, or `orValue` where *unwrapped*; *otherwise* only where needed."""

    operand: Node
    otherwise: Node
    unwrapped: bool


_CHILDREN: Final[dict[type[Node], Callable[[Any], tuple[Node, ...]]]] = {
    Select: lambda node: (node.operand,),
    Has: lambda node: (node.operand,),
    OptionalSelect: lambda node: (node.operand,),
    Index: lambda node: (node.operand, node.index),
    OptionalIndex: lambda node: (node.operand, node.index),
    Call: lambda node: (*node.arguments, *_present(node.receiver)),
    Apply: lambda node: node.arguments,
    Not: lambda node: (node.operand,),
    Negate: lambda node: (node.operand,),
    And: lambda node: node.operands,
    Or: lambda node: node.operands,
    Conditional: lambda node: (node.condition, node.then, node.otherwise),
    Binary: lambda node: (node.left, node.right),
    ListLiteral: lambda node: node.items,
    MapLiteral: lambda node: tuple(itertools.chain.from_iterable(node.entries)),
    Entry: lambda node: (node.optional,),
    Loop: lambda node: _present(node.source, node.test, node.result),
    Bind: lambda node: (node.value, node.body),
    OptionalMap: lambda node: (node.source, node.result),
    OptionalOr: lambda node: (node.operand, node.otherwise),
}


def _present(*nodes: Node | None) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node is not None)


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Every node below and including *root*, with its depth (1 for the root).

    Does not recurse, so that it may judge trees of any depth.
    """
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        below = _CHILDREN.get(type(node))
        if below is not None:
            stack += [(child, depth + 1) for child in below(node)]


def literal_values(arguments: tuple[Node, ...]) -> tuple[Any, ...]:
    """The value of each argument that is a literal, NOT_LITERAL for the others.

    A list of literals is one.
    """
    return tuple(map(_literal_value, arguments))


def _literal_value(node: Node) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, ListLiteral):
        values = [_literal_value(item) for item in node.items]
        return NOT_LITERAL if NOT_LITERAL in values else values
    return NOT_LITERAL
