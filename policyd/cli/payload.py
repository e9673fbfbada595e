"""The payload that a command is asked about: the options that name it, and how it is read.

Knows how a command ends when there is no JSON where JSON is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, TypeVar

import click

from policyd import wire
from policyd.cli.render import WARNING, say
from policyd.diagnostics import did_you_mean
from policyd.errors import InvocationError
from policyd.execution import Decision
from policyd.model import Failure, Invocation, Phase
from policyd.snapshot import Snapshot, dated, unmatched

_PLACE = re.compile(r" at line (\d+) column (\d+)$")

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--event", required=True, help="The MCP method, such as tools/call."),
    click.option(
        "--phase",
        required=True,
        type=click.Choice([phase.value for phase in Phase]),
        help="Whether the payload is the params of a request or the result of a response.",
    ),
    click.option(
        "--payload",
        required=True,
        type=click.File("rb"),
        help="A file that holds the payload as JSON; - is the standard input.",
    ),
    click.option("--context", type=click.File("rb"), help="A JSON file: principal, timestamp, ..."),
    click.option("--invoker", type=click.File("rb"), help="A JSON file: who was authenticated."),
    click.option(
        "--config", type=click.File("rb"), help="A JSON file: config by interceptor name."
    ),
)


def payload_options(command: _Command) -> _Command:
    """The options that say what is asked: event, phase, payload, context, invoker, config."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_invocation(snapshot: Snapshot, asked: Mapping[str, Any]) -> Invocation:
    """The invocation that the options name, dated now unless its context says otherwise.

    Raises UsageError where a file holds no JSON of the right kind.
    """
    if [_name(file) for file in asked.values() if hasattr(file, "read")].count("-") > 1:
        raise click.UsageError("the standard input can be read once only")
    invocation = _invocation(**asked)
    _check_config_names(invocation, {d.name for d in snapshot.descriptors})
    return dated(invocation, datetime.now(UTC))


def refuse(error: InvocationError) -> click.UsageError:
    """The end of a command that was asked what cannot be decided."""
    return click.UsageError(_reason(error))


def note_unmatched(decision: Decision) -> None:
    """Say on stderr where no policy ran: a slip in the event looks like a pass."""
    if not decision.outcomes:
        asked = decision.invocation
        say(f"note: {unmatched(asked.event, asked.phase)}", WARNING, err=True)


def headline(decision: Decision) -> str:
    """Whether the payload is allowed, and who stopped it."""
    culprit = decision.verdict.culprit
    if culprit is None:
        changed = decision.payload is not decision.invocation.payload
        verdict = "allowed, with changes" if changed else "allowed"
    elif isinstance(culprit, Failure):
        verdict = f"denied, because {culprit.interceptor} could not be evaluated"
    else:
        verdict = f"denied by {culprit.interceptor}"
    return f"{verdict} (generation {decision.generation})"


def _invocation(
    event: str,
    phase: str,
    payload: BinaryIO,
    context: BinaryIO | None,
    invoker: BinaryIO | None,
    config: BinaryIO | None,
) -> Invocation:
    return Invocation(
        event=event,
        phase=phase,
        payload=_json(payload),
        context=_mapping(context, "--context"),
        config=_configs(config),
        invoker=_mapping(invoker, "--invoker") or None,
    )


def _name(file: BinaryIO) -> str:
    name = str(getattr(file, "name", "-"))
    return "-" if name == "<stdin>" else name


def _json(file: BinaryIO) -> Any:
    """The JSON value in *file*.  Raises UsageError, with the place, where there is none."""
    name = _name(file)
    try:
        value = wire.parse_json(file.read())
        wire.check_payload(value)
    except InvocationError as error:
        reason = _reason(error)
        place = _PLACE.search(reason)
        where = f"{name}:{place[1]}:{place[2]}" if place else name
        raise click.UsageError(f"{where}: {_PLACE.sub('', reason)}") from None
    return value


def _reason(error: InvocationError) -> str:
    return str(error.data.get("reason", error.message))


def _mapping(file: BinaryIO | None, option: str) -> Mapping[str, Any]:
    value = {} if file is None else _json(file)
    if not isinstance(value, dict):
        raise click.UsageError(f"{option}: the file must hold a JSON object")
    return value


def _configs(file: BinaryIO | None) -> Mapping[str, Mapping[str, Any]]:
    configs = _mapping(file, "--config")
    for name, config in configs.items():
        if not isinstance(config, dict):
            raise click.UsageError(f"--config: the config of `{name}` must be a JSON object")
    return configs


def _check_config_names(invocation: Invocation, names: set[str]) -> None:
    for name in invocation.config:
        if name not in names:
            guess = did_you_mean(name, names)
            help = "" if guess is None else f"; {guess}"
            raise click.UsageError(f"--config: there is no interceptor `{name}`{help}")
