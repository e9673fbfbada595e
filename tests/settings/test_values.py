"""Kinds of values, variables, and which place counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from policyd.settings import LogLevel, Said, Settings, Variables, read_variables, settle
from policyd.settings.kinds import (
    Address,
    Choice,
    File,
    Flag,
    Many,
    OptionKind,
    Text,
    Whole,
    place_below,
    shown_value,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Text(), "a b", "a b"),
        (Choice(LogLevel), "error", LogLevel.ERROR),
        (Flag(), "Yes", True),
        (Flag(), "0", False),
        (Whole(-1, 9), "-1", -1),
        (Address(), "[::1]:0", ("::1", 0)),
        (Address(), "h:80", ("h", 80)),
        (File(), "a/b", Path("a/b")),
        (Many(Text()), " a , b,", ("a", "b")),
    ],
)
def test_a_text_becomes_a_value(kind: OptionKind, text: str, value: Any) -> None:
    assert kind.read(text) == value
    assert type(kind.read(text)) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        (Text(), "", "a text is missing"),
        (Choice(LogLevel), "eror", "`eror` is none of `debug`, `info`, `warning`, `error`; did"),
        (Choice(LogLevel), "z", "`z` is none of `debug`, `info`, `warning`, `error`"),
        (Flag(), "maybe", "`maybe` is neither `true` nor `false`"),
        (Flag(), "m" * 41, "`" + "m" * 37 + "...` is neither"),
        (Whole(1, 9), "1.5", "`1.5` is not a whole number"),
        (Whole(1, 9), "²", "`²` is not a whole number"),
        (Whole(1, 9), "10", "`10` is out of range: from 1 to 9"),
        (Address(), "localhost", "`localhost` is not HOST:PORT"),
        (Address(), "::1:80", "`::1:80` is not HOST:PORT; an IPv6 host needs brackets"),
        (Address(), "h:65536", "`65536` is not a port"),
        (File(), "", "a path is missing"),
        (Many(Text()), " , ", "a value is missing"),
        (Many(Whole(1, 9)), "1,x", "`x` is not a whole number"),
    ],
)
def test_a_text_that_is_no_value_is_refused(kind: OptionKind, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(told)}"):
        kind.read(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(("::1", 1), "[::1]:1"), (("h", 1), "h:1"), (LogLevel.INFO, "info"), (True, "true")],
)
def test_a_default_is_shown_as_people_write_it(value: Any, shown: str) -> None:
    assert shown_value(value) == shown


def test_paths_are_below_the_directory_of_their_file() -> None:
    said = (Path("a"), Path("/b"))
    assert place_below(Many(File()), said, Path("etc")) == (Path("etc/a"), Path("/b"))
    assert place_below(Text(), "a", Path("etc")) == "a"


def test_variables_are_read_and_an_empty_one_says_nothing() -> None:
    environ = {"POLICYD_LOG_LEVEL": " debug ", "POLICYD_HTTP": "", "POLICYD_PATHS": "a,b", "X": "1"}
    said = {"log_level": LogLevel.DEBUG, "paths": (Path("a"), Path("b"))}
    assert read_variables(environ) == Variables(said)


def test_every_mistake_in_variables_is_told() -> None:
    told = read_variables({"POLICYD_HTTP": "x", "POLICYD_STDIO": "y"}).mistakes
    assert [line.partition(": ")[0] for line in told] == [
        "the variable `POLICYD_HTTP`",
        "the variable `POLICYD_STDIO`",
    ]
    both = read_variables({"POLICYD_HTTP": "h:1", "POLICYD_STDIO": "true"})
    assert both.mistakes == ("the variables `POLICYD_STDIO` and `POLICYD_HTTP` exclude each other",)


def test_a_variable_that_nobody_reads_is_told_but_those_of_kubernetes_are_not() -> None:
    environ = dict.fromkeys(
        ("POLICYD_LOGLEVEL", "POLICYD_QQ", "POLICYD_PORT", "POLICYD_SERVICE_HOST"), "x"
    )
    assert read_variables({**environ, "POLICYD_DEBUG": "1"}).unknown == (
        "the variable `POLICYD_LOGLEVEL` means nothing here; did you mean `POLICYD_LOG_LEVEL`?",
        "the variable `POLICYD_QQ` means nothing here",
    )


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], Settings()),
        ([{"log_level": LogLevel.ERROR}, {"log_level": LogLevel.DEBUG}], {"log_level": "error"}),
        ([{}, {"http": ("a", 1)}, {"http": ("b", 2)}], {"http": ("a", 1)}),
        ([{"http": ("a", 1)}, {"stdio": True}], {"http": ("a", 1), "stdio": False}),
        ([{"stdio": True}, {"http": ("a", 1)}], {"http": ("a", 1), "stdio": True}),
        ([{"stdio": False}, {"stdio": True}], {"stdio": False}),
        ([{"http": ("a", 1), "stdio": False}], {"http": ("a", 1), "stdio": False}),
    ],
)
def test_the_strongest_place_counts(places: list[Said], expected: Any) -> None:
    settled = settle(*places)
    assert settled == (expected if isinstance(expected, Settings) else Settings(**expected))


@pytest.mark.parametrize(
    ("kind", "fitting", "others"),
    [
        (Text(), "a", ["", 1]),
        (Choice(LogLevel), "info", ["loud", 1]),
        (Flag(), True, ["true", 1]),
        (Whole(1, 9), 9, [0, 10, "9"]),
        (Address(), "h:1", [1, ""]),
        (File(), "a", [1, ""]),
        (Many(Text()), ["a"], ["a", [], [1]]),
    ],
)
def test_a_file_holds_values_of_the_kind(kind: OptionKind, fitting: Any, others: list[Any]) -> None:
    validator = Draft202012Validator(kind.schema())
    assert validator.is_valid(fitting)
    assert [other for other in others if validator.is_valid(other)] == []
