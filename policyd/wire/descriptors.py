"""Descriptors as `interceptors/list` shows them, and the params of that method.

Knows no snapshot: whoever serves hands the descriptors over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policyd.errors import InvocationError
from policyd.events import ANY_EVENT, expand
from policyd.model import Descriptor, Kind, Mode
from policyd.wire.dialect import INVALID_PARAMS, Dialect

_OLDEST_PROTOCOL = "2024-11-05"


def descriptor_to_json(descriptor: Descriptor, dialect: Dialect) -> dict[str, Any]:
    """*descriptor* as an entry of `interceptors/list`, without nulls.

    In both dialects: `mode` only when auditing (no word for enforcing is accepted by every
    SDK), `priorityHint` only on mutators and only when it is not 0.

    Universal: `*` becomes `*` and every intercepted event, because the Go chain compares
    events literally; the legacy `hook` stands beside `hooks`; an auditing interceptor also
    says `failOpen`, because the Go chain's error path does not look at the mode.
    """
    universal = dialect is Dialect.UNIVERSAL
    events = _events(descriptor, dialect)
    audit = descriptor.mode is Mode.AUDIT
    entry: dict[str, Any] = {"name": descriptor.name}
    if descriptor.version is not None:
        entry["version"] = descriptor.version
    if descriptor.description is not None:
        entry["description"] = descriptor.description
    entry["type"] = descriptor.kind.value
    entry["hooks"] = [{"events": events, "phase": phase.value} for phase in descriptor.phases]
    if universal:
        phases = descriptor.phases
        entry["hook"] = {
            "events": events,
            "phase": phases[0].value if len(phases) == 1 else "both",
        }
    if audit:
        entry["mode"] = Mode.AUDIT.value
    if descriptor.fail_open or (audit and universal):
        entry["failOpen"] = True
    if descriptor.kind is Kind.MUTATION and descriptor.priority:
        entry["priorityHint"] = descriptor.priority
    if descriptor.compat:
        # TypeScript and Python refuse the whole list when `minProtocol` is missing
        entry["compat"] = {"minProtocol": _OLDEST_PROTOCOL, **descriptor.compat}
    if descriptor.config_schema is not None:
        entry["configSchema"] = descriptor.config_schema
    return entry


def supported_events(descriptors: Iterable[Descriptor], dialect: Dialect) -> list[str]:
    """The `supportedEvents` of the capability: the sorted union of all hooks."""
    return sorted({event for item in descriptors for event in _events(item, dialect)})


def list_params_from_json(params: Mapping[str, Any] | None) -> str | None:
    """The event that `interceptors/list` is asked for, or None for all.

    `cursor` is ignored: the list is one page, because the Go and Python clients never ask for
    a second.  Raises InvocationError(-32602) when `event` is not a string.
    """
    event = (params or {}).get("event")
    if event is not None and not isinstance(event, str):
        reason = "`event` must be a string"
        raise InvocationError(INVALID_PARAMS, "Invalid params", {"reason": reason})
    return event or None


def _events(descriptor: Descriptor, dialect: Dialect) -> list[str]:
    names: dict[str, None] = {}
    for pattern in descriptor.events:
        if pattern == ANY_EVENT:
            names[ANY_EVENT] = None
            if dialect is Dialect.SEP:
                continue
        # no SDK knows `tools/*`; one that stands for no known event stays as it is
        names.update(dict.fromkeys(expand(pattern) or (pattern,)))
    return list(names)
