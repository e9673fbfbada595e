"""`policyd schema`: the JSON Schemas of the files that people write."""

from __future__ import annotations

import click

from policyd.cli.exits import Exit
from policyd.cli.render import examples
from policyd.schema import schema_text


@click.command(
    "schema",
    short_help="Print the JSON Schema of policy or case files.",
    epilog=examples(
        "policyd schema > policy.v1.schema.json",
        "policyd schema case > case.v1.schema.json",
    ),
)
@click.argument("name", type=click.Choice(["policy", "case"]), default="policy")
def command(name: str) -> Exit:
    """Print the JSON Schema of policy files (the default) or of case files.

    An editor with a YAML language server completes and checks a file whose first line is
    `# yaml-language-server: $schema=FILE`, FILE being what this command printed.
    """
    click.echo(schema_text(name).rstrip("\n"))
    return Exit.FINE
