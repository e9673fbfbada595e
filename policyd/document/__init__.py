"""The text of a policy file as plain data, with the place of every key and value.

Knows YAML: what policyd reads, what it refuses, and where things stand.  Knows nothing of
what a policy says.  The only user of PyYAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from policyd.diagnostics import Report, Span
from policyd.document.compose import MAX_DEPTH, MAX_NODES, Path, compose_lines
from policyd.document.encoding import read_lines
from policyd.document.places import Text
from policyd.source import SourceFile

__all__ = ["MAX_DEPTH", "MAX_NODES", "Document", "Path", "Text", "parse_document"]


@dataclass(frozen=True, slots=True)
class Document:
    """One file, read.

    data: plain JSON values; strings are plain `str`.
    spans: where each value stands, by path.
    key_spans: where the key stands that leads to the value at a path.
    lines: the text of the file, without line breaks and byte order mark.
    """

    source: SourceFile
    data: Any
    spans: Mapping[Path, Span]
    key_spans: Mapping[Path, Span]
    lines: Sequence[str] = field(repr=False)

    def span(self, path: Path) -> Span:
        """The place of the value at *path*, or of its nearest ancestor that exists."""
        while path not in self.spans:
            path = path[:-1]
        return self.spans[path]

    def key_span(self, path: Path) -> Span:
        """The place of the key that leads to *path*, else `span(path)`."""
        return self.key_spans[path] if path in self.key_spans else self.span(path)

    def text(self, path: Path) -> Text:
        """The string at *path* with its place.

        Raises KeyError where there is no string.
        """
        span = self.spans[path]
        value: Any = self.data
        for step in path:
            value = value[step]
        if not isinstance(value, str):
            raise KeyError(path)
        return Text(value, span, self.lines)

    def written(self, path: Path) -> str:
        """The value at *path* as it is written in the file: `1.10` for a 1.1, `~` for a null.

        Raises KeyError where there is no value.
        """
        span = self.spans[path]
        lines = list(self.lines[span.line - 1 : span.end_line])
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)


def parse_document(source: SourceFile, report: Report) -> Document | None:
    """Read a file; None after any mistake, all of which *report* then holds.

    Never raises, whatever the bytes, and ends soon: YAML 1.2 core schema, one document, text
    keys, none twice, no anchor, alias, merge key, tag or directive, at most MAX_NODES values,
    MAX_DEPTH levels and `source.MAX_FILE_BYTES` bytes.
    """
    lines = read_lines(source, report)
    if lines is None:
        return None
    composition = compose_lines(source.name, lines, report)
    if composition is None:
        return None
    spans, key_spans = composition.spans, composition.key_spans
    return Document(
        source, composition.data, MappingProxyType(spans), MappingProxyType(key_spans), lines
    )
