"""Texts within a text: what it says once typography, percent-encoding and base64 are undone.

Knows encodings, and which part of the text each decoded character came from.  Knows nothing of
what is looked for.  JSON within a text is for `embedded`.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from policyd.detectors.detector import compiled

MAX_DEPTH: Final = 4
"""How many layers of encoding are undone."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A text written differently.

    starts: for each of its characters where it began in the original, and at last where the
        original ends.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original that the stretch from *start* to *end* was."""
        return self.starts[start], self.ends[end - 1]


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a text that is base64, and the text that it encodes."""

    start: int
    end: int
    text: str


def may_hide(text: str) -> bool:
    """False when no part of *text* is encoded in a way that is undone here; quick to tell."""
    if not text.isascii() and _TYPOGRAPHY.search(text):
        return True
    return ("%" in text and _PERCENT.search(text)) or _QUADS.search(text)


def folds(text: str) -> Iterator[Fold]:
    """What *text* says in plain typography, and with its percent-encoding undone."""
    if not text.isascii():
        plain = text.translate(_PLAIN)
        if plain != text:
            kept = [at for at, char in enumerate(text) if _PLAIN.get(ord(char), char) is not None]
            yield Fold(plain, kept, [at + 1 for at in kept])
    if "%" in text:
        yield from _unquoted(text)


def _unquoted(text: str) -> Iterator[Fold]:
    """One fold with each run of `%XX` read as UTF-8; what is not UTF-8 is read as Latin-1."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for start, end in _PERCENT.iter_spans(text):
        parts.append(text[at:start])
        starts += range(at, start)
        ends += range(at + 1, start + 1)
        data = unquote_to_bytes(text[start:end])
        encoding = "utf-8" if _is_utf8(data) else "latin-1"
        place = start
        for char in data.decode(encoding):
            size = 3 * len(char.encode(encoding))
            starts.append(place)
            place += size
            ends.append(place)
            parts.append(char)
        at = end
    if at:
        parts.append(text[at:])
        starts += range(at, len(text))
        ends += range(at + 1, len(text) + 1)
        yield Fold("".join(parts), starts, ends)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_PERCENT = compiled("(?:%[0-9A-Fa-f]{2})+")


# Typography: what word processors and input methods write for plain ASCII, and what cannot be
# seen.  Left as it is: U+3000, which stands between the cells of tables, and circled digits.

_SPACES = (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F)
_DASHES = (*range(0x2010, 0x2016), 0x2043, 0x2212, 0xFE58, 0xFE63)
_UNSEEN = (
    (0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF),
    (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)),
    (*range(0x2066, 0x206A), *range(0xFE00, 0xFE10)),
    # combining marks are no part of what is written in ASCII
    range(0x300, 0x34F),
)
_DIGITS = (0x660, 0x6F0, 0x966, 0x9E6)
_PLAIN: Final[dict[int, str | None]] = {
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_DASHES, "-"),
    **{code: None for group in _UNSEEN for code in group},
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{zero + digit: str(digit) for zero in _DIGITS for digit in range(10)},
    **{0x1D7CE + digit: str(digit % 10) for digit in range(50)},
}
_TYPOGRAPHY = compiled("[" + "".join(f"\\x{{{code:x}}}" for code in sorted(_PLAIN)) + "]")


# Base64.  ASCII text in it shows in each group of four: its characters have no high bit, so each
# place has but some of the letters.  Three such groups in a row, nine characters, are rare in
# words and in the bytes of an image.  So what is shorter, or not in ASCII, is not found.

_QUAD = "[CDI-Za-f][AC-HQS-Xgi-nwy-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
_QUADS = compiled(f"(?:{_QUAD}){{3}}")
_RUN = compiled(f"(?:{_QUAD}){{3}}[A-Za-z0-9+/_-]*={{0,2}}")
_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LINE = 48
"""Characters of the shortest line after which base64 may go on in the next: 64 and 76 are usual."""


def runs(text: str) -> Iterator[Run]:
    """The stretches of *text* that are base64 of some text, with or without padding.

    Bytes are no text, and neither are those of a `data:` URI.
    """
    if not _QUADS.search(text):
        return
    done = 0
    for first, last in _RUN.iter_spans(text):
        if first < done:
            continue
        start = first
        while start - 4 >= done and _ALPHABET.issuperset(text[start - 4 : start]):
            start -= 4
        done = end = _end_of_lines(text, start, last)
        if text.endswith(";base64,", 0, start):
            continue
        data = _decoded(text[start:end])
        if b"\0" not in data:
            yield Run(start, end, data.decode("utf-8", "replace"))


def _end_of_lines(text: str, start: int, end: int) -> int:
    """Where base64 ends that fills a line to its end and goes on in lines as long as that.

    A shorter line is the last one.
    """
    width = end - start
    full = width >= _LINE and text[end - 1] != "="
    while full:
        line_break = end + text.startswith("\r", end)
        if not text.startswith("\n", line_break):
            break
        stop = text.find("\n", line_break + 1)
        line = text[line_break + 1 : stop if stop >= 0 else len(text)]
        chars = line.strip()
        if not 0 < len(chars) <= width or len(chars) % 4:
            break
        if not _ALPHABET.issuperset(chars.rstrip("=")):
            break
        end = line_break + 1 + line.index(chars) + len(chars)
        full = len(chars) == width and chars[-1] != "="
    return end


def _decoded(text: str) -> bytes:
    chars = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    # one character alone encodes nothing
    chars = chars[: len(chars) - (len(chars) % 4 == 1)]
    return binascii.a2b_base64(chars + "=" * (-len(chars) % 4))
