"""What a detector is, and the tests by which a candidate becomes a finding.

Knows no single detector; `credentials`, `vendors` and `personal` declare them.
"""

from __future__ import annotations

import hashlib
import math
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from policyd.pattern import Pattern, compile_pattern

Check = Callable[[str], Sequence[tuple[int, int]]]
"""From a candidate to the stretches of it that are the real thing (start, end exclusive)."""

Around = Callable[[str, int, int], bool]
"""Whether the stretch of a text from start to end (exclusive) counts where it stands."""


class Evidence(IntEnum):
    """How much a match proves; where matches overlap, the strongest gives the name."""

    GENERIC = 0
    CONTEXT = 1
    SHAPE = 2
    CHECKSUM = 3


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of thing to find in a text.

    name: kebab-case, what `{detector}` and findings say.
    groups: the groups that it belongs to.
    evidence: what a match rests on: a checksum or a decoded structure; the issuer's own shape;
        a word beside it; or no more than its looks.
    patterns: RE2; what is found is their capturing group number `group`.  What stands around
        the group is context, as RE2 has no look-around.
    sample: makes a synthetic text with one thing to find at its end; a function, so that no
        file holds anything that looks like a secret.
    check: narrows or refuses a candidate; None where the pattern says it all.
    look_alikes: texts in which it must find nothing.
    around: refuses what `check` has left for what stands around it; None where nothing is asked.
    shortest: code points of the shortest text in which there can be one.
    keywords: in small letters; where there are any, the text must hold one, however written.
    """

    name: str
    groups: tuple[str, ...]
    evidence: Evidence
    patterns: tuple[str, ...]
    sample: Callable[[], str]
    check: Check | None = None
    look_alikes: tuple[str, ...] = ()
    around: Around | None = None
    shortest: int = 6
    group: int = 1
    keywords: tuple[str, ...] = ()


def compiled(text: str) -> Pattern:
    """The compiled form of a pattern of our own, which compiles."""
    pattern = compile_pattern(text)
    assert isinstance(pattern, Pattern), pattern
    return pattern


def whole(holds: Callable[[str], bool]) -> Check:
    """The check that takes a candidate whole where *holds* says so, else refuses it."""
    return lambda text: ((0, len(text)),) if holds(text) else ()


def beside(words: str, found: str) -> str:
    """A pattern of *found* no more than 24 characters after one of *words*, which are a pattern.

    The word is a whole one; `_` ends it, as in the name of a field.  What is masked between
    them is what was found before.
    """
    return rf"(?i:(?:\b|_)(?:{words})(?:\b|_))[^\n\x00*\x{{2022}}\x{{2588}}]{{0,24}}?\b({found})\b"


def entropy(text: str) -> float:
    """Shannon entropy in bits per character: 0 for `aaaa`, about 4 for 20 random characters."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


_DIGITS, _CAPITALS = frozenset(string.digits), frozenset(string.ascii_uppercase)


def has_digit(text: str) -> bool:
    """True when at least one ASCII digit is in *text*."""
    return not _DIGITS.isdisjoint(text)


def has_upper(text: str) -> bool:
    """True when at least one ASCII capital is in *text*."""
    return not _CAPITALS.isdisjoint(text)


def is_kebab(text: str) -> bool:
    """True for lower-case words and separators alone, which no issuer's random part is."""
    return not has_digit(text) and not has_upper(text)


ALNUM = string.ascii_letters + string.digits
"""The letters and digits of ASCII."""


def filler(seed: str, length: int, alphabet: str = ALNUM) -> str:
    """*length* characters that look random and are the same in every run."""
    digest = hashlib.shake_256(seed.encode()).digest(length)
    return "".join(alphabet[byte % len(alphabet)] for byte in digest)
