"""Documents against the published JSON Schemas, with diagnostics people can act on.

Knows the shape of policy files, case files and settings files.  Knows nothing of what the words
mean: `policy` reads them, the rules compile them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from policyd.diagnostics import Report, Span, closest, did_you_mean
from policyd.document import Document
from policyd.document import Path as DataPath


@cache
def schema_text(name: str) -> str:
    """The text of a schema that policyd ships: `policy`, `case` or `settings`.

    A wheel carries them in the package; a source tree has them beside it.
    """
    file = f"{name}.v1.schema.json"
    packaged = Path(__file__).parent / "_schemas" / file
    beside = Path(__file__).parents[1] / "schemas" / file
    return (packaged if packaged.exists() else beside).read_text(encoding="utf-8")


def check_policy_document(document: Document, report: Report) -> frozenset[DataPath]:
    """Report everything in *document* that a policy file may not have, and say where it is."""
    return _check("policy", document, report)


def check_case_document(document: Document, report: Report) -> None:
    """Report everything in *document* that a case file may not have."""
    _check("case", document, report)


def check_settings_document(document: Document, report: Report) -> None:
    """Report everything in *document* that a settings file (`policyd.yaml`) may not have."""
    _check("settings", document, report)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema_text(name)))


@dataclass(frozen=True, slots=True)
class _Breach:
    """One way in which a document breaks the schema.

    keyword: of JSON Schema; schema: the part that holds it; value: what is there.
    elsewhere: what is said of a field that another place has and this one has not.
    """

    keyword: str
    schema: Mapping[str, Any]
    value: Any
    path: DataPath
    document: Document
    names: bool
    elsewhere: Mapping[str, str]

    @property
    def span(self) -> Span:
        return self.document.span(self.path)


def _check(name: str, document: Document, report: Report) -> frozenset[DataPath]:
    places: set[DataPath] = set()
    for error in _validator(name).iter_errors(document.data):
        assert isinstance(error.schema, Mapping)
        breach = _Breach(
            keyword=str(error.validator),
            schema=error.schema,
            value=error.instance,
            path=tuple(error.absolute_path),
            document=document,
            names="propertyNames" in error.absolute_schema_path,
            elsewhere=_IN_SETTINGS if name == "settings" else _IN_POLICIES,
        )
        places.add(breach.path)
        _DESCRIBE.get(breach.keyword, _other)(breach, report)
    return frozenset(places)


def _unknown_fields(breach: _Breach, report: Report) -> None:
    known = breach.schema.get("properties", {})
    free = [name for name in known if name not in breach.value]
    for key in _extra_keys(breach):
        listed = ", ".join(f"`{name}`" for name in known)
        report.error(
            "unknown-field",
            breach.document.key_span((*breach.path, key)),
            f"unknown field `{key}`",
            did_you_mean(key, free)
            or _torn(key)
            or breach.elsewhere.get(key)
            or f"known here: {listed}",
        )


def _torn(key: str) -> str | None:
    """The advice for a key that is the rest of an expression."""
    if key.replace("_", "").replace("-", "").isalnum():
        return None
    return "inside `{ }` and `[ ]` a comma ends a value: quote the whole expression"


_IN_POLICIES = {
    "priority": "only mutators have an order; of validators all run, at once",
    "severity": "only rules of validators have a severity: a mutator changes or fails",
    "mode": "`mode` stands beside `name`, for a whole policy",
    **{key: f"`{key}` stands inside `match`" for key in ("events", "phase", "tools", "when")},
    "failOpen": "`failOpen` stands beside `name`, for a whole policy",
}

_IN_SETTINGS = (
    {
        key: f"`{key}` stands inside `allPolicies`, or inside `policies` below the name of one"
        for key in ("mode", "failOpen", "timeout")
    }
    | {
        key: f"`{key}` stands inside `policies`, below the name of one"
        for key in ("priority", "match")
    }
    | {
        key: f"`{key}` stands in policy files, which are given as `paths`"
        for key in ("validators", "mutators", "rules", "constants", "tools")
    }
)


def _extra_keys(breach: _Breach) -> Iterator[str]:
    known = breach.schema.get("properties", {})
    extensions = "patternProperties" in breach.schema
    for key in breach.value:
        if key not in known and not (extensions and key.startswith("x-")):
            yield key


def _missing_fields(breach: _Breach, report: Report) -> None:
    for key in breach.schema["required"]:
        if key in breach.value or _is_misspelt(key, breach):
            continue
        description = breach.schema.get("properties", {}).get(key, {}).get("description")
        report.error("missing-field", _head(breach), f"`{key}` is missing", _advice(description))


def _is_misspelt(key: str, breach: _Breach) -> bool:
    """True when a field that is not known is told to be *key*: one slip, one diagnostic."""
    known = breach.schema.get("properties", {})
    free = [name for name in known if name not in breach.value]
    return any(closest(extra, free) == key for extra in _extra_keys(breach))


def _head(breach: _Breach) -> Span:
    """The key of a mapping, or its first character: a whole mapping is no use to point at."""
    span = breach.document.key_span(breach.path)
    if span.end_line == span.line:
        return span
    return Span(span.file, span.line, span.column, span.line, span.column + 1)


def _unknown_value(breach: _Breach, report: Report) -> None:
    values = breach.schema.get("enum", [breach.schema.get("const")])
    known = [json.dumps(value).strip('"') for value in values]
    listed = ", ".join(f"`{value}`" for value in known)
    written = _written(breach)
    if breach.path in (("policyd",), ("settings",)):
        text = f"unknown format version {written}: this policyd reads {listed}"
        report.error("unknown-version", breach.span, text)
        return
    help = did_you_mean(breach.value, known) if isinstance(breach.value, str) else None
    text = f"{written} is not a value of `{_field(breach)}`: {listed}"
    report.error("unknown-value", breach.span, text, help)


def _wrong_type(breach: _Breach, report: Report) -> None:
    wanted = breach.schema["type"]
    kinds = [wanted] if isinstance(wanted, str) else list(wanted)
    expected = " or ".join(_TYPE_WORDS[kind] for kind in kinds)
    help = breach.schema.get("errorMessage")
    if help is None and "string" in kinds and isinstance(breach.value, (bool, int, float)):
        help = "quote it to make it a text"
    elif kinds == ["array"]:
        help = "write a list: `[...]`, or one `- ` line for each"
    text = f"{_subject(breach)} must be {expected}, not {_found(breach)}"
    report.error("wrong-type", breach.span, text, help)


def _bad_text(breach: _Breach, report: Report) -> None:
    help = breach.schema.get("errorMessage")
    if breach.names:
        span = breach.document.key_span((*breach.path, breach.value))
        report.error("bad-value", span, f"{_written(breach)} is not a valid name", help)
        return
    text = f"{_written(breach)} is not a valid `{_field(breach)}`"
    report.error("bad-value", breach.span, text, help)


def _too_few(breach: _Breach, report: Report) -> None:
    report.error(
        "empty-value",
        breach.document.key_span(breach.path),
        f"`{_field(breach)}` is empty",
        "what is empty would do nothing: fill it or leave it out",
    )


def _other(breach: _Breach, report: Report) -> None:
    limit = breach.schema[breach.keyword]
    size, bound = _LIMITS[breach.keyword]
    text = f"{_written(breach)} is too {size} for `{_field(breach)}`: {bound % limit}"
    report.error("bad-value", breach.span, text, breach.schema.get("errorMessage"))


_LIMITS = {
    "maximum": ("large", "at most %d"),
    "minimum": ("small", "at least %d"),
    "maxLength": ("long", "a length of at most %d"),
}


_DESCRIBE: Mapping[str, Callable[[_Breach, Report], None]] = {
    "additionalProperties": _unknown_fields,
    "required": _missing_fields,
    "enum": _unknown_value,
    "const": _unknown_value,
    "type": _wrong_type,
    "pattern": _bad_text,
    "minItems": _too_few,
    "minLength": _too_few,
    "minProperties": _too_few,
}

_TYPE_WORDS = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
}


def _found(breach: _Breach) -> str:
    if breach.value is None:
        return "empty"
    return f"the text {_written(breach)}" if isinstance(breach.value, str) else _written(breach)


def _written(breach: _Breach) -> str:
    """The value in the author's own spelling, cut; a container in a word."""
    if isinstance(breach.value, dict):
        return "a mapping"
    if isinstance(breach.value, list):
        return "a list"
    own = isinstance(breach.value, str)
    text = breach.value if own else breach.document.written(breach.path)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def _field(breach: _Breach) -> str:
    return next(part for part in reversed(breach.path) if isinstance(part, str))


def _subject(breach: _Breach) -> str:
    if not breach.path:
        return "the file"
    item = "an entry of " if isinstance(breach.path[-1], int) else ""
    return f"{item}`{_field(breach)}`"


def _advice(description: str | None) -> str | None:
    if description is None:
        return None
    return description[0].lower() + description[1:].rstrip(".")
