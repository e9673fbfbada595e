"""`policyd init`: a directory of policies to start from.

The files are those in `starter/`, as they are.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from policyd.cli.exits import Exit
from policyd.cli.render import STRONG, examples, say


@click.command(
    "init",
    short_help="Write a directory of policies to start from.",
    epilog=examples(
        "policyd init",
        "policyd init ops/policies",
    ),
)
@click.argument("directory", default="policies", type=click.Path(file_okay=False, path_type=Path))
def command(directory: Path) -> Exit:
    """Write three policies and their tests to DIRECTORY (default: policies).

    They refuse destructive shell commands, take secrets out of results, and record, without
    blocking, what writes. Nothing is ever overwritten: where one of the files exists, none is
    written and the exit code is 2.
    """
    texts = starter_texts()
    for name in texts:
        if (directory / name).exists() or (directory / name).is_symlink():
            raise click.UsageError(f"{directory / name} exists; nothing was written")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with (directory / name).open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise click.UsageError(f"{error.filename or directory}: {reason}") from None
    for name in texts:
        say(f"wrote {directory / name}")
    say("next:")
    say(f"  policyd test {directory}", STRONG)
    say(f"  policyd check --prove {directory}", STRONG)
    say(f"  policyd serve {directory}", STRONG)
    return Exit.FINE


def starter_texts() -> dict[str, str]:
    """The starter files by name."""
    folder = resources.files("policyd.cli") / "starter"
    files = (file for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted(files, key=lambda file: file.name)
    }
