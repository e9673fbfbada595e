"""What several commands have in common: their options, and the policies that they start from.

Knows how a command ends when policies do not compile, and how case files are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from policyd.cli.exits import Exit
from policyd.cli.render import Format, say_diagnostics
from policyd.compiler import Compilation, compile_bundle
from policyd.diagnostics import Diagnostic, Level
from policyd.settings import SettingsWatch
from policyd.snapshot import Snapshot
from policyd.source import Bundle, DirectorySource
from policyd.testing import CaseFile, find_case_files, load_cases


@dataclass(frozen=True, slots=True)
class Evidence:
    """The case files at or below some paths.

    diagnostics: of the case files and their policies, each once; texts: of all these files.
    """

    case_files: tuple[CaseFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]

    @property
    def broken(self) -> bool:
        """True when a file does not compile, so that its cases cannot run."""
        return any(diagnostic.level is Level.ERROR for diagnostic in self.diagnostics)

    def without(self, known: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The diagnostics that are not told already."""
        told = set(known)
        return tuple([each for each in self.diagnostics if each not in told])


_Command = TypeVar("_Command", bound=Callable[..., Any])

paths_argument = click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
"""The files and directories that hold the policies."""

optional_paths_argument = click.argument(
    "paths", nargs=-1, metavar="[PATH...]", type=click.Path(exists=True, path_type=Path)
)
"""The same, for who may have been told elsewhere."""

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
    paths: Sequence[Path], settings: Path | None = None, *, allow_empty: bool = False
) -> tuple[Bundle, Compilation]:
    """The policy files at or below *paths*, and what they compile to.

    *settings* is the file that overrides some of them.
    """
    bundle = DirectorySource(paths, settings=settings, digest=SettingsWatch().digest).read()
    return bundle, compile_bundle(bundle, allow_empty=allow_empty)


def snapshot_or_exit(paths: Sequence[Path], settings: Path | None = None) -> Snapshot:
    """What the policies at or below *paths* compile to, overridden by the file *settings*.

    Where they do not, their diagnostics go to stderr and the command ends.
    """
    return bundle_or_exit(paths, settings)[1]


def bundle_or_exit(paths: Sequence[Path], settings: Path | None = None) -> tuple[Bundle, Snapshot]:
    """The policy files at or below *paths*, and what they compile to; or as `snapshot_or_exit`."""
    bundle, compilation = compile_paths(paths, settings)
    if compilation.snapshot is None:
        say_diagnostics(compilation.diagnostics, bundle.texts(), err=True)
        raise click.exceptions.Exit(Exit.BROKEN_POLICIES)
    return bundle, compilation.snapshot


def load_evidence(paths: Sequence[Path]) -> Evidence:
    """The case files at or below *paths*, with the policies that each is about."""
    loadings = [load_cases(file) for file in find_case_files(paths)]
    return Evidence(
        tuple([each.case_file for each in loadings if each.case_file is not None]),
        tuple(dict.fromkeys([found for each in loadings for found in each.diagnostics])),
        {name: text for each in loadings for name, text in each.texts.items()},
    )
