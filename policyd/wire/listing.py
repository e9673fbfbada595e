"""The result of `interceptors/list` as descriptors, in every dialect that servers speak.

Strict where a slip would leave an interceptor out: a list that cannot be read as a whole is
refused, so that the caller can treat its server as failing.  Liberal in everything else.
Knows no server and no override.  Dialects: drafts A to D of the interceptor SEP, and what the
Go, Python, C# and TypeScript SDKs emit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyd.errors import PolicydError
from policyd.events import ANY_EVENT
from policyd.model import PHASES, Descriptor, Kind, Mode, Phase

MAX_ENTRIES = 10_000
"""Interceptors in one list."""

MAX_NAME_LENGTH = 1_024
"""Characters of an interceptor's name."""

GENERATION = "policyd/generation"
"""The member of `_meta` in which policyd names the generation of its policies."""

_BOUNDS = ("minProtocol", "maxProtocol")

_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_INT32 = (-(2**31), 2**31 - 1)

_PHASED_EVENTS = {"*/request": (Phase.REQUEST,), "*/response": (Phase.RESPONSE,)}
"""Drafts B and C: every event, in one phase."""


class WireError(PolicydError):
    """What a server answered cannot be read.

    `reason` says what is wrong and where; it never holds a part of the answer.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server lists.

    descriptors: in the server's order; one interceptor stands twice where its phases differ.
    skipped: names of the interceptors whose type is none that is run here, such as `sink`.
    generation: which policies the server has in force, where it is a policyd.
    next_cursor: where the list goes on; None at its end.
    """

    descriptors: tuple[Descriptor, ...]
    skipped: tuple[str, ...] = ()
    generation: str | None = None
    next_cursor: str | None = None


def page_from_json(result: Any) -> tuple[list[Any], str | None]:
    """The entries on one page of `interceptors/list`, and the cursor of the next.

    `interceptors: null` is an empty list: so Go spells it.  Raises WireError.
    """
    if not isinstance(result, dict) or "interceptors" not in result:
        raise WireError("the answer has no `interceptors`")
    entries = [] if result["interceptors"] is None else result["interceptors"]
    if not isinstance(entries, list):
        raise WireError("`interceptors` must be a list")
    if len(entries) > MAX_ENTRIES:
        raise WireError(f"`interceptors` has more than {MAX_ENTRIES} entries")
    return entries, _next_cursor(result)


def listing_from_json(result: Any) -> Listing:
    """The list that *result* of `interceptors/list` holds.

    Raises WireError for the whole list when one entry is malformed, when two have the same
    name (the Go server answers with the first, every other SDK refuses), and beyond
    MAX_ENTRIES.
    """
    entries, next_cursor = page_from_json(result)
    found: dict[str, tuple[Descriptor, ...]] = {}
    for index, entry in enumerate(entries):
        descriptors = _read_entry(index, entry)
        if entry["name"] in found:
            raise WireError(f"`interceptors[{index}]` has the name of an earlier entry")
        found[entry["name"]] = descriptors
    return Listing(
        descriptors=tuple(descriptor for group in found.values() for descriptor in group),
        skipped=tuple(name for name, group in found.items() if not group),
        generation=_generation(result),
        next_cursor=next_cursor,
    )


def descriptor_from_json(entry: Any) -> tuple[Descriptor, ...]:
    """The descriptors that one *entry* of `interceptors/list` stands for.

    One, or one for each phase where events or priority differ between the phases; none for a
    type other than validation and mutation.  `hooks` counts before the older `hook`, and that
    before the flat `events` and `phase` of the first draft.  `*/request` and `*/response` name
    the phase themselves.  Only `mode: audit` audits and only `failOpen: true` fails open; what
    else is odd and optional counts as absent.

    Raises WireError when the name, the type, or what it is hooked to cannot be read: an
    interceptor must not be left out because of a slip.
    """
    if not isinstance(entry, dict):
        raise WireError("it must be an object")
    name = entry.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LENGTH:
        raise WireError(f"`name` must be a string of 1 to {MAX_NAME_LENGTH} characters")
    kind = entry.get("type")
    if not isinstance(kind, str) or not kind:
        raise WireError("`type` must be a string that is not empty")
    if kind not in tuple(Kind):
        return ()
    groups = _groups(_events_by_phase(_hooks(entry)), _priorities(entry, Kind(kind)))
    return tuple(
        Descriptor(
            name=name,
            kind=Kind(kind),
            events=events,
            phases=phases,
            version=_text(entry.get("version")),
            description=_text(entry.get("description")),
            mode=Mode.AUDIT if entry.get("mode") == "audit" else Mode.ENFORCE,
            fail_open=entry.get("failOpen") is True,
            priority=priority,
            config_schema=_object(entry.get("configSchema")),
            compat=_compat(entry.get("compat")),
        )
        for events, phases, priority in groups
    )


def _read_entry(index: int, entry: Any) -> tuple[Descriptor, ...]:
    try:
        return descriptor_from_json(entry)
    except WireError as error:
        raise WireError(f"`interceptors[{index}]`: {error.reason}") from None


def _generation(result: Mapping[str, Any]) -> str | None:
    meta = result.get("_meta")
    return _text(meta.get(GENERATION)) if isinstance(meta, dict) else None


def _next_cursor(result: Mapping[str, Any]) -> str | None:
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise WireError("`nextCursor` must be a string")
    return cursor or None


def _hooks(entry: Mapping[str, Any]) -> list[Any]:
    """The hooks of an entry, in the newest of the three spellings that it has."""
    hooks = entry.get("hooks")
    if hooks is not None and not isinstance(hooks, list):
        raise WireError("`hooks` must be a list")
    if hooks:
        return hooks
    if entry.get("hook") is not None:
        return [entry["hook"]]
    if "events" in entry:
        return [entry]
    raise WireError("it has no `hooks`")


def _events_by_phase(hooks: Sequence[Any]) -> dict[Phase, tuple[str, ...]]:
    found: dict[Phase, dict[str, None]] = {phase: {} for phase in Phase}
    for hook in hooks:
        if not isinstance(hook, dict):
            raise WireError("a hook must be an object")
        phase = hook.get("phase")
        if not isinstance(phase, str) or phase not in PHASES:
            raise WireError("`phase` of a hook must be `request` or `response`")
        events = hook.get("events")
        if not isinstance(events, list) or not events:
            raise WireError("`events` of a hook must be a list that is not empty")
        for event in events:
            pattern, phases = _event(event, PHASES[phase])
            for each in phases:
                found[each][pattern] = None
    return {phase: tuple(events) for phase, events in found.items() if events}


def _event(event: Any, phases: tuple[Phase, ...]) -> tuple[str, tuple[Phase, ...]]:
    """An event as the model spells it, and the phases that it is for."""
    if not isinstance(event, str) or not event:
        raise WireError("an event must be a string that is not empty")
    if event in _PHASED_EVENTS:
        return ANY_EVENT, _PHASED_EVENTS[event]
    if event != ANY_EVENT and "*" in event.removesuffix("/*"):
        # read as a literal name it would match nothing, and nothing would be enforced
        raise WireError("an event has a wildcard other than `*` and `namespace/*`")
    return event, phases


def _priorities(entry: Mapping[str, Any], kind: Kind) -> dict[Phase, int]:
    """The priority in each phase; 0 for a validator, which has none."""
    hint = entry.get("priorityHint") if kind is Kind.MUTATION else None
    if isinstance(hint, dict):
        return {phase: _int32(hint.get(phase.value)) for phase in Phase}
    return dict.fromkeys(Phase, _int32(hint))


def _int32(value: Any) -> int:
    """*value* clamped and without its fraction; 0 for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return 0
    lowest, highest = _INT32
    return int(min(max(value, lowest), highest))


def _groups(
    events: Mapping[Phase, tuple[str, ...]], priorities: Mapping[Phase, int]
) -> list[tuple[tuple[str, ...], tuple[Phase, ...], int]]:
    """Events, phases and priority of each descriptor: phases that agree are in one."""
    phases = tuple(events)
    first, last = phases[0], phases[-1]
    if set(events[first]) == set(events[last]) and priorities[first] == priorities[last]:
        return [(events[first], phases, priorities[first])]
    return [(events[phase], (phase,), priorities[phase]) for phase in phases]


def _compat(value: Any) -> Mapping[str, str] | None:
    bounds = _object(value) or {}
    told = {key: bounds[key] for key in _BOUNDS if key in bounds}
    return told if told and all(map(is_protocol_version, told.values())) else None


def is_protocol_version(value: Any) -> bool:
    """True for a version of MCP as `compat` names it: a date."""
    return isinstance(value, str) and _VERSION.fullmatch(value) is not None


def _object(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
