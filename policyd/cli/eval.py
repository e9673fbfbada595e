"""`policyd eval`: what a set of policies says of one payload."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import click

from policyd import wire
from policyd.cli.exits import Exit
from policyd.cli.policies import format_option, paths_argument, snapshot_or_exit
from policyd.cli.render import BAD, DIM, GOOD, WARNING, Format, examples, say, say_json
from policyd.diagnostics import did_you_mean
from policyd.errors import InvocationError
from policyd.execution import Decision
from policyd.model import Failure, Finding, Invocation, MutationResult, Phase, Severity
from policyd.snapshot import dated, unmatched

_PLACE = re.compile(r" at line (\d+) column (\d+)$")
_STYLES = {Severity.ERROR: BAD, Severity.WARN: WARNING, Severity.INFO: DIM}


@click.command(
    "eval",
    short_help="Say what policies make of one payload.",
    epilog=examples(
        "policyd eval policies/ --event tools/call --phase request --payload call.json",
        "policyd eval policies/ --event tools/list --phase response --payload - < tools.json",
    ),
)
@paths_argument
@click.option("--event", required=True, help="The MCP method, such as tools/call.")
@click.option(
    "--phase",
    required=True,
    type=click.Choice([phase.value for phase in Phase]),
    help="Whether the payload is the params of a request or the result of a response.",
)
@click.option(
    "--payload",
    required=True,
    type=click.File("rb"),
    help="A file that holds the payload as JSON; - is the standard input.",
)
@click.option("--context", type=click.File("rb"), help="A JSON file: principal, timestamp, ...")
@click.option("--config", type=click.File("rb"), help="A JSON file: config by interceptor name.")
@format_option(Format.TEXT, Format.JSON)
def command(paths: Sequence[Path], format: Format, **asked: Any) -> Exit:
    """Run the policies at or below each PATH on one payload and say what they decide.

    First whether the payload is allowed, then every finding, every change, every policy that
    could not be evaluated and why, and at last the payload, if it was changed. With --format
    json it is the chain result of SEP-2624, with `allowed` and `generation` added, and under
    `failures` why a policy could not be evaluated. The exit
    code is 0 whether the payload is allowed or denied: both are answers. It is 2 for a payload
    that is not JSON.
    """
    snapshot = snapshot_or_exit(paths)
    if [_name(file) for file in asked.values() if hasattr(file, "read")].count("-") > 1:
        raise click.UsageError("the standard input can be read once only")
    invocation = _invocation(**asked)
    _check_config_names(invocation, {d.name for d in snapshot.descriptors})
    try:
        decision = snapshot.decide(dated(invocation, datetime.now(UTC)))
    except InvocationError as error:
        raise click.UsageError(_reason(error)) from None
    if format is Format.JSON:
        say_json(_as_json(decision))
        return Exit.FINE
    if not decision.outcomes:
        say(f"note: {unmatched(invocation.event, invocation.phase)}", WARNING, err=True)
    _say_decision(decision)
    return Exit.FINE


def _invocation(
    event: str,
    phase: str,
    payload: BinaryIO,
    context: BinaryIO | None,
    config: BinaryIO | None,
) -> Invocation:
    return Invocation(
        event=event,
        phase=phase,
        payload=_json(payload),
        context=_mapping(context, "--context"),
        config=_configs(config),
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


def _as_json(decision: Decision) -> dict[str, Any]:
    """The chain result, with the reasons of failures that a peer would not be told."""
    failed = dict(_failed(decision))
    answer = decision.to_json()
    return {**answer, "failures": failed} if failed else answer


def _say_decision(decision: Decision) -> None:
    say(_headline(decision), GOOD if decision.allowed else BAD)
    for finding in decision.findings:
        _say_finding(finding, "")
    for finding in decision.audited:
        _say_finding(finding, "audit ")
    for line in _changes(decision):
        say(line)
    for line in _failures(decision):
        say(line, BAD)
    if decision.payload is not decision.invocation.payload:
        say("payload:", DIM)
        say(json.dumps(decision.payload, indent=2, ensure_ascii=False))


def _headline(decision: Decision) -> str:
    culprit = decision.verdict.culprit
    if culprit is None:
        changed = decision.payload is not decision.invocation.payload
        verdict = "allowed, with changes" if changed else "allowed"
    elif isinstance(culprit, Failure):
        verdict = f"denied, because {culprit.interceptor} could not be evaluated"
    else:
        verdict = f"denied by {culprit.interceptor}"
    return f"{verdict} (generation {decision.generation})"


def _say_finding(finding: Finding, prefix: str) -> None:
    place = "" if finding.path is None else f" at {finding.path or 'the whole payload'}"
    head = f"{prefix}{finding.severity}[{finding.interceptor}/{finding.rule}]{place}"
    say(f"{head}: {finding.message}", _STYLES[finding.severity])
    if finding.hint is not None:
        say(f"  = hint: {finding.hint}", DIM)


def _changes(decision: Decision) -> Iterator[str]:
    for outcome in decision.outcomes:
        if not isinstance(outcome, MutationResult):
            continue
        done = decision.allowed and not outcome.audited
        for change in outcome.changes:
            detector = "" if change.detector is None else f" ({change.detector})"
            times = "" if change.count == 1 else f", {change.count} times"
            head = f"{'changed' if done else 'would change'}[{outcome.interceptor}/{change.rule}]"
            place = change.path or "the whole payload"
            yield f"{head} at {place}: {change.detail}{detector}{times}"


def _failures(decision: Decision) -> Iterator[str]:
    for name, reason in _failed(decision):
        yield f"failed[{name}]: {reason}"


def _failed(decision: Decision) -> Iterator[tuple[str, str]]:
    """Each interceptor that could not be evaluated, and why."""
    for outcome in decision.outcomes:
        reason = outcome.reason if isinstance(outcome, Failure) else outcome.failure
        if reason is not None:
            yield outcome.interceptor, reason
