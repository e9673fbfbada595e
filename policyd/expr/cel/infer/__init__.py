"""The types of an expression: what each part may be, and what can never be right.

    infer(root, text, scope) -> Inference

Stands between the check of names and the two paths.  A field that no payload has, a comparison
that no value makes true, an argument that a function does not take, a condition that is none:
each is a flaw.  What is not known may be anything and is never a flaw, and without types and
moments in the scope nothing is known.  An expression is judged in each group of moments of its
own: what is wrong in one event only is told with the name of that event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from policyd.expr.cel.infer import fields, macros, operations, told
from policyd.expr.cel.infer.visit import Found, Rules, Visit
from policyd.expr.cel.infer.world import World
from policyd.expr.cel.tree import Node
from policyd.expression import Flaw, Scope
from policyd.types import BOOL, Moment, Type, join, overlap

__all__ = ["Inference", "assume", "infer"]

_RULES: Final[Rules] = {**fields.RULES, **operations.RULES, **macros.RULES}


@dataclass(frozen=True, slots=True)
class Inference:
    """What is known of an expression.

    type: of its value.
    types: of each part, by `id(node)`; what is never reached is left out.
    flaws: in order of place.
    """

    type: Type
    types: Mapping[int, Type]
    flaws: tuple[Flaw, ...]


def infer(root: Node, text: str, scope: Scope, *, boolean: bool = False) -> Inference:
    """The types of the checked tree *root* of *text*.

    With *boolean*, a value that cannot be a bool is a flaw, whatever is known of the names.
    """
    groups = scope.moments or ((),)
    visits = [Visit(_RULES, text, scope, world) for world in _worlds(scope)]
    types = [visit.type_of(root) for visit in visits]
    joined = types[0] if len(types) == 1 else join(types)
    flaws = _agreed(visits, groups, scope.guarded) if scope.types or scope.moments else []
    if boolean and not overlap(joined, BOOL):
        flaws.append(told.not_boolean(root, joined))
    ordered = sorted(flaws, key=lambda flaw: (flaw.offset, flaw.code))
    return Inference(joined, _types(visits), tuple(ordered))


def assume(root: Node, text: str, scope: Scope) -> tuple[World, ...]:
    """What is known in each group of moments where the condition *root* holds: `Scope.given`."""
    visits = [Visit(_RULES, text, scope, world) for world in _worlds(scope)]
    for visit in visits:
        visit.type_of(root)
        visit.assume(root, True)
    return tuple(visit.world for visit in visits)


def _worlds(scope: Scope) -> tuple[World, ...]:
    return scope.given or tuple(World(moments) for moments in scope.moments or ((),))


def _types(visits: Sequence[Visit]) -> Mapping[int, Type]:
    if len(visits) == 1:
        return visits[0].types
    nodes = {node for visit in visits for node in visit.types}
    return {node: join(v.types[node] for v in visits if node in v.types) for node in nodes}


def _agreed(
    visits: Sequence[Visit], groups: Sequence[tuple[Moment, ...]], guarded: bool
) -> list[Flaw]:
    """The flaws of all groups, each place once.

    What is wrong everywhere is told as it is.  What is wrong in some groups is told with the
    first of them, unless the rule works all the same, or others ask where it does.
    """
    if len(visits) == 1:
        return [found.flaw for found in visits[0].found]
    places: dict[tuple[int, str], list[tuple[int, Found]]] = {}
    for number, visit in enumerate(visits):
        for found in visit.found:
            places.setdefault((found.node, found.flaw.code), []).append((number, found))
    flaws = []
    for (node, _), met in places.items():
        number, first = met[0]
        if len(met) == sum(node in visit.types for visit in visits):
            flaws.append(told.together(found.flaw for _, found in met))
        elif not (first.partly or guarded):
            flaws.append(_told_of(first.flaw, groups[number]))
    return flaws


def _told_of(flaw: Flaw, moments: tuple[Moment, ...]) -> Flaw:
    """*flaw* with the moment in which it is one."""
    here = told.where(moments)
    if not here or flaw.text.endswith(here):
        return flaw
    return replace(flaw, text=f"{flaw.text}{here}")
