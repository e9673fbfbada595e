"""`policyd check`: what is wrong with policies, without running any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from policyd.cli.exits import Exit
from policyd.cli.policies import allow_empty_option, compile_paths, format_option, paths_argument
from policyd.cli.render import BAD, GOOD, WARNING, Format, counted, examples, say, say_diagnostics
from policyd.compiler import Compilation
from policyd.diagnostics import Level
from policyd.source import Bundle


@click.command(
    "check",
    short_help="Compile policies and say what is wrong with them.",
    epilog=examples(
        "policyd check policies/",
        "policyd check --strict --format github policies/",
    ),
)
@paths_argument
@format_option(Format.TEXT, Format.JSON, Format.GITHUB)
@click.option("--strict", is_flag=True, help="Let warnings fail the check, too.")
@allow_empty_option
def command(paths: Sequence[Path], format: Format, strict: bool, allow_empty: bool) -> Exit:
    """Compile the policies at or below each PATH and say what is wrong with them.

    Every mistake of every file is told, each with its place and, where there is a guess, with
    what was probably meant. Nothing is served and no payload is needed: a policy set that
    passes here loads. The exit code is 3 when there is an error (or a warning, with --strict).
    """
    bundle, compilation = compile_paths(paths, allow_empty=allow_empty)
    say_diagnostics(compilation.diagnostics, bundle.texts(), format)
    errors, warnings = _counts(compilation)
    if format is Format.TEXT:
        style = BAD if errors else WARNING if warnings else GOOD
        say(_summary(bundle, compilation), style)
    failed = errors > 0 or (strict and warnings > 0)
    return Exit.BROKEN_POLICIES if failed else Exit.FINE


def _counts(compilation: Compilation) -> tuple[int, int]:
    levels = [diagnostic.level for diagnostic in compilation.diagnostics]
    return levels.count(Level.ERROR), levels.count(Level.WARNING)


def _summary(bundle: Bundle, compilation: Compilation) -> str:
    errors, warnings = _counts(compilation)
    told = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    files = counted(len(bundle.files), "file")
    snapshot = compilation.snapshot
    if snapshot is None:
        return f"{files}, {told}"
    # a policy with a priority for each phase is two interceptors at one place
    policies = counted(len({each.where for each in snapshot.interceptors}), "policy")
    return f"{policies} in {files}, {told} (generation {snapshot.generation})"
