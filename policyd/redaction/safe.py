"""Pointers that tell where something is and not what.

Knows keys and the detectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from policyd.detectors import scanner
from policyd.errors import EvaluationError
from policyd.expression import Budget
from policyd.pointer import format_pointer
from policyd.redaction.text import decoded_texts

HIDDEN = "[redacted]"
"""What stands in a pointer for a key that must not be told."""

MAX_KEY = 128
"""Characters of a key that a pointer shows."""

_STEPS: Final = 10_000
"""So much is spent on what a key may hide; one that hides more is not shown."""

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
        known[key] = _safe(key)
    return known[key]


def _safe(key: str) -> str:
    try:
        hidden = [text for _, text in decoded_texts(None, key, Budget(_STEPS, math.inf))]
    except EvaluationError:
        return HIDDEN
    if any(_EVERYTHING.found(text) for text in (key, *hidden)):
        return HIDDEN
    return key if len(key) <= MAX_KEY else key[:MAX_KEY] + "..."
