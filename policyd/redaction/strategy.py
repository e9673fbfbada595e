"""What becomes of something that must not be seen.

Knows texts and single JSON values; not where they stand nor how they were found.  Replacement
is plain text: backslashes and dollar signs in it mean nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from policyd.detectors import DETECTORS, GROUPS
from policyd.detectors.detector import compiled
from policyd.pattern import Pattern
from policyd.pointer import REMOVE
from policyd.redaction.readable import readable_part

HASH_PREFIX: Final = "sha256:"
"""What a hash without a key begins with."""

KEYED_HASH_PREFIX: Final = "hmac-sha256:"
"""What a hash with a key begins with."""

TOKEN_DIGITS: Final = 16
"""Hex digits of a token that a key makes: two of a million secrets share one in 1 of 40 million
cases."""


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
    keep, keep_first: how many letters and digits stay readable at the end and the beginning.
    separators: what is neither a letter nor a digit stays too, and counts for nothing.
    """

    char: str = "*"
    keep: int = 0
    keep_first: int = 0
    separators: bool = False

    def __post_init__(self) -> None:
        flaw = mask_flaw(self.char)
        if flaw is not None:
            raise ValueError(flaw)

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text: as long as that.

        Of what nobody sees nothing stays, and neither of what is made of separators alone.
        """
        places = [at for at, char in enumerate(found) if not self.separators or self._counts(char)]
        if not places or detector in GROUPS["invisible"]:
            return self.char * len(found)
        most = len(places) // 2
        last = min(self.keep, most)
        first = min(self.keep_first, most - last)
        chars = list(found)
        for at in places[first : len(places) - last]:
            chars[at] = self.char
        return "".join(chars)

    def _counts(self, char: str) -> bool:
        return char.isalnum() or char == self.char

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return not text or (self.char in text and self.of(text) == text)


@dataclass(frozen=True, slots=True)
class Hash:
    """Put a prefix and 64 hex digits in its place: of HMAC-SHA-256 with a key, else of SHA-256.

    Equal texts stay recognisable as equal.  Without a key, whoever can guess the text (a card
    number, a short password) can confirm the guess, so that hides long random secrets only.
    """

    key: bytes | None = field(default=None, repr=False)

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text."""
        data = _bytes(found)
        if self.key is None:
            return HASH_PREFIX + hashlib.sha256(data).hexdigest()
        return KEYED_HASH_PREFIX + hmac.digest(self.key, data, "sha256").hex()

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return text.startswith(HASH_PREFIX if self.key is None else KEYED_HASH_PREFIX) and (
            _HASHED.fullmatch(text)
        )


@dataclass(frozen=True, slots=True)
class Partial:
    """Leave readable what people tell such things apart by, and cover the rest with `*`.

    Of an e-mail address the first letter and the domain, of a card the last four digits, of
    an IBAN country and last four; of anything else a quarter at the end, four at most.
    """

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text: as long as that."""
        return readable_part(found, detector)

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return "*" in text and self.of(text) == text


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


@dataclass(frozen=True, slots=True)
class Value:
    """Put *value*, any JSON value, in the place of the whole value in which it was found."""

    value: Any

    def of(self, found: str, detector: str | None = None) -> str:
        """What takes its place where only a text can stand, in a key."""
        return _PLACEHOLDER.of(found, detector)

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return text == self.value or _PLACEHOLDER.made(text)


@dataclass(frozen=True, slots=True)
class Default:
    """Put the empty value of the same type in the place of the whole value.

    `""`, 0, false, `{}`, `[]`; null stays null.
    """

    def of(self, found: str, detector: str | None = None) -> str:
        """What takes its place where only a text can stand, in a key."""
        return _PLACEHOLDER.of(found, detector)

    def made(self, text: str) -> bool:
        """True when *text* is already a replacement of this strategy."""
        return not text or _PLACEHOLDER.made(text)


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Put a token in its place, the same for the same secret: `[email:9f86d081884c7d65]`.

    With a key the digits are those of an HMAC, the same in every payload.  Without one the
    secrets of a payload are numbered, `[email:1]`, by `Numbers`.
    """

    key: bytes = field(repr=False)

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text."""
        digits = hmac.digest(self.key, _bytes(found), "sha256").hex()[:TOKEN_DIGITS]
        return f"[{detector or 'redacted'}:{digits}]"

    def made(self, text: str) -> bool:
        """True when *text* is already a token."""
        return _TOKEN.fullmatch(text)


class Numbers:
    """Tokens without a key: the secrets of one payload by number.

    taken: says whether a token stands in the payload already, as the work of somebody before.
    """

    def __init__(self, taken: Callable[[str], bool]) -> None:
        self._taken = taken
        self._tokens: dict[str, str] = {}
        self._last: dict[str, int] = {}

    def of(self, found: str, detector: str | None = None) -> str:
        """The replacement for a stretch of text."""
        token = self._tokens.get(found)
        while token is None:
            name = detector or "redacted"
            number = self._last[name] = self._last.get(name, 0) + 1
            wanted = f"[{name}:{number}]"
            token = None if self._taken(wanted) else wanted
        self._tokens[found] = token
        return token

    def made(self, text: str) -> bool:
        """True when *text* is already a token."""
        return _TOKEN.fullmatch(text)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Stands for the `Numbers` of a payload until there is one."""

    def of(self, found: str, detector: str | None = None) -> str:
        """What takes its place outside of any payload."""
        return f"[{detector or 'redacted'}:0]"

    def made(self, text: str) -> bool:
        """True when *text* is already a token."""
        return _TOKEN.fullmatch(text)


Strategy = (
    Literal | Mask | Hash | Partial | Remove | Value | Default | Tokenize | Numbered | Numbers
)
"""What becomes of something found."""

_PLACEHOLDER = Literal("[{detector}]")
_HASHED = compiled("(?:hmac-)?sha256:[0-9a-f]{64}")
_TOKEN = compiled(r"\[[A-Za-z0-9._-]+:[0-9a-f]+\]")
NAMES: Final = tuple(DETECTORS)
"""The names that a placeholder may hold where a policy set has no detectors of its own."""


@lru_cache(maxsize=64)
def token_shape(names: tuple[str, ...]) -> Pattern:
    """What finds hashes and tokens, whoever made them: what looks drawn at random.

    names: of the detectors that tokens may be called after.
    """
    digits = f"[0-9a-f]{{{TOKEN_DIGITS}}}"
    return compiled(rf"(?:hmac-)?sha256:[0-9a-f]{{64}}|\[(?:{_any_of(names)}):{digits}\]")


def name_shape(replace: Strategy, names: tuple[str, ...]) -> Pattern | None:
    """What finds placeholders of *replace* with the name of a detector in group 1, if it has any.

    Such a name must not be context for what stands beside it: `[us-ssn] 118347935` holds no
    second number of that kind.
    """
    if isinstance(replace, Literal):
        return _name_shape(replace.text, names) if "{detector}" in replace.text else None
    if isinstance(replace, (Tokenize, Numbered, Numbers)):
        return _numbered_shape(names)
    return _name_shape(_PLACEHOLDER.text, names)


@lru_cache(maxsize=256)
def _name_shape(literal: str, names: tuple[str, ...]) -> Pattern:
    before, _, after = literal.partition("{detector}")
    around = [_quoted(part) for part in (before, after.replace("{detector}", ""))]
    return compiled(f"{around[0]}({_any_of(names)}){around[1]}")


@lru_cache(maxsize=64)
def _numbered_shape(names: tuple[str, ...]) -> Pattern:
    return compiled(rf"\[({_any_of(names)}):[0-9a-f]+\]")


def _any_of(names: tuple[str, ...]) -> str:
    return "|".join(_quoted(name) for name in ("redacted", *names))


def _quoted(text: str) -> str:
    """*text* as an RE2 pattern for itself."""
    return r"\Q" + text.replace(r"\E", r"\E\\E\Q") + r"\E"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def mask_flaw(char: str) -> str | None:
    """Why *char* cannot be the character of a mask, as text of a diagnostic; None if it can."""
    if len(char) != 1:
        return "a mask is one character"
    if char.isalnum():
        return "a mask is neither a letter nor a digit"
    if char.isspace() or not char.isprintable():
        return "a mask is a visible character"
    return None


MASKED_CONTAINER = 3
"""How many mask characters stand for an object or array: its size is not told."""


def redact_value(
    value: Any, replace: Strategy, detector: str | None = None, *, retype: bool = False
) -> Any:
    """What stands in the place of a whole JSON value, or REMOVE.

    A text becomes a text.  Anything else keeps its type, so that who reads it finds what it
    expects: it becomes the empty value of its type.  With *retype* it becomes a text: a
    scalar is redacted as its JSON text, an object or array as its JSON text with sorted keys,
    but for a mask, which does not tell its size.  A value that the strategy made already is
    returned as it is.
    """
    if isinstance(replace, Remove):
        return REMOVE
    if isinstance(replace, Value):
        same = type(value) is type(replace.value) and value == replace.value
        # a copy, so that no two payloads share a value of the policy
        return value if same else json.loads(json.dumps(replace.value))
    if isinstance(replace, Default) or not (retype or isinstance(value, str)):
        return empty_like(value)
    if isinstance(value, str):
        return value if replace.made(value) else replace.of(value, detector)
    if isinstance(replace, Mask | Partial) and isinstance(value, (dict, list)):
        return (replace.char if isinstance(replace, Mask) else "*") * MASKED_CONTAINER
    return replace.of(canonical(value), detector)


def empty_like(value: Any) -> Any:
    """The empty value of the type of *value*; *value* itself where it is that already."""
    if value is None or isinstance(value, bool):
        return value and False
    # equal, but not the same: -0.0 and 0.0 are both nothing
    return value if not value else type(value)()


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
