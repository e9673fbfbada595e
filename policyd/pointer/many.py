"""Many places in a JSON document: pointers with wildcards, and edits that copy once.

Walks with an explicit stack, so depth is bounded by memory and not by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from policyd.pointer.one import (
    REMOVE,
    Link,
    Place,
    Pointer,
    PointerError,
    PointerFlaw,
    array_index,
    format_pointer,
    parse_pointer,
    place_of,
)


class Draft:
    """A new version of a document in the making.

    Each container is copied once, when it is first written to; `root` shares the rest with
    the document that it was made from, and is that very document as long as nothing was written.
    """

    __slots__ = ("_own", "root")

    def __init__(self, document: Any) -> None:
        self.root = document
        self._own: dict[Place, Any] = {}

    def container(self, place: Place) -> Any:
        """The dict or list at *place* in the original, as a copy that is safe to change."""
        if place in self._own:
            return self._own[place]
        known = len(place)
        while known and place[:known] not in self._own:
            known -= 1
        node = self._own.get(place[:known])
        if node is None:
            node = self._own[()] = self.root = self.root.copy()
        for depth in range(known, len(place)):
            child = node[place[depth]].copy()
            node[place[depth]] = self._own[place[: depth + 1]] = child
            node = child
        return node

    def write(self, edits: Iterable[tuple[Place, Any]]) -> None:
        """Put each value, or REMOVE, at its place.

        The places are in document order and none lies within another.  Raises PointerError for
        REMOVE at the root.
        """
        # backwards, so that an element taken out does not shift the places that follow
        for place, value in reversed(list(edits)):
            if not place:
                if value is REMOVE:
                    raise PointerError("the whole document cannot be removed")
                self.root = value
            elif value is REMOVE:
                del self.container(place[:-1])[place[-1]]
            else:
                self.container(place[:-1])[place[-1]] = value


class _Wildcard(Enum):
    ONE = "*"
    ANY = "**"


_Step = str | _Wildcard
_Row = tuple[int, dict[str | int, int]]


@dataclass(frozen=True, slots=True)
class PointerPattern:
    """A pointer in which `*` stands for any one level and `**` for any number, none included.

    text: the pattern as written.
    steps: its tokens.  A token that spells an array index stands for the member of an object
        as well.  A key that is itself `*` or `**` can be reached by a wildcard only.
    plain: there is no wildcard among them.
    """

    text: str
    steps: tuple[_Step, ...]
    plain: bool
    _rows: dict[int, _Row] = field(default_factory=dict, repr=False, compare=False)

    @property
    def matches_root(self) -> bool:
        """True when the pattern matches the document itself."""
        return all(step is _Wildcard.ANY for step in self.steps)

    def places(self, document: Any) -> Iterator[Place]:
        """Each place that matches, once, in document order, a container before what is in it."""
        found: list[Place] = []

        def note(value: Any, place: Place) -> bool:
            found.append(place)
            return False

        self._visit(document, note, lambda steps: None)
        return iter(found)

    def rewrite(
        self,
        document: Any,
        change: Callable[[Any, Place], Any],
        spend: Callable[[int], None] = lambda steps: None,
    ) -> Any:
        """*document* with *change* applied to each value that matches.

        *change* gets a value and its place and returns the same object (leave it), another
        value, or REMOVE.  A container comes before what is in it, and what it became is not
        searched again.  *spend* is told how many children are looked at next, and may raise.
        The result is *document* itself when nothing changed.  Raises PointerError for REMOVE
        at the root.
        """
        if self.plain and not self._reaches(document):
            spend(len(self.steps))
            return document
        edits: list[tuple[Place, Any]] = []

        def note(value: Any, place: Place) -> bool:
            changed = change(value, place)
            if changed is value:
                return False
            edits.append((place, changed))
            return True

        self._visit(document, note, spend)
        draft = Draft(document)
        draft.write(edits)
        return draft.root

    def _reaches(self, document: Any) -> bool:
        """True when the value is there that a pattern without wildcards stands for."""
        value = document
        for step in self.steps:
            if isinstance(value, dict):
                if step not in value:
                    return False
                value = value[step]
            elif isinstance(value, list):
                index = array_index(step) if isinstance(step, str) else None
                if index is None or index >= len(value):
                    return False
                value = value[index]
            else:
                return False
        return True

    def _visit(
        self, document: Any, note: Callable[[Any, Place], bool], spend: Callable[[int], None]
    ) -> None:
        """Call *note* for each value that matches; where it says true, do not look inside.

        The pattern runs as an automaton over the document: bit i of a state says that the
        first i steps are taken.  Rows of the automaton are made when first needed and kept.
        """
        accept = 1 << len(self.steps)
        rows = self._rows
        stack: list[tuple[Any, Link | None, int]] = [(document, None, self._close(1))]
        while stack:
            value, link, state = stack.pop()
            if state & accept and note(value, place_of(link)):
                continue
            if not isinstance(value, (dict, list)):
                continue
            spend(len(value))
            row = rows.get(state)
            if row is None:
                row = rows[state] = self._row(state)
            inside = [
                (child, (link, key), following)
                for key, child, following in _enter(value, row)
                if following & accept or isinstance(child, (dict, list))
            ]
            stack.extend(reversed(inside))

    def _row(self, state: int) -> _Row:
        """Where *state* leads: by any key at all, and by each of the keys that it names."""
        always = 0
        named: dict[str | int, int] = {}
        for at, step in enumerate(self.steps):
            if not state >> at & 1:
                continue
            if isinstance(step, str):
                for key in (step, array_index(step)):
                    if key is not None:
                        named[key] = named.get(key, 0) | self._close(1 << (at + 1))
            else:
                stay = step is _Wildcard.ANY
                always |= self._close(1 << (at if stay else at + 1))
        return always, named

    def _close(self, state: int) -> int:
        """*state* and what `**` reaches from it without a step."""
        for at, step in enumerate(self.steps):
            if state >> at & 1 and step is _Wildcard.ANY:
                state |= 1 << (at + 1)
        return state


def _enter(container: Any, row: _Row) -> Iterator[tuple[str | int, Any, int]]:
    """The children of *container* that a state leads to, each with its key and its state."""
    always, named = row
    isdict = isinstance(container, dict)
    if always:
        pairs = container.items() if isdict else enumerate(container)
        for key, child in pairs:
            yield key, child, always | named.get(key, 0)
        return
    for key, following in named.items():
        if isdict:
            if key in container:
                yield key, container[key], following
        elif isinstance(key, int) and key < len(container):
            yield key, container[key], following


def parse_pattern(text: str) -> PointerPattern | PointerFlaw:
    """The pattern that *text* spells, or what is wrong in it."""
    tokens = parse_pointer(text)
    if isinstance(tokens, PointerFlaw):
        return tokens
    steps: list[_Step] = []
    for token in tokens:
        if token in ("*", "**"):
            steps.append(_Wildcard(token))
        elif "*" in token:
            return PointerFlaw(
                "`*` must be a whole step",
                text.index("*", _offset(tokens, len(steps))),
                "write `*` between two `/` for any one level, `**` for any number of levels",
            )
        else:
            steps.append(token)
    plain = all(isinstance(step, str) for step in steps)
    return PointerPattern(text, tuple(steps), plain)


def _offset(tokens: Pointer, count: int) -> int:
    return len(format_pointer(tokens[:count]))
