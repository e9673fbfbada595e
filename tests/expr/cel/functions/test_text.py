from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policyd.detectors import DETECTORS
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS

Call = Callable[..., Any]


def test_glob_matches_whole_strings(call: Call, refuse: Call) -> None:
    assert call("glob", "exec_run", "exec_*") is True
    assert call("glob", "a/b\nc", "a?b*c") is True
    assert call("glob", "Exec_run", "exec_*") is False
    assert call("glob", "xexec_run", "exec_*") is False
    assert refuse("glob", 1, "*") == "`glob` does not take int and string"
    assert refuse("glob", "a", 1) == "`glob` does not take string and int"
    assert refuse("glob", "a", "a" * 1001) == "the glob has more than 1000 characters"


def test_a_literal_glob_is_checked_at_load() -> None:
    check = FUNCTIONS["glob"].literal
    assert check is not None
    assert check((NOT_LITERAL, "a" * 1001)) == "the glob has more than 1000 characters"
    assert check((NOT_LITERAL, "a")) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a": [1, 2.5, "\\u00e9", true, null]} ', {"a": [1, 2.5, "é", True, None]}),
        ("12345678901234567890", 12345678901234567890),
        ("1e2", 100.0),
        ('"\\ud800"', "\ud800"),
        ("[" * 64 + "]" * 64, None),
        ('"' + "[" * 100 + '"', "[" * 100),
    ],
)
def test_json_reads_a_text(call: Call, text: str, value: Any) -> None:
    assert call("json", text) == value or value is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        "NaN",
        "[Infinity]",
        "1e999",
        "[1,]",
        "01",
        "1 2",
        '"\n"',
        "\ufeff1",
        "9" * 5000,
        "[" * 100_000,
    ],
)
def test_json_that_readers_may_read_differently_is_refused(refuse: Call, text: str) -> None:
    assert refuse("json", text) == "the text is not JSON, or not unambiguous"


def test_json_that_is_nested_too_deep_is_refused(refuse: Call) -> None:
    reason = "the JSON text is nested deeper than 64"
    assert refuse("json", "[" * 65 + "]" * 65) == reason
    assert refuse("json", '{"a":' * 65 + "1" + "}" * 65) == reason
    assert refuse("json", 1) == "`json` does not take int"


EMAIL = DETECTORS["email"].sample()


@pytest.mark.parametrize(
    ("value", "fires"),
    [
        (f"write to {EMAIL}", True),
        ("nobody", False),
        ("", False),
        (["a", {"b": [1, None, f"to {EMAIL}"]}], True),
        ({f"to {EMAIL}": 1}, True),
        ({"a": ["b", 1.5, True]}, False),
        ([], False),
    ],
)
def test_detect_looks_at_every_text_and_key(call: Call, value: Any, fires: bool) -> None:
    assert call("detect", value, "email") is fires
    assert call("detect", value, "pii") is fires


def test_detect_refuses_what_holds_no_text_and_names_that_do_not_exist(refuse: Call) -> None:
    assert refuse("detect", 1, "email") == "`detect` does not take int and string"
    assert refuse("detect", "a", 1) == "`detect` does not take string and int"
    assert refuse("detect", "a", "emial") == "no such detector or group"


def test_a_literal_detector_is_checked_at_load() -> None:
    check = FUNCTIONS["detect"].literal
    assert check is not None
    assert check((NOT_LITERAL, "emial")) == ("no detector or group `emial`; did you mean `email`?")
    told = check((NOT_LITERAL, "qqqqqq"))
    assert told is not None
    assert told.startswith("no detector or group `qqqqqq`; groups: `secrets`, ")
    assert check((NOT_LITERAL, "email")) is None
    assert check((NOT_LITERAL, "secrets")) is None
    assert check((NOT_LITERAL, NOT_LITERAL)) is None
