"""The bytes of a file to its lines.

Knows UTF-8, byte order marks, line breaks and the characters that no policy file holds.
Knows nothing of YAML.
"""

from __future__ import annotations

import re

from policyd.diagnostics import Report, Span
from policyd.source import MAX_FILE_BYTES, SourceFile

_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Control characters, and what YAML 1.1 parsers or editors take for line breaks or marks."""


def read_lines(source: SourceFile, report: Report) -> tuple[str, ...] | None:
    """The lines of a file without their breaks, or None when it is no text.

    A byte order mark at the start is dropped; `\\r\\n` is one line break.
    """
    if len(source.content) > MAX_FILE_BYTES:
        text = f"the file is larger than {MAX_FILE_BYTES} bytes"
        report.error("too-large", Span(source.name, 1, 1, 1, 1), text, "write several files")
        return None
    try:
        text = source.content.decode("utf-8")
    except UnicodeDecodeError as error:
        span = _behind(source.name, source.content[: error.start].decode("utf-8"))
        text = f"the file is not UTF-8 at byte {error.start}"
        report.error("not-utf8", span, text, "save the file as UTF-8")
        return None
    lines = tuple(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    return lines if _is_clean(source.name, lines, report) else None


def _behind(file: str, text: str) -> Span:
    lines = text.removeprefix("\ufeff").split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    return Span(file, line, column, line, column)


def _is_clean(file: str, lines: tuple[str, ...], report: Report) -> bool:
    """Report the first of each character that is not allowed."""
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        for match in _BAD.finditer(line):
            char, column = match[0], match.start() + 1
            if char not in seen:
                seen.add(char)
                span = Span(file, number, column, number, column + 1)
                text = f"the character U+{ord(char):04X} is not allowed in a policy file"
                report.error("control-character", span, text, _advice(char))
    return not seen


def _advice(char: str) -> str:
    if char == "\ufeff":
        return "this byte order mark belongs at the start of a file only; delete it"
    return f"delete it, or write `\\u{ord(char):04x}` in double quotes"
