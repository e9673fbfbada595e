from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.values import MISSING, OptionalValue
from policyd.expression import Budget

Call = Callable[..., Any]
LONG = "ab " * 3000


@pytest.mark.parametrize(
    ("text", "pattern", "value"),
    [
        ("issue 42", r"\d+", "42"),
        ("issue 42", r"issue (\d+)", "42"),
        ("ab", "(x)?a", ""),
        ("a\ud800b", "a(.)b", "\ufffd"),
        ("x", "y", MISSING),
        (LONG + "42", r"\d+", "42"),
    ],
)
def test_extract(call: Call, text: str, pattern: str, value: Any) -> None:
    found = call("regex.extract", text, pattern)
    assert isinstance(found, OptionalValue)
    assert found.value == value


@pytest.mark.parametrize(
    ("text", "pattern", "value"),
    [
        ("a1 b22", r"\d+", ["1", "22"]),
        ("id:1, id:, id:2", r"id:(\d*)", ["1", "2"]),
        ("é1é2", r"é(\d)", ["1", "2"]),
        ("ab", "x*", ["", "", ""]),
        ("ab", "c", []),
        (LONG, "ab", ["ab"] * 3000),
    ],
)
def test_extract_all(call: Call, text: str, pattern: str, value: list[str]) -> None:
    assert call("regex.extractAll", text, pattern) == value


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("foo bar", "(fo)o (ba)r", r"\2 \1"), "ba fo"),
        (("banana", "a", r"[\0]"), "b[a]n[a]n[a]"),
        (("banana", "a", r"\\1"), r"b\1n\1n\1"),
        (("banana", "a", "x", 1), "bxnana"),
        (("banana", "a", "x", 0), "banana"),
        (("banana", "a", "x", -1), "bxnxnx"),
        (("ba", "x*", "-"), "-b-a-"),
        (("éaé", "a", "\n"), "é\né"),
        (("abc", "x", "y"), "abc"),
    ],
)
def test_replace(call: Call, arguments: tuple[Any, ...], value: str) -> None:
    assert call("regex.replace", *arguments) == value


SLASH = "a backslash in a replacement stands before a digit or another"
GROUP = "the replacement names a group that the pattern does not have"
LARGE = "the result has more than 1048576 characters"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("regex.replace", ("a", "a", "\\"), SLASH),
        ("regex.replace", ("a", "a", r"\q"), SLASH),
        ("regex.replace", ("a", "a", r"\1"), GROUP),
        ("regex.replace", ("a" * 4096, "a", "b" * 512), LARGE),
        ("regex.replace", ("a" * (1 << 20), "^", "b"), LARGE),
        ("regex.extract", ("a", "(a)(b)"), "the pattern has more than one group; write `(?:...)`"),
        ("regex.extractAll", ("a", "("), "the text is not a pattern"),
        ("regex.extractAll", ("a" * 100_001, "a"), "the result has more than 100000 elements"),
        ("regex.extract", (1, "a"), "`regex.extract` does not take int and string"),
        ("matches", ("a", "a" * 10_001), "the pattern has more than 10000 characters"),
    ],
)  # fmt: skip
def test_an_error(refuse: Callable[..., str], name: str, arguments: Any, reason: str) -> None:
    assert refuse(name, *arguments) == reason


def test_patterns_are_judged_when_they_are_literals() -> None:
    check = FUNCTIONS["regex.extract"].literal
    assert check is not None
    assert check((NOT_LITERAL, "(a)")) is None
    assert check((NOT_LITERAL, NOT_LITERAL)) is None
    assert check((NOT_LITERAL, 1)) is None
    assert check((NOT_LITERAL, "(")) is not None
    assert check((NOT_LITERAL, "(a)(b)")) is not None


@pytest.mark.parametrize("name", ["matches", "regex.extractAll", "regex.replace"])
def test_a_search_is_not_begun_that_would_end_after_the_deadline(name: str) -> None:
    # an automaton would need 2^40 states, so this takes some 200 ms
    text = "".join(random.Random(1).choices("ab", k=400_000))
    pattern = "(?:a|b)*a(?:a|b){40}c"
    arguments = (text, pattern, "") if name == "regex.replace" else (text, pattern)
    started = time.monotonic()
    with pytest.raises(EvaluationError) as caught:
        FUNCTIONS[name].call(Budget(10**6, started + 0.02), *arguments)
    assert caught.value.cause is Cause.DEADLINE


@pytest.mark.parametrize("text", [LONG, LONG + "x", "x" + LONG, "é" * 5000 + "x", "\ud800" * 5000])
@pytest.mark.parametrize("pattern", ["x", "^x", "x$", r"\bx", "^(?:ab )+$", "é$", "^[^x]+$"])
def test_a_long_text_is_searched_as_a_short_one_is(call: Call, text: str, pattern: str) -> None:
    # in stretches and then whole, against once
    assert call("matches", text, pattern) == (call("regex.replace", text, pattern, "!") != text)
