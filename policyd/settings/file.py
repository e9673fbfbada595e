"""What a settings file, `policyd.yaml`, says.

    settings: v1
    paths: [policies/]
    http: 0.0.0.0:8765
    allPolicies: {mode: audit}

Knows its shape and what its options are.  What it says of policies is for `overrides`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from policyd.diagnostics import Report
from policyd.document import Document, parse_document
from policyd.schema import check_settings_document
from policyd.settings.kinds import Many, OptionKind, place_below
from policyd.settings.table import options
from policyd.settings.values import Said, contradictions
from policyd.source import SourceFile

NAMES = ("policyd.yaml", "policyd.yml")
"""What a settings file is called; the first is read from the working directory if it is there."""

OVERRIDES = ("allPolicies", "policies")
"""The keys that are about policies: they are read again when the file changes."""

logger = logging.getLogger(__name__)


def is_settings(document: Document) -> bool:
    """True for a settings file, which is no policy file, whatever its name."""
    data = document.data
    return isinstance(data, dict) and "settings" in data and "policyd" not in data


def check_settings_name(document: Document, report: Report) -> None:
    """Report a settings file that lies among policies, unless its name shows what it is."""
    if Path(document.source.name).name not in NAMES:
        report.error(
            "not-policies",
            document.key_span(("settings",)),
            "this is a settings file, and is read as policies",
            "give it as `--settings FILE`, and call it `policyd.yaml` or keep it elsewhere",
        )


def parse_settings(source: SourceFile, report: Report) -> Document | None:
    """A settings file, read; None after any mistake, all of which *report* then holds."""
    own = Report()
    document = _parse(source, own)
    if document is not None:
        if isinstance(document.data, dict) and "policyd" in document.data:
            own.error(
                "not-settings",
                document.key_span(("policyd",)),
                "this looks like a policy file, and is read as settings",
                "settings begin with `settings: v1`; `--settings none` reads no settings",
            )
        else:
            check_settings_document(document, own)
            _check_values(document, own)
    for diagnostic in own.diagnostics:
        report.add(diagnostic)
    return None if own.failed else document


def _parse(source: SourceFile, report: Report) -> Document | None:
    """The document, where what is said of an empty file fits settings."""
    own = Report()
    document = parse_document(source, own)
    for found in own.diagnostics:
        help = "write `settings: v1`, or remove the file"
        report.add(replace(found, help=help) if found.code == "empty-file" else found)
    return document


def said_in(document: Document) -> Said:
    """What the options of a file without mistakes are; its paths are relative to the file."""
    below = Path(document.source.name).parent
    return {
        each.name: place_below(each.kind, _value(each.kind, document.data[each.key]), below)
        for each in options()
        if each.key in document.data
    }


def _value(kind: OptionKind, written: Any) -> Any:
    """The value of what a file holds, which is JSON of the kind's schema."""
    if isinstance(kind, Many):
        return tuple(_value(kind.kind, one) for one in written)
    return kind.read(written) if isinstance(written, str) else written


def _check_values(document: Document, report: Report) -> None:
    """Report what a JSON Schema cannot say of values."""
    if report.failed:
        return
    said: dict[str, Any] = {}
    for each in options():
        if each.key in document.data:
            try:
                said[each.name] = _value(each.kind, document.data[each.key])
            except ValueError as error:
                report.error("bad-value", document.span((each.key,)), str(error))
    for one, other in contradictions(said):
        text = f"`{one.key}` and `{other.key}` exclude each other"
        report.error("conflicting-fields", document.key_span((one.key,)), text, "leave one out")


class SettingsWatch:
    """What of a settings file counts while a server runs.

    Says in the log when something else in it has changed.
    """

    def __init__(self) -> None:
        self._known: str | None = None

    def digest(self, source: SourceFile) -> bytes:
        """What a generation depends on: the overrides, or the whole file while it is wrong.

        Empty where no policy is overridden.
        """
        document = parse_settings(source, Report())
        if document is None:
            return source.content
        overrides = {key: document.data[key] for key in OVERRIDES if document.data.get(key)}
        self._compare({k: v for k, v in document.data.items() if k not in OVERRIDES}, source.name)
        return _canonical(overrides).encode() if overrides else b""

    def _compare(self, others: dict[str, Any], name: str) -> None:
        now = _canonical(others)
        if self._known not in (None, now):
            before = json.loads(self._known or "")
            changed = sorted(k for k in {*before, *others} if before.get(k) != others.get(k))
            listed = ", ".join(f"`{key}`" for key in changed)
            logger.warning("%s: %s changed, which counts after a restart", name, listed)
        self._known = now


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
