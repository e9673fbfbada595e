"""How things look: plain text, JSON, and annotations for GitHub.

The only user of rich, and only on a terminal.  Knows no command.  What is printed as text has
no control characters, whoever wrote it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from policyd.diagnostics import Diagnostic, Level, diagnostic_to_json, render

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """How output is written: for people, for programs, or as GitHub workflow commands."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


BAD, WARNING, GOOD, DIM, STRONG = "bold red", "yellow", "green", "cyan", "bold"
"""What a line is shown in on a terminal."""

_LEVEL_STYLES = {Level.ERROR: BAD, Level.WARNING: WARNING}


def say(text: str, style: str = "", *, err: bool = False) -> None:
    """Print *text* to stdout, or to stderr when *err*; coloured on a terminal."""
    shown = "\n".join(_printable(line) for line in text.split("\n"))
    if style and _colours(err):
        from rich.text import Text  # late: 40 ms, and only a terminal shows colours

        _console(err).print(Text(shown, style), soft_wrap=True)
    else:
        click.echo(shown, err=err)


def say_json(value: Any) -> None:
    """Print *value* as JSON to stdout; ASCII, so that no terminal setting can spoil it."""
    click.echo(json.dumps(value, indent=2))


def say_diagnostics(
    diagnostics: Iterable[Diagnostic],
    texts: Mapping[str, str],
    format: Format = Format.TEXT,
    *,
    err: bool = False,
) -> None:
    """Print diagnostics; *texts* holds the files by name, for excerpts."""
    if format is Format.JSON:
        say_json([diagnostic_to_json(diagnostic) for diagnostic in diagnostics])
        return
    for diagnostic in diagnostics:
        if format is Format.GITHUB:
            say(annotation(diagnostic), err=err)
        else:
            _say_diagnostic(diagnostic, texts.get(diagnostic.span.file), err=err)


def annotation(diagnostic: Diagnostic) -> str:
    """A diagnostic as a GitHub workflow command.

    Columns are left out where a span has several lines: GitHub refuses them there.
    """
    span = diagnostic.span
    place: dict[str, Any] = {"file": span.file, "line": span.line}
    if span.end_line == span.line:
        place |= {"col": span.column, "endLine": span.end_line, "endColumn": span.end_column}
    else:
        place |= {"endLine": span.end_line}
    text = diagnostic.text if diagnostic.help is None else f"{diagnostic.text}\n{diagnostic.help}"
    return workflow_command(diagnostic.level, {**place, "title": diagnostic.code}, text)


def workflow_command(level: str, properties: Mapping[str, Any], text: str) -> str:
    """A GitHub workflow command that annotates a file; *level* is `error` or `warning`."""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {listed}::{_data(text)}"


def examples(*lines: str) -> str:
    """The end of a command's help; click leaves a paragraph after `\\b` as it is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `0 policies`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def _say_diagnostic(diagnostic: Diagnostic, text: str | None, *, err: bool) -> None:
    head, *rest = render(diagnostic, text).split("\n")
    style = _LEVEL_STYLES[diagnostic.level]
    say(head, style, err=err)
    for line in rest:
        mark = line.lstrip(" |=")[:1]
        say(line, style if mark == "^" else DIM if line.startswith("      =") else "", err=err)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: Any) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")


def _printable(line: str) -> str:
    """*line* with an escape for every control, invisible or half character."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


def _colours(err: bool) -> bool:
    stream = sys.stderr if err else sys.stdout
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


@cache
def _console(err: bool) -> Console:
    from rich.console import Console

    return Console(stderr=err, highlight=False, markup=False, emoji=False)
