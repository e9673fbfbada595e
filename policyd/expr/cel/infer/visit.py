"""One pass over one expression, in one group of moments.

Knows what is known at each place and collects what is wrong; the rules say what each kind of
part is.  A flaw never ends the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from policyd.expr.cel.infer import told
from policyd.expr.cel.infer.world import Knowledge, World, place_of
from policyd.expr.cel.tree import Has, Node
from policyd.expression import Flaw, Scope
from policyd.types import ANYTHING, BOOL, Type, member_of, overlap, type_at

Rules = Mapping[type[Node], Callable[[Any, Any], Type]]
"""For each kind of part a function that takes the Visit and the part, and gives its type."""


@dataclass(frozen=True, slots=True)
class Found:
    """A flaw, and where it was met.

    node: the part that was looked at, by its identity.
    partly: the rule still works where another moment does not have the flaw.
    """

    flaw: Flaw
    node: int
    partly: bool


class Visit:
    """The state of one pass.

    types: of the parts that were reached, by their identity.
    found: what is wrong.
    text: the whole expression.
    world: what is known where the pass is now.
    variables: the types of the variables of macros, by slot.
    """

    def __init__(self, rules: Rules, text: str, scope: Scope, world: World) -> None:
        self.types: dict[int, Type] = {}
        self.found: list[Found] = []
        self.text = text
        self.world = world
        self.variables: dict[int, Type] = {}
        self._rules = rules
        self._scope = scope
        self._knowledge = Knowledge(scope.tools, self._exists)

    def type_of(self, node: Node) -> Type:
        """The type of *node*; ANYTHING for what is never reached."""
        rule = self._rules.get(type(node))
        if rule is None or self.world.dead:
            return ANYTHING
        found = self.types[id(node)] = rule(self, node)
        return found

    def named(self, key: str) -> Type:
        """The type of a variable."""
        moments = self.world.moments
        if moments and key in moments[0].types:
            return type_at(moments, key)
        return self._scope.types.get(key, ANYTHING)

    def fact(self, node: Node) -> Type | None:
        """What the conditions before say of *node*."""
        return None if self.world.facts is None else self.world.facts.get(place_of(node) or ())

    def tell(self, node: Node, flaw: Flaw, *, partly: bool = False) -> None:
        """Add what is wrong with *node*."""
        self.found.append(Found(flaw, id(node), partly))

    def condition(self, node: Node, needed: str) -> None:
        """Visit *node*, which must be a condition; *needed* says so to people."""
        found = self.type_of(node)
        if not overlap(found, BOOL):
            self.tell(node, told.not_boolean(node, found, needed))

    def assume(self, node: Node, truth: bool) -> None:
        """Go on where the condition *node* has turned out to be *truth*."""
        self.world = self._knowledge.assume(self.world, node, truth)

    def _exists(self, node: Has) -> bool:
        return member_of(self.types.get(id(node.operand), ANYTHING), node.field) is not None
