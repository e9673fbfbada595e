"""The texts of a document: where they are, and how they are changed.

Every string counts, whatever the shape of the document, and so do the keys of objects.  Not
looked at: the base64 of images, audio, resource blobs and whole `data:` URIs, because their
bytes must stay as they are.  Knows nothing of what is looked for, but that a place must not tell
a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from policyd.detectors import Scanner, scanner
from policyd.detectors.detector import compiled
from policyd.expression import Budget
from policyd.model import Change
from policyd.pointer import Draft, Place, format_pointer

HIDDEN = "[redacted]"
"""What stands in a pointer for a key that must not be told."""

DETAIL = "redact"
"""What a `Change` says was done."""

Rewritten = tuple[str, Mapping[tuple[str, str | None], int]]
"""A new text, and how often each rule with each detector replaced something in it."""


CHARS_PER_STEP = 64
"""Characters that are searched in about the time of one step of a budget (measured)."""


def walk_strings(
    document: Any,
    change: Callable[[str, bool], Rewritten | None],
    budget: Budget,
    suspects: Callable[[Sequence[str]], Iterable[int]] | None = None,
) -> tuple[Any, tuple[Change, ...]]:
    """*document* with *change* applied to each of its texts, and what was changed where.

    *change* is told whether the text is a key, and returns None for one that stays.  *suspects*
    says by index which of all texts it need not be asked about at all; without it, it is
    asked about each.

    A key that is changed keeps its place among its neighbours; where different keys become the
    same, the second and later ones get `#2`, `#3` and so on, the same for the same key
    everywhere, so no entry is lost.  Raises EvaluationError when the budget is used up.
    """
    edits: list[tuple[Place, str]] = []
    renamed: dict[Place, dict[str, str]] = {}
    counts: list[tuple[Place, Mapping[tuple[str, str | None], int]]] = []
    for place, text, is_key in _selected(_texts(document, budget), suspects):
        rewritten = change(text, is_key)
        if rewritten is None:
            continue
        if is_key:
            renamed.setdefault(place[:-1], {})[text] = rewritten[0]
        else:
            edits.append((place, rewritten[0]))
        counts.append((place, rewritten[1]))
    draft = Draft(document)
    draft.write(edits)
    names = _rename(draft, renamed)
    changes = tuple(
        Change(rule, safe_pointer(_after(place, names)), DETAIL, detector, count)
        for place, sources in counts
        for (rule, detector), count in sources.items()
    )
    return draft.root, changes


def places_of(
    value: Any,
    scanner: Scanner,
    budget: Budget,
    prefix: Iterable[str | int] = (),
    limit: int | None = None,
) -> list[str]:
    """Pointers to the texts in which *scanner* finds something, at most *limit*.

    Each starts with *prefix*.  A key with a match is told as the object that it belongs to.
    """
    start = tuple(prefix)
    found: dict[str, None] = {}
    suspects = partial(scanner.suspects, budget=budget)
    for place, text, is_key in _selected(_texts(value, budget), suspects):
        if limit is not None and len(found) >= limit:
            break
        if scanner.found(text, budget):
            found[safe_pointer((*start, *(place[:-1] if is_key else place)))] = None
    return list(found)


_Text = tuple[Place, str, bool]
"""A text with its place; True says that it is a key, the last one of the place."""


def _selected(
    texts: list[_Text], suspects: Callable[[Sequence[str]], Iterable[int]] | None
) -> Iterable[_Text]:
    if suspects is None:
        return texts
    return [texts[index] for index in suspects([text for _, text, _ in texts])]


def _texts(document: Any, budget: Budget) -> list[_Text]:
    """Each text of *document*, in document order.

    The keys of an object come before what they lead to.
    """
    texts: list[_Text] = []
    stack: list[tuple[Place, Any]] = [((), document)]
    chars = 0
    while stack:
        place, value = stack.pop()
        if isinstance(value, str):
            chars += CHARS_PER_STEP + len(value)
            if value[:5].lower() != "data:" or not _DATA_URI.fullmatch(value):
                texts.append((place, value, False))
        elif isinstance(value, dict):
            inside = []
            for key, child in value.items():
                there = (*place, key)
                chars += CHARS_PER_STEP + len(key)
                texts.append((there, key, True))
                if key not in _MAY_BE_BYTES or not _is_binary(value, key):
                    inside.append((there, child))
            inside.reverse()
            stack += inside
        elif isinstance(value, list):
            chars += CHARS_PER_STEP
            stack += [((*place, at), value[at]) for at in range(len(value) - 1, -1, -1)]
    budget.spend(chars // CHARS_PER_STEP)
    return texts


_BASE64 = compiled(r"[A-Za-z0-9+/\s]*={0,2}\s*")
_DATA_URI = compiled(r"(?i)data:[^,\s]*;base64,[a-z0-9+/\s]*={0,2}\s*")
_MAY_BE_BYTES = frozenset({"data", "blob"})


def _is_binary(holder: Mapping[str, Any], key: str) -> bool:
    """True for the bytes of an image or audio block and of a resource (MCP content types).

    What is not base64 is no bytes, whatever the block says, and is searched.
    """
    value = holder[key]
    bears_bytes = holder.get("type") in ("image", "audio") if key == "data" else "uri" in holder
    return bears_bytes and isinstance(value, str) and _BASE64.fullmatch(value)


def _rename(
    draft: Draft, renamed: Mapping[Place, Mapping[str, str]]
) -> dict[Place, dict[str, str]]:
    """Rename keys in place, and say which new name each of them got."""
    numbers: dict[str, dict[str, int]] = {}
    containers = [(draft.container(place), place) for place in renamed]
    names: dict[Place, dict[str, str]] = {}
    for container, place in containers:
        wanted = renamed[place]
        taken = {key for key in container if key not in wanted}
        names[place] = {}
        for key, base in wanted.items():
            known = numbers.setdefault(base, {})
            number = known.setdefault(key, len(known) + 1)
            while (name := base if number == 1 else f"{base}#{number}") in taken:
                number += 1
            taken.add(name)
            names[place][key] = name
        items = [(names[place].get(key, key), child) for key, child in container.items()]
        container.clear()
        container.update(items)
    return names


def _after(place: Place, names: Mapping[Place, Mapping[str, str]]) -> Place:
    """*place* as it is called once keys are renamed."""
    if not names:
        return place
    return tuple(
        names.get(place[:depth], {}).get(step, step) if isinstance(step, str) else step
        for depth, step in enumerate(place)
    )


# Places without secrets


# made at import: it takes longer than a decision may
_EVERYTHING = scanner(("all",))


def safe_pointer(tokens: Iterable[str | int], detectors: Scanner | None = None) -> str:
    """The pointer to a place, without any key in which a detector finds something.

    Such a key is shown as `[redacted]`.  All detectors look unless told.
    """
    finds = (detectors or _EVERYTHING).found
    return format_pointer(
        HIDDEN if isinstance(token, str) and finds(token) else token for token in tokens
    )
