"""Detectors that somebody else writes: from the evidence that is declared to a `Detector`.

Knows the kinds of evidence; knows neither policy files nor rule files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stdnum import iban, luhn, verhoeff
from stdnum.iso7064 import mod_11_10, mod_97_10

from policyd.detectors.detector import Around, Check, Detector, Evidence, compiled, entropy, whole
from policyd.pattern import Pattern, compile_pattern, quoted

NEAR = 60
"""Code points before and after a candidate in which a word of its context must stand."""

CHECKSUMS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "luhn": luhn.is_valid,
        "verhoeff": verhoeff.is_valid,
        "iban": lambda number: bool(iban.is_valid(number, check_country=False)),
        "mod-97-10": mod_97_10.is_valid,
        "mod-11-10": mod_11_10.is_valid,
    }
)
"""What a checksum is called, and the test of a text without separators."""

_SEPARATORS = str.maketrans("", "", " .-")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared of one detector.

    group: the capturing group of `pattern` that is found; 0 is the whole match.
    context: words, one of which must stand within NEAR code points, as a whole word.
    checksum: a name of CHECKSUMS; entropy: bits per character that what is found must have.
    """

    name: str
    groups: tuple[str, ...]
    pattern: Pattern
    group: int = 0
    keywords: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    checksum: str | None = None
    entropy: float | None = None

    @property
    def evidence(self) -> Evidence:
        """How much a match proves."""
        if self.checksum is not None:
            return Evidence.CHECKSUM
        return Evidence.CONTEXT if self.context else Evidence.SHAPE


def declared(
    declaration: Declaration,
    *,
    around: Around | None = None,
    sample: str = "",
    look_alikes: tuple[str, ...] = (),
) -> Detector:
    """The detector of a declaration.  *around* refuses a candidate after all other evidence."""
    text, group = declaration.pattern.text, declaration.group
    return Detector(
        name=declaration.name,
        groups=declaration.groups,
        evidence=declaration.evidence,
        patterns=(text if group else f"({text})",),
        sample=lambda: sample,
        check=_check(declaration),
        look_alikes=look_alikes,
        around=around or _around(declaration.context),
        shortest=1,
        group=group or 1,
        keywords=tuple(word.lower() for word in declaration.keywords),
    )


def _check(declaration: Declaration) -> Check | None:
    passes = CHECKSUMS.get(declaration.checksum or "")
    least = declaration.entropy
    if passes is None and least is None:
        return None

    def holds(text: str) -> bool:
        if least is not None and entropy(text) < least:
            return False
        return passes is None or bool(passes(text.translate(_SEPARATORS)))

    return whole(holds)


def _around(words: tuple[str, ...]) -> Around | None:
    if not words:
        return None
    alternatives = "|".join(map(quoted, words))
    context = compiled(rf"(?i)(?:\b|_)(?:{alternatives})(?:\b|_)")

    def holds(text: str, start: int, end: int) -> bool:
        before = text[max(start - NEAR, 0) : start]
        return context.search(before) or context.search(text[end : end + NEAR])

    return holds


def literals(words: tuple[str, ...]) -> Pattern | None:
    """A pattern of any of *words*, whatever their case; None where there are none."""
    if not words:
        return None
    found = compile_pattern("(?i)" + "|".join(map(quoted, words)))
    return found if isinstance(found, Pattern) else None
