"""Redacts documents: by what a text holds, or by place.

Knows the places in which a value hides: texts, keys and whole numbers anywhere in a document,
JSON within a text, base64, percent-encoding and typography.  Knows no policy file:
`rules/redact` compiles one into what is here.

What nothing was found in stays the very same object, and only what leads to a change is copied.
Redacting twice is redacting once, unless what is taken out or kept makes a new token of its
neighbours.
"""

from policyd.redaction.document import (
    DETAIL,
    RETYPED,
    PathRedaction,
    ScopedRedaction,
    find_places,
    redact,
)
from policyd.redaction.finding import Finder, Found, PatternFinder, TextRedaction
from policyd.redaction.safe import HIDDEN, safe_pointer
from policyd.redaction.scope import EVERYWHERE, Scope
from policyd.redaction.strategy import (
    Default,
    Hash,
    Literal,
    Mask,
    Numbered,
    Numbers,
    Partial,
    Remove,
    Strategy,
    Tokenize,
    Value,
    canonical,
    mask_flaw,
    redact_value,
)

__all__ = [
    "DETAIL",
    "EVERYWHERE",
    "HIDDEN",
    "RETYPED",
    "Default",
    "Finder",
    "Found",
    "Hash",
    "Literal",
    "Mask",
    "Numbered",
    "Numbers",
    "Partial",
    "PathRedaction",
    "PatternFinder",
    "Remove",
    "Scope",
    "ScopedRedaction",
    "Strategy",
    "TextRedaction",
    "Tokenize",
    "Value",
    "canonical",
    "find_places",
    "mask_flaw",
    "redact",
    "redact_value",
    "safe_pointer",
]
