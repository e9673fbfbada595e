"""What holds for any payload: nothing is left, nothing else is touched, twice is once."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.detectors import DETECTORS, Detector, Scanner, scanner
from policyd.model import Change
from policyd.redaction import (
    Default,
    Hash,
    Literal,
    Mask,
    Numbered,
    Partial,
    Remove,
    ScopedRedaction,
    Strategy,
    TextRedaction,
    Tokenize,
    Value,
    find_places,
    redact,
)
from policyd.redaction.walk import is_clean
from tests.redaction.support import (
    CARD,
    DANA,
    GITHUB,
    KEY,
    PLACEHOLDER,
    SSN,
    budget,
    by_detectors,
    by_pattern,
    changes,
    places,
    redacted,
)

STRATEGIES: tuple[Strategy, ...] = (
    PLACEHOLDER,
    Literal("[REDACTED:{detector}]"),
    Literal("REDACTED"),
    Literal("*"),
    Mask(),
    Mask("█", keep=4),
    Mask("•", keep=64),
    Mask("*", keep=2, keep_first=4),
    Mask("*", keep=4, separators=True),
    Hash(),
    Hash(KEY),
    Tokenize(KEY),
    Numbered(),
    Partial(),
    Default(),
    Value(None),
)
"""Those that leave something in between: without it, neighbours may make a new token."""


# Redacting twice is redacting once


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=lambda d: d.name)
@pytest.mark.parametrize("replace", [*STRATEGIES, Literal(""), Remove()], ids=repr)
def test_no_detector_finds_what_a_strategy_left(detector: Detector, replace: Strategy) -> None:
    rule = ScopedRedaction(TextRedaction("r", Scanner([detector]), replace))
    text = f"before {detector.sample()} after"
    once = redacted([text], rule)
    assert once != [text]
    telling = isinstance(replace, (Mask, Partial, Default, Value))
    if not telling:
        assert list(find_places(once, [rule], budget())) == []
        assert places(once, "all") == []
    assert redacted(once, rule) is once


FRAGMENTS = st.sampled_from(
    [detector.sample() for detector in DETECTORS.values()]
    + ["password=", "https://", "@", ":", " ", "\n", "-", '"', "Bearer ", "x", "é", "4000 "]
    + ["\ud800", '{"a": "', '"}', "\\", "%41", "\u200b", "\uff14", "[", "1234567"]
    + [base64.b64encode(GITHUB.encode()).decode(), json.dumps({"k": f"{SSN}\n"})]
)


def documents(between: str) -> st.SearchStrategy[Any]:
    text = st.lists(FRAGMENTS, max_size=4).map(between.join)
    member = text | st.just(int(CARD)) | text.map(lambda inner: json.dumps([inner, {inner: 1}]))
    return st.lists(member | st.dictionaries(text, member, max_size=3), max_size=3)


def check_that_twice_is_once(replace: Strategy, document: Any) -> None:
    rule = by_detectors("all", replace=replace)
    before = copy.deepcopy(document)
    once, told = redact(document, [rule], budget())
    assert document == before
    assert (once is document) == (not told)
    json.dumps(once)
    twice, told_again = redact(once, [rule], budget())
    assert told_again == ()
    assert twice is once


@pytest.mark.parametrize("replace", STRATEGIES, ids=repr)
@settings(max_examples=40)
@given(document=documents(" "))
def test_redacting_twice_is_redacting_once(replace: Strategy, document: Any) -> None:
    check_that_twice_is_once(replace, document)


@pytest.mark.parametrize("replace", [PLACEHOLDER, Mask(), Hash()], ids=repr)
@settings(max_examples=40)
@given(document=documents(""))
def test_the_same_where_tokens_touch(replace: Strategy, document: Any) -> None:
    check_that_twice_is_once(replace, document)


@settings(max_examples=100)
@given(documents(" "), st.sampled_from([PLACEHOLDER, Hash(), Numbered(), Literal("gone")]))
def test_a_quick_look_misses_nothing(document: Any, replace: Strategy) -> None:
    rule = TextRedaction("r", scanner(["all"]), replace)
    if is_clean(document, [rule], budget()):
        # one that never stands in a text, without keys, keeps the quick look away
        never = by_pattern("\\x{10FFFF}never")
        assert changes(document, ScopedRedaction(rule), never) == ()


@pytest.mark.parametrize(
    "document",
    [
        {"title": "run 12345 2024-01-02 2024-01-02"},
        ["4000-0012-3456", {"phone": 3}],
    ],
)
def test_what_only_looks_like_something_is_clean_at_once(document: Any) -> None:
    assert is_clean(document, [TextRedaction("r", scanner(["secrets", "pii"]), Mask())], budget())


@pytest.mark.parametrize(
    "replace",
    [PLACEHOLDER, Literal("<{detector}>"), Hash(KEY), Tokenize(KEY), Numbered()],
    ids=repr,
)
def test_placeholders_of_detectors_of_the_user_stay(replace: Strategy) -> None:
    evidence = DETECTORS["email"].evidence
    badge = Detector("acme-key", ("custom",), evidence, ("(badge [a-z0-9]+)",), lambda: "badge x7")
    own = Scanner([badge, *DETECTORS.values()])
    rule = ScopedRedaction(
        TextRedaction("r", own, replace, names=("acme-key", *DETECTORS)),
    )
    once = redacted(["see badge x7, acme-key: badge y8"], rule)
    assert "badge" not in once[0]
    assert redacted(once, rule) is once


# Nothing is left, and nothing else is touched


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "percent": _percent,
    "quoted": lambda text: quote(text, safe=""),
    "json": lambda text: json.dumps({"t": text, "n": 5}),
    "json in ascii of a line": lambda text: json.dumps([f"é\n{text}\n"]),
}
"""What may be within one another."""

TYPOGRAPHY: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "soft hyphens": lambda text: "\u00ad".join(text),
    "full width": lambda text: "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text
    ),
}
SECRETS = {"github-token": GITHUB, "us-ssn": SSN, "email": DANA, "payment-card": CARD}

WORDS = st.sampled_from(["ok", "some text", "", "a,b", "grüße", "line\nbreak", "{", "10%", "x=1"])
PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | WORDS
PAYLOADS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def placed(draw: st.DrawFn, layers: int = 2) -> tuple[str, Any, Any]:
    """A secret; a payload that holds it somewhere; the same payload without the place."""
    name = draw(st.sampled_from(sorted(SECRETS)))
    text = SECRETS[name]
    # within one more text that makes four layers, which is as deep as is looked
    for encode in draw(st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=layers)):
        text = ENCODINGS[encode](text)
    text = TYPOGRAPHY[draw(st.sampled_from(sorted(TYPOGRAPHY)))](text)
    text = draw(st.sampled_from(["{}", "see {} there", "a\n{}\nb", "({})"])).replace("{}", text)
    rest = draw(PAYLOADS)
    where = draw(st.integers(0, 4))
    if where == 0:
        return name, {"rest": rest, "t": text}, rest
    if where == 1:
        return name, {"rest": rest, "l": [1, [text]]}, rest
    if where == 2:
        return name, {"rest": rest, "m": {text: None}}, rest
    if where == 3:
        return name, {"rest": rest, "j": json.dumps({"deep": [{"t": text}]})}, rest
    return name, {"rest": rest, "t": text, "u": {"t": text}}, rest


@settings(max_examples=300)
@given(placed(), st.sampled_from([s for s in STRATEGIES if not isinstance(s, (Mask, Partial))]))
def test_no_secret_is_left_and_nothing_else_is_touched(
    case: tuple[str, Any, Any], replace: Strategy
) -> None:
    name, document, rest = case
    before = copy.deepcopy(document)
    result, told = redact(document, [by_detectors("all", replace=replace)], budget())
    assert document == before
    assert told
    secret = SECRETS[name]
    shown = json.dumps(result, ensure_ascii=False) + json.dumps(result) + repr(told)
    for encode in ENCODINGS.values():
        assert encode(secret).strip("=") not in shown
    assert all(isinstance(change, Change) for change in told)
    kept = result["rest"]
    assert kept is rest or kept == rest


@settings(max_examples=100)
@given(PAYLOADS)
def test_a_payload_without_a_secret_is_the_very_same_object(document: Any) -> None:
    result, told = redact(document, [by_detectors("secrets", "pii")], budget())
    assert result is document
    assert told == ()


@settings(max_examples=200)
@given(placed(layers=1))
def test_json_within_a_text_stays_json(case: tuple[str, Any, Any]) -> None:
    _, document, rest = case
    text = json.dumps({"rest": rest, "document": document})
    result = redacted({"text": text}, by_detectors("all"))["text"]
    parsed = json.loads(result)
    assert parsed["rest"] == rest
    again = redacted(json.loads(text), by_detectors("all"))
    assert parsed == json.loads(json.dumps(again))
