"""Messages with `{{ ... }}`: text around CEL expressions.

Knows how a value is printed so that it cannot harm: short, one line, and without anything
in it that a secret detector finds.  A part that cannot be evaluated is printed as `?`: a
message never changes an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from policyd.detectors import scanner
from policyd.errors import EvaluationError
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget, Flaw, Scope

MAX_PART = 200
"""Code points of one printed value, and elements of one that holds others; more are cut."""

MAX_NESTING = 8
"""Levels of a printed value; what is deeper is not shown."""

MAX_SCAN = 20 * MAX_PART
"""Code points of a text that are looked at: none beyond can be shown."""


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled message: texts and programs in turn."""

    parts: tuple[str | Program, ...]

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> str:
        """The message for this activation.  Never raises for a part that errs."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        return "".join(
            part if isinstance(part, str) else _printed(part, activation, budget)
            for part in self.parts
        )


def compile_template(text: str, scope: Scope) -> Template | tuple[Flaw, ...]:
    """Compile a message, or say what is wrong in it."""
    parts: list[str | Program] = []
    flaws: list[Flaw] = []
    position = 0
    while (start := text.find("{{", position)) >= 0:
        end = _closing(text, start + 2)
        if end < 0:
            help = "close it with `}}`"
            flaws.append(
                Flaw("unclosed-part", "`{{` opens an expression that does not end", start, 2, help)
            )
            break
        parts.append(text[position:start])
        compiled = compile_cel(text[start + 2 : end], scope, Result.ANY)
        if isinstance(compiled, Program):
            parts.append(compiled)
        else:
            flaws += [replace(flaw, offset=flaw.offset + start + 2) for flaw in compiled]
        position = end + 2
    if flaws:
        return tuple(flaws)
    parts.append(text[position:])
    return Template(tuple(part for part in parts if part != "") or ("",))


def literal_parts(text: str) -> Iterator[tuple[int, str]]:
    """What stands around the expressions of a message that compiles, each with its offset."""
    position = 0
    while (start := text.find("{{", position)) >= 0:
        yield position, text[position:start]
        position = _closing(text, start + 2) + 2
    yield position, text[position:]


def _closing(text: str, start: int) -> int:
    """Where the `}}` stands that ends the expression which begins at *start*, or -1.

    Text in quotes does not count, so a string may hold `}}`.
    """
    quote = ""
    position = start
    while position < len(text):
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif text.startswith("}}", position) and not text.startswith("}}}", position):
            return position
        position += 1
    return -1


def _printed(program: Program, activation: Mapping[str, Any], budget: Budget) -> str:
    try:
        return printable(program(activation, budget))
    except EvaluationError:
        return "?"


def printable(value: Any) -> str:
    """*value* as a message may show it: cut, on one line, without secrets."""
    # covered before it is encoded, where an escape may stand beside a secret, and after
    text = _covered(_text(_without_secrets(value))[:MAX_SCAN])
    shown = "".join(char if char.isprintable() else " " for char in text[:MAX_PART])
    return shown if len(text) <= MAX_PART else shown + "..."


def _without_secrets(value: Any, depth: int = 0) -> Any:
    """*value* with what its texts hold covered, cut where it is large or deep."""
    if isinstance(value, str):
        return _covered(value[:MAX_SCAN])
    if not isinstance(value, (dict, list)):
        return value
    if depth > MAX_NESTING:
        return "..."
    if isinstance(value, list):
        return [_without_secrets(item, depth + 1) for item in value[:MAX_PART]]
    return {
        _covered(key[:MAX_SCAN]) if isinstance(key, str) else key: _without_secrets(item, depth + 1)
        for key, item in islice(value.items(), MAX_PART)
    }


def _covered(text: str) -> str:
    for match in reversed(scanner(("secrets",)).find(text)):
        text = f"{text[: match.start]}[{match.detector}]{text[match.end :]}"
    return text


def _text(value: Any) -> str:
    """As `string(value)` gives it; lists and maps as JSON, in which that stands quoted."""
    if not isinstance(value, (dict, list)) and value is not None:
        return _string(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_string)
    except (TypeError, ValueError, RecursionError):
        return "?"


def _string(value: Any) -> str:
    try:
        return str(FUNCTIONS["string"].call(value))
    except EvaluationError:
        return "?"
