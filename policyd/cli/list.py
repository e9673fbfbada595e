"""`policyd list`: what a set of policies offers to a chain."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from policyd import wire
from policyd.cli.exits import Exit
from policyd.cli.policies import format_option, paths_argument, snapshot_or_exit
from policyd.cli.render import DIM, STRONG, Format, examples, say, say_json
from policyd.cli.settings import settings_option
from policyd.interceptor import Interceptor
from policyd.model import Descriptor, Kind

_INDENT = "    "
_HEADS = ("NAME", "TYPE", "MODE", "PRIORITY", "PHASE")
_LONGEST_NAME = 36


@click.command(
    "list",
    short_help="List the interceptors that policies compile to.",
    epilog=examples(
        "policyd list policies/",
        "policyd list --format json policies/",
    ),
)
@paths_argument
@settings_option
@format_option(Format.TEXT, Format.JSON)
@click.option(
    "--dialect",
    type=click.Choice([dialect.value for dialect in wire.Dialect]),
    default=wire.Dialect.UNIVERSAL.value,
    show_default=True,
    help="The shape of the JSON, as for `policyd serve`.",
)
def command(
    paths: Sequence[Path], settings_path: Path | None, format: Format, dialect: str
) -> Exit:
    """List the interceptors that the policies at or below each PATH compile to.

    Validators stand in the order of their files, and mutators in the same order; when they
    run, mutators are sorted by priority, lowest first. With --format json the output is what a
    server answers to `interceptors/list`, without the two catch-up interceptors that a running
    server adds in the universal dialect.
    """
    snapshot = snapshot_or_exit(paths, settings_path)
    if format is Format.JSON:
        spoken = wire.Dialect(dialect)
        listed = [wire.descriptor_to_json(each, spoken) for each in snapshot.descriptors]
        say_json({"interceptors": listed})
        return Exit.FINE
    width = min(max(shutil.get_terminal_size((80, 24)).columns, 60), 120)
    _say_table(snapshot.interceptors, width)
    return Exit.FINE


def _say_table(interceptors: Sequence[Interceptor], width: int) -> None:
    """Three lines or more for each: a row, then events, place and description, indented."""
    rows = [_row(interceptor.descriptor) for interceptor in interceptors]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    widths[0] = min(widths[0], _LONGEST_NAME)
    say(_line(_HEADS, widths), STRONG)
    for row, interceptor in zip(rows, interceptors, strict=True):
        say(_line(row, widths))
        say(_details(interceptor, width), DIM)


def _row(descriptor: Descriptor) -> tuple[str, ...]:
    priority = str(descriptor.priority) if descriptor.kind is Kind.MUTATION else "-"
    phase = descriptor.phases[0].value if len(descriptor.phases) == 1 else "both"
    return descriptor.name, descriptor.kind.value, descriptor.mode.value, priority, phase


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """One row; a name that is too long for its column has a line of its own."""
    cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=True)]
    above = ""
    if len(row[0]) > widths[0]:
        above, cells[0] = row[0] + "\n", " " * widths[0]
    return above + "  ".join(cells).rstrip()


def _details(interceptor: Interceptor, width: int) -> str:
    descriptor = interceptor.descriptor
    place = interceptor.where.rpartition(":")[0]
    texts = [", ".join(descriptor.events), place]
    if descriptor.description is not None:
        texts.append(" ".join(descriptor.description.split()))
    lines = [
        line
        for text in texts
        for line in textwrap.wrap(
            text,
            width,
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    return "\n".join(lines)
