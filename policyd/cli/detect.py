"""`policyd detect`: what detectors find in a file, where, and on what evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from policyd import wire
from policyd.cli.catalog import EVIDENCE, detectors_option, detectors_or_exit, policies_option
from policyd.cli.exits import Exit
from policyd.cli.policies import format_option
from policyd.cli.render import Format, counted, examples, say, say_json
from policyd.detectors import Detector, Match, Scanner
from policyd.errors import InvocationError
from policyd.redaction import safe_pointer

MAX_BYTES = 64 << 20
"""A larger file is not read."""


class _Fired(NamedTuple):
    """A detector, where it fired (`line:column` or a pointer), and what it found, covered."""

    where: str
    detector: str
    evidence: str
    covered: str


@click.command(
    short_help="Show what detectors find in a file.",
    epilog=examples(
        "policyd detect answer.json",
        "policyd detect --detectors pii --policies policies/ mail.txt",
    ),
)
@click.argument("file", type=click.File("rb"))
@detectors_option("secrets", "pii", "invisible")
@policies_option
@format_option(Format.TEXT, Format.JSON)
def command(file: BinaryIO, names: Sequence[str], policies: Sequence[Path], format: Format) -> Exit:
    """Show what detectors find in FILE (- is the standard input), where, and on what evidence.

    A JSON file is searched text by text, and places are JSON Pointers; of any other file they
    are `line:column`. What is found is shown covered. A redaction finds more: it looks into
    encodings and embedded JSON as well.
    """
    detectors = detectors_or_exit(policies, names)
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise click.UsageError(f"the file is larger than {MAX_BYTES} bytes")
    fired = list(_fired(content, detectors))
    if format is Format.JSON:
        say_json({"found": [each._asdict() for each in fired]})
        return Exit.FINE
    for each in fired:
        say(f"{each.where or '/'}  {each.detector}  {each.covered}  ({each.evidence})")
    say(f"{counted(len(fired), 'finding')}, {counted(len(detectors), 'detector')}", err=True)
    return Exit.FINE


def _fired(content: bytes, detectors: Sequence[Detector]) -> Iterator[_Fired]:
    scanner = Scanner(detectors)
    evidence = {detector.name: EVIDENCE[detector.evidence] for detector in detectors}

    def fired(where: str, text: str, match: Match) -> _Fired:
        found = covered(text[match.start : match.end])
        return _Fired(where, match.detector, evidence[match.detector], found)

    try:
        document = wire.parse_json(content)
    except InvocationError:
        text = content.decode("utf-8", "replace")
        for match in scanner.find(text):
            yield fired(_place(text, match.start), text, match)
        return
    for place, key, text in _texts(document, (), ""):
        ahead = f"{key}: " if key else ""
        for match in scanner.find(ahead + text):
            if match.start >= len(ahead):
                yield fired(safe_pointer(place), ahead + text, match)


def _place(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"{line}:{offset - text.rfind(chr(10), 0, offset)}"


def _texts(value: Any, place: tuple[str | int, ...], key: str) -> Iterator[tuple[Any, str, str]]:
    """Every text, number and key below *value*: its place, the key ahead of it, the text."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*place, name), "", name
            yield from _texts(member, (*place, name), name)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _texts(element, (*place, index), key)
    elif isinstance(value, str) or (isinstance(value, int | float) and value is not True):
        yield place, key, str(value)


def covered(found: str) -> str:
    """*found* so that nobody can use it: two characters where it is long, and its size."""
    head = found[:2] if len(found) >= 12 and found[:2].isprintable() else ""
    return f"{head}*** ({counted(len(found), 'character')})"
