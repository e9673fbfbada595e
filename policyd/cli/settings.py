"""Where the settings file is, and what flags, variables and that file come to.

Knows the command line and the environment.  What the options are is in `settings`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from policyd.cli.exits import Exit
from policyd.cli.render import say_diagnostics
from policyd.diagnostics import Diagnostic, Level, Report
from policyd.document import Document
from policyd.settings import (
    NAMES,
    Option,
    Settings,
    Variables,
    contradictions,
    options,
    parse_settings,
    read_variables,
    said_in,
    settle,
)
from policyd.settings.kinds import Flag, Many, OptionKind, shown_value
from policyd.source import DirectorySource, SourceFile

_Command = TypeVar("_Command", bound=Callable[..., Any])

NO_FILE = "none"
"""What `--settings` says for no file at all."""


def _find(_context: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
    """The settings file: `--settings`, POLICYD_SETTINGS, or that of the working directory."""
    named = value or os.environ.get("POLICYD_SETTINGS", "").strip()
    if named == NO_FILE:
        return None
    if not named:
        return Path(NAMES[0]) if os.path.lexists(NAMES[0]) else None
    path = Path(named)
    if not path.is_file():
        said = "there is no such file" if not path.exists() else "it is not a file"
        where = "" if value else "the variable `POLICYD_SETTINGS`: "
        text = f"{where}`{named}`: {said}; `{NO_FILE}` reads none"
        raise click.BadParameter(text, param=parameter) if value else click.UsageError(text)
    return path


settings_option = click.option(
    "--settings",
    "settings_path",
    metavar="FILE",
    callback=_find,
    help=f"The settings file; else POLICYD_SETTINGS, else ./{NAMES[0]}. `{NO_FILE}` reads none.",
)
"""The file that overrides policies, and for `policyd serve` holds its options."""


def settings_options(command: _Command) -> _Command:
    """A flag for each option but the paths, which are the command's arguments.

    What is not given is absent or None: the default is for `settle`.
    """
    for each in reversed(options()):
        if each.name != "paths":
            command = _flag(each)(command)
    return command


def _flag(option: Option) -> Callable[[_Command], _Command]:
    shown = "" if option.default in ((), None, False) else shown_value(option.default)
    help = f"{option.help}  [default: {shown}]" if shown else option.help
    if isinstance(option.kind, Flag):
        declared = f"{option.flag}/--no-{option.flag.removeprefix('--')}"
        return click.option(declared, option.name, default=None, help=help)
    many = isinstance(option.kind, Many)
    metavar, callback = option.kind.metavar, partial(_read, option.kind)
    return click.option(
        option.flag, option.name, metavar=metavar, multiple=many, callback=callback, help=help
    )


def _read(kind: OptionKind, _context: click.Context, _parameter: click.Parameter, said: Any) -> Any:
    """The value of what a flag says: None, or an empty tuple, where it is not given."""
    try:
        if isinstance(kind, Many):
            return tuple([kind.kind.read(text) for text in said])
        return None if said is None else kind.read(said)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def settings_or_exit(path: Path | None, flags: Mapping[str, Any]) -> tuple[Settings, Variables]:
    """What counts, and what the environment says.

    Whatever cannot be used is told, and ends the command.
    """
    said = {name: value for name, value in flags.items() if value not in (None, ())}
    for one, other in contradictions(said):
        raise click.UsageError(f"`{other.flag}` and `{one.flag}` exclude each other")
    variables = read_variables(os.environ)
    if variables.mistakes:
        raise click.UsageError("\n       ".join(variables.mistakes))
    document = None if path is None else _document_or_exit(path)
    in_file = {} if document is None else said_in(document)
    settings = settle(said, variables.said, in_file)
    for index, each in enumerate(settings.paths):
        if not os.path.lexists(each):
            if "paths" in variables.said or document is None:
                raise click.UsageError(f"the variable `POLICYD_PATHS`: `{each}`: {_MISSING}")
            span = document.span(("paths", index))
            _refuse([Diagnostic(Level.ERROR, "missing-path", span, _MISSING)], document.source)
    return settings, variables


_MISSING = "there is no such file or directory"


def _document_or_exit(path: Path) -> Document:
    bundle = DirectorySource((), settings=path).read()
    report = Report()
    for diagnostic in bundle.diagnostics:
        report.add(diagnostic)
    document = None if bundle.settings is None else parse_settings(bundle.settings, report)
    if document is None:
        _refuse(report.diagnostics, bundle.settings)
    return document


def _refuse(diagnostics: Iterable[Diagnostic], source: SourceFile | None) -> NoReturn:
    texts = {} if source is None else {source.name: source.content.decode("utf-8", "replace")}
    say_diagnostics(diagnostics, texts, err=True)
    raise click.exceptions.Exit(Exit.USAGE)
