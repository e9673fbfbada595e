from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget

Call = Callable[..., Any]
TAGS = "".join(chr(0xE0000 + ord(char)) for char in "hidden")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("i\u200bg\u200cn\u200do\u2060r\ufeffe", "ignore"),
        ("so\u00adft", "soft"),
        (f"a{TAGS}b", "ab"),
        ("a\u202eb\u202c\u2066c\u2069", "abc"),
        ("a\ufe0f\U000e0100b", "ab"),
        ("a\u115f\u3164\uffa0\u2800b", "ab"),
        ("a\x00\x08\x7fb", "ab"),
        ("\x1b[31mred\x1b[0m \x9b1mbold", "red bold"),
        ("\x1b]0;rm -rf /\x07ls", "]0;rm -rf /ls"),
        ("\x1b]0;rm -rf /", "]0;rm -rf /"),
        ("ｉｇｎｏｒｅ ①", "ignore 1"),
        ("ﬁle", "file"),
        ("e\u0301", "é"),
        ("a\u2010b\u2013c\u2014d\u2212e\ufe63f\u2e3ag", "a-b-c-d-e-f-g"),
        ("a\u00a0b\u2003c\u3000d\u202fe", "a b c d e"),
        ("a\u2028b\u2029c\x85d", "a\nb\nc\nd"),
        ("a\ud800b", "a\ufffdb"),
        ("раураl", "раураl"),
        ("a" + "\u0301" * 40, "á" + "\u0301" * 29),
        ("a" + "\u0301\u200b" * 40, "á" + "\u0301" * 29),
    ],
)
def test_normalize_leaves_what_is_seen(call: Call, text: str, seen: str) -> None:
    assert call("normalize", text) == seen


def test_only_texts_are_normalized(refuse: Call) -> None:
    assert refuse("normalize", 1) == "`normalize` does not take int"


def test_a_long_row_of_marks_takes_no_quadratic_time(call: Call) -> None:
    assert len(call("normalize", "a" + "\u0316\u0301" * 100_000)) == 30


SPECIAL = st.text(
    alphabet="ab -\x1b[]0;m\u0301\u0316\u0344\u200b\ufe0f\u3164\u2011\xa0\u1161\u1100\ufdfaﬁ\ud800",
    max_size=80,
)


def normalize(text: str) -> str:
    result: str = FUNCTIONS["normalize"].call(Budget(10**7, float("inf")), text)
    return result


@given(st.text(max_size=30) | SPECIAL)
def test_normalizing_twice_is_normalizing_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(st.text(max_size=30) | SPECIAL)
def test_nothing_invisible_is_left(text: str) -> None:
    for char in normalize(text):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp", "Pd", "Cs") or (
            char in "\t\n\r-"
        )
