"""The texts and numbers of a document: where they are.

Every string counts, whatever the shape of the document, and so do keys of objects and whole
numbers.  Not looked at: the base64 of images, audio, resource blobs and whole `data:` URIs,
because their bytes must stay as they are, and numbers with a fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from policyd.detectors.detector import compiled
from policyd.expression import Budget
from policyd.pointer import Link, Place, place_of
from policyd.redaction.finding import Finder, TextRedaction
from policyd.redaction.strategy import name_shape
from policyd.redaction.text import CHARS_PER_STEP, decoded_texts, is_encoded, with_key

Unit = tuple[Link | None, str | int | None, Any]
"""Something to search: the link to its container, its own key, and its value.

The value is a text, a whole number, or None where only the key counts, because an object or
array stands under it.  At the root there is neither link nor key.
"""


@dataclass(frozen=True, slots=True)
class Texts:
    """The units of a document, in document order, and each as a text behind its key."""

    units: Sequence[Unit]
    keyed: Sequence[str]

    def holds(self, text: str) -> bool:
        """True when *text* stands in one of them."""
        return any(text in each for each in self.keyed)


def is_clean(document: Any, redactions: Sequence[TextRedaction], budget: Budget) -> bool:
    """True when nothing can be found in *document*; False when a closer look is needed.

    Most documents are clean, and this tells at half the cost of `texts_of` and `suspects`.
    """
    if not all(redaction.keys for redaction in redactions):
        return False
    keyed, keys = _keyed_texts(document, budget)
    if is_encoded("\0".join(keyed)):
        return False
    return not any(
        _is_suspicious(keyed, keys, redaction.finder, redactions, budget)
        for redaction in redactions
    )


def _is_suspicious(
    keyed: Sequence[str],
    keys: Sequence[str],
    finder: Finder,
    redactions: Sequence[TextRedaction],
    budget: Budget,
) -> bool:
    """True when *finder* may find something in texts behind their keys, or in the keys."""
    suspicious = finder.suspects(keyed, budget)
    if not suspicious:
        return False
    texts = [keyed[at] for at in suspicious]
    if any(finder.found(text, budget) for text in texts):
        return True
    # beside a placeholder of any of them more may be found
    for redaction in redactions:
        shape = name_shape(redaction.replace, redaction.names)
        if shape is not None and any(shape.search(text) for text in texts):
            return True
    # a key is also searched without its value
    return bool(finder.suspects([keys[at] for at in suspicious], budget))


def _keyed_texts(document: Any, budget: Budget) -> tuple[list[str], list[str]]:
    """Each text and number of *document* behind its key, in no order; and each key."""
    keyed: list[str] = []
    keys: list[str] = []
    stack = [document]
    steps = 0
    while stack:
        holder = stack.pop()
        if isinstance(holder, dict):
            steps += len(holder)
            _add_members(holder, keyed, stack)
            keys += holder
        elif isinstance(holder, list):
            steps += len(holder)
            texts = [value for value in holder if type(value) is str]
            keyed += texts
            keys += [""] * len(texts)
            stack += [value for value in holder if type(value) not in _PLAIN]
        else:
            keyed.append(str(holder))
            keys.append("")
        if steps > _UNPAID:
            budget.spend(steps)
            steps = 0
    budget.spend(steps + sum(map(len, keyed)) // CHARS_PER_STEP)
    return keyed, keys


def _add_members(holder: dict[str, Any], keyed: list[str], stack: list[Any]) -> None:
    """Add what an object holds: a text for each member to *keyed*, what holds more to *stack*."""
    for key, value in holder.items():
        kind = type(value)
        if kind is str:
            if (value[:1] in "dD" or key in _MAY_BE_BYTES) and _is_bytes(value, key, holder):
                keyed.append(key)
            else:
                keyed.append(f"{key}: {value}")
        elif kind is int:
            keyed.append(f"{key}: {value}")
        else:
            keyed.append(key)
            if kind not in _BARE:
                stack.append(value)


_BARE: Final = frozenset({type(None), bool, float})
"""The types in which nothing is found."""

_PLAIN: Final = _BARE | {str}

_UNPAID: Final = 500
"""Steps that may be taken before they are charged."""


def texts_of(document: Any, budget: Budget) -> Texts:
    """Each text and number of *document*, in document order."""
    units: list[Unit] = []
    keyed: list[str] = []
    # what is being walked: the link to a container, the container, and what is left of it
    stack: list[tuple[Link | None, Any, Iterator[tuple[Any, Any]]]]
    stack = [(None, None, iter(((None, document),)))]
    steps = 0
    while stack:
        link, holder, rest = stack[-1]
        for key, value in rest:
            steps += 1
            inside = _inside(value)
            searched = None if inside or _is_left_alone(value, key, holder) else value
            if type(key) is str:
                units.append((link, key, searched))
                keyed.append(key if searched is None else f"{key}: {searched}")
            elif searched is not None:
                units.append((link, key, searched))
                keyed.append(str(searched))
            if inside is not None:
                stack.append((None if key is None else (link, key), value, inside))
                break
        else:
            stack.pop()
        if steps > _UNPAID:
            budget.spend(steps)
            steps = 0
    budget.spend(steps + sum(map(len, keyed)) // CHARS_PER_STEP)
    return Texts(units, keyed)


def _inside(value: Any) -> Iterator[tuple[Any, Any]] | None:
    if isinstance(value, dict):
        return iter(value.items())
    return enumerate(value) if isinstance(value, list) else None


def _is_left_alone(value: Any, key: Any, holder: Any) -> bool:
    """True for bytes and for what is neither a text nor a whole number."""
    if isinstance(value, str):
        return (value[:1] in "dD" or key in _MAY_BE_BYTES) and _is_bytes(value, key, holder)
    return type(value) is not int


def suspects(texts: Texts, redactions: Sequence[TextRedaction], budget: Budget) -> list[int]:
    """The indexes, ascending, of the units in which any of *redactions* may find something."""
    found: set[int] = set()
    hidden = _hidden(texts, budget)
    for keys in (True, False):
        own = [redaction.finder for redaction in redactions if redaction.keys is keys]
        if own:
            candidates = texts.keyed if keys else [_bare(unit) for unit in texts.units]
            inner = [with_key(key, text) if keys else text for _, key, text in hidden]
            for finder in own:
                found.update(finder.suspects(candidates, budget))
                if inner:
                    found.update(hidden[at][0] for at in finder.suspects(inner, budget))
    return sorted(found)


def _bare(unit: Unit) -> str:
    return "" if unit[2] is None else str(unit[2])


def _hidden(texts: Texts, budget: Budget) -> list[tuple[int, str | int | None, str]]:
    """What the units hold in some encoding, with the index and the key of each."""
    if not is_encoded("\0".join(texts.keyed)):
        return []
    hidden: list[tuple[int, str | int | None, str]] = []
    for index, (_, key, value) in enumerate(texts.units):
        if isinstance(key, str) and is_encoded(key):
            hidden += [(index, None, text) for _, text in decoded_texts(None, key, budget)]
        if isinstance(value, str) and is_encoded(value):
            budget.spend(1 + len(value) // CHARS_PER_STEP)
            hidden += [(index, *inner) for inner in decoded_texts(key, value, budget)]
    return hidden


# Bytes

_BASE64 = compiled(r"[A-Za-z0-9+/\s]*={0,2}\s*")
_DATA_URI = compiled(r"(?i)data:[^,\s]*;base64,[a-z0-9+/\s]*={0,2}\s*")


def _is_bytes(text: str, key: Any, holder: Any) -> bool:
    """True for the bytes of an image or audio block and of a resource, and for a data URI.

    MCP's content types say which they are.  What is not base64 is no bytes, whatever the
    block says, and is searched.
    """
    if key == "data" and holder.get("type") in ("image", "audio"):
        return _BASE64.fullmatch(text)
    if key == "blob" and "uri" in holder:
        return _BASE64.fullmatch(text)
    return text[:5].lower() == "data:" and _DATA_URI.fullmatch(text)


_MAY_BE_BYTES: Final = frozenset({"data", "blob"})


def renamed_place(place: Place, names: Mapping[Place, Mapping[str, str]]) -> Place:
    """*place* as it is called once keys are renamed."""
    if not names:
        return place
    return tuple(
        names.get(place[:depth], {}).get(step, step) if isinstance(step, str) else step
        for depth, step in enumerate(place)
    )


def place_of_unit(unit: Unit) -> Place:
    """Where a unit stands."""
    link, key, _ = unit
    return () if key is None else (*place_of(link), key)
