"""Which detectors a command is about: its options, and what they stand for.

Knows how a command ends where there are no such detectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from policyd.cli.exits import Exit
from policyd.cli.render import say_diagnostics
from policyd.compiler import read_detectors
from policyd.detectors import BUILT_IN, Catalog, Detector, Evidence
from policyd.diagnostics import Report
from policyd.source import DirectorySource

EVIDENCE = {
    Evidence.CHECKSUM: "checksum or structure",
    Evidence.SHAPE: "shape",
    Evidence.CONTEXT: "context",
    Evidence.GENERIC: "randomness",
}
"""What a match of a detector rests on, in words."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


policies_option = click.option(
    "--policies",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Policies whose own detectors are known as well; may be given several times.",
)


def detectors_option(*default: str) -> Callable[[_Command], _Command]:
    """The option `--detectors`: names of detectors and groups, with commas between them."""
    return click.option(
        "--detectors",
        "names",
        default=",".join(default),
        show_default=True,
        callback=lambda _context, _parameter, value: tuple(
            name.strip() for name in value.split(",") if name.strip()
        ),
        help="Names of detectors and groups, with commas between them.",
    )


def _catalog_or_exit(paths: Sequence[Path]) -> Catalog:
    if not paths:
        return BUILT_IN
    bundle = DirectorySource(paths).read()
    report = Report()
    catalog = read_detectors(bundle, report)
    if report.failed:
        say_diagnostics(report.diagnostics, bundle.texts(), err=True)
        raise click.exceptions.Exit(Exit.BROKEN_POLICIES)
    return catalog


def detectors_or_exit(paths: Sequence[Path], names: Sequence[str]) -> tuple[Detector, ...]:
    """The detectors that *names* stand for, those of the policies at *paths* among them.

    Where the policies cannot be used, their diagnostics go to stderr and the command ends.
    Raises UsageError for an unknown name.
    """
    try:
        return _catalog_or_exit(paths).resolve(names)
    except KeyError as error:
        raise click.UsageError(f"--detectors: no detector or group `{error.args[0]}`") from None
