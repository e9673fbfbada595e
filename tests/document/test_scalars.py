"""Plain scalars: what JSON can hold, and what only looks like it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.document.scalars import BadNumber, ambiguity, open_quote, resolve, shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("-17", -17),
        ("4111", 4111),
        ("9" * 40, int("9" * 40)),
        ("0o14", 12),
        ("0x1F", 31),
        ("1.10", 1.1),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5e-3", -0.0005),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("-0.0", -0.0),
    ],
)
def test_the_core_schema_gives_these_values(text: str, value: object) -> None:
    found = resolve(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "nUll",
        "tRue",
        "-",
        "+",
        ".",
        "..",
        "1e",
        "e3",
        "1.2.3",
        "0o8",
        "0xg",
        "--1",
        "1 2",
        "-.",
        "a1",
    ],
)
def test_the_rest_is_text(text: str) -> None:
    assert (resolve(text), ambiguity(text)) == (text, None)


@pytest.mark.parametrize(
    "text",
    [
        *("012", "-012", "00", "0777", "089", "01.5", "007e3", "0_1"),
        *("1_000", "1_000.5", "1.5_0", "-1_0", "1__0"),
        *("12:30", "12:30:45", "-1:30", "190:20:30.15", "1_0:30"),
        *("0b101", "+0b1_0", "0B1", "-0x1F", "0xFF_FF", "+0o17", "0O17"),
    ],
)
def test_numbers_of_other_yaml_versions_are_text_and_pointed_out(text: str) -> None:
    assert resolve(text) == text
    assert ambiguity(text) == (
        f"`{text}` is text here, not a number",
        "write a plain decimal number, or quote the text",
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("yes", "Yes", "YES", "on", "On", "ON"), "true"),
        (("no", "No", "NO", "off", "Off", "OFF"), "false"),
    ],
)
def test_yes_and_no_are_text_and_pointed_out(words: tuple[str, ...], meant: str) -> None:
    for word in words:
        assert resolve(word) == word
        assert ambiguity(word) == (
            f"`{word}` is text here, not a boolean",
            f"write `{meant}`, or quote the text",
        )


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "2026-11-30T10:00:00Z",
        "1.2.3",
        "true",
        "1",
        "noon",
        "y",
        "N",
        "10:75",
        "1:",
        ":30",
        "_1",
    ],
)
def test_what_nobody_takes_for_something_else_is_not_pointed_out(text: str) -> None:
    assert ambiguity(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".inf", "`.inf` is not a number that JSON has"),
        ("-.INF", "`-.INF` is not a number that JSON has"),
        (".NaN", "`.NaN` is not a number that JSON has"),
        ("1e400", "`1e400` is too large"),
        ("-" + "9" * 41, f"`-{'9' * 41}` has more than 40 digits"),
        ("0x" + "f" * 39, f"`0x{'f' * 39}` has more than 40 digits"),
        ("9" * 100_000, f"`{'9' * 59}…` has more than 40 digits"),
    ],
)
def test_a_number_that_json_cannot_hold_is_bad(text: str, reason: str) -> None:
    assert resolve(text) == BadNumber(reason)


@given(st.integers(-(10**39), 10**39) | st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_of_json_is_read_as_json_reads_it(number: float) -> None:
    text = json.dumps(number)
    assert (resolve(text), type(resolve(text))) == (number, type(number))
    assert ambiguity(text) is None


@given(st.text(max_size=20) | st.text("0123456789.:_-+xobeEinfaN", max_size=12))
def test_whatever_is_resolved_is_json_or_bad(text: str) -> None:
    value = resolve(text)
    assert isinstance(value, BadNumber) or json.loads(json.dumps(value)) == value
    if ambiguity(text) is not None:
        assert value == text


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a == 'b", "'"),
        ('a == "b', '"'),
        ("a == 'b'", None),
        ("a == '\"'", None),
        ("a == '\"", "'"),
        ("don't", None),
        ("don't 'x", "'"),
        (r"a == 'it\'s", "'"),
        (r"a == 'it\'s'", None),
        (r"a == '\\'", None),
        ("", None),
        ("'", "'"),
    ],
)
def test_an_open_quote_is_found(text: str, quote: str | None) -> None:
    assert open_quote(text) == quote


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "`a`"),
        ("a\n  b\tc", "`a b c`"),
        ("x" * 60, f"`{'x' * 60}`"),
        ("x" * 61, f"`{'x' * 59}…`"),
    ],
)
def test_the_words_of_a_user_are_shown_on_one_line(text: str, words: str) -> None:
    assert shown(text) == words
