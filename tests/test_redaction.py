from __future__ import annotations

import base64
import copy
import hashlib
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.detectors import DETECTORS, Detector, Scanner, scanner
from policyd.errors import Cause, EvaluationError
from policyd.expression import Budget
from policyd.model import Change
from policyd.pattern import Pattern, compile_pattern
from policyd.pointer import REMOVE, PointerError, PointerPattern, parse_pattern
from policyd.redaction import (
    Hash,
    Literal,
    Mask,
    PathRedaction,
    PatternFinder,
    Remove,
    Rewritten,
    Strategy,
    TextRedaction,
    canonical,
    mask_flaw,
    places_of,
    redact_places,
    redact_text,
    redact_texts,
    redact_value,
    safe_pointer,
    walk_strings,
)

GITHUB = DETECTORS["github-token"].sample()
AWS = DETECTORS["aws-access-key-id"].sample()
CARD = DETECTORS["payment-card"].sample()
SSN = DETECTORS["us-ssn"].sample()
DANA, LEE = "dana.olsen@example.com", "lee.kim@example.org"

STRATEGIES: tuple[Strategy, ...] = (
    Literal("[{detector}]"),
    Literal("[REDACTED:{detector}]"),
    Literal("REDACTED"),
    Literal(""),
    Mask(),
    Mask("█", keep=4),
    Mask("•", keep=64),
    Mask("*", keep=2, keep_first=4),
    Hash(),
    Remove(),
)


def budget(steps: int = 1_000_000) -> Budget:
    return Budget(steps, time.monotonic() + 600)


PLACEHOLDER = Literal("[{detector}]")


def by_detectors(*names: str, replace: Strategy = PLACEHOLDER) -> TextRedaction:
    return TextRedaction("r", scanner(names), replace)


def by_pattern(
    text: str, replace: Strategy, group: int = 0, rule: str = "r", keys: bool = True
) -> TextRedaction:
    pattern = compile_pattern(text)
    assert isinstance(pattern, Pattern)
    return TextRedaction(rule, PatternFinder(pattern, group), replace, keys)


def by_path(text: str, replace: Strategy) -> PathRedaction:
    pattern = parse_pattern(text)
    assert isinstance(pattern, PointerPattern)
    return PathRedaction("r", pattern, replace)


def redacted(document: Any, *redactions: TextRedaction) -> Any:
    before = copy.deepcopy(document)
    result, _ = redact_texts(document, redactions, budget())
    assert document == before
    return result


def changes(document: Any, *redactions: TextRedaction) -> tuple[Change, ...]:
    return redact_texts(document, redactions, budget())[1]


# Strategies


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
        (Remove(), "abc", ""),
        (Hash(), "abc", "sha256:" + hashlib.sha256(b"abc").hexdigest()),
        (Hash(), "\ud800", "sha256:" + hashlib.sha256(b"\xed\xa0\x80").hexdigest()),
    ],
)
def test_a_strategy_says_what_stands_in_the_place(
    replace: Strategy, text: str, expected: str
) -> None:
    assert replace.of(text, "d") == expected


def test_without_a_detector_the_placeholder_says_redacted() -> None:
    assert Literal("[{detector}]").of("abc") == "[redacted]"


@pytest.mark.parametrize("replace", STRATEGIES)
@settings(max_examples=25)
@given(st.text(max_size=12), st.sampled_from([None, *DETECTORS]))
def test_a_strategy_knows_its_own_work(replace: Strategy, text: str, detector: str | None) -> None:
    assert replace.made(replace.of(text, detector))


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


def test_stretches_are_replaced_from_left_to_right() -> None:
    matches = [(0, 1, "x"), (2, 4, None), (4, 5, "y")]
    assert redact_text("abcdef", matches, Literal("<{detector}>")) == "<x>b<redacted><y>f"
    assert redact_text("abc", [], Mask()) == "abc"


# Whole values


@pytest.mark.parametrize(
    ("value", "replace", "expected"),
    [
        ("219-09", Literal("[{detector}]"), "[redacted]"),
        ({"a": 1}, Literal("X"), "X"),
        (None, Literal("X"), "X"),
        ("219-09", Mask("*", keep=2), "****09"),
        (219099999, Mask("*", keep=2), "*******99"),
        (True, Mask(), "****"),
        (None, Mask(), "****"),
        (1.5, Mask(), "***"),
        ([1, 2, 3, 4], Mask("#", keep=2), "###"),
        ({"a": {}}, Mask(), "***"),
        ("a", Hash(), Hash().of("a")),
        (5, Hash(), Hash().of("5")),
        ({"b": [1, None], "a": "é"}, Hash(), Hash().of('{"a":"\\u00e9","b":[1,null]}')),
        ("a", Remove(), REMOVE),
        ([], Remove(), REMOVE),
    ],
)
def test_a_value_is_redacted_whole(value: Any, replace: Strategy, expected: Any) -> None:
    assert redact_value(value, replace) == expected


@pytest.mark.parametrize("replace", [s for s in STRATEGIES if not isinstance(s, Remove)])
@pytest.mark.parametrize("value", ["a", "", "secret text", 12345, None, [1], {"a": 2}])
def test_a_value_redacted_twice_is_redacted_once(value: Any, replace: Strategy) -> None:
    once = redact_value(value, replace)
    assert redact_value(once, replace) is once


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(JSON)
def test_the_canonical_text_is_json_with_sorted_keys(value: Any) -> None:
    assert canonical(value) == json.dumps(value, sort_keys=True, separators=(",", ":"))


def test_values_at_places_are_redacted_and_told() -> None:
    document = {"s": {"a": {"ssn": SSN}, "b": [{"ssn": 5}, {"x": 1}]}, "rest": {"ssn": "kept"}}
    result, told = redact_places(document, by_path("/s/**/ssn", Literal("[ssn]")), budget())
    assert result == {
        "s": {"a": {"ssn": "[ssn]"}, "b": [{"ssn": "[ssn]"}, {"x": 1}]},
        "rest": {"ssn": "kept"},
    }
    assert told == (Change("r", "/s/a/ssn", "redact"), Change("r", "/s/b/0/ssn", "redact"))
    assert result["rest"] is document["rest"]
    assert redact_places(result, by_path("/s/**/ssn", Literal("[ssn]")), budget()) == (result, ())


def test_values_at_places_can_be_taken_out() -> None:
    result, told = redact_places({"a": [1, 2], "b": 3}, by_path("/a/*", Remove()), budget())
    assert result == {"a": [], "b": 3}
    assert [change.path for change in told] == ["/a/0", "/a/1"]
    with pytest.raises(PointerError):
        redact_places({}, by_path("", Remove()), budget())


def test_a_place_without_a_match_leaves_the_very_same_document() -> None:
    document = {"a": 1}
    result, told = redact_places(document, by_path("/**/ssn", Hash()), budget())
    assert result is document
    assert told == ()


# Texts


def test_every_text_is_searched_whatever_the_shape() -> None:
    document = {
        "content": [
            {"type": "text", "text": f"t {AWS}\nMODE=prod"},
            {"type": "resource", "resource": {"uri": "repo://x", "text": f"K={AWS}"}},
            {"type": "resource_link", "uri": f"https://f.example/d?sig={GITHUB}", "name": "n"},
        ],
        "isError": True,
        "_meta": {"debug": {"auth": GITHUB}},
        "vendor": {"deep": [[{"x": AWS}]], "n": 12.0, "none": None},
    }
    result = redacted(document, by_detectors("secrets"))
    assert result == {
        "content": [
            {"type": "text", "text": "t [aws-access-key-id]\nMODE=prod"},
            {"type": "resource", "resource": {"uri": "repo://x", "text": "K=[aws-access-key-id]"}},
            {"type": "resource_link", "uri": "https://f.example/d?sig=[github-token]", "name": "n"},
        ],
        "isError": True,
        "_meta": {"debug": {"auth": "[github-token]"}},
        "vendor": {"deep": [[{"x": "[aws-access-key-id]"}]], "n": 12.0, "none": None},
    }
    assert list(result) == list(document)


def test_both_copies_of_a_result_agree_afterwards() -> None:
    structured = {"customer": {"id": 88121, "ssn": SSN, "note": "call after 5"}}
    document = {
        "content": [{"type": "text", "text": json.dumps(structured)}],
        "structuredContent": structured,
    }
    result = redacted(document, by_detectors("us-ssn", replace=Literal("[SSN]")))
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"]["customer"] == {
        "id": 88121,
        "ssn": "[SSN]",
        "note": "call after 5",
    }


def test_a_text_by_itself_is_a_document() -> None:
    assert redacted(f"t {GITHUB}", by_detectors("secrets")) == "t [github-token]"


@pytest.mark.parametrize("document", [{}, [], "", "text", 5, None, True, {"a": ["b", {"c": 1}]}])
def test_a_clean_document_is_the_very_same_object(document: Any) -> None:
    result, told = redact_texts(document, [by_detectors("all")], budget())
    assert result is document
    assert told == ()
    assert redact_texts(document, [], budget()) == (document, ())


def test_what_was_not_touched_is_shared() -> None:
    document: dict[str, Any] = {"a": {"x": DANA}, "b": {"y": ["z"]}}
    result = redacted(document, by_detectors("email"))
    assert result["b"] is document["b"]


BASE64_WITH_A_KEY = "iVBORw0KGgoAAAANSUhEUgAAAAEA/" + AWS + "/AAElFTkSuQmCC"


@pytest.mark.parametrize(
    "document",
    [
        {"type": "image", "data": BASE64_WITH_A_KEY, "mimeType": "image/png"},
        {"type": "audio", "data": BASE64_WITH_A_KEY[:40] + "\n" + BASE64_WITH_A_KEY[40:] + "=="},
        {"uri": "file:///x", "blob": BASE64_WITH_A_KEY},
        {"image_url": {"url": "data:image/png;base64," + BASE64_WITH_A_KEY}},
        {"url": "DATA:;charset=utf-8;base64," + BASE64_WITH_A_KEY + "="},
    ],
)
def test_bytes_stay_as_they_are(document: Any) -> None:
    assert redacted({"content": [document]}, by_detectors("all")) == {"content": [document]}
    assert places_of(document, scanner(["all"]), budget()) == []


@pytest.mark.parametrize(
    "document",
    [
        {"type": "text", "data": AWS},
        {"data": AWS},
        {"type": "image", "data": f"the key is {GITHUB}"},
        {"type": "image", "data": [AWS]},
        {"blob": AWS},
        {"uri": "file:///x", "blob": {"k": AWS}},
        {"uri": "file:///x", "data": AWS},
        {"url": f"data:text/plain,{AWS}"},
        {"url": f"data:text/plain;base64,aGk=&key={AWS}"},
        {"url": f"see data:image/png;base64,aGk= {AWS}"},
    ],
)
def test_what_only_claims_to_be_bytes_is_searched(document: Any) -> None:
    result = json.dumps(redacted(document, by_detectors("secrets")))
    assert AWS not in result
    assert GITHUB not in result


def test_changes_say_where_and_how_often_but_not_what() -> None:
    document = {"a/b": [f"{DANA} {LEE} {CARD}"], "c": DANA}
    told = changes(document, by_detectors("pii"))
    assert told == (
        Change("r", "/a~1b/0", "redact", "email", 2),
        Change("r", "/a~1b/0", "redact", "payment-card", 1),
        Change("r", "/c", "redact", "email", 1),
    )


def test_a_text_that_only_looks_suspicious_is_shared() -> None:
    document: dict[str, Any] = {"a": [f"{CARD[:-1]}{(int(CARD[-1]) + 1) % 10}"], "b": DANA}
    result = redacted(document, by_detectors("pii"))
    assert result == {"a": document["a"], "b": "[email]"}
    assert result["a"] is document["a"]


def test_each_text_is_offered_where_nobody_says_which_are_suspects() -> None:
    seen: list[tuple[str, bool]] = []

    def change(text: str, is_key: bool) -> Rewritten | None:
        seen.append((text, is_key))
        return (text.upper(), {("r", None): 1}) if text == "b" else None

    document = {"a": ["b", {"c": "b"}], "d": 1, "e": "b"}
    assert walk_strings(document, change, budget()) == (
        {"a": ["B", {"c": "B"}], "d": 1, "e": "B"},
        tuple(Change("r", path, "redact") for path in ("/a/0", "/a/1/c", "/e")),
    )
    keys = [("a", True), ("d", True), ("e", True)]
    assert seen == [*keys, ("b", False), ("c", True), ("b", False), ("b", False)]


# Patterns


def test_a_group_of_a_pattern_is_replaced_and_the_rest_stays() -> None:
    rule = by_pattern(r"employee id: (\d{6})", Mask("*", keep=2), group=1)
    assert redacted(["employee id: 123456, 9"], rule) == ["employee id: ****56, 9"]
    optional = by_pattern(r"key=(\w+)?", Literal("[R]"), group=1)
    assert redacted(["key= rest", "key=abc rest"], optional) == ["key= rest", "key=[R] rest"]


def test_a_pattern_may_ask_for_the_edges_of_a_text() -> None:
    rule = by_pattern("^a$", Literal("-"))
    assert redacted(["a", "ba", "ab", "a"], rule) == ["-", "ba", "ab", "-"]


def test_the_replacement_is_literal() -> None:
    for text in (r"[GH:\g<0>]", r"[R\1]", "C:\\new", "$1", "\\"):
        assert redacted(f"t {GITHUB}", by_pattern("gh" + r"p_\w+", Literal(text))) == f"t {text}"


def test_a_match_never_leaves_its_own_text() -> None:
    document = {"a": "https://x.example/1", "b": 2, "c": "tail"}
    rule = by_pattern(r"https?://.+", Literal("[URL]"))
    assert redacted(document, rule) == {"a": "[URL]", "b": 2, "c": "tail"}


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        # overlap: one stretch over both, decided by the rule that comes first
        (
            "x4000 0012 " + "3456 7899y",
            [("4000 0012 3456", "[A]"), ("3456 7899", "[B]")],
            "x[A]y",
        ),
        ("abcdef", [("def", "[A]"), ("abcd", "[B]")], "[A]"),
        ("abcdef", [("zz", "[A]"), ("bc", "[B]"), ("abcd", "[C]")], "[B]ef"),
        ("abcdef", [("abc", "[A]"), ("def", "[B]")], "[A][B]"),
        (
            "see https://x.example/?u=dana.olsen@example.com, thanks",
            [(r"[\w.]+@[\w.]+\w", "[EMAIL]"), (r"https?://[^\s,]+", "[URL]")],
            "see [EMAIL], thanks",
        ),
    ],
)
def test_overlapping_rules_leave_one_whole_replacement(
    text: str, rules: list[tuple[str, str]], expected: str
) -> None:
    built = [by_pattern(pattern, Literal(to)) for pattern, to in rules]
    assert redacted(text, *built) == expected


def test_each_rule_answers_for_its_own_changes() -> None:
    rules = [
        by_pattern("a+", Literal("[A]"), rule="first"),
        by_pattern("b+", Literal("[B]"), rule="second"),
    ]
    assert redact_texts(["aa b a"], rules, budget()) == (
        ["[A] [B] [A]"],
        (Change("first", "/0", "redact", None, 2), Change("second", "/0", "redact", None, 1)),
    )


def test_a_redaction_may_leave_keys_alone() -> None:
    rule = by_pattern("t.*", Literal("-"), keys=False)
    assert redacted({"type": "text", DANA: 1}, rule) == {"type": "-", DANA: 1}
    both = [rule, by_detectors("email")]
    assert redacted({"type": "text", DANA: 1}, *both) == {"type": "-", "[email]": 1}


# Keys


def test_keys_are_redacted_and_no_entry_is_lost() -> None:
    document = {"byUser": {DANA: {"open": 3}, "x": 0, LEE: {"open": 5}}, "total": 2}
    result, told = redact_texts(document, [by_detectors("email")], budget())
    assert result == {
        "byUser": {"[email]": {"open": 3}, "x": 0, "[email]#2": {"open": 5}},
        "total": 2,
    }
    assert list(result["byUser"]) == ["[email]", "x", "[email]#2"]
    assert told == (
        Change("r", "/byUser/[email]", "redact", "email"),
        Change("r", "/byUser/[email]#2", "redact", "email"),
    )


def test_a_key_that_exists_already_keeps_its_name() -> None:
    for document in ({"[email]": 1, DANA: 2}, {DANA: 2, "[email]": 1}):
        assert redacted(document, by_detectors("email")) == {"[email]": 1, "[email]#2": 2}
    crowded = {DANA: 1, LEE: 2, "[email]": 3, "[email]#2": 4}
    assert redacted(crowded, by_detectors("email")) == {
        "[email]#3": 1,
        "[email]#4": 2,
        "[email]": 3,
        "[email]#2": 4,
    }


def test_the_same_key_has_the_same_name_everywhere() -> None:
    document = [{DANA: 1, LEE: 2}, {LEE: 3}, {LEE: 4, DANA: 5}]
    assert redacted(document, by_detectors("email")) == [
        {"[email]": 1, "[email]#2": 2},
        {"[email]#2": 3},
        {"[email]#2": 4, "[email]": 5},
    ]


def test_keys_and_what_is_below_them_are_redacted_together() -> None:
    document = {DANA: {LEE: [DANA, {"x": GITHUB}]}, "rest": {}}
    result, told = redact_texts(document, [by_detectors("email", "secrets")], budget())
    assert result == {"[email]": {"[email]#2": ["[email]", {"x": "[github-token]"}]}, "rest": {}}
    assert [change.path for change in told] == [
        "/[email]",
        "/[email]/[email]#2",
        "/[email]/[email]#2/0",
        "/[email]/[email]#2/1/x",
    ]


def test_a_path_never_tells_a_key_that_is_a_secret() -> None:
    document = {GITHUB: {"n": SSN}}
    assert [change.path for change in changes(document, by_detectors("us-ssn"))] == [
        "/[redacted]/n"
    ]
    told = redact_places(document, by_path("/*/n", Hash()), budget())[1]
    assert [change.path for change in told] == ["/[redacted]/n"]


# Places


def test_places_are_told_in_document_order_and_up_to_a_limit() -> None:
    document = {"a": [DANA, "x", {DANA: LEE}], "b": LEE, "c": "clean"}
    finder = scanner(["email"])
    assert places_of(document, finder, budget()) == ["/a/0", "/a/2", "/a/2/[redacted]", "/b"]
    assert places_of(document, finder, budget(), limit=2) == ["/a/0", "/a/2"]
    assert places_of(document, finder, budget(), prefix=("args", 0), limit=1) == ["/args/0/a/0"]
    assert places_of({DANA: 1, LEE: 2}, finder, budget()) == [""]
    assert places_of(DANA, finder, budget()) == [""]
    assert places_of({"a": 1, "b": "logo@2x.png"}, finder, budget()) == []


def test_a_safe_pointer_hides_what_a_detector_finds() -> None:
    assert safe_pointer(("a/b", 0, DANA, GITHUB)) == "/a~1b/0/[redacted]/[redacted]"
    assert safe_pointer(("k" * 500, "a")) == "/" + "k" * 128 + ".../a"
    assert safe_pointer(()) == ""


# Budget and depth


@pytest.mark.parametrize(
    "document",
    ["x" * 1000, ["x"] * 20, {str(i): 0 for i in range(1000)}, [[]] * 20, " ".join([DANA] * 20)],
)
def test_a_search_ends_with_its_budget(document: Any) -> None:
    for search in (
        lambda: redact_texts(document, [by_detectors("email")], budget(10)),
        lambda: redact_texts(document, [by_pattern("a.a", Hash())], budget(10)),
        lambda: places_of([document] * 10, scanner(["email"]), budget(10)),
    ):
        with pytest.raises(EvaluationError) as caught:
            search()
        assert caught.value.cause is Cause.BUDGET


def test_depth_is_no_limit() -> None:
    document: Any = GITHUB
    for _ in range(450):
        document = {"k": [document]}
    result = redacted_text = redact_texts(document, [by_detectors("secrets")], budget())[0]
    for _ in range(450):
        redacted_text = redacted_text["k"][0]
    assert redacted_text == "[github-token]"
    assert len(canonical(result)) == 450 * len('{"k":[]}') + len('"[github-token]"')
    assert redact_value(document, Hash()).startswith("sha256:")


# Redacting twice is redacting once


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=lambda d: d.name)
@pytest.mark.parametrize("replace", STRATEGIES, ids=repr)
def test_no_detector_finds_what_a_strategy_left(detector: Detector, replace: Strategy) -> None:
    rule = TextRedaction("r", Scanner([detector]), replace)
    text = f"before {detector.sample()} after"
    once = redacted([text], rule)
    assert once != [text]
    if not isinstance(replace, Mask) or replace.keep_first == 0:
        assert Scanner([detector]).find(once[0]) == []
        assert scanner(["secrets", "pii"]).find(once[0]) == []
    assert redacted(once, rule) is once


FRAGMENTS = st.sampled_from(
    [detector.sample() for detector in DETECTORS.values()]
    + [
        "password=",
        "https://",
        "@",
        ":",
        " ",
        "\n",
        "-",
        '"',
        "Bearer ",
        "x",
        "é",
        "4000 ",
        "\ud800",
    ]
)


def documents(between: str) -> st.SearchStrategy[Any]:
    text = st.lists(FRAGMENTS, max_size=4).map(between.join)
    return st.lists(text | st.dictionaries(text, text, max_size=3), max_size=3)


def check_that_twice_is_once(replace: Strategy, document: Any) -> None:
    rule = by_detectors("all", replace=replace)
    before = copy.deepcopy(document)
    once, told = redact_texts(document, [rule], budget())
    assert document == before
    assert (once is document) == (not told)
    twice, told_again = redact_texts(once, [rule], budget())
    assert told_again == ()
    assert twice is once


@pytest.mark.parametrize("replace", [PLACEHOLDER, Literal("*"), Mask(), Hash()], ids=repr)
@settings(max_examples=40)
@given(document=documents(""))
def test_redacting_twice_is_redacting_once(replace: Strategy, document: Any) -> None:
    check_that_twice_is_once(replace, document)


GAPS = (Literal(""), Remove())


@pytest.mark.parametrize("replace", [s for s in STRATEGIES if s not in GAPS], ids=repr)
@settings(max_examples=40)
@given(document=documents(" "))
def test_where_tokens_stand_apart_any_strategy_will_do(replace: Strategy, document: Any) -> None:
    check_that_twice_is_once(replace, document)


def test_a_token_in_base64_is_not_promised() -> None:
    # said in the module: encodings within a text are not undone
    wrapped = base64.b64encode(GITHUB.encode()).decode()
    assert redacted(wrapped, by_detectors("github-token")) == wrapped


def test_renaming_keys_is_paid_for() -> None:
    taken = {f"[email]#{number}": 1 for number in range(2, 400)}
    document = {**taken, **{f"a{number}@" + "b.example": 1 for number in range(400)}}
    redactions = (TextRedaction("r", scanner(("email",)), Literal("[{detector}]")),)
    with pytest.raises(EvaluationError):
        redact_texts(document, redactions, budget(20_000))


def test_a_walk_over_many_places_is_paid_for() -> None:
    document: Any = [0] * 20_000
    for _ in range(100):
        document = [document]
    with pytest.raises(EvaluationError):
        redact_places(document, by_path("/**/ssn", Hash()), budget(20_000))


def test_a_check_of_a_long_candidate_is_paid_for() -> None:
    with pytest.raises(EvaluationError):
        scanner(("payment-card",)).find("4111 " * 10_000, budget(20_000))


def test_many_short_texts_are_paid_for() -> None:
    document = {"texts": ["a"] * 1_000}
    with pytest.raises(EvaluationError):
        redact_texts(document, (), budget(500))
