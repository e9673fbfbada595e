"""From the outcome of a condition to what it says of the values in it.

That `args.n > 5` is true says that `args` is a map, that it has `n`, and that its value is a
number above five.  That it is false says the same with a number up to five: an error is neither.
Knows single comparisons and calls; how they are put together is for `search`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from policyd.diagnostics import Span
from policyd.document import Text
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Conditional,
    Has,
    Index,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    Negate,
    Node,
    Not,
    Or,
    Select,
)
from policyd.pattern import MAX_GLOB
from policyd.reachability.domain import (
    ANYTHING,
    ORDERED,
    Domain,
    Interval,
    Scalar,
    Texts,
    kind_of,
    of_kinds,
    one_of,
    other_than,
    scalar,
)
from policyd.reachability.identity import FLIPPED, Identity

COMPARISONS: Final = frozenset(FLIPPED)
"""The operators that `facts_of` takes apart; `in` is another."""

NOTHING: Final = one_of(())
"""No value at all."""

_SIZE: Final = Domain(
    frozenset({"number"}), bounds={"number": Interval(low=0)}, nan=False, integer=True
)

_MAP: Final = of_kinds("map")

_JSON: Final = Domain(nan=False)

_EXACT: Final = ORDERED | {"null"}
"""The kinds of literals that a domain tells apart, and knows the order of."""

_SELDOM_HELD: Final = frozenset({"number", "string", "bool"})

_TRUTH: Final = {truth: one_of([("bool", truth)]) for truth in (True, False)}

_INVERSE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_ORDERINGS: Final[dict[str, frozenset[str]]] = {
    "==": frozenset({"equal"}),
    "<": frozenset({"less"}),
    "<=": frozenset({"less", "equal"}),
    ">": frozenset({"greater"}),
    ">=": frozenset({"greater", "equal"}),
}

_OF_STRINGS: Final = frozenset({"startsWith", "endsWith", "matches", "glob"})
"""The functions whose first argument is a string."""

Subject = Any
"""What something is known of: the number of a computation, or a relation of two."""

Claim = tuple[Subject, Domain]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a condition stands.

    name: what its place is called in a policy: `deny`, `when`, `tools`.
    text: the condition as written, with its places; None for what is no condition.
    span: where that is instead.
    """

    name: str
    text: Text | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """That the outcome of a condition is *wanted*."""

    node: Node
    wanted: bool
    origin: Origin


def sides_of(node: Node) -> tuple[Node, ...]:
    """The parts of a condition whose values it compares, and the condition itself."""
    return (node, node.left, node.right) if isinstance(node, Binary) else (node,)


@dataclass(frozen=True, slots=True)
class Said:
    """What the outcome of a condition says.

    claims: a subject may come several times.
    counted: the subjects of which it says which values they may have.
    possible: False where one claim is impossible by itself.
    """

    claims: tuple[Claim, ...]
    counted: frozenset[Subject]
    possible: bool


class Facts:
    """Takes single conditions apart, each once."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._initial: dict[int, Domain] = {}
        self._said: dict[tuple[int, bool], Said] = {}
        self._evaluated: dict[int, tuple[Claim, ...]] = {}

    def initial(self, node: Node) -> Domain:
        """What is known of the value of *node* without any condition."""
        subject = self.identity.of(node)
        found = self._initial.get(subject)
        if found is None:
            found = self._initial[subject] = self._without_condition(node)
        return found

    def _without_condition(self, node: Node) -> Domain:
        if isinstance(node, Apply):
            if node.function.name == "size":
                return _SIZE
            return of_kinds("bool") if node.function.returns_bool else ANYTHING
        if isinstance(node, Has | Not | And | Or):
            return of_kinds("bool")
        return _JSON if self.identity.is_json(node) else ANYTHING

    def said(self, node: Node, wanted: bool) -> Said:
        """What the outcome *wanted* of *node* says."""
        number = self.identity.of(node)
        found = self._said.get((number, wanted))
        if found is None:
            if number not in self._evaluated:
                self._evaluated[number] = tuple(self._needs(node))
            claims = (*self._outcome(node, wanted), *self._evaluated[number])
            found = self._said[number, wanted] = self._judged(node, claims)
        return found

    def _judged(self, node: Node, claims: tuple[Claim, ...]) -> Said:
        unique = tuple({(about, id(domain)): (about, domain) for about, domain in claims}.values())
        counted = frozenset([about for about, domain in unique if domain.values is not None])
        known = {self.identity.of(side): self.initial(side) for side in sides_of(node)}
        possible = not any(
            known.get(about, ANYTHING).meet(domain).empty
            for about, domain in unique
            if domain is not _MAP
        )
        return Said(unique, counted, possible)

    def _outcome(self, node: Node, wanted: bool) -> Iterator[Claim]:
        if isinstance(node, Binary) and node.operator in COMPARISONS:
            yield from self._comparison(node, wanted)
        elif isinstance(node, Binary) and node.operator == "in":
            yield from self._membership(node, wanted)
        else:
            yield self.identity.of(node), _TRUTH[wanted]
        if isinstance(node, Has):
            yield from self._has(node.operand, node.field, wanted)
        elif isinstance(node, Apply):
            yield from self._call(node, wanted)

    def _has(self, operand: Node, field: str, wanted: bool) -> Iterator[Claim]:
        """Whether a map that came as JSON has a member; an optional would follow other rules."""
        if self.identity.is_json(operand):
            yield self.identity.of(operand), of_kinds("map")
            yield ("member", self.identity.of(operand), field), _TRUTH[wanted]

    def _comparison(self, node: Binary, wanted: bool) -> Iterator[Claim]:
        left, operator, right = node.left, node.operator, node.right
        if isinstance(left, Literal):
            left, operator, right = right, FLIPPED[operator], left
        if operator == "!=":
            operator, wanted = "==", not wanted
        if not isinstance(right, Literal):
            yield self._relation(left, operator, right, wanted)
            return
        if kind_of(right.value) not in _EXACT:
            # a domain cannot say which list, so that at least the same comparison is the same
            yield ("literal", operator, self.identity.of(left), repr(right.value)), _TRUTH[wanted]
        if operator == "==":
            yield self.identity.of(left), _equal_to(right.value, wanted)
        else:
            yield self.identity.of(left), self._bounded(operator, right.value, wanted)

    def _relation(self, left: Node, operator: str, right: Node, wanted: bool) -> Claim:
        """How two values stand to each other that are both unknown."""
        one, other = self.identity.of(left), self.identity.of(right)
        if other < one:
            one, other, operator = other, one, FLIPPED[operator]
        possible = {"less", "equal", "greater", "unordered"}
        if self.identity.is_json(left) and self.identity.is_json(right) and operator != "==":
            possible.discard("unordered")
        if one == other:
            possible -= {"less", "greater"}
            if self.identity.is_json(left):
                possible.discard("unordered")
        named = _ORDERINGS[operator]
        left_over = possible & named if wanted else possible - named
        return ("relation", one, other), one_of(("other", name) for name in left_over)

    def _bounded(self, operator: str, bound: Any, wanted: bool) -> Domain:
        """The values for which `value operator bound` has the outcome *wanted*."""
        kind = kind_of(bound)
        if kind == "bool":
            return of_kinds("bool")
        if kind not in ORDERED:
            return NOTHING
        if bound != bound:
            return NOTHING if wanted else of_kinds("number")
        operator = operator if wanted else _INVERSE[operator]
        if operator in ("<", "<="):
            interval = Interval(high=bound, high_open=operator == "<")
        else:
            interval = Interval(low=bound, low_open=operator == ">")
        return Domain(frozenset({kind}), bounds={kind: interval}, nan=not wanted)

    def _membership(self, node: Binary, wanted: bool) -> Iterator[Claim]:
        element, container = node.left, node.right
        if isinstance(container, Literal):
            yield (
                ("literal", "in", self.identity.of(element), repr(container.value)),
                _TRUTH[wanted],
            )
            yield self.identity.of(element), _in_literal(container.value, wanted)
            return
        yield self.identity.of(node), _TRUTH[wanted]
        if isinstance(element, Literal) and self.identity.is_json(container):
            yield self.identity.of(container), of_kinds("list", "map")
            if isinstance(element.value, str):
                subject = ("member", self.identity.of(container), element.value)
                yield subject, _TRUTH[wanted]

    def _call(self, node: Apply, wanted: bool) -> Iterator[Claim]:
        name, arguments = node.function.name, node.arguments
        if len(arguments) != 2 or not isinstance(arguments[1], Literal):
            return
        word = arguments[1].value
        if isinstance(word, str) and len(word) <= MAX_GLOB:
            texts = _texts(name, word, wanted)
            # other values than texts may contain something, but none that came as JSON
            if texts is not None and (name != "contains" or self.identity.is_json(arguments[0])):
                yield self.identity.of(arguments[0]), Domain(frozenset({"string"}), texts=texts)

    def _needs(self, root: Node) -> Iterator[Claim]:
        """What must be so for *root* to have a value at all."""
        stack = list(_strict(root))
        if isinstance(root, Apply):
            yield from self._receiver(root)
        while stack:
            node = stack.pop()
            if isinstance(node, Select):
                yield from self._has(node.operand, node.field, True)
            elif isinstance(node, Has) and self.identity.is_json(node.operand):
                yield self.identity.of(node.operand), of_kinds("map")
            elif isinstance(node, Apply):
                yield from self._receiver(node)
            stack += _strict(node)
        if isinstance(root, Select):
            yield from self._has(root.operand, root.field, True)

    def _receiver(self, node: Apply) -> Iterator[Claim]:
        if node.function.name in _OF_STRINGS:
            yield self.identity.of(node.arguments[0]), of_kinds("string")


def _texts(name: str, word: str, wanted: bool) -> Texts | None:
    """What the outcome of a call of function *name* with the literal *word* says of a text."""
    words = frozenset({word})
    if name == "startsWith":
        return Texts(heads=words) if wanted else Texts(no_heads=words)
    if name == "endsWith":
        return Texts(tails=words) if wanted else Texts(no_tails=words)
    if name == "contains":
        return Texts(parts=words) if wanted else Texts(no_parts=words)
    if name == "glob" and wanted:
        return Texts(globs=frozenset({(word,)}))
    return None


def _strict(node: Node) -> tuple[Node, ...]:
    """The parts of *node* without whose values it has none."""
    if isinstance(node, Select | Has | Not | Negate):
        return (node.operand,)
    if isinstance(node, Index):
        return (node.operand, node.index)
    if isinstance(node, Apply):
        return node.arguments
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, ListLiteral):
        return node.items
    if isinstance(node, MapLiteral):
        return tuple([part for entry in node.entries for part in entry])
    if isinstance(node, Conditional):
        return (node.condition,)
    return (node.source,) if isinstance(node, Loop) else ()


def _equal_to(value: Any, wanted: bool) -> Domain:
    if value != value:
        return NOTHING if wanted else ANYTHING
    known = scalar(value)
    if known is not None:
        return one_of([known]) if wanted else other_than([known])
    return of_kinds(kind_of(value)) if wanted else ANYTHING


def _in_literal(container: Any, wanted: bool) -> Domain:
    """The values that are, or are not, in a list or among the keys of a map."""
    if not isinstance(container, list | dict):
        return NOTHING
    known = [scalar(item) for item in container if item == item]
    listed: list[Scalar] = [item for item in known if item is not None]
    keys = of_kinds(*_SELDOM_HELD) if isinstance(container, dict) else ANYTHING
    if not wanted:
        return keys.meet(other_than(listed))
    return keys.meet(one_of(listed)) if len(listed) == len(known) else ANYTHING
