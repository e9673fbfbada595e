"""Values that are written in other ways: JSON in a text, base64, percent-encoding, typography."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from policyd.redaction import Hash, Literal, Numbered, Tokenize
from policyd.redaction.embedded import embedded_json
from policyd.redaction.hidden import folds, may_hide, runs
from tests.redaction.support import (
    AWS,
    CARD,
    DANA,
    GITHUB,
    KEY,
    PEM,
    SSN,
    by_detectors,
    by_pattern,
    places,
    redacted,
)


def b64(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def wrapped(text: str, width: int, end: str = "\n") -> str:
    encoded = b64(text)
    return end.join(encoded[at : at + width] for at in range(0, len(encoded), width))


def percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


SECRETS = by_detectors("all", replace=Literal("[X]"))


def clean(text: str) -> Any:
    once = redacted(text, SECRETS)
    assert redacted(once, SECRETS) is once
    return once


# JSON within a text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"k": PEM, "r": "eu"}), '{"k": "[X]", "r": "eu"}'),
        (json.dumps({"o": json.dumps({"k": PEM})}), json.dumps({"o": '{"k": "[X]"}'})),
        (json.dumps(f"a\n{GITHUB}"), r'"a\n[X]"'),
        (f'say "{GITHUB}" loud', 'say "[X]" loud'),
        (f'"a" and {GITHUB}', '"a" and [X]'),
        (
            f'{{"a" :\t"{GITHUB}",\n "n": 1.50, "b":[true,1E3 ]}}',
            '{"a" :\t"[X]",\n "n": 1.50, "b":[true,1E3 ]}',
        ),
        (f'x {{"k": "\\n{GITHUB}"}} y [1] {{z', 'x {"k": "\\n[X]"} y [1] {z'),
        (f'{{"k": "\\n{GITHUB}"}}\n{{"k": "{SSN}"}}\n', '{"k": "\\n[X]"}\n{"k": "[X]"}\n'),
        ('{"k": "gh\\u0070' + GITHUB[3:] + '"}', '{"k": "[X]"}'),
        (f'{{"k": "\\u00e9 {GITHUB}"}}', '{"k": "\\u00e9 [X]"}'),
        (f'{{"k": "é \\n {GITHUB}"}}', '{"k": "é \\n [X]"}'),
        (f'{{"k": "é \\ud800 {GITHUB}"}}', '{"k": "\\u00e9 \\ud800 [X]"}'),
        ('{"a\nb": "' + GITHUB + '"}', '{"a\nb": "[X]"}'),
        (f'["{GITHUB}", {CARD}, -{CARD}, {CARD}.0]', '["[X]", 0, 0, ' + CARD + ".0]"),
        ("[" * 16 + f' "{GITHUB}"', "[" * 16 + ' "[X]"'),
        (f'{{"password": "{AWS}x1"}}', '{"password": "[X]"}'),
        (f'{{"pass\\u0077ord": "Tr0ub4dor-{"3x9"}"}}', '{"pass\\u0077ord": "[X]"}'),
    ],
)
def test_json_in_a_text_is_rewritten_inside(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_replacement_is_written_as_json_wants_it() -> None:
    rule = by_detectors("github-token", replace=Literal('a"b\\c\n'))
    assert json.loads(redacted(json.dumps({"k": GITHUB}), rule)) == {"k": 'a"b\\c\n'}


def test_a_pattern_looks_at_values_and_at_what_stands_beside_one() -> None:
    text = '{"ssn": "123456", "n": 123456, "x": "a\\nb"}'
    beside = by_pattern(r'"(?:ssn|n)": "?(\d+)', Literal("-"), group=1)
    assert redacted(text, beside) == '{"ssn": "-", "n": 0, "x": "a\\nb"}'
    within = by_pattern("a\nb", Literal("-"))
    assert redacted(text, within) == '{"ssn": "123456", "n": 123456, "x": "-"}'
    # spelled with an escape, the whole value goes
    escaped = by_pattern(r'"x": "(a\\nb)"', Literal("-"), group=1)
    assert redacted(text, escaped) == '{"ssn": "123456", "n": 123456, "x": "-"}'


def test_what_reaches_out_of_the_json_takes_it_along() -> None:
    rule = by_pattern("from .*", Literal("-"))
    assert redacted('a from {"b": 1} c', rule) == "a -"
    truncated = PEM[: len(PEM) // 2] + ' {"a": 1}'
    assert clean("start " + truncated) == "start [X]"


def test_tokens_of_json_are_told_with_their_places() -> None:
    text = 'a {"k": ["x\\n", 12], "b": -3.5} "z"'
    (found,) = embedded_json(text)
    assert text[found.start : found.end] == '{"k": ["x\\n", 12], "b": -3.5}'
    assert [(t.value, t.key, t.is_key) for t in found.tokens] == [
        ("k", None, True),
        ("x\n", None, False),
        (12, None, False),
        ("b", None, True),
    ]
    assert [text[t.start : t.end] for t in found.tokens] == ["k", "x\\n", "12", "b"]
    assert embedded_json("[" * 100_000) == []
    assert embedded_json("no json") == []
    assert embedded_json('{"n": ' + "9" * 5000 + "}") == []


# Base64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"token": b64(GITHUB)}), '{"token": "[X]"}'),
        (f"Authorization: Basic {b64('user:' + GITHUB)}", "Authorization: Basic [X]"),
        (f"data:\n  gh: {b64(GITHUB)}\n  user: ZGVwbG95\n", "data:\n  gh: [X]\n  user: ZGVwbG95\n"),
        (base64.urlsafe_b64encode(f"{GITHUB}>>>???".encode()).decode(), "[X]"),
        (b64(b64(GITHUB)), "[X]"),
        (b64(json.dumps({"t": f"\n{GITHUB}"})), "[X]"),
        (b64(f"card {CARD}").rstrip("="), "[X]"),
        (f"x/y_{b64(DANA + ' and some more')}", "[X]"),
        (f"é {b64('é' + GITHUB)} é", "é [X] é"),
        (b64(percent(GITHUB)), "[X]"),
        (f"{b64('nothing to see here')} {b64(SSN + '!')}", f"{b64('nothing to see here')} [X]"),
        ("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",) * 2,
        (f"see data:text/plain;base64,{b64('mail ' + DANA)}",) * 2,
        (b64(b"\x89PNG\r\n\0\0 Author\0" + DANA.encode() + b"\0\0 more of it"),) * 2,
    ],
)
def test_base64_is_decoded_judged_and_replaced_whole(text: str, expected: str) -> None:
    assert clean(text) == expected


LONG = json.dumps({"a": "x" * 70, "token": GITHUB, "b": "y" * 30})


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n  "])
def test_base64_may_go_on_in_the_next_line(width: int, end: str) -> None:
    assert clean(f"body={wrapped(LONG, width, end)}\nend") == "body=[X]\nend"


def test_base64_ends_with_a_line_that_is_none() -> None:
    line = b64("mail dana.olsen@example.com and lee.kim@example.org")[:64]
    assert len(line) == 64
    longer = "A" * 68
    for rest in ("\n", "\nend of text", f"\n{longer}", "\nab.c", "\n\nabcd", "x"):
        expected = "[X]" if rest == "x" else "[X]" + rest
        assert clean(line + rest) == expected
    assert clean(f"{line}\n{line}\nabcd\nabcd") == "[X]\nabcd"
    assert clean(f"{line}\n{line[:40]}YQ==\nabcd") == "[X]\nabcd"


def test_a_run_tells_its_text() -> None:
    text = f"a {b64('hello, plain world')} b"
    assert [(text[r.start : r.end], r.text) for r in runs(text)] == [
        (b64("hello, plain world"), "hello, plain world")
    ]
    assert [r.text for r in runs(b64("hello, plain world") + "A")] == ["hello, plain world"]
    assert list(runs("internationalization of the configuration")) == []


# Percent-encoding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"https://h.example/?a=1&t={quote(GITHUB.replace('_', '%5F'), safe='%')}&b=2", None),
        (f"https://h.example/?a=1&t={percent(GITHUB)}&b=2", None),
        (f"https://h.example/?a=1&t={percent(percent(GITHUB))}&b=2", None),
        (f"mailto:{quote(DANA, safe='')}?x", "mailto:[X]?x"),
        (f"a=%E9{percent('é ' + SSN)}%", "a=%E9%C3%A9%20[X]%"),
        (f"q={quote(b64(DANA + ' and some more') + '==', safe='')}", "q=[X]"),
        ("100%25 of 5%, %zz",) * 2,
    ],
)
def test_percent_encoding_is_undone(text: str, expected: str | None) -> None:
    assert clean(text) == (expected or "https://h.example/?a=1&t=[X]&b=2")


# Typography


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 219\u201109\u2011" + "9999 b", "a [X] b"),
        ("\uff12\uff11\uff19-\uff10\uff19-\uff19\uff19\uff19\uff19 b", "[X] b"),
        ("4000\u00a00012\u00a03456\u00a0" + "7899", "[X]"),
        ("219\u00ad-09-" + "9999", "[X]"),
        (GITHUB[:9] + "\u200b" + GITHUB[9:], "[X]"),
        ("\uff47\uff48\uff50" + GITHUB[3:], "[X]"),
        ("2\u03031\u03039-09-" + "9999", "[X]"),
        ("e\u0301te\u0301 219-09-" + "9999 \u00a0e\u0301", "e\u0301te\u0301 [X] \u00a0e\u0301"),
        ("\u0662\u0661\u0669-\u0660\u0669-\u0669\u0669\u0669\u0669", "[X]"),
        ("\U0001d7da\U0001d7d9\U0001d7e1-09-" + "9999", "[X]"),
        (f"\U0001f600\u200d\U0001f467 é {DANA} \u05d0", "\U0001f600\u200d\U0001f467 é [X] \u05d0"),
        ('{"k": "219\u201109\u2011' + '9999"}', '{"k": "[X]"}'),
        ("\u2460\u2461\u2462 \u2463\u2464 \u2465\u2466\u2467\u2468",) * 2,
        ("4000\u30000012\u30003456\u3000" + "7899",) * 2,
        ("Word\u2019s \u201cquotes\u201d \u2013 and dashes\u00a0\u2014",) * 2,
        ("grüße",) * 2,
    ],
)
def test_typography_is_seen_through(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_fold_tells_where_each_character_came_from() -> None:
    (fold,) = folds("a\u00adb\u2011c")
    assert fold.text == "ab-c"
    assert [fold.original(at, at + 1) for at in range(4)] == [(0, 1), (2, 3), (3, 4), (4, 5)]
    (unquoted,) = folds("x%C3%A9y")
    assert unquoted.text == "xéy"
    assert unquoted.original(1, 2) == (1, 7)
    assert list(folds("plain")) == list(folds("grüße")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", False),
        ("grüße", False),
        ("a\u00a0b", True),
        ("100 %", False),
        ("%41", True),
        (b64("hello, plain world"), True),
    ],
)
def test_what_hides_nothing_is_told_quickly(text: str, expected: bool) -> None:
    assert may_hide(text) is expected


# Keys and tokens


def test_keys_hide_values_too() -> None:
    key = "219\u201109\u2011" + "9999"
    assert redacted({key: 1, percent(DANA): 2}, SECRETS) == {"[X]": 1, "[X]#2": 2}
    assert places({"a": {key: 1}}, "us-ssn") == [("/a", 1)]


def test_a_secret_has_the_same_token_however_it_is_written() -> None:
    document = [GITHUB, b64(GITHUB), percent(GITHUB), GITHUB[:9] + "\u200b" + GITHUB[9:]]
    for replace in (Numbered(), Tokenize(KEY), Hash(KEY)):
        result = redacted(document, by_detectors("github-token", replace=replace))
        assert len(set(result)) == 1
    assert (
        redacted(document, by_detectors("secrets", replace=Numbered())) == ["[github-token:1]"] * 4
    )


def test_there_is_an_end_to_decoding() -> None:
    text = GITHUB
    for _ in range(4):
        text = b64(text)
    assert redacted(text, SECRETS) == "[X]"
    assert redacted(b64(text), SECRETS) == b64(text)
    nested = GITHUB
    for _ in range(4):
        nested = json.dumps([nested + "\n"])
    assert AWS not in redacted(nested, SECRETS)
    assert GITHUB not in redacted(nested, SECRETS)
    assert GITHUB not in redacted(json.dumps([nested]), SECRETS)
