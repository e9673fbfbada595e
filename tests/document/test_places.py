"""Every character of a string has its place in the file, through every style of scalar."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.diagnostics import Report, Span
from policyd.document import Document, Text, parse_document
from policyd.source import SourceFile


def parse(text: str) -> Document | None:
    return parse_document(SourceFile("p.yaml", text.encode()), Report())


def value_of(text: str) -> Text:
    """The value of the key `e`."""
    document = parse(text)
    assert document is not None
    return document.text(("e",))


# Mistakes in expressions


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("e: payload.nmae == 'rm'\n", "nmae"),
        ("e: |\n  has(payload.path)\n    && payload.path.startWith('/etc')\n", "startWith"),
        ("e: >-\n  a.exists(t, t == 'x')\n  && b ==\n  || true\n", "||"),
        ("e: >-\n  a\n\n  b\n    && foo(1)\n  c\n", "foo"),
        ('e: "a == \\"rm\\" && pricipal.x"\n', "pricipal"),
        ("e: 'a == ''rm'' && pricipal.x'\n", "pricipal"),
        ("e: a == 'rm' &&\n  pricipal.x\n", "pricipal"),
        ('e: "a == \\u0022rm\\u0022 \\\n  && pricipal.x"\n', "pricipal"),
        ("e: |+\n\n  // a comment\n\n  x.matches('(?=x)')\n\n", "(?=x)"),
        ("e: |2\n      a > 1 &&\n    pricipal.y\n", "pricipal"),
        ('{e: "\\ta &&\\n pricipal.b"}\n', "pricipal"),
        ('"\\x65": \'größe == "日本" && pricipal\'\n', "pricipal"),
        ("e: |  # a comment\n  nmae\n", "nmae"),
        ("\ufeffe: |\r\n  a\r\n  nmae\r\n", "nmae"),
        ("e: a\n\n\n  nmae # b\n", "nmae"),
    ],
)
def test_a_mistake_is_pointed_at(text: str, needle: str) -> None:
    value = value_of(text)
    before = text.removeprefix("\ufeff").replace("\r\n", "\n").split(needle)[0].split("\n")
    line, column = len(before), len(before[-1]) + 1
    wanted = Span("p.yaml", line, column, line, column + len(needle))
    assert value.at(value.index(needle), len(needle)) == wanted


def test_a_stretch_may_cross_lines() -> None:
    assert value_of("e: |\n  ab\n  cd\n").at(1, 3) == Span("p.yaml", 2, 4, 3, 4)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("e: ab\n", (1, 6)),
        ("e: 'ab'\n", (1, 7)),
        ("e: |\n  ab\n", (2, 5)),
        ("e: |+\n  ab\n\n\n", (2, 5)),
        ("e: |+\n\n\n", (2, 2)),
        ("e: >\n  a\n  b", (3, 4)),
    ],
)
def test_the_end_is_behind_the_last_character_that_can_be_seen(
    text: str, place: tuple[int, int]
) -> None:
    value = value_of(text)
    for offset in (len(value), len(value) + 7):
        span = value.at(offset)
        assert (span.line, span.column) == place
        assert (span.end_line, span.end_column) == place


def test_odd_offsets_and_lengths_stay_in_the_scalar() -> None:
    value = value_of("e: abc\n")
    assert value.at(-5) == value.at(0) == Span("p.yaml", 1, 4, 1, 5)
    assert value.at(1, 0) == Span("p.yaml", 1, 5, 1, 5)
    assert value.at(1, 99) == Span("p.yaml", 1, 5, 1, 7)


def test_an_empty_text_stands_where_its_quotes_are() -> None:
    for offset in (0, 3):
        assert value_of("e: ''\n").at(offset) == Span("p.yaml", 1, 4, 1, 6)
    assert value_of("e: |\nf: 1\n").at(0).line == 1


def test_a_text_is_the_string_it_holds() -> None:
    value = value_of("e: abc\n")
    assert value == "abc"
    assert "abc" in {value}
    assert value.span == Span("p.yaml", 1, 4, 1, 7)


# Properties: scalars in every style


def on_lines(
    pieces: list[str], indent: str, between: Callable[[str], st.SearchStrategy[str]]
) -> st.SearchStrategy[str]:
    """Lines of pieces, some of them blank, each but the first indented."""
    filled = st.lists(st.sampled_from(pieces), max_size=7).map("".join)
    blank = st.sampled_from(["", " ", "  ", "   ", "    "])
    line = filled.map(lambda text: indent + text) | blank
    return st.lists(line, min_size=1, max_size=6).map("\n".join).flatmap(between)


def blocks(indent: str) -> st.SearchStrategy[str]:
    header = st.sampled_from(["|", ">"]), st.sampled_from(["", "-", "+", "1", "2-", "+2", " # c"])
    pieces = ["a", "b", " ", "\t", "#", "'", '"', "é", "😀", "  x"]
    body = on_lines(pieces, indent, st.just)
    return st.tuples(*header, body).map(lambda parts: f"{parts[0]}{parts[1]}\n{parts[2]}")


PLAIN = on_lines(
    ["a", "b", " ", "\t", "'", '"', "é", "😀"], "   ", lambda text: st.just("x" + text)
)
SINGLE = on_lines(["a", " ", "\t", "''", '"', "#", "é", "😀"], " ", lambda t: st.just(f"'{t}'"))
DOUBLE = on_lines(
    [
        *("a", " ", "\t", "'", "#", "é", "😀", "\\\n  ", "\\\n \n", '\\"', "\\n", "\\t", "\\ "),
        *("\\\t", "\\x41", "\\u00e9", "\\U0001f600", "\\\\", "\\N", "\\0"),
    ],
    "   ",
    lambda text: st.just(f'"{text}"'),
)
SCALARS = blocks("  ") | blocks("   ") | PLAIN | SINGLE | DOUBLE
AROUND = st.sampled_from(["{}", "e: {}", "- - {}", "- k: {}", "x:\n  y: {}", "? a\n: {}"])
BEHIND = st.sampled_from(["", "\n", "\n\n", "\n# c\n", " # c\n", "\n   \n"])


def stands_for(source: str, char: str) -> bool:
    """Whether *source*, a stretch of a file, is how *char* is written."""
    if source == char:
        return True
    if char == " ":
        return source in ("\n", "\t", " ", "\\ ")  # a folded line break, or blanks before it
    if source == "''":
        return char == "'"
    return source[:1] == "\\" and yaml.safe_load(f'"{source}"') == char


@settings(max_examples=600, deadline=None)
@given(AROUND, SCALARS, BEHIND)
def test_each_character_is_where_the_file_has_it(around: str, scalar: str, behind: str) -> None:
    document = parse(around.replace("{}", scalar) + behind)
    if document is None:
        return
    for path, span in document.spans.items():
        value = document.data
        for step in path:
            value = value[step]
        if not isinstance(value, str):
            continue
        text, before = document.text(path), (span.line, span.column)
        for offset, char in enumerate(value):
            place = text.at(offset)
            source = (document.lines[place.line - 1] + "\n")[
                place.column - 1 : place.end_column - 1
            ]
            assert stands_for(source, char), (offset, source, char)
            assert place.line == place.end_line
            assert before <= (place.line, place.column)
            before = (place.end_line, place.end_column)
        assert text.at(0, len(text)).end_line <= span.end_line


@settings(max_examples=100, deadline=None)
@given(AROUND, SCALARS, BEHIND, st.integers(-3, 30), st.integers(-3, 30))
def test_no_offset_leads_out_of_the_file(
    around: str, scalar: str, behind: str, offset: int, length: int
) -> None:
    document = parse(around.replace("{}", scalar) + behind)
    if document is None:
        return
    for path in document.spans:
        try:
            text = document.text(path)
        except KeyError:
            continue
        span = text.at(offset, length)
        assert (span.line, span.column) <= (span.end_line, span.end_column)
        assert span.end_line <= len(document.lines)
        # the place behind a line break is the start of the next line's column 1, at most
        assert span.end_column <= len(document.lines[span.end_line - 1]) + 2
