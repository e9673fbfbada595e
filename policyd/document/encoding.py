"""The bytes of a file to its lines.

Knows UTF-8, byte order marks, line breaks and the characters that no policy file holds.
Knows nothing of YAML.
"""

from __future__ import annotations

import re
from dataclasses import replace

from policyd.diagnostics import Report, Span
from policyd.source import MAX_FILE_BYTES, SourceFile

_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Control characters, and what YAML 1.1 parsers or editors take for line breaks or marks."""


def read_lines(source: SourceFile, report: Report) -> tuple[str, ...] | None:
    """The lines of a file without their breaks, or None when it is no text.

    A byte order mark at the start is dropped; `\\r\\n` is one line break.  The first of each
    character that is not allowed is reported.
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
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    bad = set(_BAD.findall(text))
    for char in bad:
        start = _behind(source.name, text[: text.index(char)])
        span = replace(start, end_column=start.column + 1)
        told = f"the character U+{ord(char):04X} is not allowed in a policy file"
        report.error("control-character", span, told, _advice(char))
    return None if bad else tuple(text.split("\n"))


def _behind(file: str, text: str) -> Span:
    lines = text.removeprefix("\ufeff").split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    return Span(file, line, column, line, column)


def _advice(char: str) -> str:
    if char == "\ufeff":
        return "this byte order mark belongs at the start of a file only; delete it"
    return f"delete it, or write `\\u{ord(char):04x}` in double quotes"
