"""What interceptors found, for the log of whoever installed them.

No line holds a payload's text or the text of an exception: findings are named by interceptor,
rule and pointer.  Names and pointers may come from other servers and hold anything, so they
are shown quoted and cut.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from policyd.errors import frames_of
from policyd.execution import Decision
from policyd.model import Failure, Finding, MutationResult, Outcome, Severity

MAX_LOGGED = 20
"""Findings and changes that are logged for one payload; the number of the others is told."""

MAX_SHOWN = 256
"""Characters of a name or a pointer that are shown."""

logger = logging.getLogger(__name__)

_Line = tuple[int, str]


def log_findings(decision: Decision) -> None:
    """Log each finding, and what auditing mutators would change.

    Why interceptors failed the chain itself logs.  A finding of severity info is logged as
    INFO, all else as WARNING: what is in audit mode was installed to be read.
    """
    lines = [line for outcome in decision.outcomes for line in _lines(outcome)]
    if not lines:
        return
    where = f"{shown(decision.invocation.event)} {decision.invocation.phase}"
    for level, text in lines[:MAX_LOGGED]:
        logger.log(level, "%s: %s", where, text)
    if len(lines) > MAX_LOGGED:
        logger.warning("%s: and %d more", where, len(lines) - MAX_LOGGED)


def log_crash(what: str, error: Exception) -> None:
    """Log where *error* was raised; its text may quote a payload."""
    logger.error("%s raised %s:\n%s", what, type(error).__name__, frames_of(error))


def _lines(outcome: Outcome) -> Iterator[_Line]:
    if isinstance(outcome, Failure):
        return
    name = shown(outcome.interceptor)
    if isinstance(outcome, MutationResult):
        for change in outcome.changes if outcome.audited else ():
            place = f"rule {shown(change.rule)}, path {shown(change.path)}"
            yield logging.WARNING, f"audit: interceptor {name} would {change.detail}, {place}"
        return
    mode = "audit" if outcome.audited else "enforce"
    for finding in outcome.findings:
        level = logging.INFO if finding.severity is Severity.INFO else logging.WARNING
        yield level, f"{mode}: interceptor {name} found {_place(finding)}"


def _place(finding: Finding) -> str:
    path = "" if finding.path is None else f", path {shown(finding.path)}"
    return f"severity {finding.severity}, rule {shown(finding.rule)}{path}"


def shown(text: str) -> str:
    """A name or pointer of somebody else's, in one line of plain characters."""
    return ascii(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}...")
