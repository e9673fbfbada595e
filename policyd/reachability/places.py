"""Where a path can lead in the payloads of an event.

Knows types and the steps of a JSON Pointer.  A place that nothing is known of exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from policyd.diagnostics import closest
from policyd.events import MCP_METHODS
from policyd.model import Phase
from policyd.pointer import format_pointer
from policyd.pointer.one import array_index
from policyd.types import Anything, ListOf, ObjectOf, Type, member_names, options, payload_type

_SLIP: Final = 0.7
"""How alike two names are of which one is a slip of the other; of 1."""

_IN_EXPRESSIONS: Final = {"args": "arguments", "tool": "name", "prompt": "name"}
"""What an expression calls a member of the payload, and its own name."""


@dataclass(frozen=True, slots=True)
class Path:
    """A pointer: the tokens of its text.

    wild: `*` and `**` stand for any step and for any number of them.
    adds: its last step may be `-`, the end of a list.
    """

    steps: Sequence[str]
    wild: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Where a path leads no further: at step *depth*, from a value of one of *types*."""

    depth: int
    types: tuple[Type, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The members that there are instead."""
        return tuple(dict.fromkeys(name for type in self.types for name in member_names(type)))


def follow(root: Type, path: Path) -> tuple[Type, ...] | End:
    """What the values at *path* may be, below a value of type *root*."""
    reached = tuple(options(root))
    for depth, step in enumerate(path.steps):
        if any(isinstance(type, Anything) for type in reached):
            return reached
        if path.wild and step == "**":
            reached = _all_below(reached)
            continue
        last = path.adds and depth == len(path.steps) - 1
        below = _unique(t for type in reached for t in _step(type, step, path.wild, last))
        if not below:
            return End(depth, reached)
        reached = below
    return reached


def _step(type: Type, step: str, wild: bool, last: bool) -> Iterable[Type]:
    """What one step from a value of *type* leads to."""
    if isinstance(type, ListOf):
        index = array_index(step) is not None or (last and step == "-")
        return options(type.item) if index or (wild and step == "*") else ()
    if not isinstance(type, ObjectOf):
        return ()
    if wild and step == "*":
        return _children(type)
    member = type.members.get(step)
    if member is not None:
        return options(member.type)
    return () if type.rest is None else options(type.rest)


def _children(type: Type) -> Iterable[Type]:
    if isinstance(type, ListOf):
        return options(type.item)
    if not isinstance(type, ObjectOf):
        return ()
    rest = () if type.rest is None else options(type.rest)
    return (*(t for member in type.members.values() for t in options(member.type)), *rest)


def _all_below(types: Iterable[Type]) -> tuple[Type, ...]:
    found: dict[int, Type] = {}
    stack = list(types)
    while stack:
        type = stack.pop()
        if id(type) not in found:
            found[id(type)] = type
            stack += _children(type)
    return tuple(found.values())


def _unique(types: Iterable[Type]) -> tuple[Type, ...]:
    return tuple({id(type): type for type in types}.values())


def suggestion(end: End, path: Path, moment: tuple[str, Phase]) -> str | None:
    """What was probably meant by a path that ends at *end*, or where it would exist."""
    step = path.steps[end.depth]
    guess = _guess(step, end.names)
    if guess is not None:
        return f"did you mean `{guess}`?"
    event, phase = moment
    inner = Path(path.steps[1:], path.wild, path.adds)
    if end.depth == 0 and step in ("params", "result") and inner.steps and _is_known(inner, moment):
        return f"a path starts within the payload: write `{format_pointer(inner.steps)}`"
    ended = Path(path.steps[: end.depth + 1], path.wild, path.adds)
    other = Phase.RESPONSE if phase is Phase.REQUEST else Phase.REQUEST
    owners = [(event, other), *((name, phase) for name in MCP_METHODS)]
    owner = next((owner for owner in owners if _is_known(ended, owner)), None)
    return None if owner is None else f"a {owner[1]} of `{owner[0]}` has it"


def _guess(step: str, names: Sequence[str]) -> str | None:
    """The member that was probably meant by *step*: a slip, or what an expression calls it."""
    if _IN_EXPRESSIONS.get(step) in names:
        return _IN_EXPRESSIONS[step]
    guess = closest(step, names)
    if guess is None:
        return None
    alike = SequenceMatcher(None, step.casefold(), guess.casefold()).ratio()
    return guess if alike > _SLIP else None


def _is_known(path: Path, moment: tuple[str, Phase]) -> bool:
    """True when the payload of *moment* has a member for the first step, and *path* leads on."""
    root = payload_type(*moment)
    return path.steps[0] in member_names(root) and not isinstance(follow(root, path), End)
