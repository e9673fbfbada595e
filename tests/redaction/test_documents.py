"""Texts, keys and numbers of a document, and what is told of their changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyd.detectors import scanner
from policyd.errors import Cause, EvaluationError
from policyd.model import Change
from policyd.pointer import PointerError
from policyd.redaction import (
    Default,
    Hash,
    Literal,
    Mask,
    Numbered,
    Remove,
    Scope,
    Value,
    canonical,
    find_places,
    redact,
    redact_value,
    safe_pointer,
)
from tests.redaction.support import (
    AWS,
    AWS_SECRET,
    CARD,
    DANA,
    GITHUB,
    LEE,
    SSN,
    budget,
    by_detectors,
    by_path,
    by_pattern,
    changes,
    patterns,
    places,
    redacted,
)

# Values at places


def test_values_at_places_are_redacted_and_told() -> None:
    document = {"s": {"a": {"ssn": SSN}, "b": [{"ssn": 5}, {"x": 1}]}, "rest": {"ssn": "kept"}}
    rule = by_path("/s/**/ssn", Literal("[ssn]"))
    result, told = redact(document, [rule], budget())
    assert result == {
        "s": {"a": {"ssn": "[ssn]"}, "b": [{"ssn": 0}, {"x": 1}]},
        "rest": {"ssn": "kept"},
    }
    assert told == (Change("r", "/s/a/ssn", "redact"), Change("r", "/s/b/0/ssn", "redact"))
    assert result["rest"] is document["rest"]
    assert redact(result, [rule], budget()) == (result, ())


def test_a_change_of_type_is_told() -> None:
    document = {"account": 219099999, "balance": 12.5, "name": "x"}
    rule = by_path("/*", Literal("[x]"), retype=True)
    assert redact(document, [rule], budget()) == (
        {"account": "[x]", "balance": "[x]", "name": "[x]"},
        (
            Change("r", "/account", "redact, type changed"),
            Change("r", "/balance", "redact, type changed"),
            Change("r", "/name", "redact"),
        ),
    )
    assert changes({"a": "x"}, by_path("/a", Value(0))) == (
        Change("r", "/a", "redact, type changed"),
    )


def test_values_at_places_can_be_taken_out() -> None:
    document = {"a": [1, 2], "b": 3, "c": [[4, 5], [6, 7]]}
    result, told = redact(document, [by_path("/a/*", Remove())], budget())
    assert result == {"a": [], "b": 3, "c": [[4, 5], [6, 7]]}
    assert [change.path for change in told] == ["/a/0", "/a/1"]
    both = [by_path("/c/0", Remove()), by_path("/c/1/0", Remove()), by_path("/a/1", Default())]
    assert redacted(document, *both) == {"a": [1, 0], "b": 3, "c": [[7]]}
    with pytest.raises(PointerError):
        redact({}, [by_path("", Remove())], budget())


def test_of_two_that_take_a_place_the_first_does_and_else_the_outer_one() -> None:
    document = {"a": {"b": "x", "c": "y"}, "d": "z"}
    first = by_path("/a/b", Literal("1"), rule="first")
    outer = by_path("/a", Default(), rule="outer")
    same = by_path("/*/b", Literal("2"), rule="same")
    assert redacted(document, first, same) == {"a": {"b": "1", "c": "y"}, "d": "z"}
    assert redact(document, [first, outer], budget()) == (
        {"a": {}, "d": "z"},
        (Change("outer", "/a", "redact"),),
    )


def test_what_stands_at_a_place_is_searched_no_more() -> None:
    to_address = by_path("/a", Literal(DANA))
    document = {"a": {"b": DANA}, "c": DANA}
    assert redacted(document, by_detectors("email"), to_address) == {"a": {}, "c": "[email]"}
    once = redacted({"a": "x", "c": DANA}, by_detectors("email"), to_address)
    assert once == {"a": DANA, "c": "[email]"}
    assert redacted(once, by_detectors("email"), to_address) is once
    # the key belongs to the object that has it
    assert redacted({DANA: LEE}, by_detectors("email"), by_path("/*", Literal("-"))) == {
        "[email]": "-"
    }


def test_what_is_taken_out_shifts_nothing_else() -> None:
    document = {"list": ["drop", {LEE: DANA}, DANA, "drop", DANA]}
    taken = [by_path("/list/0", Remove()), by_path("/list/3", Remove())]
    assert redacted(document, *taken, by_detectors("email")) == {
        "list": [{"[email]": "[email]"}, "[email]", "[email]"]
    }


def test_a_place_without_a_match_leaves_the_very_same_document() -> None:
    document = {"a": 1}
    assert redact(document, [by_path("/**/ssn", Hash())], budget())[0] is document


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


# Every place of MCP in which a text stands: a payload with the secret put in for `$`.
PAYLOADS: dict[str, Any] = {
    "a text block": {"content": [{"type": "text", "text": "a $ b"}]},
    "structured content": {"content": [], "structuredContent": {"rows": [{"t": "$"}]}},
    "an embedded resource": {
        "content": [{"type": "resource", "resource": {"uri": "file:///x", "text": "$"}}]
    },
    "a link": {"content": [{"type": "resource_link", "name": "n", "uri": "https://x/?t=$"}]},
    "a prompt": {"messages": [{"role": "user", "content": {"type": "text", "text": "use $"}}]},
    "a resource": {"contents": [{"uri": "file:///x", "mimeType": "text/plain", "text": "K=$"}]},
    "a description": {
        "tools": [
            {
                "name": "t",
                "description": "send $",
                "inputSchema": {"properties": {"a": {"description": "or $", "enum": ["$"]}}},
            }
        ]
    },
    "an error": {"content": [{"type": "text", "text": "401: $ revoked"}], "isError": True},
    "a sampling message": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "$"}]}],
        "systemPrompt": "you are $",
    },
    "a tool use": {
        "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {"a": ["$"]}}]
    },
    "a completion": {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "f", "arguments": '{"a":"$","n":1250}'}}],
            }
        ]
    },
    "an elicitation": {"message": "is $ yours?", "requestedSchema": {"title": "$"}},
    "an answer to one": {"action": "accept", "content": {"token": "$"}},
    "a log message": {"level": "info", "data": {"error": ["$"]}},
    "a key": {"structuredContent": {"$": {"open": 3}}},
    "an address": {"arguments": {"url": "https://u@h.example/x?a=1&t=$&b=2#f"}},
}


def filled(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {filled(key, text): filled(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, text) for item in value]
    return value.replace("$", text) if isinstance(value, str) else value


@pytest.mark.parametrize("place", PAYLOADS)
@pytest.mark.parametrize(("detector", "secret"), [("github-token", GITHUB), ("payment-card", CARD)])
def test_one_rule_finds_a_value_in_every_place(place: str, detector: str, secret: str) -> None:
    document = filled(PAYLOADS[place], secret)
    expected = filled(PAYLOADS[place], f"[{detector}]")
    assert redacted(document, by_detectors(detector)) == expected


def test_both_copies_of_a_result_agree_afterwards() -> None:
    structured = {"customer": {"id": 88121, "ssn": SSN, "card": int(CARD), "note": "call\nme"}}
    document = {
        "content": [{"type": "text", "text": json.dumps(structured)}],
        "structuredContent": structured,
    }
    result = redacted(document, by_detectors("pii"))
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"]["customer"] == {
        "id": 88121,
        "ssn": "[us-ssn]",
        "card": 0,
        "note": "call\nme",
    }


def test_a_key_says_what_its_value_is() -> None:
    structured = {"aws_secret_access_key": AWS_SECRET, "region": "eu"}
    expected = {"aws_secret_access_key": "[aws-secret-access-key]", "region": "eu"}
    assert redacted(structured, by_detectors("secrets")) == expected
    text = redacted(json.dumps(structured), by_detectors("secrets"))
    assert json.loads(text) == expected
    assert redacted({"region": AWS_SECRET}, by_detectors("secrets")) == {"region": AWS_SECRET}
    # but no part of a text that a pattern looks at
    assert redacted({"key": "a"}, by_pattern("key: a")) == {"key": "a"}
    assert redacted({"key": "a"}, by_pattern("^a$")) == {"key": "[redacted]"}


def test_a_text_or_number_by_itself_is_a_document() -> None:
    assert redacted(f"t {GITHUB}", by_detectors("secrets")) == "t [github-token]"
    assert redacted(int(CARD), by_detectors("pii")) == 0
    assert redacted([int(CARD)], by_detectors("pii")) == [0]


@pytest.mark.parametrize(
    "document", [{}, [], "", "text", 5, None, True, 1.5, {"a": ["b", {"c": 1}, 2, None]}]
)
def test_a_clean_document_is_the_very_same_object(document: Any) -> None:
    for rules in ([], [by_detectors("all")], [by_pattern("zzz"), by_detectors("all")]):
        result, told = redact(document, rules, budget())
        assert result is document
        assert told == ()


def test_what_was_not_touched_is_shared() -> None:
    document: dict[str, Any] = {"a": {"x": DANA}, "b": {"y": ["z"]}}
    result = redacted(document, by_detectors("email"))
    assert result["b"] is document["b"]


def test_a_class_of_texts_is_searched_too() -> None:
    class Text(str):
        __slots__ = ()

    assert redacted({"a": Text(DANA)}, by_detectors("email")) == {"a": "[email]"}


# Numbers


def test_a_number_is_searched_and_stays_one() -> None:
    document = {"card": int(CARD), "near": int(CARD) + 1, "rate": float(CARD), "yes": True}
    result, told = redact(document, [by_detectors("pii")], budget())
    assert result == {**document, "card": 0}
    assert told == (Change("r", "/card", "redact", "payment-card"),)
    retyped = by_detectors("pii", retype=True, replace=Mask("*", keep=4))
    assert redact({"card": int(CARD)}, [retyped], budget()) == (
        {"card": "*" * 12 + CARD[-4:]},
        (Change("r", "/card", "redact, type changed", "payment-card"),),
    )
    assert redacted({"pin": 1234}, by_pattern(r"\b\d{4}\b")) == {"pin": 0}
    assert redacted({"card": int(CARD)}, by_detectors("pii", replace=Remove())) == {"card": 0}


def test_a_number_in_json_within_a_text_stays_one_too() -> None:
    text = f'{{"card":{CARD},"cents":1250, "rate":0.5}}'
    assert redacted(text, by_detectors("pii")) == '{"card":0,"cents":1250, "rate":0.5}'
    retyped = by_detectors("pii", retype=True)
    assert redacted(text, retyped) == '{"card":"[payment-card]","cents":1250, "rate":0.5}'


# Whole values


def test_the_whole_value_may_go() -> None:
    document = {"a": f"see {SSN}", "n": int(CARD), "j": json.dumps({"x": SSN, "y": "z"}), SSN: 1}
    result, told = redact(document, [by_detectors("pii", replace=Value(None))], budget())
    assert result == {"a": None, "n": None, "j": '{"x": null, "y": "z"}', "[us-ssn]": 1}
    assert [change.detail for change in told] == [
        "redact, type changed",
        "redact, type changed",
        "redact",
        "redact",
    ]
    assert redacted(document, by_detectors("pii", replace=Default())) == {
        "a": "",
        "n": 0,
        "j": '{"x": "", "y": "z"}',
        "[us-ssn]": 1,
    }


# Tokens


def test_the_same_secret_gets_the_same_token() -> None:
    document = {"a": f"{DANA} {LEE}", "b": json.dumps([DANA, SSN]), "c": LEE, LEE: "[email:1]"}
    rules = [by_detectors("email", replace=Numbered()), by_path("/c", Numbered())]
    assert redacted(document, *rules, by_detectors("us-ssn", replace=Numbered())) == {
        "a": "[email:2] [redacted:1]",
        "b": '["[email:2]", "[us-ssn:1]"]',
        "c": "[redacted:1]",
        "[redacted:1]": "[email:1]",
    }


# Bytes

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
    with_a_secret = {"content": [document, DANA]}
    assert redacted(with_a_secret, by_detectors("all")) == {"content": [document, "[email]"]}
    assert places({"content": [document]}, "all") == []


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


# Changes


def test_changes_say_where_and_how_often_but_not_what() -> None:
    document = {"a/b": [f"{DANA} {LEE} {CARD}"], "c": DANA}
    assert changes(document, by_detectors("pii")) == (
        Change("r", "/a~1b/0", "redact", "email", 2),
        Change("r", "/a~1b/0", "redact", "payment-card", 1),
        Change("r", "/c", "redact", "email", 1),
    )


def test_a_text_that_only_looks_suspicious_is_shared() -> None:
    document: dict[str, Any] = {"a": [f"{CARD[:-1]}{(int(CARD[-1]) + 1) % 10}"], "b": DANA}
    result = redacted(document, by_detectors("pii"))
    assert result == {"a": document["a"], "b": "[email]"}
    assert result["a"] is document["a"]


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


def test_a_match_never_leaves_its_own_value() -> None:
    document = {"a": "https://x.example/1", "b": 2, "c": "tail"}
    expected = {"a": "[URL]", "b": 2, "c": "tail"}
    rule = by_pattern(r"https?://.+", Literal("[URL]"))
    assert redacted(document, rule) == expected
    assert json.loads(redacted(json.dumps(document), rule)) == expected


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        # overlap: one stretch over both, decided by the rule that comes first
        ("x4000 0012 " + "3456 7899y", [("4000 0012 3456", "[A]"), ("3456 7899", "[B]")], "x[A]y"),
        ("abcdef", [("def", "[A]"), ("abcd", "[B]")], "[A]"),
        ("abcdef", [("zz", "[A]"), ("bc", "[B]"), ("abcd", "[C]")], "[B]ef"),
        ("abcdefg", [("cd", "[A]"), ("abc", "[B]"), ("def", "[C]")], "[A]g"),
        # what touches is one as well
        ("abcdef", [("abc", "[A]"), ("def", "[B]")], "[A]"),
        ("abc def", [("abc", "[A]"), ("def", "[B]")], "[A] [B]"),
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


def test_the_strongest_detector_names_what_several_find() -> None:
    weak = by_detectors("secrets.generic", replace=Literal("<{detector}>"))
    strong = by_detectors("secrets", replace=Literal("[{detector}]"))
    assert redacted(f"password={GITHUB}", weak, strong) == "password=[github-token]"
    own = by_pattern(f"token {GITHUB}", Literal("[own]"))
    assert redacted(f"a token {GITHUB}", own, weak) == "a [own]"


def test_each_rule_answers_for_its_own_changes() -> None:
    rules = [
        by_pattern("a+", Literal("[A]"), rule="first"),
        by_pattern("b+", Literal("[B]"), rule="second"),
    ]
    assert redact(["aa b a"], rules, budget()) == (
        ["[A] [B] [A]"],
        (Change("first", "/0", "redact", None, 2), Change("second", "/0", "redact", None, 1)),
    )


def test_a_pattern_leaves_keys_alone() -> None:
    rule = by_pattern("t.*", Literal("-"))
    assert redacted({"type": "text", DANA: 1}, rule) == {"type": "-", DANA: 1}
    both = [rule, by_detectors("email")]
    assert redacted({"type": "text", DANA: 1}, *both) == {"type": "-", "[email]": 1}


# Keys


def test_keys_are_redacted_and_no_entry_is_lost() -> None:
    document = {"byUser": {DANA: {"open": 3}, "x": 0, LEE: {"open": 5}}, "total": 2}
    result, told = redact(document, [by_detectors("email")], budget())
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
    expected = [{"[email]": 1, "[email]#2": 2}, {"[email]#2": 3}, {"[email]#2": 4, "[email]": 5}]
    assert redacted(document, by_detectors("email")) == expected
    text = redacted(json.dumps(document), by_detectors("email"))
    assert json.loads(text) == expected


def test_keys_in_json_within_a_text_lose_no_entry() -> None:
    text = json.dumps({"[email]": 1, DANA: {DANA: 2}, LEE: 3})
    assert json.loads(redacted(text, by_detectors("email"))) == {
        "[email]": 1,
        "[email]#2": {"[email]#2": 2},
        "[email]#3": 3,
    }


def test_keys_and_what_is_below_them_are_redacted_together() -> None:
    document = {DANA: {LEE: [DANA, {"x": GITHUB}]}, "rest": {}}
    result, told = redact(document, [by_detectors("email", "secrets")], budget())
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
    told = changes(document, by_path("/*/n", Hash()))
    assert [change.path for change in told] == ["/[redacted]/n"]


def test_a_safe_pointer_hides_what_a_detector_finds() -> None:
    assert safe_pointer(("a/b", 0, DANA, GITHUB)) == "/a~1b/0/[redacted]/[redacted]"
    assert safe_pointer(("219\u201109\u2011" + "9999", "a")) == "/[redacted]/a"
    assert safe_pointer(("k" * 500, "a")) == "/" + "k" * 128 + ".../a"
    assert safe_pointer(()) == ""


def test_a_key_that_hides_too_much_to_be_looked_at_is_not_shown() -> None:
    assert safe_pointer(("%41" * 1_000_000, "a")) == "/[redacted]/a"


# Where it applies


@pytest.mark.parametrize(
    ("within", "without", "expected"),
    [
        ((), (), {"a": {"b": "-", "c": ["-", "-"]}, "-": "-"}),
        (("/a",), (), {"a": {"b": "-", "c": ["-", "-"]}, DANA: DANA}),
        (("/a/b", "/a/*/1"), (), {"a": {"b": "-", "c": [DANA, "-"]}, DANA: DANA}),
        ((f"/{DANA}",), (), {"a": {"b": DANA, "c": [DANA, DANA]}, DANA: "-"}),
        ((), ("/a",), {"a": {"b": DANA, "c": [DANA, DANA]}, "-": "-"}),
        (("/a",), ("/a/c/0", "/x"), {"a": {"b": "-", "c": [DANA, "-"]}, DANA: DANA}),
        (("/x",), (), {"a": {"b": DANA, "c": [DANA, DANA]}, DANA: DANA}),
        ((), ("",), {"a": {"b": DANA, "c": [DANA, DANA]}, DANA: DANA}),
    ],
)
def test_a_redaction_applies_where_it_is_told(
    within: tuple[str, ...], without: tuple[str, ...], expected: Any
) -> None:
    document = {"a": {"b": DANA, "c": [DANA, DANA]}, DANA: DANA}
    scope = Scope(patterns(*within), patterns(*without))
    rule = by_detectors("email", replace=Literal("-"), scope=scope)
    assert redacted(document, rule) == expected


def test_a_place_may_be_excepted_from_a_path() -> None:
    scope = Scope(without=patterns("/b"))
    rule = by_path("/**/x", Literal("-"), scope=scope)
    assert redacted({"a": {"x": "1"}, "b": {"x": "2"}}, rule) == {
        "a": {"x": "-"},
        "b": {"x": "2"},
    }


# Telling places


def test_places_are_told_in_document_order() -> None:
    document = {"a": [DANA, "x", {DANA: LEE}], "b": f"{LEE} {DANA}", "c": "clean"}
    assert places(document, "email") == [
        ("/a/0", 1),
        ("/a/2", 1),
        ("/a/2/[redacted]", 1),
        ("/b", 2),
    ]
    assert places({DANA: 1, LEE: 2}, "email") == [("", 1), ("", 1)]
    assert places(DANA, "email") == [("", 1)]
    assert places({"a": 1, "b": "logo@2x.png"}, "email") == []


# Budget and depth


@pytest.mark.parametrize(
    "document",
    ["x" * 1000, ["x"] * 20, {str(i): 0 for i in range(1000)}, [[]] * 20, " ".join([DANA] * 20)],
)
def test_a_search_ends_with_its_budget(document: Any) -> None:
    for search in (
        lambda: redact(document, [by_detectors("email")], budget(10)),
        lambda: redact(document, [by_pattern("a.a", Hash())], budget(10)),
        lambda: list(find_places([document] * 10, [by_detectors("email")], budget(10))),
    ):
        with pytest.raises(EvaluationError) as caught:
            search()
        assert caught.value.cause is Cause.BUDGET


def test_depth_is_no_limit() -> None:
    document: Any = GITHUB
    for _ in range(450):
        document = {"k": [document]}
    result = redacted_text = redact(document, [by_detectors("secrets")], budget())[0]
    for _ in range(450):
        redacted_text = redacted_text["k"][0]
    assert redacted_text == "[github-token]"
    assert len(canonical(result)) == 450 * len('{"k":[]}') + len('"[github-token]"')
    assert redact_value(document, Hash(), retype=True).startswith("sha256:")


def test_renaming_keys_is_paid_for() -> None:
    taken = {f"[email]#{number}": 1 for number in range(2, 400)}
    document = {**taken, **{f"a{number}@" + "b.example": 1 for number in range(400)}}
    with pytest.raises(EvaluationError):
        redact(document, [by_detectors("email")], budget(20_000))


def test_a_walk_over_many_places_is_paid_for() -> None:
    document: Any = [0] * 20_000
    for _ in range(100):
        document = [document]
    with pytest.raises(EvaluationError):
        redact(document, [by_path("/**/ssn", Hash())], budget(20_000))


def test_a_check_of_a_long_candidate_is_paid_for() -> None:
    with pytest.raises(EvaluationError):
        scanner(("payment-card",)).find("4111 " * 10_000, budget(20_000))


def test_many_short_texts_are_paid_for() -> None:
    for rule in (by_detectors("email"), by_pattern("zzz")):
        with pytest.raises(EvaluationError):
            redact({"texts": [["a", None]] * 1_000}, [rule], budget(800))
