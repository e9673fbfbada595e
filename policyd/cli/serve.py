"""`policyd serve`: policies as a server of MCP interceptors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.exits import Exit
from policyd.cli.policies import optional_paths_argument
from policyd.cli.render import BAD, examples, say, say_diagnostics
from policyd.cli.settings import settings_option, settings_options, settings_or_exit
from policyd.compiler import Compilation, compile_bundle
from policyd.diagnostics import Level, diagnostic_to_json
from policyd.engine import Engine
from policyd.logs import set_up_logging
from policyd.settings import LogFormat, Settings, SettingsWatch
from policyd.source import Bundle, DirectorySource

logger = logging.getLogger(__name__)


@click.command(
    "serve",
    short_help="Serve policies as MCP interceptors.",
    epilog=examples(
        "policyd serve policies/",
        "policyd serve --stdio --settings staging.yaml policies/",
    ),
)
@optional_paths_argument
@settings_option
@settings_options
def command(paths: Sequence[Path], settings_path: Path | None, **flags: Any) -> Exit:
    """Serve the policies at or below each PATH as MCP interceptors, and watch the files.

    Each option is also a key of the settings file (`--log-level` is `logLevel`) and a variable
    (`POLICYD_LOG_LEVEL`); flags win over variables, and variables over the file, which may
    also change modes and more of single policies.

    Policies that do not compile are not served: the command says why and ends with 3. Once it
    runs, an edit that compiles is in force for the next request; one that does not changes
    nothing, and the log says why. On an address that other machines can reach it has to be
    told who may call: by token, JWT or client certificate. SIGTERM and SIGINT end it.
    """
    settings, variables = settings_or_exit(settings_path, {"paths": paths, **flags})
    if not settings.paths:
        raise click.UsageError("no policies: give a PATH, `paths` in the settings or POLICYD_PATHS")
    set_up_logging(settings.log_level, as_json=settings.log_format is LogFormat.JSON)
    for text in variables.unknown:
        logger.warning("%s", text)
    source = DirectorySource(settings.paths, settings=settings_path, digest=SettingsWatch().digest)
    bundle = source.read()
    compilation = compile_bundle(bundle, allow_empty=settings.allow_empty)
    _tell(bundle, compilation, settings)
    if compilation.snapshot is None:
        return Exit.BROKEN_POLICIES
    return _serve(Engine(compilation.snapshot), source, settings)


def _tell(bundle: Bundle, compilation: Compilation, settings: Settings) -> None:
    if settings.log_format is LogFormat.TEXT:
        say_diagnostics(compilation.diagnostics, bundle.texts(), err=True)
        return
    for found in compilation.diagnostics:
        level = logging.ERROR if found.level is Level.ERROR else logging.WARNING
        logger.log(level, "%s", found, extra={"diagnostics": [diagnostic_to_json(found)]})


def _serve(engine: Engine, source: DirectorySource, settings: Settings) -> Exit:
    # late: only this command may pay for the SDK, the web server and the event loop
    from policyd.reload import Reloader
    from policyd.server import AccessError, BindError, serve

    reloader = Reloader(engine, source, allow_empty=settings.allow_empty)
    try:
        serve(engine, reloader, settings)
    except (AccessError, BindError) as error:
        if settings.log_format is LogFormat.JSON:
            logger.error("%s", error)
        else:
            say(f"policyd: {error}", BAD, err=True)
        return Exit.USAGE if isinstance(error, AccessError) else Exit.OUR_FAILURE
    return Exit.FINE
