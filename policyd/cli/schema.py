"""`policyd schema`: the JSON Schemas of the files that people write, and of tools they guard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from policyd.cli.exits import Exit
from policyd.cli.render import BAD, examples, say
from policyd.schema import schema_text
from policyd.tools import HEADER, tools_text

TIMEOUT = 60.0
"""Seconds that one page of a list may take, starting the server included."""

MAX_PAGES = 1000
"""Pages of a list that are read."""


@click.group(
    "schema",
    invoke_without_command=True,
    short_help="Print the schema of the files that people write; import those of tools.",
    epilog=examples(
        "policyd schema > policy.v1.schema.json",
        "policyd schema case > case.v1.schema.json",
    ),
)
@click.pass_context
def command(context: click.Context) -> Exit:
    """Print the JSON Schema of policy files (the default), case files or settings files.

    An editor with a YAML language server completes and checks a file whose first line is
    `# yaml-language-server: $schema=FILE`, FILE being what this command printed.
    """
    return Exit.FINE if context.invoked_subcommand else _show("policy")


def _show(name: str) -> Exit:
    click.echo(schema_text(name).rstrip("\n"))
    return Exit.FINE


@command.command("policy", short_help="Print the JSON Schema of policy files.")
def policy() -> Exit:
    """Print the JSON Schema of policy files."""
    return _show("policy")


@command.command("case", short_help="Print the JSON Schema of case files.")
def case() -> Exit:
    """Print the JSON Schema of case files."""
    return _show("case")


@command.command("settings", short_help="Print the JSON Schema of settings files.")
def settings() -> Exit:
    """Print the JSON Schema of settings files, such as `policyd.yaml`."""
    return _show("settings")


@command.command(
    "import",
    short_help="Write what the tools of a running server take.",
    epilog=examples(
        "policyd schema import --http http://127.0.0.1:8000/mcp -o policies/tools.yaml",
        "policyd schema import -o policies/files.tools.yaml -- npx -y server-filesystem /srv",
    ),
)
@click.option("--http", "url", metavar="URL", help="The MCP server at this address.")
@click.option(
    "--header",
    "headers",
    metavar="NAME:VALUE",
    multiple=True,
    help="Goes with every request, such as `authorization: ...`.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="tools.yaml",
    show_default=True,
    help="Where it is written; `-` is the standard output.",
)
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
def import_tools(
    url: str | None, headers: tuple[str, ...], output: str, words: tuple[str, ...]
) -> Exit:
    """Write what the tools of an MCP server take, so that policies are checked against it.

    The server is asked for its `tools/list`: the one at a URL, or the one that COMMAND starts.
    Where the file stands among policies, `args.pth` is refused for a tool that has `path`.
    """
    if (url is None) == (not words):
        raise click.UsageError("name one server: `--http URL`, or `-- COMMAND...`")
    if output != "-" and not _is_ours(Path(output)):
        raise click.UsageError(f"`{output}` exists, and this command has not written it")
    try:
        text = tools_text(_listed(url or words, _parsed(headers)))
    except _NotListed as error:
        say(f"policyd: {error}", BAD, err=True)
        return Exit.OUR_FAILURE
    if not text:
        say("policyd: the server lists no tool", BAD, err=True)
        return Exit.OUR_FAILURE
    if output == "-":
        click.echo(text, nl=False)
    else:
        _write(Path(output), text)
    return Exit.FINE


def _is_ours(file: Path) -> bool:
    """True where *file* may be written: there is none, or one of ours."""
    try:
        return file.read_text(encoding="utf-8").startswith(HEADER)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"`{file}` cannot be written: {error.strerror}") from None


def _parsed(headers: tuple[str, ...]) -> dict[str, str]:
    pairs = [header.partition(":") for header in headers]
    if not all(name.strip() and colon for name, colon, _ in pairs):
        raise click.UsageError("`--header` takes NAME:VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


class _NotListed(Exception):
    """The server did not say what its tools are; the text says why."""


def _listed(target: Any, headers: dict[str, str]) -> list[Any]:
    """What the server lists, all pages together."""
    # late: only this command may pay for the event loop and the SDK
    import asyncio

    from policyd.ports import Refusal, Unreachable, open_port

    async def ask() -> list[Any]:
        port = open_port(target, headers=headers)
        try:
            return await _pages(port)
        finally:
            await port.aclose()

    try:
        return asyncio.run(ask())
    except (Refusal, Unreachable) as error:
        raise _NotListed(str(error)) from None
    except TimeoutError:
        raise _NotListed(f"the server gave no answer within {TIMEOUT:g} s") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


async def _pages(port: Any) -> list[Any]:
    tools: list[Any] = []
    params: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        page = await port.call("tools/list", params, TIMEOUT)
        found = page.get("tools")
        tools += found if isinstance(found, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return tools
        params = {"cursor": cursor}
    raise _NotListed(f"the server lists more than {MAX_PAGES} pages")
