"""YAML events to plain data, with the place of every key and value.

Knows libyaml's events and everything that policyd refuses although YAML allows it.  Goes on
after a mistake, so that one reading tells them all; only a syntax error or a broken limit
ends it.  Knows neither bytes nor policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from policyd.diagnostics import Report, Span
from policyd.document.scalars import BadNumber, ambiguity, open_quote, resolve, shown
from policyd.document.syntax import SINGLE_QUOTES, Trouble, explain, tag_help

Path = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value."""

MAX_NODES = 50_000
MAX_DEPTH = 64

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, eight times faster


@dataclass(frozen=True, slots=True)
class Composition:
    """The data of a document, and the place of each value and of the key that leads to it."""

    data: Any
    spans: dict[Path, Span] = field(default_factory=dict)
    key_spans: dict[Path, Span] = field(default_factory=dict)


def compose_lines(file: str, lines: Sequence[str], report: Report) -> Composition | None:
    """The only document among the *lines* of a file, or None after a mistake.

    *file* is the name for diagnostics.  Every mistake is added to *report*.
    """
    own = Report()
    composer = _Composer(file, lines, own)
    composition: Composition | None = None
    try:
        composition = composer.document()
    except yaml.MarkedYAMLError as error:
        composer.explain(error)
    except _GiveUp:
        pass
    for diagnostic in own.diagnostics:
        report.add(diagnostic)
    return None if own.failed else composition


class _GiveUp(Exception):
    """A limit is broken, and the report says which."""


class _Composer:
    """One reading of one file."""

    def __init__(self, file: str, lines: Sequence[str], report: Report) -> None:
        self._file = file
        self._lines = lines
        self._report = report
        self._events: Iterator[Any] = yaml.parse("\n".join(lines), Loader=_LOADER)
        self._spans: dict[Path, Span] = {}
        self._key_spans: dict[Path, Span] = {}
        self._nodes = 0
        self._end: Any = None  # the mark behind what was last read

    def document(self) -> Composition | None:
        """The document, or None where there is none."""
        next(self._events)  # the stream begins
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            self._report_empty()
            return None
        if start.tags or start.version not in (None, (1, 2)):
            help = "remove the line: policy files are YAML 1.2 without tags"
            self._error("yaml-directive", start, "a `%` directive is not allowed", help)
        root = next(self._events)
        data = self._value(root, ())
        if root.start_mark.index == root.end_mark.index and data is None:
            self._report_empty()
            return None
        next(self._events)  # the document ends
        second = next(self._events)
        if not isinstance(second, yaml.StreamEndEvent):
            text = "a second document begins here, and a policy file holds one"
            help = "write all policies in one document, or in several files"
            self._error("several-documents", second, text, help)
        return Composition(data, self._spans, self._key_spans)

    def _report_empty(self) -> None:
        help = "a file that is meant to hold no policy says `policyd: v1` and `empty: true`"
        self._report.error("empty-file", self._place(0, 0), "the file is empty", help)

    def _value(self, event: Any, path: Path) -> Any:
        self._admit(event, path)
        if isinstance(event, yaml.ScalarEvent):
            self._spans[path] = self._span(event.start_mark, event.end_mark)
            return event.value if event.style else self._plain(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, path)
        return None  # an alias, which was reported

    def _sequence(self, start: Any, path: Path) -> list[Any]:
        data: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            data.append(self._value(event, (*path, len(data))))
        self._close(start, event, path)
        return data

    def _mapping(self, start: Any, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, path)
            inner = (*path, key)
            if key in data:
                lines = f"lines {self._key_spans[inner].line} and {event.start_mark.line + 1}"
                self._error("duplicate-key", event, f"duplicate key {shown(key)} ({lines})")
            self._key_spans.setdefault(inner, self._span(event.start_mark, event.end_mark))
            data[key] = self._value(next(self._events), inner)
        self._close(start, event, path)
        return data

    def _close(self, start: Any, end: Any, path: Path) -> None:
        # the end of a block collection is wherever the next thing begins
        if start.flow_style:
            self._end = end.end_mark
        self._spans[path] = self._span(start.start_mark, self._end)

    def _key(self, event: Any, path: Path) -> str:
        """The key that begins with *event*; after a mistake, some text that is no key."""
        if not isinstance(event, yaml.ScalarEvent):
            if not isinstance(event, yaml.AliasEvent):
                self._refuse_collection(event)
            self._value(event, (*path, ""))
            return f"\0{self._nodes}"
        self._admit(event, path)
        value = event.value if event.style else resolve(event.value)
        if value == "<<" and not event.style:
            help = 'write the keys out; quote `"<<"` if it is a name'
            self._error("yaml-merge-key", event, "merge keys (`<<`) are not allowed", help)
        elif not isinstance(value, str):
            name = shown(event.value) if event.value else "nothing"
            text = f"{name} is not text, and only text can be a key"
            self._error("yaml-key", event, text, f'quote it: `"{event.value[:60]}"`')
        return str(event.value)

    def _refuse_collection(self, event: Any) -> None:
        text, help = "a list or a mapping cannot be a key", "only text can be a key"
        line, column = event.start_mark.line, event.start_mark.column
        if self._lines[line][:column].endswith("{"):
            help = f"for text that begins with `{{{{`, {SINGLE_QUOTES}"
        self._error("yaml-key", event, text, help)

    def _plain(self, event: Any) -> Any:
        text = event.value
        if "'" in text or '"' in text:
            self._check_comment(event)
        value = resolve(text)
        if isinstance(value, BadNumber):
            self._error("bad-number", event, value.text, "quote it if it is text")
        elif isinstance(value, str) and (doubt := ambiguity(text)) is not None:
            span = self._span(event.start_mark, event.end_mark)
            self._report.warning("yaml-ambiguous", span, *doubt)
        return value

    def _check_comment(self, event: Any) -> None:
        """Warn where a comment cuts an expression within a string."""
        mark, quote = event.end_mark, open_quote(event.value)
        rest = self._lines[mark.line][mark.column :]
        comment = rest.lstrip(" \t")
        if quote is not None and comment.startswith("#") and quote in comment:
            column = mark.column + len(rest) - len(comment)
            span = self._place(mark.line, column, len(comment))
            text = f"` #` starts a comment here, and leaves {shown(event.value)}"
            self._report.warning("yaml-comment", span, text, "quote the whole text")

    def _admit(self, event: Any, path: Path) -> None:
        """Check limits, and refuse what YAML can attach to a value."""
        self._nodes += 1
        self._end = event.end_mark
        if self._nodes > MAX_NODES:
            text = f"the file holds more than {MAX_NODES} values"
            self._stop("too-many-nodes", event, text, "write several files")
        if len(path) > MAX_DEPTH:
            text = f"values are nested more than {MAX_DEPTH} deep"
            self._stop("too-deep", event, text, "write flatter data")
        if isinstance(event, yaml.AliasEvent):
            name = f"*{event.anchor}"
            text = f"{shown(name)} is a YAML alias, and aliases are not allowed"
            help = f'write the value out; quote text that begins with `*`: `"{name[:60]}"`'
            self._error("yaml-alias", event, text, help)
        elif event.anchor is not None:
            text = f"{shown('&' + event.anchor)} is a YAML anchor, and anchors are not allowed"
            help = f"remove it; for text that begins with `&`, {SINGLE_QUOTES}"
            self._error("yaml-anchor", event, text, help)
        if getattr(event, "tag", None) is not None:
            self._error("yaml-tag", event, *tag_help(self._written_tag(event)))

    def _written_tag(self, event: Any) -> str:
        line = self._lines[event.start_mark.line][event.start_mark.column :]
        words = [word for word in line.split() if word.startswith("!")]
        return words[0] if words else str(event.tag)

    def _error(self, code: str, event: Any, text: str, help: str | None = None) -> None:
        span = self._span(event.start_mark, event.end_mark)
        self._report.error(code, span, text, help)

    def _stop(self, code: str, event: Any, text: str, help: str) -> NoReturn:
        self._error(code, event, text, help)
        raise _GiveUp

    def explain(self, error: yaml.MarkedYAMLError) -> None:
        """Report a syntax error."""
        at = self._inside(error.problem_mark or error.context_mark)
        opened = self._inside(error.context_mark or error.problem_mark)
        problem = f"{error.context}: {error.problem}"
        found = explain(Trouble(self._lines, problem, *at, opened))
        span = self._place(found.line, found.column, found.length)
        self._report.error(found.code, span, found.text, found.help)

    def _inside(self, mark: Any) -> tuple[int, int]:
        """Line and column of a mark; behind the end of the file, its last place."""
        if mark.line < len(self._lines):
            return mark.line, mark.column
        return len(self._lines) - 1, len(self._lines[-1])

    def _span(self, start: Any, end: Any) -> Span:
        line, column = self._inside(start)
        end_line, end_column = self._inside(end)
        return Span(self._file, line + 1, column + 1, end_line + 1, end_column + 1)

    def _place(self, line: int, column: int, length: int = 0) -> Span:
        return Span(self._file, line + 1, column + 1, line + 1, column + length + 1)
