"""What becomes of something that must not be seen.

Knows texts and single JSON values; not where they stand nor how they were found.  Replacement
is plain text: backslashes and dollar signs in it mean nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from policyd.detectors import DETECTORS
from policyd.detectors.detector import compiled
from policyd.pointer import REMOVE

Found = tuple[int, int, str | None]
"""A stretch of a text to redact (code points, end exclusive) and the detector that found it."""

HASH_PREFIX = "sha256:"
"""What a hash begins with."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Put *text* in its place; `{detector}` in it is the name of the detector.

    Where no detector is involved, the name is `redacted`.
    """

    text: str

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text."""
        return self.text.replace("{detector}", detector or "redacted")

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        if "{detector}" not in self.text:
            return text == self.text
        return any(self.of(text, name) == text for name in (None, *DETECTORS))


@dataclass(frozen=True, slots=True)
class Mask:
    """Cover each character with *char*, but for the first and last few.

    At least half of the characters are covered, whatever is to be kept.  `char` is neither a
    letter nor a digit, so that what is covered cannot look like the real thing again;
    ValueError otherwise.
    """

    char: str = "*"
    keep: int = 0
    keep_first: int = 0

    def __post_init__(self) -> None:
        flaw = mask_flaw(self.char)
        if flaw is not None:
            raise ValueError(flaw)

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text: as long as that."""
        most = len(found) // 2
        last = min(self.keep, most)
        first = min(self.keep_first, most - last)
        end = len(found) - last
        return found[:first] + self.char * (end - first) + found[end:]

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return self.of(text) == text


@dataclass(frozen=True, slots=True)
class Hash:
    """Put `sha256:` and 64 hex digits of the SHA-256 of the text in its place.

    Equal texts stay recognisable as equal.  There is no key in it: whoever can guess the
    text (a card number, a social security number, a short password) can confirm the guess,
    so this hides long random secrets only.
    """

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text."""
        return HASH_PREFIX + hashlib.sha256(found.encode("utf-8", "surrogatepass")).hexdigest()

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return text.startswith(HASH_PREFIX) and _HASHED.fullmatch(text)


@dataclass(frozen=True, slots=True)
class Remove:
    """Take it out: a stretch out of its text, a member or element out of its container.

    What stood on both sides of a stretch then stands together, and is not searched again.
    """

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text: nothing."""
        return ""

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return not text


Strategy = Literal | Mask | Hash | Remove
"""What becomes of something found."""

MASKED_CONTAINER = 3
"""How many mask characters stand for an object or array: its size is not told."""


def mask_flaw(char: str) -> str | None:
    """Why *char* cannot be the character of a mask, as text of a diagnostic; None if it can."""
    if len(char) != 1:
        return "a mask is one character"
    if char.isalnum():
        return "a mask is neither a letter nor a digit"
    if char.isspace() or not char.isprintable():
        return "a mask is a visible character"
    return None


def redact_text(text: str, matches: Iterable[Found], replace: Strategy) -> str:
    """*text* with each stretch replaced.

    The matches go from left to right and do not overlap, as `Scanner.find` gives them.
    """
    parts: list[str] = []
    at = 0
    for start, end, detector in matches:
        parts += (text[at:start], replace.of(text[start:end], detector))
        at = end
    return "".join((*parts, text[at:]))


def redact_value(value: Any, replace: Strategy, detector: str | None = None) -> Any:
    """What stands in the place of a whole JSON value: a string, or REMOVE.

    A scalar that is no string is redacted as its JSON text, an object or array as its JSON
    text with sorted keys, but for a mask, which does not tell its size.  A value that the
    strategy made already is returned as it is.
    """
    if isinstance(replace, Remove):
        return REMOVE
    if isinstance(value, str):
        return value if replace.made(value) else replace.of(value, detector)
    if isinstance(replace, Literal):
        return replace.of("", detector)
    if isinstance(replace, Mask) and isinstance(value, (dict, list)):
        return replace.char * MASKED_CONTAINER
    return replace.of(canonical(value), detector)


def canonical(value: Any) -> str:
    """The JSON text of *value* with sorted keys and without blanks, in ASCII."""
    parts: list[str] = []
    # what is still to be written, last first: values, and texts in a list of their own kind
    rest: list[tuple[bool, Any]] = [(False, value)]
    while rest:
        written, item = rest.pop()
        if written:
            parts.append(item)
        elif isinstance(item, dict):
            rest.append((True, "}"))
            for number, key in enumerate(sorted(item, reverse=True), 1):
                comma = "," if number < len(item) else ""
                rest += ((False, item[key]), (True, f"{comma}{json.dumps(key)}:"))
            rest.append((True, "{"))
        elif isinstance(item, list):
            rest.append((True, "]"))
            for at in range(len(item) - 1, -1, -1):
                rest += ((False, item[at]), (True, "," if at else ""))
            rest.append((True, "["))
        else:
            parts.append(json.dumps(item))
    return "".join(parts)


_HASHED = compiled("sha256:[0-9a-f]{64}")
