"""What several commands have in common: their options, and the policies that they start from.

Knows how a command ends when policies do not compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from policyd.cli.exits import Exit
from policyd.cli.render import Format, say_diagnostics
from policyd.compiler import Compilation, compile_bundle
from policyd.snapshot import Snapshot
from policyd.source import Bundle, DirectorySource

_Command = TypeVar("_Command", bound=Callable[..., Any])

paths_argument = click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
"""The files and directories that hold the policies."""

allow_empty_option = click.option(
    "--allow-empty", is_flag=True, help="Accept paths that hold no policy at all."
)


def format_option(*formats: Format) -> Callable[[_Command], _Command]:
    """The option `--format`, one of *formats*; the first is the default."""
    return click.option(
        "--format",
        type=click.Choice([format.value for format in formats]),
        default=formats[0].value,
        show_default=True,
        callback=lambda _context, _parameter, value: Format(value),
        help="How the output is written.",
    )


def compile_paths(
    paths: Sequence[Path], *, allow_empty: bool = False
) -> tuple[Bundle, Compilation]:
    """The policy files at or below *paths*, and what they compile to."""
    bundle = DirectorySource(paths).read()
    return bundle, compile_bundle(bundle, allow_empty=allow_empty)


def snapshot_or_exit(paths: Sequence[Path]) -> Snapshot:
    """What the policies at or below *paths* compile to.

    Where they do not, their diagnostics go to stderr and the command ends.
    """
    bundle, compilation = compile_paths(paths)
    if compilation.snapshot is None:
        say_diagnostics(compilation.diagnostics, bundle.texts(), err=True)
        raise click.exceptions.Exit(Exit.BROKEN_POLICIES)
    return compilation.snapshot
