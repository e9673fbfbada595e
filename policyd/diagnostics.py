"""What is wrong with a policy file, and where.

Knows spans, diagnostics and how one is printed.  Knows nothing of YAML, expressions or
policies: every stage that reads a file takes a `Report`, adds to it and goes on, so that
all mistakes of all files are told in one go.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a file.

    Lines and columns count from 1, columns in code points; the end is exclusive.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Level(StrEnum):
    """How bad a diagnostic is: an error keeps the whole set from loading, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing wrong in a policy file.

    `code` is a kebab-case word, unique per kind of mistake; `text` is one lower-case line
    without full stop, with the user's own words in backticks; `help` says what to write
    instead.
    """

    level: Level
    code: str
    span: Span
    text: str
    help: str | None = None

    def __str__(self) -> str:
        span = self.span
        return f"{span.file}:{span.line}:{span.column}: {self.level}[{self.code}]: {self.text}"


class Report:
    """Collects diagnostics.  Never raises: the caller decides what an error means."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def error(self, code: str, span: Span, text: str, help: str | None = None) -> None:
        """Add a mistake that keeps the policy set from loading."""
        self._found[Diagnostic(Level.ERROR, code, span, text, help)] = None

    def warning(self, code: str, span: Span, text: str, help: str | None = None) -> None:
        """Add something that loads but is probably not what was meant."""
        self._found[Diagnostic(Level.WARNING, code, span, text, help)] = None

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic that was made elsewhere."""
        self._found[diagnostic] = None

    @property
    def failed(self) -> bool:
        """True when at least one error was added."""
        return any(d.level is Level.ERROR for d in self._found)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, each once, sorted by place, then code, then text."""
        return tuple(sorted(self._found, key=lambda d: (d.span, d.code, d.text)))


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant by *word*, or None.

    Case is ignored first, because `failopen` and `Error` are the commonest slips.
    """
    known = list(candidates)
    folded = {candidate.casefold(): candidate for candidate in known}
    if word.casefold() in folded:
        return folded[word.casefold()]
    matches = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """Help text that names the candidate probably meant by *word*, or None."""
    match = closest(word, candidates)
    return f"did you mean `{match}`?" if match is not None else None


def render(diagnostic: Diagnostic, text: str | None = None) -> str:
    """The diagnostic as people read it: one line, then the source line with carets, then the help.

    *text* is the whole file; without it, or where the span lies outside of it, the excerpt
    is left out.
    """
    lines = [str(diagnostic)]
    lines += _excerpt(diagnostic.span, text)
    if diagnostic.help is not None:
        lines.append(f"      = help: {diagnostic.help}")
    return "\n".join(lines)


def diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as a JSON object; `help` is absent where there is none."""
    span = diagnostic.span
    value = {
        "level": diagnostic.level.value,
        "code": diagnostic.code,
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "text": diagnostic.text,
    }
    return value if diagnostic.help is None else {**value, "help": diagnostic.help}


def _excerpt(span: Span, text: str | None) -> list[str]:
    source = text.removesuffix("\n").split("\n") if text else []
    if not 1 <= span.line <= len(source):
        return []
    line = source[span.line - 1].removeprefix("\ufeff").removesuffix("\r")
    shown = "".join(char if char.isprintable() else " " for char in line)
    end = span.end_column if span.end_line == span.line else len(shown) + 1
    width = max(1, min(end, len(shown) + 1) - span.column)
    start, window = max(0, span.column - 61), 120
    caret = " " * (span.column - 1 - start) + "^" * min(width, window)
    return [f"{span.line:>5} | {shown[start : start + window]}", f"      | {caret}"]
