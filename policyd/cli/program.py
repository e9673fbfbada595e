"""The command `policyd`: finds the command that is asked for, and ends the process.

Imports no command before it is asked for, so that none pays for what another needs.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

import click

from policyd.cli.exits import Exit
from policyd.cli.render import examples
from policyd.diagnostics import did_you_mean

COMMANDS = (
    "check",
    "test",
    "list",
    "eval",
    "explain",
    "serve",
    "init",
    "schema",
    "detectors",
    "detect",
)
"""The commands, as the help lists them; each is `command` in the module of the same name."""


class _Commands(click.Group):
    """The commands, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"policyd.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            guess = did_you_mean(name, COMMANDS)
            ctx.fail(f"no command `{name}`" + (f"; {guess}" if guess else ""))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("policyd init", "policyd check policies/"),
)
@click.version_option(version("policyd"), message="%(prog)s %(version)s")
def program() -> None:
    """Policies as YAML files, served as MCP interceptors (SEP-2624).

    What is asked for goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 a failure
    of policyd itself, 2 usage, 3 policies or case files that do not compile, 4 policy tests
    that fail or do not prove the policies. Colours appear on terminals only, and never with
    NO_COLOR set. POLICYD_DEBUG=1 shows the traceback of an internal error.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command that *args* (default: those of the process) name, and exit."""
    sys.exit(_run(sys.argv[1:] if args is None else list(args)))


def _run(args: list[str]) -> int:
    """The exit code of a command."""
    _tolerate_encodings()
    try:
        with program.make_context("policyd", args) as context:
            status: Any = program.invoke(context)
        sys.stdout.flush()
        return int(status or Exit.FINE)
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # nobody reads any more: what is left in the buffer must not fail when Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except Exception as error:
        # the border: whatever arrives here is a mistake of ours
        return _confess(error)


def _confess(error: Exception) -> Exit:
    if os.environ.get("POLICYD_DEBUG") == "1":
        traceback.print_exc()
        advice = ""
    else:
        advice = " (POLICYD_DEBUG=1 shows where)"
    words = " ".join(f"{type(error).__name__}: {error}".split())
    click.echo(f"policyd: internal error: {words}{advice}", err=True)
    return Exit.OUR_FAILURE


def _tolerate_encodings() -> None:
    """Print what the terminal's encoding lacks as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
