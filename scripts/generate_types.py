"""Write `policyd/types/mcp.json`: what MCP says of the payload of each event and phase.

    python scripts/generate_types.py 2025-11-25.json 2026-07-28.json > policyd/types/mcp.json

The arguments are `schema.json` of two versions of the protocol; they are published in
<https://github.com/modelcontextprotocol/modelcontextprotocol>, below `schema/`.
What is written is one JSON Schema with both versions joined: a member exists if either version
has it, and is required if both require it.  MCP leaves objects open by omission; here an object
has the members that a version names, and others only where a version says so, where it names
none, and where the protocol is known to grow (OPEN).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

OPEN = frozenset(
    [
        "ClientCapabilities",  # "not a closed set", says the schema
        "ServerCapabilities",
        "CancelTaskResult",  # tasks are an extension now, which adds to them
        "GetTaskResult",
        "TaskStatusNotificationParams",
    ]
)
"""Definitions to which others add members."""

META = "_meta"
"""The member to which everybody adds members, whatever a version names in it."""

ANY_JSON: Mapping[str, Schema] = {
    "JSONArray": {"type": "array"},
    "JSONObject": {"type": "object"},
    "JSONValue": {},
}
"""Definitions of any JSON value, which refer to themselves."""

NOT_EVENTS = frozenset(["initialize", "notifications/initialized"])
"""Methods that open a session; they are never intercepted."""


class Version:
    """One version of the protocol, with its schemas in the form that is written."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._raw: Mapping[str, Schema] = schema["$defs"]
        self.definitions = {name: self._named(name) for name in self._raw}

    def _named(self, name: str) -> Schema:
        normal = self.normal(self._raw[name])
        if name in OPEN:
            normal["additionalProperties"] = True
        return with_meta(normal) if name.endswith(("Params", "Result")) else normal

    def normal(self, schema: Any) -> Schema:
        """*schema* without what says nothing of members, `allOf` merged."""
        if not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return dict(ANY_JSON.get(name, {"$ref": schema["$ref"]}))
        if "allOf" in schema:
            return reduce(merged, (self._resolved(self.normal(part)) for part in schema["allOf"]))
        if "anyOf" in schema:
            return one_of(self.normal(part) for part in schema["anyOf"])
        if "const" in schema or "enum" in schema:
            return {"enum": schema.get("enum", [schema.get("const")])}
        if schema.get("type") == "array":
            return {"type": "array", "items": self.normal(schema.get("items"))}
        return self._object(schema) if schema.get("type") == "object" else _typed(schema)

    def _object(self, schema: Schema) -> Schema:
        made: Schema = {"type": "object"}
        members = {name: self.normal(part) for name, part in schema.get("properties", {}).items()}
        if META in members:
            members[META] = {**self._resolved(members[META]), "additionalProperties": True}
        if members:
            made["properties"] = members
        if schema.get("required"):
            made["required"] = sorted(schema["required"])
        others = schema.get("additionalProperties", False)
        if others is not False:
            made["additionalProperties"] = self.normal(others) or True
        return made

    def _resolved(self, normal: Schema) -> Schema:
        if "$ref" not in normal:
            return normal
        return self.normal(self._raw[normal["$ref"].rpartition("/")[2]])

    def events(self) -> Iterator[tuple[str, str]]:
        """Each method with the name of the definition of its message."""
        for name, schema in self._raw.items():
            method = schema.get("properties", {}).get("method", {}).get("const")
            if method is not None and not name.startswith("Client") and method not in NOT_EVENTS:
                yield method, name

    def request(self, message: str) -> Schema:
        """What the params of *message* are."""
        return with_meta(self.normal(self._raw[message]["properties"].get("params")))

    def response(self, message: str) -> Schema:
        """What the result of the request *message* is."""
        stem = message.removesuffix("Request")
        if f"{stem}ResultResponse" in self._raw:
            result = self.normal(self._raw[f"{stem}ResultResponse"]["properties"]["result"])
        elif f"{stem}Result" in self._raw:
            result = {"$ref": f"#/$defs/{stem}Result"}
        else:
            return {"type": "object"}  # an EmptyResult, which is open
        params = self._resolved(self.request(message))
        if "task" not in params.get("properties", {}):
            return result
        # a task instead of the result: 2025-11-25 wraps it, the later extension does not
        return one_of([result, {"$ref": "#/$defs/CreateTaskResult"}, {"$ref": "#/$defs/Task"}])


def _typed(schema: Schema) -> Schema:
    return {"type": schema["type"]} if "type" in schema else {}


def with_meta(schema: Schema) -> Schema:
    """*schema* with the member that params and results always may have."""
    if schema.get("type") != "object" or META in schema.get("properties", {META: None}):
        return schema
    members = {**schema["properties"], META: {"type": "object", "additionalProperties": True}}
    return {**schema, "properties": members}


def one_of(schemas: Iterable[Schema]) -> Schema:
    """A value of any of *schemas*."""
    parts: list[Schema] = []
    for schema in schemas:
        for part in schema.get("anyOf", [schema]):
            if part not in parts:
                parts.append(part)
    if {} in parts:
        return {}
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def merged(one: Schema, other: Schema) -> Schema:
    """An object of both *one* and *other*."""
    made = joined(one, other)
    required = {*one.get("required", ()), *other.get("required", ())}
    return {**made, "required": sorted(required)} if required else made


def joined(one: Schema, other: Schema) -> Schema:
    """A value of *one* or of *other*; two objects become one."""
    if one == other:
        return one
    if one.get("type") == other.get("type") == "array":
        return {"type": "array", "items": joined(one["items"], other["items"])}
    if one.get("type") == other.get("type") == "object":
        return _joined_objects(one, other)
    return one_of([one, other])


def _joined_objects(one: Schema, other: Schema) -> Schema:
    first, second = one.get("properties", {}), other.get("properties", {})
    if not first or not second:
        # one of them says nothing of its members
        first = second = {**first, **second}
        one = {**one, "additionalProperties": one.get("additionalProperties", True)}
    made: Schema = {"type": "object"}
    members = {name: joined_members(name, first, second) for name in {**first, **second}}
    if members:
        made["properties"] = members
    required = set(one.get("required", ())) & set(other.get("required", ()))
    if required:
        made["required"] = sorted(required)
    others = [s["additionalProperties"] for s in (one, other) if "additionalProperties" in s]
    if members and others:
        schemas = [{} if part is True else part for part in others]
        made["additionalProperties"] = one_of(schemas) or True
    elif others:
        made["additionalProperties"] = others[0]
    return made


def joined_members(name: str, first: Mapping[str, Schema], second: Mapping[str, Schema]) -> Schema:
    """The member *name* of two objects of which at least one has it."""
    if name in first and name in second:
        return joined(first[name], second[name])
    return first.get(name) or second.get(name) or {}


def joined_definitions(versions: list[Version]) -> dict[str, Schema]:
    """All definitions of all versions."""
    made: dict[str, Schema] = {}
    for version in versions:
        for name, schema in version.definitions.items():
            made[name] = joined(made[name], schema) if name in made else schema
    return made


def joined_events(versions: list[Version]) -> dict[str, dict[str, Schema]]:
    """For each method its phases; a notification has no response."""
    made: dict[str, dict[str, Schema]] = {}
    for version in versions:
        for method, message in version.events():
            phases = {"request": version.request(message)}
            if message.endswith("Request"):
                phases["response"] = version.response(message)
            known = made.setdefault(method, phases)
            for phase, schema in phases.items():
                known[phase] = joined(known[phase], schema)
    return made


def referred(value: Any) -> Iterator[str]:
    """The names of the definitions that *value* refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for part in value.values():
            yield from referred(part)
    elif isinstance(value, list):
        for part in value:
            yield from referred(part)


def main(*files: str) -> None:
    """Print what *files*, the schemas of the versions, say together."""
    versions = [Version(json.loads(Path(file).read_text(encoding="utf-8"))) for file in files]
    events = joined_events(versions)
    definitions = joined_definitions(versions)
    used: dict[str, Schema] = {}
    waiting = list(referred(events))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting += referred(definitions[name])
    # each definition on a line of its own, so that a change can be read
    lines = [
        f'"{word}":{{\n' + ",\n".join(_line(name, table[name]) for name in sorted(table)) + "\n}"
        for word, table in (("events", events), ("$defs", used))
    ]
    print("{" + ",\n".join(lines) + "}")


def _line(name: str, schema: Any) -> str:
    return f'"{name}":' + json.dumps(schema, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
