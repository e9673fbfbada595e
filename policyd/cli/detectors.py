"""`policyd detectors`: what can be looked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.catalog import EVIDENCE, detectors_option, detectors_or_exit, policies_option
from policyd.cli.exits import Exit
from policyd.cli.policies import format_option
from policyd.cli.render import STRONG, Format, examples, say, say_json
from policyd.detectors import Detector, Scanner

_HEADS = ("NAME", "GROUPS", "EVIDENCE", "SHAPE")


@click.command(
    short_help="List the detectors and what they find.",
    epilog=examples(
        "policyd detectors --detectors pii.eu --format json",
        "policyd detectors --policies policies/",
    ),
)
@detectors_option("all")
@policies_option
@format_option(Format.TEXT, Format.JSON)
def command(names: Sequence[str], policies: Sequence[Path], format: Format) -> Exit:
    """List detectors: the name, the groups, what a match rests on, and the shape of an example.

    In a shape, `a` is a small letter, `A` a capital and `9` a digit, in runs shown as `9{4}`.
    """
    rows = [_row(detector) for detector in detectors_or_exit(policies, names)]
    if format is Format.JSON:
        say_json({"detectors": rows})
    else:
        _say_table(rows)
    return Exit.FINE


def _row(detector: Detector) -> dict[str, Any]:
    return {
        "name": detector.name,
        "groups": list(detector.groups),
        "evidence": EVIDENCE[detector.evidence],
        "shape": shape_of(detector),
    }


def shape_of(detector: Detector) -> str:
    """What the detector finds in its example, each character as its kind; empty without one."""
    sample = detector.sample()
    matches = Scanner((detector,)).find(sample)
    return _shape(sample[matches[0].start : matches[0].end]) if matches else ""


def _shape(text: str) -> str:
    runs: list[tuple[str, int]] = []
    for kind in map(_kind, text[:400]):
        if runs and runs[-1][0] == kind:
            runs[-1] = kind, runs[-1][1] + 1
        else:
            runs.append((kind, 1))
    parts = [kind if count == 1 else f"{kind}{{{count}}}" for kind, count in runs]
    return "".join(parts) if len(parts) <= _MAX_PARTS else "".join(parts[:_MAX_PARTS]) + "..."


_MAX_PARTS = 12


def _kind(char: str) -> str:
    if char.isdigit():
        return "9"
    if char.isalpha():
        return "A" if char.isupper() else "a"
    return char if char.isprintable() and char.isascii() else "."


def _say_table(rows: Sequence[dict[str, Any]]) -> None:
    lines = [(r["name"], ", ".join(r["groups"]), r["evidence"], r["shape"]) for r in rows]
    widths = [max(map(len, column)) for column in zip(_HEADS, *lines, strict=True)]
    say(_line(_HEADS, widths), STRONG)
    for line in lines:
        say(_line(line, widths))


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(map(str.ljust, cells, widths)).rstrip()
