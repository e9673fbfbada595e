from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.values import UInt
from policyd.expression import Budget

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("startsWith", ("/etc/x", "/etc"), True),
        ("startsWith", ("x", "/etc"), False),
        ("endsWith", ("a.txt", ".txt"), True),
        ("endsWith", ("a.txt", ".md"), False),
        ("matches", ("sudo rm -rf /", r"\brm\s+-rf\b"), True),
        ("matches", ("farm", r"\brm\b"), False),
        ("matches", ("\ud800x", "x$"), True),
        ("charAt", ("a😀c", 1), "😀"),
        ("charAt", ("abc", 3), ""),
        ("charAt", ("abc", 1.0), "b"),
        ("charAt", ("abc", UInt(1)), "b"),
        ("indexOf", ("tacocat", "a"), 1),
        ("indexOf", ("tacocat", "a", 3), 5),
        ("indexOf", ("tacocat", "", 7), 7),
        ("indexOf", ("tacocat", "x"), -1),
        ("lastIndexOf", ("tacocat", "a"), 5),
        ("lastIndexOf", ("tacocat", "a", 3), 1),
        ("lastIndexOf", ("tacocat", "at", 5), 5),
        ("lastIndexOf", ("tacocat", ""), 7),
        ("lastIndexOf", ("", "@@"), -1),
        ("substring", ("tacocat", 4), "cat"),
        ("substring", ("tacocat", 0, 4), "taco"),
        ("substring", ("tacocat", 7), ""),
        ("split", ("a,b,c", ","), ["a", "b", "c"]),
        ("split", ("a,b,c", ",", 2), ["a", "b,c"]),
        ("split", ("a,b,c", ",", 9), ["a", "b", "c"]),
        ("split", ("a,b,c", ",", 0), []),
        ("split", ("a,b,c", ",", -1), ["a", "b", "c"]),
        ("split", ("", ","), [""]),
        ("split", ("abc", ""), ["a", "b", "c"]),
        ("split", ("abc", "", 2), ["a", "bc"]),
        ("split", ("", ""), [""]),
        ("join", (["x", "y"],), "xy"),
        ("join", (["x", "y"], "-"), "x-y"),
        ("join", ([], "-"), ""),
        ("replace", ("aaa", "a", "b"), "bbb"),
        ("replace", ("aaa", "a", "b", 2), "bba"),
        ("replace", ("aaa", "a", "b", 0), "aaa"),
        ("replace", ("aaa", "a", "", -5), ""),
        ("replace", ("ab", "", "-"), "-a-b-"),
        ("lowerAscii", ("TacoCÆt",), "tacocÆt"),
        ("lowerAscii", ("ABC",), "abc"),
        ("upperAscii", ("tacoCαt",), "TACOCαT"),
        ("upperAscii", ("abc",), "ABC"),
        ("trim", (" \u3000\f\x85 text\u200b \n",), "text\u200b"),
        ("trim", ("\x1c x",), "\x1c x"),
        ("strings.quote", ('a"b\\\n\a\ud800é',), '"a\\"b\\\\\\n\\a\ufffdé"'),
    ],
)
def test_a_function_of_strings(
    call: Call, name: str, arguments: tuple[Any, ...], value: Any
) -> None:
    assert call(name, *arguments) == value


OUTSIDE = "`{}`: the index is outside of the string"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("startsWith", (1, "a"), "`startsWith` does not take int and string"),
        ("endsWith", ("a", None), "`endsWith` does not take string and null"),
        ("matches", (1, "a"), "`matches` does not take int and string"),
        ("matches", ("a", 1), "`matches` does not take string and int"),
        ("matches", ("a", "("), "the text is not a pattern"),
        ("matches", ("a", "a" * 10_001), "the pattern has more than 10000 characters"),
        ("charAt", ("abc", 4), OUTSIDE.format("charAt")),
        ("charAt", ("abc", -1), OUTSIDE.format("charAt")),
        ("charAt", ("abc", 0.5), "`charAt` does not take double"),
        ("charAt", ("abc", True), "`charAt` does not take bool"),
        ("charAt", ("abc", 2**70), "`charAt` does not take int"),
        ("charAt", (1, 1), "`charAt` does not take int and int"),
        ("indexOf", ("abc", "a", 4), OUTSIDE.format("indexOf")),
        ("indexOf", (1, "a"), "`indexOf` does not take int and string"),
        ("lastIndexOf", ("abc", "a", -1), OUTSIDE.format("lastIndexOf")),
        ("lastIndexOf", ("abc", 1), "`lastIndexOf` does not take string and int"),
        ("substring", ("abc", 4), OUTSIDE.format("substring")),
        ("substring", ("abc", 1, 9), OUTSIDE.format("substring")),
        ("substring", ("abc", 2, 1), "`substring`: the start is behind the end"),
        ("substring", (1, 2), "`substring` does not take int"),
        ("split", ("abc", 1), "`split` does not take string and int"),
        ("split", ("abc", "b", "1"), "`split` does not take string"),
        ("join", ("abc",), "`join` does not take string and string"),
        ("join", ([1],), "`join` does not take int"),
        ("replace", ("abc", "a", 1), "`replace` does not take string and string and int"),
        ("lowerAscii", (1,), "`lowerAscii` does not take int"),
        ("trim", (None,), "`trim` does not take null"),
    ],
)
def test_a_function_of_strings_refuses(
    refuse: Call, name: str, arguments: tuple[Any, ...], reason: str
) -> None:
    assert refuse(name, *arguments) == reason


def test_a_literal_pattern_is_checked_at_load() -> None:
    check = FUNCTIONS["matches"].literal
    assert check is not None
    assert check((NOT_LITERAL, "a(?=b)")) == (
        "look-ahead `(?=` is not supported; test the two conditions separately"
    )
    assert check((NOT_LITERAL, "a\ud800")) == "half of a surrogate pair in the pattern"
    assert check((NOT_LITERAL, "a")) is None
    assert check((NOT_LITERAL, NOT_LITERAL)) is None


def test_a_pattern_that_does_not_compile_is_not_specialised() -> None:
    specialise = FUNCTIONS["matches"].specialise
    assert specialise is not None
    assert specialise((NOT_LITERAL, "(")) is None
    assert specialise(("a", NOT_LITERAL)) is None


@given(st.text(max_size=20), st.text(max_size=2), st.integers(-1, 5))
def test_joining_what_was_split_gives_the_text_back(text: str, separator: str, limit: int) -> None:
    pieces = FUNCTIONS["split"].call(Budget(10**6, float("inf")), text, separator, limit)
    assert separator.join(pieces) == (text if limit != 0 else "")
    assert limit < 0 or len(pieces) <= limit
