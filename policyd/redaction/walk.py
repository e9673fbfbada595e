"""The texts of a document: where they are, and how they are changed.

Every string counts, whatever the shape of the document, and so do the keys of objects.  Not
looked at: the base64 of images, audio, resource blobs and whole `data:` URIs, because their
bytes must stay as they are.  Knows nothing of what is looked for, but that a place must not tell
a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from policyd.detectors import Scanner, scanner
from policyd.detectors.detector import compiled
from policyd.expression import Budget
from policyd.model import Change
from policyd.pointer import Draft, Link, Place, format_pointer, place_of

HIDDEN = "[redacted]"
"""What stands in a pointer for a key that must not be told."""

MAX_KEY = 128
"""Characters of a key that a pointer shows."""

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
    names = _rename(draft, renamed, budget)
    shown: dict[str, str] = {}
    changes = tuple(
        Change(rule, safe_pointer(_after(place, names), shown), DETAIL, detector, count)
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
    shown: dict[str, str] = {}
    suspects = partial(scanner.suspects, budget=budget)
    for place, text, is_key in _selected(_texts(value, budget), suspects):
        if limit is not None and len(found) >= limit:
            break
        if scanner.found(text, budget):
            found[safe_pointer((*start, *(place[:-1] if is_key else place)), shown)] = None
    return list(found)


_Text = tuple[Link | None, str, bool]
"""A text with the link to it; True says that it is a key, the last one of the place."""


def _selected(
    texts: list[_Text], suspects: Callable[[Sequence[str]], Iterable[int]] | None
) -> Iterator[tuple[Place, str, bool]]:
    indexes = range(len(texts)) if suspects is None else suspects([text for _, text, _ in texts])
    for index in indexes:
        link, text, is_key = texts[index]
        yield place_of(link), text, is_key


def _texts(document: Any, budget: Budget) -> list[_Text]:
    """Each text of *document*, in document order.

    The keys of an object come before what they lead to.
    """
    texts: list[_Text] = []
    stack: list[tuple[Link | None, Any]] = [(None, document)]
    steps = 0
    while stack:
        link, value = stack.pop()
        if isinstance(value, str):
            steps += 1 + len(value) // CHARS_PER_STEP
            if steps > _UNPAID:
                budget.spend(steps)
                steps = 0
            if value[:1] not in "dD" or not _is_data_uri(value):
                texts.append((link, value, False))
        elif isinstance(value, dict):
            budget.spend(1 + sum(map(len, value)) // CHARS_PER_STEP + len(value))
            texts += [((link, key), key, True) for key in value]
            stack += _inside(link, value)
        elif isinstance(value, list):
            budget.spend(1 + len(value) // _SCALARS_PER_STEP)
            holders = [(at, value[at]) for at in range(len(value) - 1, -1, -1)]
            stack += [((link, at), v) for at, v in holders if isinstance(v, _HOLDERS)]
    budget.spend(steps)
    return texts


_UNPAID = 100
"""Steps that may be taken before they are charged."""


_HOLDERS = (str, dict, list)
_SCALARS_PER_STEP = 8


def _inside(link: Link | None, value: Mapping[str, Any]) -> list[tuple[Link, Any]]:
    """What may hold texts in an object, the last first."""
    inside: list[tuple[Link, Any]] = [
        ((link, key), child)
        for key, child in value.items()
        if isinstance(child, _HOLDERS) and not (key in _MAY_BE_BYTES and _is_binary(value, key))
    ]
    inside.reverse()
    return inside


_BASE64 = compiled(r"[A-Za-z0-9+/\s]*={0,2}\s*")
_DATA_URI = compiled(r"(?i)data:[^,\s]*;base64,[a-z0-9+/\s]*={0,2}\s*")


def _is_data_uri(text: str) -> bool:
    return text[:5].lower() == "data:" and _DATA_URI.fullmatch(text)


_MAY_BE_BYTES = frozenset({"data", "blob"})


def _is_binary(holder: Mapping[str, Any], key: str) -> bool:
    """True for the bytes of an image or audio block and of a resource (MCP content types).

    What is not base64 is no bytes, whatever the block says, and is searched.
    """
    value = holder[key]
    bears_bytes = holder.get("type") in ("image", "audio") if key == "data" else "uri" in holder
    return bears_bytes and isinstance(value, str) and _BASE64.fullmatch(value)


def _rename(
    draft: Draft, renamed: Mapping[Place, Mapping[str, str]], budget: Budget
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
                budget.spend(1)
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


def safe_pointer(tokens: Iterable[str | int], shown: dict[str, str] | None = None) -> str:
    """The pointer to a place, without any key in which a detector finds something.

    Such a key is shown as `[redacted]`, and of a long one only the beginning.  *shown*
    remembers keys over the places of one document, because they come again and again.
    """
    known = {} if shown is None else shown
    return format_pointer(
        _shown(token, known) if isinstance(token, str) else token for token in tokens
    )


def _shown(key: str, known: dict[str, str]) -> str:
    if key not in known:
        cut = key if len(key) <= MAX_KEY else key[:MAX_KEY] + "..."
        known[key] = HIDDEN if _EVERYTHING.found(key) else cut
    return known[key]
