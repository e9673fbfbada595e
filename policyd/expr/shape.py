"""JSON Schemas for payloads: compiled once, checked strictly when compiled.

The only user of jsonschema-rs.  Remote references are off, patterns run on a linear-time
engine, and what its error texts say of the payload is never passed on.
Source: JSON Schema 2020-12; measured on jsonschema-rs 0.61.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from policyd.diagnostics import did_you_mean
from policyd.errors import EvaluationError
from policyd.expr.recursion import MAX_REFERENCES, SchemaPath, branching, endless, references
from policyd.expression import Flaw
from policyd.pattern import compile_pattern

MAX_DEPTH = 256
"""Nesting of a payload: the engine recurses natively, so depth is checked first."""

MAX_COST = 1_000_000
"""Steps of a schema that refers to itself from several branches, at worst: about a second.

Measured: two branches of `oneOf` cost 2.5 times as much for each level of the value.
"""

MAX_SCHEMA_DEPTH = 100
"""Nesting of a schema: what looks through it recurses."""

MAX_BREACHES = 20
"""How many places of one payload are told."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The only dialect that is read."""

_KEYWORDS = frozenset(
    [
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "$anchor",
        "$comment",
        "$dynamicRef",
        "$dynamicAnchor",
        "$vocabulary",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "format",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "contains",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "maxProperties",
        "minProperties",
        "required",
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    ]
)
_FORMATS = frozenset(
    [
        "date",
        "date-time",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ]
)
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_SCHEMAS = (
    *("not", "if", "then", "else", "items", "contains", "additionalProperties"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

_OUTSIDE = "copy it to `$defs` and write `#/$defs/NAME`"


@dataclass(frozen=True, slots=True)
class SchemaFlaw:
    """Something wrong in a schema; `path` leads to the value, `at_key` to its key."""

    text: str
    path: SchemaPath
    help: str | None = None
    at_key: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A compiled JSON Schema."""

    _validator: jsonschema_rs.Draft202012Validator
    _branching: int = 1

    def breaches(self, value: Any) -> tuple[tuple[str | int, ...], ...]:
        """Where *value* breaks the schema: each place once, at most MAX_BREACHES.

        Raises EvaluationError for a value that the engine cannot take.
        """
        check_depth(value, MAX_DEPTH if self._branching == 1 else self._levels(value))
        try:
            if self._validator.is_valid(value):
                return ()
            places: dict[tuple[str | int, ...], None] = {}
            for error in self._validator.iter_errors(value):
                places[tuple(error.instance_path)] = None
                if len(places) == MAX_BREACHES:
                    break
        except (ValueError, TypeError):
            # lone surrogates and the like: not judged is not passed
            raise EvaluationError("the payload holds text that no schema can judge") from None
        return tuple(places)

    def _levels(self, value: Any) -> int:
        """The levels of *value* that a schema with several ways back to itself may be given."""
        cost, levels = _count(value), 0
        while cost < MAX_COST:
            cost *= self._branching
            levels += 1
        return levels


def check_depth(value: Any, limit: int) -> None:
    """Raise EvaluationError where *value* is nested deeper than *limit*."""
    if too_deep(value, limit):
        raise EvaluationError("the payload is nested too deep")


def too_deep(value: Any, limit: int) -> bool:
    """True where *value* is nested deeper than *limit*."""
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _count(value: Any) -> int:
    """The number of values in *value*, itself included."""
    pending, count = [value], 1
    while pending:
        parent = pending.pop()
        count += len(parent) if isinstance(parent, (dict, list)) else 0
        pending += _children(parent)
    return count


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        values: Any = value.values()
    elif isinstance(value, list):
        values = value
    else:
        return
    for child in values:
        if isinstance(child, (dict, list)):
            yield child


def compile_shape(schema: dict[str, Any] | bool) -> Shape | tuple[SchemaFlaw, ...]:
    """Compile a JSON Schema (2020-12), or say what is wrong in it."""
    if too_deep(schema, MAX_SCHEMA_DEPTH):
        return (SchemaFlaw(f"the schema nests deeper than {MAX_SCHEMA_DEPTH} levels", ()),)
    flaws = tuple(_flaws(schema, ()))
    if flaws:
        return flaws
    if references(schema) > MAX_REFERENCES:
        return (SchemaFlaw(f"the schema has more than {MAX_REFERENCES} references", ()),)
    loop = endless(schema)
    if loop is not None:
        text = "the schema refers to itself for the same value, so it says nothing"
        return (SchemaFlaw(text, loop),)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=True,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
        return Shape(validator, branching(schema))
    except jsonschema_rs.ValidationError as error:
        return (_library_flaw(tuple(error.instance_path), error.instance, error.message),)
    except ValueError:
        # what the library cannot even take in, such as a lone surrogate
        return (SchemaFlaw("this is no JSON Schema", ()),)


def _library_flaw(path: SchemaPath, value: Any, message: str) -> SchemaFlaw:
    """What the library says of a schema, in our words for the commonest slips."""
    if path[-1:] == ("type",):
        return SchemaFlaw(f"`{value}` is not a type", path, did_you_mean(str(value), _TYPES))
    if path[-1:] == ("pattern",):
        flaw = compile_pattern(str(value))
        if isinstance(flaw, Flaw):
            return SchemaFlaw(f"in this pattern: {flaw.text}", path, flaw.help)
        return SchemaFlaw("this pattern cannot run in linear time", path)
    if "not present in a registry" in message:
        return SchemaFlaw("a reference leads outside of this schema", path, _OUTSIDE)
    return SchemaFlaw(_first_line(message), path)


def _refuse(uri: str) -> Any:
    raise ValueError(uri)


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0].rstrip(".").replace('"', "`")
    return line[:1].lower() + line[1:]


def _flaws(schema: Any, path: SchemaPath) -> Iterator[SchemaFlaw]:
    if not isinstance(schema, dict):
        return
    yield from _keyword_flaws(schema, path)
    for key in _SCHEMAS:
        if key in schema:
            yield from _flaws(schema[key], (*path, key))
    for key in _SCHEMA_LISTS:
        for index, child in enumerate(_as_list(schema.get(key))):
            yield from _flaws(child, (*path, key, index))
    for key in _SCHEMA_MAPS:
        children = schema.get(key)
        if isinstance(children, Mapping):
            for name, child in children.items():
                yield from _flaws(child, (*path, key, name))


def _keyword_flaws(schema: Mapping[str, Any], path: SchemaPath) -> Iterator[SchemaFlaw]:
    for key in schema:
        if key not in _KEYWORDS and not key.startswith("x-"):
            help = did_you_mean(key, _KEYWORDS)
            yield SchemaFlaw(f"`{key}` is not a keyword of JSON Schema", (*path, key), help, True)
    format = schema.get("format")
    if isinstance(format, str) and format not in _FORMATS:
        text = f"`{format}` is not a format that is checked"
        yield SchemaFlaw(text, (*path, "format"), did_you_mean(format, _FORMATS))
    for key in ("$ref", "$dynamicRef"):
        reference = schema.get(key)
        if isinstance(reference, str) and not reference.startswith("#"):
            text = f"`{reference}` is outside of this schema, and policyd fetches nothing"
            yield SchemaFlaw(text, (*path, key), _OUTSIDE)
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        yield SchemaFlaw(
            "policyd reads JSON Schema 2020-12", (*path, "$schema"), f"write `{DIALECT}`"
        )
    yield from _required_flaws(schema, path)


def _required_flaws(schema: Mapping[str, Any], path: SchemaPath) -> Iterator[SchemaFlaw]:
    if isinstance(schema.get("required"), bool):
        text = "`required` is a list of members, beside `properties`"
        yield SchemaFlaw(text, (*path, "required"), "write `required: [NAME]`", True)
    wanted = _as_list(schema.get("required"))
    known = schema.get("properties")
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if closed and isinstance(known, Mapping):
        for index, name in enumerate(wanted):
            if isinstance(name, str) and name not in known:
                text = f"`{name}` is required and not allowed at once, so no value can be valid"
                yield SchemaFlaw(text, (*path, "required", index), did_you_mean(str(name), known))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
