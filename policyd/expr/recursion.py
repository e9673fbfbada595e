"""Schemas that refer to themselves: whether they end, and what they may cost.

A schema that comes back to itself without a step into the value never ends.  One that comes
back from several branches is tried in each, so its cost doubles and trebles with each level
of the value, and the engine that runs it cannot be stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SchemaPath = tuple[str | int, ...]

MAX_REFERENCES = 200
"""References of one schema: what follows them is quadratic in their number."""

_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


def endless(schema: Any) -> SchemaPath | None:
    """The place of a `$ref` that leads back to itself for the same value, or None."""
    done: set[SchemaPath] = set()
    for path in _subschemas(schema, ()):
        found = _endless(schema, path, (), done)
        if found is not None:
            return found
    return None


def references(schema: Any) -> int:
    """How many references a schema has."""
    found = (_at(schema, path) for path in _subschemas(schema, ()))
    return sum("$ref" in each or "$dynamicRef" in each for each in found)


def branching(schema: Any) -> int:
    """How many references of a schema lead back to themselves; 1 where none does.

    Only these are tried again and again; what else is referred to is passed once.
    """
    found = ((path, _target(schema, path)) for path in _subschemas(schema, ()))
    targets = {path: target for path, target in found if target is not None}
    return max(1, sum(_returns(path, targets) for path in targets))


def _returns(reference: SchemaPath, targets: Mapping[SchemaPath, SchemaPath]) -> bool:
    """True when following *reference*, and others from there, comes upon it again."""
    seen: set[SchemaPath] = set()
    pending = [targets[reference]]
    while pending:
        inside = pending.pop()
        if inside in seen:
            continue
        seen.add(inside)
        reached = [path for path in targets if path[: len(inside)] == inside]
        if reference in reached:
            return True
        pending += [targets[path] for path in reached]
    return False


def _endless(
    root: Any, path: SchemaPath, above: tuple[SchemaPath, ...], done: set[SchemaPath]
) -> SchemaPath | None:
    if path in above:
        return above[-1]
    if path in done:
        return None
    schema = _at(root, path)
    for below in _same_value(root, schema, path):
        found = _endless(root, below, (*above, path), done)
        if found is not None:
            return found
    done.add(path)
    return None


def _same_value(root: Any, schema: Any, path: SchemaPath) -> Iterator[SchemaPath]:
    """The schemas that judge the same value as the one at *path*."""
    target = _target(root, path)
    if target is not None:
        yield target
    for key in _SAME_VALUE if isinstance(schema, dict) else ():
        child = schema.get(key)
        if isinstance(child, list):
            yield from ((*path, key, index) for index in range(len(child)))
        elif isinstance(child, dict):
            yield (*path, key)


def _subschemas(value: Any, path: SchemaPath) -> Iterator[SchemaPath]:
    """Every mapping in a schema: some are no schemas, which does no harm."""
    if isinstance(value, dict):
        yield path
        for key, child in value.items():
            yield from _subschemas(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _subschemas(child, (*path, index))


def _target(root: Any, path: SchemaPath) -> SchemaPath | None:
    """Where the `$ref` of the schema at *path* leads, or None where that is nowhere in *root*."""
    schema = _at(root, path)
    reference = schema.get("$ref", schema.get("$dynamicRef")) if isinstance(schema, dict) else None
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if not reference.startswith("#/"):
        return _anchored(root, reference[1:])
    found: list[str | int] = []
    value = root
    for token in reference[2:].split("/"):
        key: str | int = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            key = int(token) if token.isdecimal() else -1
        value = _step(value, key)
        found.append(key)
    return tuple(found) if value is not None else None


def _anchored(root: Any, name: str) -> SchemaPath | None:
    """Where the schema with the anchor *name* stands; the empty name is the root's."""
    if not name:
        return ()
    places = (path for path in _subschemas(root, ()) if name in _anchors(_at(root, path)))
    return next(places, None)


def _anchors(schema: Any) -> tuple[Any, Any]:
    return schema.get("$anchor"), schema.get("$dynamicAnchor")


def _at(root: Any, path: SchemaPath) -> Any:
    for step in path:
        root = _step(root, step)
    return root


def _step(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return None
