"""Places in a JSON document: JSON Pointer, edits that copy, pointers with wildcards.

Knows RFC 6901 and plain JSON values (dict, list, str, int, float, bool, None).  Knows no
payload and no policy.  Nothing here changes a document that it was given: an edit returns a
new root, copies the containers on the way to the place, and shares all the rest.

Everything walks with an explicit stack, so depth is bounded by memory and not by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

Pointer = tuple[str, ...]
"""The unescaped reference tokens of a JSON Pointer; `()` is the whole document."""

Place = tuple[str | int, ...]
"""Where a value stands in a document: keys of objects and indexes of arrays."""


class _Remove(Enum):
    REMOVE = "remove"


REMOVE: Final = _Remove.REMOVE
"""What a change returns to take the member or element out."""


class PointerError(LookupError):
    """A pointer does not lead anywhere in this document.

    The text names tokens of the pointer, which are part of the policy, and nothing of the
    document.
    """


@dataclass(frozen=True, slots=True)
class PointerFlaw:
    """What is wrong in the text of a pointer; `offset` counts code points from 0."""

    text: str
    offset: int
    help: str | None = None


def parse_pointer(text: str) -> Pointer | PointerFlaw:
    """The tokens of *text*, or what is wrong in it (RFC 6901 section 3)."""
    if not text:
        return ()
    if text[0] != "/":
        return PointerFlaw("a pointer must start with `/`", 0, f"write `{_as_pointer(text)}`")
    offset = text.find("~")
    while offset >= 0:
        if text[offset + 1 : offset + 2] not in ("0", "1"):
            return PointerFlaw(
                "`~` must be followed by 0 or 1", offset, "write `~0` for `~` and `~1` for `/`"
            )
        offset = text.find("~", offset + 1)
    # `~01` is `~1` and not `/`, hence the order (RFC 6901 section 4)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def _as_pointer(text: str) -> str:
    """What was probably meant by a path in another notation: `$.a.b`, `a.b` or `a/b`."""
    path = text.removeprefix("$").lstrip(".")
    return "/" + (path if "/" in path else path.replace(".", "/"))


def format_pointer(tokens: Iterable[str | int]) -> str:
    """The text of the pointer with these unescaped *tokens*."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


# Reading and editing one place


def get(document: Any, pointer: Pointer) -> Any:
    """The value at *pointer*.  Raises PointerError where there is none."""
    value = document
    for depth in range(len(pointer)):
        value = value[_present(value, pointer, depth)]
    return value


def add(document: Any, pointer: Pointer, value: Any) -> Any:
    """*document* with *value* at *pointer*: a member set, an element inserted before the index.

    `-` stands for the end of an array; the parent must exist (RFC 6902 section 4.1).
    Raises PointerError.
    """
    if not pointer:
        return value
    root, parent = _copy_parents(document, pointer)
    if isinstance(parent, list):
        token = pointer[-1]
        at = len(parent) if token == "-" else _index(token)
        if at is None or at > len(parent):
            raise _missing(parent, pointer, len(pointer) - 1)
        parent.insert(at, value)
    else:
        parent[pointer[-1]] = value
    return root


def replace(document: Any, pointer: Pointer, value: Any) -> Any:
    """*document* with *value* instead of the one at *pointer*.  Raises PointerError."""
    if not pointer:
        return value
    root, parent = _copy_parents(document, pointer)
    parent[_present(parent, pointer, len(pointer) - 1)] = value
    return root


def remove(document: Any, pointer: Pointer) -> Any:
    """*document* without the value at *pointer*.  Raises PointerError, also for the root."""
    if not pointer:
        raise PointerError("the whole document cannot be removed")
    root, parent = _copy_parents(document, pointer)
    del parent[_present(parent, pointer, len(pointer) - 1)]
    return root


def _copy_parents(document: Any, pointer: Pointer) -> tuple[Any, Any]:
    """A root whose containers on the way to *pointer* are copies, and the last of them."""
    root = node = _copy_container(document, pointer, 0)
    for depth in range(len(pointer) - 1):
        key = _present(node, pointer, depth)
        child = _copy_container(node[key], pointer, depth + 1)
        node[key] = child
        node = child
    return root, node


def _copy_container(value: Any, pointer: Pointer, depth: int) -> Any:
    if isinstance(value, (dict, list)):
        return value.copy()
    raise _missing(value, pointer, depth)


def _present(container: Any, pointer: Pointer, depth: int) -> Any:
    """The key or index under which *container* holds the token at *depth*."""
    token = pointer[depth]
    if isinstance(container, dict):
        if token in container:
            return token
    elif isinstance(container, list):
        index = _index(token)
        if index is not None and index < len(container):
            return index
    raise _missing(container, pointer, depth)


# Longer ones are out of every range, and int() refuses more than 4,300 digits.
_MAX_INDEX_DIGITS = 10


def _index(token: str) -> int | None:
    """The array index that *token* spells (RFC 6901 section 4: `0`, or no leading zero)."""
    if not (token.isascii() and token.isdigit()) or len(token) > _MAX_INDEX_DIGITS:
        return None
    return int(token) if token == "0" or token[0] != "0" else None


def _missing(container: Any, pointer: Pointer, depth: int) -> PointerError:
    place = _shown(format_pointer(pointer[:depth])) if depth else "the document"
    token = _shown(pointer[depth])
    if isinstance(container, dict):
        return PointerError(f"{place} has no member {token}")
    if isinstance(container, list):
        if _index(pointer[depth]) is None and pointer[depth] != "-":
            return PointerError(f"{place} is an array, and {token} is not an index")
        return PointerError(f"{place} has no element {token}")
    return PointerError(f"{place} has no members, so there is no {token} in it")


def _shown(text: str) -> str:
    return f"`{''.join(char if char.isprintable() else ' ' for char in text)}`"


# Editing many places


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
    """

    text: str
    steps: tuple[_Step, ...]
    _rows: dict[int, _Row] = field(default_factory=dict, repr=False, compare=False)

    @property
    def literal(self) -> Pointer | None:
        """The pointer that this pattern is when it has no wildcard, else None."""
        names = tuple(step for step in self.steps if isinstance(step, str))
        return names if len(names) == len(self.steps) else None

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

        self._visit(document, note)
        return iter(found)

    def rewrite(self, document: Any, change: Callable[[Any, Place], Any]) -> Any:
        """*document* with *change* applied to each value that matches.

        *change* gets a value and its place and returns the same object (leave it), another
        value, or REMOVE.  A container comes before what is in it, and what it became is not
        searched again.  The result is *document* itself when nothing changed.  Raises
        PointerError for REMOVE at the root.
        """
        edits: list[tuple[Place, Any]] = []

        def note(value: Any, place: Place) -> bool:
            changed = change(value, place)
            if changed is value:
                return False
            edits.append((place, changed))
            return True

        self._visit(document, note)
        draft = Draft(document)
        draft.write(edits)
        return draft.root

    def _visit(self, document: Any, note: Callable[[Any, Place], bool]) -> None:
        """Call *note* for each value that matches; where it says true, do not look inside.

        The pattern runs as an automaton over the document: bit i of a state says that the
        first i steps are taken.  Rows of the automaton are made when first needed and kept.
        """
        accept = 1 << len(self.steps)
        rows = self._rows
        stack: list[tuple[Any, Place, int]] = [(document, (), self._close(1))]
        while stack:
            value, place, state = stack.pop()
            if (state & accept and note(value, place)) or not isinstance(value, (dict, list)):
                continue
            row = rows.get(state)
            if row is None:
                row = rows[state] = self._row(state)
            inside = [
                (child, (*place, key), following) for key, child, following in _enter(value, row)
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
                for key in (step, _index(step)):
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
    return PointerPattern(text, tuple(steps))


def _offset(tokens: Pointer, count: int) -> int:
    return len(format_pointer(tokens[:count]))
