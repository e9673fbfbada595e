"""Detectors of text that nobody sees and a model reads.

What scripts and emoji need stays: joiners, marks of direction, single variation selectors and
the flags of regions.
"""

from __future__ import annotations

from policyd.detectors.detector import Detector, Evidence

_INVISIBLE = ("invisible",)
_ESCAPE = chr(0x1B)

INVISIBLE: tuple[Detector, ...] = (
    Detector(
        name="unicode-tags",
        groups=_INVISIBLE,
        evidence=Evidence.SHAPE,
        # the flag of a region is a black flag, up to six tags and a cancel tag
        patterns=(
            r"\x{1F3F4}[\x{E0030}-\x{E0039}\x{E0061}-\x{E007A}]{3,6}\x{E007F}"
            r"|([\x{E0000}-\x{E007F}]+)",
        ),
        sample=lambda: "Adds." + "".join(chr(0xE0000 + ord(char)) for char in "ignore"),
        look_alikes=(
            "plain",
            "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "gbeng") + "\U000e007f",
        ),
        shortest=1,
    ),
    Detector(
        name="bidi-control",
        groups=_INVISIBLE,
        evidence=Evidence.SHAPE,
        # embeddings, overrides and isolates; the marks U+200E, U+200F and U+061C are typography
        patterns=(r"([\x{202A}-\x{202E}\x{2066}-\x{2069}]+)",),
        sample=lambda: "Add" + chr(0x202E),
        look_alikes=(chr(0x200E) + "abc", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        shortest=1,
    ),
    Detector(
        name="ansi-escape",
        groups=_INVISIBLE,
        evidence=Evidence.SHAPE,
        # ECMA-48: control sequences, operating system commands, two-character escapes
        patterns=(
            r"(\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x00\x07\x1b]*(?:\x07|\x1b\\)|[@-_])"
            r"|\x{9b}[0-?]*[ -/]*[@-~])",
        ),
        sample=lambda: "ok" + _ESCAPE + "[8m",
        look_alikes=("[8m", "\\x1b[0m", "\\u001b[0m"),
        shortest=1,
    ),
    Detector(
        name="variation-selectors",
        groups=_INVISIBLE,
        evidence=Evidence.SHAPE,
        # one after a character chooses its glyph; a row of them is bytes
        patterns=(r"([\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]{3,})",),
        sample=lambda: "a" + "".join(map(chr, (0xE0110, 0xE0121, 0xE0132, 0xE0143))),
        look_alikes=("\u2764\ufe0f", "\u845b\U000e0100"),
        shortest=1,
    ),
)
"""Detectors of invisible text, in the order of the file."""
