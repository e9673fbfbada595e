"""Bytes to lines: UTF-8, byte order marks, line breaks, and what is no text."""

from __future__ import annotations

import pytest

from policyd.diagnostics import Diagnostic, Level, Report, Span
from policyd.document.encoding import read_lines
from policyd.source import SourceFile


def read(content: bytes) -> tuple[tuple[str, ...] | None, tuple[Diagnostic, ...]]:
    report = Report()
    lines = read_lines(SourceFile("p.yaml", content), report)
    return lines, report.diagnostics


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ("",)),
        (b"a\nb\n", ("a", "b", "")),
        (b"a\r\nb", ("a", "b")),
        (b"\xef\xbb\xbfa\n", ("a", "")),
        ("é\t😀\u00a0".encode(), ("é\t😀\u00a0",)),
    ],
)
def test_text_becomes_lines(content: bytes, lines: tuple[str, ...]) -> None:
    assert read(content) == (lines, ())


@pytest.mark.parametrize(
    ("content", "line", "column", "byte"),
    [
        (bytes.fromhex("6e616d653a207031e90a"), 1, 9, 8),
        ("é\n€".encode() + b"\xff", 2, 2, 6),
        (b"\xef\xbb\xbfab\xc3", 1, 3, 5),
        ("a: 1".encode("utf-16"), 1, 1, 0),
        (b"a\n\xed\xa0\x80", 2, 1, 2),
    ],
)
def test_what_is_not_utf_8_is_refused_at_its_byte(
    content: bytes, line: int, column: int, byte: int
) -> None:
    span = Span("p.yaml", line, column, line, column)
    text = f"the file is not UTF-8 at byte {byte}"
    wanted = Diagnostic(Level.ERROR, "not-utf8", span, text, "save the file as UTF-8")
    assert read(content) == (None, (wanted,))


@pytest.mark.parametrize(
    "char",
    ["\x00", "\x0b", "\x0c", "\r", "\x1b", "\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\uffff"],
)
def test_a_control_character_is_refused_where_it_stands(char: str) -> None:
    code = f"U+{ord(char):04X}"
    wanted = Diagnostic(
        Level.ERROR,
        "control-character",
        Span("p.yaml", 2, 3, 2, 4),
        f"the character {code} is not allowed in a policy file",
        f"delete it, or write `\\u{ord(char):04x}` in double quotes",
    )
    assert read(f"a\r\nb {char}c {char}\n".encode()) == (None, (wanted,))


def test_a_second_byte_order_mark_is_refused_with_its_own_advice() -> None:
    _, diagnostics = read("\ufeffa\n\ufeffb".encode())
    assert [(d.span.line, d.span.column, d.help) for d in diagnostics] == [
        (2, 1, "this byte order mark belongs at the start of a file only; delete it")
    ]


def test_each_bad_character_is_told_once() -> None:
    _, diagnostics = read(b"\x00\x01\x00\n\x01\x02" * 1_000)
    assert [d.text.split()[2] for d in diagnostics] == ["U+0000", "U+0001", "U+0002"]


def test_a_file_over_the_limit_is_refused() -> None:
    _, diagnostics = read(b"\xff" * ((1 << 20) + 1))
    assert [d.code for d in diagnostics] == ["too-large"]
    assert read(b"#" * (1 << 20))[1] == ()
