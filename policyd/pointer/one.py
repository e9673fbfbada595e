"""One place in a JSON document: JSON Pointer, and edits that copy.

Knows RFC 6901 and plain JSON values.  Knows no wildcards: `many` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

Pointer = tuple[str, ...]
"""The unescaped reference tokens of a JSON Pointer; `()` is the whole document."""

Place = tuple[str | int, ...]
"""Where a value stands in a document: keys of objects and indexes of arrays."""


Link = tuple[Any, str | int]
"""A place as its parent's link (None for the document) and its own key.

A walk over a large document makes one for each value, where places would take the room of
their whole depth.
"""


def place_of(link: Link | None) -> Place:
    """The place that a link stands for."""
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


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
    """What was probably meant by a path in another notation: `$.a..b`, `a.b`, `#/a/b`."""
    path = text.lstrip("#").removeprefix("$").lstrip("./")
    return "/" + (path if "/" in path else path.replace("..", ".**.").replace(".", "/"))


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
        at = len(parent) if token == "-" else array_index(token)
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
        index = array_index(token)
        if index is not None and index < len(container):
            return index
    raise _missing(container, pointer, depth)


# Longer ones are out of every range, and int() refuses more than 4,300 digits.
_MAX_INDEX_DIGITS = 10


def array_index(token: str) -> int | None:
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
        if array_index(pointer[depth]) is None and pointer[depth] != "-":
            return PointerError(f"{place} is an array, and {token} is not an index")
        return PointerError(f"{place} has no element {token}")
    return PointerError(f"{place} has no members, so there is no {token} in it")


def _shown(text: str) -> str:
    return f"`{''.join(char if char.isprintable() else ' ' for char in text)}`"
