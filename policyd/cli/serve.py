"""`policyd serve`: policies as a server of MCP interceptors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from policyd.cli.exits import Exit
from policyd.cli.policies import allow_empty_option, paths_argument
from policyd.cli.render import BAD, examples, say, say_diagnostics
from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.source import DirectorySource
from policyd.wire import Dialect

_LEVELS = ("debug", "info", "warning", "error")
_LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def _address(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """HOST and PORT of `HOST:PORT`; an IPv6 host stands in brackets (RFC 3986 3.2.2)."""
    host, colon, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not bracketed):
        raise click.BadParameter(f"`{value}` is not HOST:PORT; an IPv6 host needs brackets")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise click.BadParameter(f"`{port}` is not a port: from 0 (any free one) to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def _set_up_logging(_context: click.Context, _parameter: click.Parameter, level: str) -> None:
    """Log to stderr: in stdio mode, stdout belongs to JSON-RPC."""
    logging.basicConfig(level=level.upper(), format=_LOG_FORMAT)


@click.command(
    "serve",
    short_help="Serve policies as MCP interceptors.",
    epilog=examples(
        "policyd serve policies/",
        "policyd serve --stdio --dialect sep policies/",
    ),
)
@paths_argument
@click.option(
    "--http",
    metavar="HOST:PORT",
    default="127.0.0.1:8765",
    show_default=True,
    callback=_address,
    help="Serve streamable HTTP at this address, path /mcp.",
)
@click.option("--stdio", is_flag=True, help="Serve the standard input and output instead.")
@click.option(
    "--dialect",
    type=click.Choice([dialect.value for dialect in Dialect]),
    default=Dialect.UNIVERSAL.value,
    show_default=True,
    callback=lambda _context, _parameter, value: Dialect(value),
    help="What every SDK decodes, or exactly the shape of the SEP.",
)
@click.option(
    "--expose",
    "exposure",
    type=click.Choice(["policies", "bundle"]),
    default="policies",
    show_default=True,
    help="One interceptor for each policy, or one validator and one mutator for all.",
)
@click.option(
    "--host-name",
    "names",
    metavar="NAME",
    multiple=True,
    help="A further host name that HTTP requests may use; loopback names always may.",
)
@allow_empty_option
@click.option(
    "--log-level",
    type=click.Choice(_LEVELS),
    default="info",
    show_default=True,
    expose_value=False,
    callback=_set_up_logging,
    help="How much is told on stderr.",
)
def command(
    paths: Sequence[Path],
    http: tuple[str, int],
    stdio: bool,
    allow_empty: bool,
    exposure: str,
    **spoken: Any,
) -> Exit:
    """Serve the policies at or below each PATH as MCP interceptors, and watch the files.

    Policies that do not compile are not served: the command says why and ends with 3. Once it
    runs, an edit that compiles is in force for the next request; one that does not changes
    nothing, and the log says why. There is no authentication of its own: a server on another
    address than this machine's belongs behind something that has it. SIGTERM and SIGINT end it.
    """
    if stdio and _is_given("http"):
        raise click.UsageError("`--http` and `--stdio` exclude each other")
    source = DirectorySource(paths)
    bundle = source.read()
    compilation = compile_bundle(bundle, allow_empty=allow_empty)
    say_diagnostics(compilation.diagnostics, bundle.texts(), err=True)
    if compilation.snapshot is None:
        return Exit.BROKEN_POLICIES
    engine = Engine(compilation.snapshot)

    # late: only this command may pay for the SDK, the web server and the event loop
    from policyd.reload import Reloader
    from policyd.server import BindError, Exposure, serve

    reloader = Reloader(engine, source, allow_empty=allow_empty)
    try:
        serve(engine, reloader, http=http, stdio=stdio, exposure=Exposure(exposure), **spoken)
    except BindError as error:
        say(f"policyd: {error}", BAD, err=True)
        return Exit.OUR_FAILURE
    return Exit.FINE
