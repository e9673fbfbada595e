"""What becomes of a text or value that must not be seen."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.detectors import DETECTORS
from policyd.pattern import Pattern, compile_pattern
from policyd.pointer import REMOVE
from policyd.redaction import (
    Default,
    Hash,
    Literal,
    Mask,
    Numbered,
    Numbers,
    Partial,
    PatternFinder,
    Remove,
    ScopedRedaction,
    Strategy,
    TextRedaction,
    Tokenize,
    Value,
    canonical,
    mask_flaw,
    redact_value,
)
from tests.redaction.support import CARD, DANA, GITHUB, KEY, PLACEHOLDER, redacted

STRATEGIES: tuple[Strategy, ...] = (
    Literal("[{detector}]"),
    Literal("[REDACTED:{detector}]"),
    Literal("REDACTED"),
    Literal(""),
    Mask(),
    Mask("█", keep=4),
    Mask("•", keep=64),
    Mask("*", keep=2, keep_first=4),
    Mask("*", keep=4, separators=True),
    Hash(),
    Hash(KEY),
    Tokenize(KEY),
    Numbered(),
    Numbers(lambda token: False),
    Remove(),
    Value("gone"),
    Default(),
)


def keyed(text: str) -> str:
    return hmac.new(KEY, text.encode(), "sha256").hexdigest()


@pytest.mark.parametrize(
    ("replace", "text", "expected"),
    [
        (Literal("[{detector}]"), "abc", "[d]"),
        (Literal("{detector}/{detector}"), "abc", "d/d"),
        (Literal(r"\g<0>\1$1\ {x}"), "abc", r"\g<0>\1$1\ {x}"),
        (Literal("C:\\new"), "abc", "C:\\new"),
        (Mask(), "abcdef", "******"),
        (Mask("#", keep=2), "abcdef", "####ef"),
        (Mask("#", keep=4), "abcdef", "###def"),
        (Mask("#", keep=1, keep_first=1), "abcdef", "a####f"),
        (Mask("#", keep=2, keep_first=9), "abcdef", "a###ef"),
        (Mask("#", keep=1), "a", "#"),
        (Mask("#", keep_first=1), "", ""),
        (Mask("•"), "é\U0001f600", "••"),
        (Mask("*", keep=4, separators=True), "4000-0012 3456.7899", "****-**** ****.7899"),
        (Mask("*", keep=4), "4000-0012 3456.7899", "***************7899"),
        (Mask("-", separators=True), "a-b c", "--- -"),
        (Remove(), "abc", ""),
        (Hash(), "abc", "sha256:" + hashlib.sha256(b"abc").hexdigest()),
        (Hash(), "\ud800", "sha256:" + hashlib.sha256(b"\xed\xa0\x80").hexdigest()),
        (Hash(KEY), "abc", "hmac-sha256:" + keyed("abc")),
        (Tokenize(KEY), "abc", f"[d:{keyed('abc')[:16]}]"),
        (Numbered(), "abc", "[d:0]"),
        (Value(None), "abc", "[d]"),
        (Default(), "abc", "[d]"),
    ],
)
def test_a_strategy_says_what_stands_in_the_place(
    replace: Strategy, text: str, expected: str
) -> None:
    assert replace.of(text, "d") == expected


@pytest.mark.parametrize(
    ("detector", "text", "expected"),
    [
        ("email", DANA, "d*********@example.com"),
        ("email", "d@example.com", "*@example.com"),
        ("payment-card", "4000 0012 3456 " + "7899", "**** **** **** 7899"),
        ("payment-card", CARD, "*" * 12 + CARD[-4:]),
        ("iban", "GB82 WEST 1234", "GB** **** 1234"),
        ("us-ssn", "219-09-" + "9999", "***-**-**99"),
        (None, "abc", "***"),
        (None, "abcd efgh", "**** **gh"),
        ("github-token", GITHUB, "***_" + "*" * 32 + GITHUB[-4:]),
    ],
)
def test_a_part_is_what_such_things_are_told_apart_by(
    detector: str | None, text: str, expected: str
) -> None:
    assert Partial().of(text, detector) == expected


def test_of_separators_alone_and_of_what_nobody_sees_a_mask_keeps_nothing() -> None:
    mask = Mask("*", keep=4, separators=True)
    assert mask.of("--") == "**"
    assert mask.of("\u202e\u202d", "bidi-control") == "**"
    assert Mask("*", keep=4).of("\U000e0069" * 8, "unicode-tags") == "*" * 8
    assert not mask.made("--")


def test_without_a_detector_the_placeholder_says_redacted() -> None:
    assert Literal("[{detector}]").of("abc") == "[redacted]"
    assert Tokenize(KEY).of("abc").startswith("[redacted:")
    assert Numbered().of("abc") == "[redacted:0]"


def test_numbers_are_given_once_and_never_twice() -> None:
    numbers = Numbers(lambda token: token == "[d:2]")
    given_out = [numbers.of(text, "d") for text in ("a", "b", "a")]
    assert given_out == ["[d:1]", "[d:3]", "[d:1]"]
    assert [numbers.of("c", "e"), numbers.of("d")] == ["[e:1]", "[redacted:1]"]


def test_a_key_is_not_shown() -> None:
    assert repr(Hash(KEY)) == "Hash()"
    assert repr(Tokenize(KEY)) == "Tokenize()"


@pytest.mark.parametrize("replace", STRATEGIES, ids=repr)
@settings(max_examples=25)
@given(st.text(max_size=12), st.sampled_from([None, *DETECTORS]))
def test_a_strategy_knows_its_own_work(replace: Strategy, text: str, detector: str | None) -> None:
    assert replace.made(replace.of(text, detector))


@given(st.text(min_size=1, max_size=12))
def test_a_part_is_known_where_something_is_covered(text: str) -> None:
    once = Partial().of(text)
    assert Partial().made(once) == ("*" in once)
    assert Partial().of(once) == once


@pytest.mark.parametrize(
    ("replace", "text"),
    [
        (Literal("[{detector}]"), "[else]"),
        (Literal("gone"), "here"),
        (Mask(), "**a*"),
        (Mask("#", keep=1), "###ab"),
        (Hash(), "sha256:" + "A" * 64),
        (Hash(), "sha256:" + "a" * 65),
        (Hash(), "a" * 64),
        (Hash(KEY), "sha256:" + "a" * 64),
        (Tokenize(KEY), "[email]"),
        (Numbered(), "email:1"),
        (Partial(), "abcdef"),
        (Value(5), "5"),
        (Default(), "a"),
        (Remove(), "a"),
    ],
)
def test_a_strategy_does_not_claim_what_it_did_not_make(replace: Strategy, text: str) -> None:
    assert not replace.made(text)


@pytest.mark.parametrize(
    ("char", "flaw"),
    [
        ("*", None),
        ("•", None),
        ("█", None),
        ("", "a mask is one character"),
        ("**", "a mask is one character"),
        ("x", "a mask is neither a letter nor a digit"),
        ("0", "a mask is neither a letter nor a digit"),
        ("é", "a mask is neither a letter nor a digit"),
        (" ", "a mask is a visible character"),
        ("\n", "a mask is a visible character"),
        ("\u200b", "a mask is a visible character"),
    ],
)
def test_a_mask_cannot_look_like_the_real_thing(char: str, flaw: str | None) -> None:
    assert mask_flaw(char) == flaw
    if flaw is None:
        assert Mask(char).of("a") == char
    else:
        with pytest.raises(ValueError, match=flaw):
            Mask(char)


# Whole values


@pytest.mark.parametrize(
    ("value", "replace", "expected"),
    [
        ("219-09", Literal("[{detector}]"), "[redacted]"),
        ("219-09", Mask("*", keep=2), "****09"),
        ("a", Hash(), Hash().of("a")),
        ("a", Remove(), REMOVE),
        ([], Remove(), REMOVE),
        ("a", Default(), ""),
        ("a", Value(None), None),
        ("a", Value({"b": [1]}), {"b": [1]}),
        # what is no text keeps its type
        (219099999, Literal("X"), 0),
        (1.5, Mask(), 0.0),
        (True, Hash(), False),
        (False, Hash(), False),
        (None, Literal("X"), None),
        ({"a": 1}, Literal("X"), {}),
        ([1], Mask(), []),
        (5, Default(), 0),
        (5, Value(0), 0),
    ],
)
def test_a_value_is_redacted_whole(value: Any, replace: Strategy, expected: Any) -> None:
    result = redact_value(value, replace)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "replace", "expected"),
    [
        ({"a": 1}, Literal("X"), "X"),
        (None, Literal("X"), "X"),
        (219099999, Mask("*", keep=2), "*******99"),
        (219099999, Partial(), "*******99"),
        (True, Mask(), "****"),
        (None, Mask(), "****"),
        (1.5, Mask(), "***"),
        ([1, 2, 3, 4], Mask("#", keep=2), "###"),
        ({"a": {}}, Partial(), "***"),
        (5, Hash(), Hash().of("5")),
        ({"b": [1, None], "a": "é"}, Hash(), Hash().of('{"a":"\\u00e9","b":[1,null]}')),
        (5, Default(), 0),
    ],
)
def test_a_value_may_become_a_text(value: Any, replace: Strategy, expected: Any) -> None:
    assert redact_value(value, replace, retype=True) == expected


WHOLE = [s for s in (*STRATEGIES, Partial(), Value(0)) if not isinstance(s, Remove)]


@pytest.mark.parametrize("retype", [True, False])
@pytest.mark.parametrize("replace", WHOLE, ids=repr)
@pytest.mark.parametrize(
    "value", ["a", "", "secret text", 12345, 0, -0.0, None, True, [1], {"a": 2}]
)
def test_a_value_redacted_twice_is_redacted_once(
    value: Any, replace: Strategy, retype: bool
) -> None:
    once = redact_value(value, replace, retype=retype)
    assert redact_value(once, replace, retype=retype) is once


def test_no_two_results_share_a_value_of_the_policy() -> None:
    replace = Value([1])
    one, other = redact_value("a", replace), redact_value("b", replace)
    assert one == other == [1]
    assert one is not other
    assert redact_value(True, Value(1)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(JSON)
def test_the_canonical_text_is_json_with_sorted_keys(value: Any) -> None:
    assert canonical(value) == json.dumps(value, sort_keys=True, separators=(",", ":"))


def test_a_placeholder_with_the_name_of_a_detector_of_the_user_is_known() -> None:
    pattern = compile_pattern(r"\[[^\]]+\]")
    assert isinstance(pattern, Pattern)
    finder = PatternFinder(pattern)
    rule = ScopedRedaction(TextRedaction("r", finder, PLACEHOLDER, names=("acme-key",)))
    document = ["[acme-key]"]
    assert redacted(document, rule) is document
    assert redacted(["[other-key]"], rule) == ["[redacted]"]
