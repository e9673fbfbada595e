"""What the names of an expression are at one moment: in one event and phase.

Knows which name stands for which part of a payload (design section 4), and what the MCP schemas
say of payloads: `mcp.json`, written by `scripts/generate_types.py`.  Of an event that MCP does
not define nothing is known.  Tables are built when first asked for, and once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from policyd.events import MCP_METHODS, names_in
from policyd.types.kinds import (
    ANYTHING,
    OPEN_MAP,
    STRING,
    TIMESTAMP,
    ListOf,
    Member,
    ObjectOf,
    Scalar,
    Type,
)
from policyd.types.relations import join, member_of
from policyd.types.schema import SchemaReader

PRINCIPAL: Final = ObjectOf(
    "principal",
    {
        "type": Member(STRING, True),
        "id": Member(STRING, True),
        "claims": Member(OPEN_MAP, True),
    },
)
"""Who asks, as asserted; the invocation completes it."""

INVOKER: Final = ObjectOf(
    "invoker",
    {**PRINCIPAL.members, "scopes": Member(ListOf(STRING), True)},
)
"""Who was authenticated; the invocation completes it."""

CONTEXT: Final = ObjectOf(
    "context",
    {
        "principal": Member(
            ObjectOf(
                "principal",
                {"type": Member(STRING, True), "id": Member(STRING), "claims": Member(OPEN_MAP)},
                ANYTHING,
            )
        ),
        "traceId": Member(STRING),
        "spanId": Member(STRING),
        "sessionId": Member(STRING),
        "timestamp": Member(STRING),
        "interceptorState": Member(OPEN_MAP),
    },
    ANYTHING,
)
"""The invocation context of SEP-2624, to which an invoker may add."""

_ALIKE: Final[Mapping[str, Type]] = {
    "context": CONTEXT,
    "invoker": INVOKER,
    "now": TIMESTAMP,
    "principal": PRINCIPAL,
    "session": STRING,
    "trace": STRING,
}


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One event and phase; *types* holds what each name is then, and no other names.

    event: a name, or `*` for events of which nothing is known.
    """

    event: str
    phase: str
    types: Mapping[str, Type]


@lru_cache(maxsize=1024)
def moment(event: str, phase: str) -> Moment:
    """The moment of this event and phase: one object, however often it is asked for."""
    return Moment(event, phase, moment_types(event, phase))


def with_arguments(known: Moment, arguments: Type) -> Moment:
    """The moment *known* of a call, of a tool that takes *arguments*."""
    payload = known.types["payload"]
    if isinstance(payload, ObjectOf):
        members = {**payload.members, "arguments": Member(arguments)}
        payload = ObjectOf(payload.name, members, payload.rest)
    types = {**known.types, "args": arguments, "payload": payload}
    return Moment(known.event, known.phase, MappingProxyType(types))


@lru_cache(maxsize=1024)
def moment_types(event: str, phase: str) -> Mapping[str, Type]:
    """The type of each name that an expression may use in *event* and *phase*.

    Names that a policy adds itself (`config`, `constants`, `variables`) are not among them.
    """
    payload = payload_type(event, phase)
    named = Scalar("string", frozenset((event,))) if event in MCP_METHODS else STRING
    types = {
        **_ALIKE,
        "payload": payload,
        "result": payload,
        "event": named,
        "phase": Scalar("string", frozenset((phase,))),
        "tool": STRING,
        "prompt": STRING,
        "uri": STRING,
        "args": member_of(payload, "arguments") or OPEN_MAP,
    }
    return MappingProxyType({name: types[name] for name in sorted(names_in(event, phase))})


@lru_cache(maxsize=1024)
def payload_type(event: str, phase: str) -> Type:
    """What the params (request) or the result (response) of *event* are."""
    schema, reader = _mcp()
    phases = schema["events"].get(event, {})
    return reader.type_of(phases[phase]) if phase in phases else ANYTHING


@cache
def _mcp() -> tuple[Any, SchemaReader]:
    file = Path(__file__).with_name("mcp.json")
    schema = json.loads(file.read_text(encoding="utf-8"))
    return schema, SchemaReader(schema)


@lru_cache(maxsize=4096)
def _joined(moments: tuple[Moment, ...], name: str) -> Type:
    return join(found for found in (m.types.get(name) for m in moments) if found is not None)


def type_at(moments: Iterable[Moment], name: str) -> Type:
    """What *name* is at any of *moments*; ANYTHING where none of them has it."""
    known = tuple(moments)
    return known[0].types.get(name, ANYTHING) if len(known) == 1 else _joined(known, name)


def owners_of(member: str, phase: str) -> tuple[str, ...]:
    """The events of MCP whose payload in *phase* is known to have *member*."""
    typed = ((event, payload_type(event, phase)) for event in MCP_METHODS)
    return tuple(
        e for e, t in typed if t != ANYTHING and member_of(t, member) not in (None, ANYTHING)
    )
