"""The tools that a policy set describes: what the arguments of each are.

    policyd: v1
    tools:
      - {name: read_file, inputSchema: {type: object, properties: {path: {type: string}}}}

`policyd schema import` writes such a file from what a server lists.  It is no policy and guards
nothing: it makes a slip in `args` show.  Knows documents and types; knows no server.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from policyd.document import Document, Path
from policyd.types import Type, join, type_of_schema

HEADER: Final = """\
# Written by `policyd schema import`: write it again when the tools change.
# What tools take, so that a slip in `args` shows when policies are compiled.  It guards nothing.
"""
"""How a file that was written begins."""

MAX_DEPTH: Final = 32
"""How deep a schema is kept; what is deeper may be anything."""

_SCHEMAS: Final = ("items", "additionalProperties")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_TABLES: Final = ("properties", "patternProperties", "$defs", "definitions")
_PLAIN: Final = ("$ref", "type", "enum", "const", "required")
_OPENING: Final = ("if", "not", "dependentSchemas", "dependencies", "$dynamicRef", "prefixItems")


def add_tools(document: Document, broken: Collection[Path], tools: dict[str, Type]) -> None:
    """Add to *tools* what *document* says the arguments of tools are.

    broken: the places where the document does not meet the schema; they say nothing.
    Two tools of one name, of different servers, are taken together.
    """
    for index, tool in enumerate(_listed(document.data)):
        if any(place[:2] == ("tools", index) or len(place) < 2 for place in broken):
            continue
        name, arguments = tool["name"], type_of_schema(tool["inputSchema"])
        known = tools.get(name)
        tools[name] = arguments if known is None else join((known, arguments))


def _listed(data: Any) -> list[Any]:
    found = data.get("tools") if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def bare_schema(schema: Any, depth: int = 0) -> Any:
    """*schema* without what says nothing of types: titles, descriptions, limits, formats.

    What is not understood is kept as a word that opens the object, without its content.
    """
    if not isinstance(schema, dict):
        return schema if isinstance(schema, bool) else {}
    if depth > MAX_DEPTH:
        return {}
    made: dict[str, Any] = {word: schema[word] for word in _PLAIN if word in schema}
    for word in _SCHEMAS:
        if isinstance(schema.get(word), dict | bool):
            made[word] = bare_schema(schema[word], depth + 1)
    for word in _LISTS:
        if isinstance(schema.get(word), list):
            made[word] = [bare_schema(part, depth + 1) for part in schema[word]]
    for word in _TABLES:
        if isinstance(schema.get(word), dict):
            made[word] = _bare_table(schema[word], depth)
    return {**made, **{word: {} for word in _OPENING if word in schema}}


def tools_text(listed: Iterable[Any]) -> str:
    """The text of a file that describes the tools *listed*, as `tools/list` gives them.

    The same tools give the same text, in whatever order they come.  What is no tool, or has a
    name or a schema that no YAML file can hold, is left out.
    """
    tools: dict[str, str] = {}
    for tool in listed:
        if isinstance(tool, dict) and isinstance(tool.get("inputSchema"), dict):
            name, schema = tool.get("name"), _written(bare_schema(tool["inputSchema"]))
            if isinstance(name, str) and name and schema and _written(name):
                tools.setdefault(name, schema)
    lines = [
        f"  - name: {_written(name)}\n    inputSchema: {tools[name]}\n" for name in sorted(tools)
    ]
    return f"{HEADER}\npolicyd: v1\n\ntools:\n{''.join(lines)}" if lines else ""


def _written(value: Any) -> str:
    """*value* in YAML that is nearly JSON; an empty text where there is no way to write it."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if any("\ud800" <= char <= "\udfff" for char in text):
        return ""
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in text)


def _bare_table(table: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return {str(name): bare_schema(part, depth + 1) for name, part in table.items()}
