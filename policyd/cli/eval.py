"""`policyd eval`: what a set of policies says of one payload."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.exits import Exit
from policyd.cli.payload import (
    headline,
    note_unmatched,
    payload_options,
    read_invocation,
    refuse,
)
from policyd.cli.policies import format_option, paths_argument, snapshot_or_exit
from policyd.cli.render import BAD, DIM, GOOD, WARNING, Format, examples, say, say_json
from policyd.cli.settings import settings_option
from policyd.errors import InvocationError
from policyd.execution import Decision
from policyd.model import Failure, Finding, MutationResult, Severity

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
@settings_option
@payload_options
@format_option(Format.TEXT, Format.JSON)
def command(
    paths: Sequence[Path], settings_path: Path | None, format: Format, **asked: Any
) -> Exit:
    """Run the policies at or below each PATH on one payload and say what they decide.

    First whether the payload is allowed, then every finding, every change, every policy that
    could not be evaluated and why, and at last the payload, if it was changed. With --format
    json it is the chain result of SEP-2624, with `allowed` and `generation` added, and under
    `failures` why a policy could not be evaluated. The exit
    code is 0 whether the payload is allowed or denied: both are answers. It is 2 for a payload
    that is not JSON.
    """
    snapshot = snapshot_or_exit(paths, settings_path)
    invocation = read_invocation(snapshot, asked)
    try:
        decision = snapshot.decide(invocation)
    except InvocationError as error:
        raise refuse(error) from None
    if format is Format.JSON:
        say_json(_as_json(decision))
        return Exit.FINE
    note_unmatched(decision)
    _say_decision(decision)
    return Exit.FINE


def _as_json(decision: Decision) -> dict[str, Any]:
    """The chain result, with the reasons of failures that a peer would not be told."""
    failed = dict(_failed(decision))
    answer = decision.to_json()
    return {**answer, "failures": failed} if failed else answer


def _say_decision(decision: Decision) -> None:
    say(headline(decision), GOOD if decision.allowed else BAD)
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
