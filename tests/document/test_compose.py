"""What YAML allows and policyd does not: where it is refused, and what is said."""

from __future__ import annotations

import time

import pytest

from policyd.diagnostics import Report
from policyd.document import Document, parse_document
from policyd.source import SourceFile


def parse(content: str | bytes) -> tuple[Document | None, list[str]]:
    """The document, and its diagnostics as the case files write them."""
    data = content.encode() if isinstance(content, str) else content
    report = Report()
    document = parse_document(SourceFile("p.yaml", data), report)
    told = [
        f"{d.span.line}:{d.span.column} {d.level}[{d.code}] {d.text}" for d in report.diagnostics
    ]
    return document, told


def read(content: str | bytes) -> Document:
    document, told = parse(content)
    assert document is not None, told
    return document


def refused(content: str | bytes) -> list[str]:
    document, told = parse(content)
    assert document is None
    return told


def helps(content: str) -> list[str | None]:
    report = Report()
    parse_document(SourceFile("p.yaml", content.encode()), report)
    return [diagnostic.help for diagnostic in report.diagnostics]


# What is refused


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "policies:\n- name: x\n  severity: error\n  severity: info\n",
            ["4:3 error[duplicate-key] duplicate key `severity` (lines 3 and 4)"],
        ),
        (
            "policies:\n- name: a\npolicies:\n- name: b\n",
            ["3:1 error[duplicate-key] duplicate key `policies` (lines 1 and 3)"],
        ),
        (
            "m: {a: 1, 'a': 2, \"\\x61\": 3}\n",
            [
                "1:11 error[duplicate-key] duplicate key `a` (lines 1 and 1)",
                "1:19 error[duplicate-key] duplicate key `a` (lines 1 and 1)",
            ],
        ),
        (
            "a: &x [1]\nb: *x\n",
            [
                "1:4 error[yaml-anchor] `&x` is a YAML anchor, and anchors are not allowed",
                "2:4 error[yaml-alias] `*x` is a YAML alias, and aliases are not allowed",
            ],
        ),
        (
            "a: &a\n  x: *a\n",
            [
                "1:4 error[yaml-anchor] `&a` is a YAML anchor, and anchors are not allowed",
                "2:6 error[yaml-alias] `*a` is a YAML alias, and aliases are not allowed",
            ],
        ),
        (
            "tools: [*admin]\n*b : 1\n",
            [
                "1:9 error[yaml-alias] `*admin` is a YAML alias, and aliases are not allowed",
                "2:1 error[yaml-alias] `*b` is a YAML alias, and aliases are not allowed",
            ],
        ),
        (
            "base: {a: 1}\np:\n  <<: {b: 1}\n",
            ["3:3 error[yaml-merge-key] merge keys (`<<`) are not allowed"],
        ),
        (
            "deny: !has(payload.x)\n",
            ["1:7 error[yaml-tag] `!has(payload.x)` starts a YAML tag, and tags are not allowed"],
        ),
        (
            "a: !!python/object/apply:os.system [ls]\nb: !x\n  c: 1\n",
            [
                "1:4 error[yaml-tag] `!!python/object/apply:os.system` starts a YAML tag,"
                " and tags are not allowed",
                "2:4 error[yaml-tag] `!x` starts a YAML tag, and tags are not allowed",
            ],
        ),
        (
            "!!str a: &k b\n",
            [
                "1:1 error[yaml-tag] `!!str` starts a YAML tag, and tags are not allowed",
                "1:10 error[yaml-anchor] `&k` is a YAML anchor, and anchors are not allowed",
            ],
        ),
        (
            "?\n: a\n1: a\n1.10: a\nTrue: a\n~: a\n0x1F: a\n.inf: a\n",
            [
                "1:2 error[yaml-key] nothing is not text, and only text can be a key",
                "3:1 error[yaml-key] `1` is not text, and only text can be a key",
                "4:1 error[yaml-key] `1.10` is not text, and only text can be a key",
                "5:1 error[yaml-key] `True` is not text, and only text can be a key",
                "6:1 error[yaml-key] `~` is not text, and only text can be a key",
                "7:1 error[yaml-key] `0x1F` is not text, and only text can be a key",
                "8:1 error[yaml-key] `.inf` is not text, and only text can be a key",
            ],
        ),
        (
            "? [a, 1]\n: 1\n? {b: 1, b: 2}\n: 2\n",
            [
                "1:3 error[yaml-key] a list or a mapping cannot be a key",
                "3:3 error[yaml-key] a list or a mapping cannot be a key",
                "3:10 error[duplicate-key] duplicate key `b` (lines 3 and 3)",
            ],
        ),
        (
            "message: {{ tool }}\n",
            ["1:11 error[yaml-key] a list or a mapping cannot be a key"],
        ),
        (
            "name: p1\n---\nname: p2\n",
            [
                "2:1 error[several-documents] a second document begins here,"
                " and a policy file holds one"
            ],
        ),
        (
            "name: p1\n---\n# nothing\n",
            [
                "2:1 error[several-documents] a second document begins here,"
                " and a policy file holds one"
            ],
        ),
        ("%YAML 1.1\n---\na: 1\n", ["1:1 error[yaml-directive] a `%` directive is not allowed"]),
        ("%TAG ! x:\n---\na: 1\n", ["1:1 error[yaml-directive] a `%` directive is not allowed"]),
        ("", ["1:1 error[empty-file] the file is empty"]),
        ("# only\n\n# comments\n", ["1:1 error[empty-file] the file is empty"]),
        ("---\n", ["1:1 error[empty-file] the file is empty"]),
        ("\ufeff\r\n", ["1:1 error[empty-file] the file is empty"]),
        (
            "a: .inf\nb: [-.Inf, .nan, 1e999]\nc: " + "9" * 41,
            [
                "1:4 error[bad-number] `.inf` is not a number that JSON has",
                "2:5 error[bad-number] `-.Inf` is not a number that JSON has",
                "2:12 error[bad-number] `.nan` is not a number that JSON has",
                "2:18 error[bad-number] `1e999` is too large",
                f"3:4 error[bad-number] `{'9' * 41}` has more than 40 digits",
            ],
        ),
    ],
)
def test_what_is_more_than_json_is_refused_where_it_stands(text: str, told: list[str]) -> None:
    assert refused(text) == told


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "a: !has(x)\n",
            "for text or an expression that begins with `!`, put the whole text in single quotes",
        ),
        ("a: *x\n", 'write the value out; quote text that begins with `*`: `"*x"`'),
        ("1: a\n", 'quote it: `"1"`'),
        ("a: {{x}}\n", "for text that begins with `{{`, put the whole text in single quotes"),
        ("? [x]\n: 1\n", "only text can be a key"),
        ("", "a file that is meant to hold no policy says `policyd: v1` and `empty: true`"),
    ],
)
def test_the_help_says_what_to_write_instead(text: str, advice: str) -> None:
    assert helps(text) == [advice]


def test_mistakes_before_a_syntax_error_are_told_with_it() -> None:
    assert refused("a: 1\na: 2\nb: &x z\nc: [1\n") == [
        "2:1 error[duplicate-key] duplicate key `a` (lines 1 and 2)",
        "3:4 error[yaml-anchor] `&x` is a YAML anchor, and anchors are not allowed",
        "4:4 error[yaml-syntax] this `[` is not closed before line 5",
    ]


def test_a_document_with_a_mistake_is_not_returned_but_one_with_a_warning_is() -> None:
    assert parse("a: no\nb: &x 1\n")[0] is None
    document, told = parse("a: no\n")
    assert document is not None
    assert (document.data, told) == (
        {"a": "no"},
        ["1:4 warning[yaml-ambiguous] `no` is text here, not a boolean"],
    )


# Warnings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "tools: [no, list_files, yes]\n",
            [
                "1:9 warning[yaml-ambiguous] `no` is text here, not a boolean",
                "1:25 warning[yaml-ambiguous] `yes` is text here, not a boolean",
            ],
        ),
        ("tools: ['no', \"yes\", noon]\n", []),
        ("on: x\nn: x\n012: x\n", []),
        ("a: 012\n", ["1:4 warning[yaml-ambiguous] `012` is text here, not a number"]),
        (
            "deny: payload.note == 'ticket #12'\n",
            [
                "1:31 warning[yaml-comment] ` #` starts a comment here,"
                " and leaves `payload.note == 'ticket`"
            ],
        ),
        (
            'a: [tool == "x\t# y"\n  , b]\n',
            ['1:16 warning[yaml-comment] ` #` starts a comment here, and leaves `tool == "x`'],
        ),
        ("deny: tool == 'x' # it's fine\n", []),
        ("message: don't do that # it's wrong\n", []),
        ("message: the users' files # all\n", []),
        ("deny: x == 'a#b'\n", []),
    ],
)
def test_what_a_reader_may_take_for_something_else_is_pointed_out(
    text: str, told: list[str]
) -> None:
    document, found = parse(text)
    assert document is not None
    assert found == told


# Limits


def test_more_than_fifty_thousand_values_are_refused() -> None:
    assert refused("[" + "a," * 60_000 + "]") == [
        "1:100000 error[too-many-nodes] the file holds more than 50000 values"
    ]
    assert len(read("[" + "a," * 49_999 + "]").data) == 49_999


def test_more_than_sixty_four_levels_are_refused() -> None:
    told = refused("[" * 66 + "]" * 66)
    assert told == ["1:66 error[too-deep] values are nested more than 64 deep"]
    assert read("[" * 64 + "1" + "]" * 64).data is not None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("".join(bomb), id=name)
        for name, bomb in {
            "aliases": [
                "a0: &a0 [x, x]\n",
                *(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, 40)),
            ],
            "deep flow": ["[" * 100_000],
            "deep mappings": ["{a: " * 100_000],
            "deep blocks": ["- " * 100_000],
            "deep keys": ["? " * 100_000],
            "long flow": ["[" + "a, " * 100_000 + "]"],
            "many keys": [f"k{i}: 1\n" for i in range(90_000)],
            "one long word": ["a" * 1_000_000],
            "one long line of quotes": ["a: " + "'\\" * 400_000],
            "one long quote": ["'" + "''" * 400_000],
            "many comments": ["a: '\n" + "#'" * 400_000],
            "spaces": [" " * 1_000_000],
            "line breaks": ["\n" * 1_000_000],
            "grouped digits": ["a: 1" + "_" * 900_000 + "x"],
            "a long number": ["a: " + "1" * 900_000 + ".5"],
            "minus signs": ["a: " + "- " * 400_000 + ": b"],
            "tags": ["!" * 1_000_000],
            "tabs": ["\t" * 1_000_000],
            "control characters": ["\x01" * 1_000_000],
            "ten megabytes": ["a: 1\n" * 2_000_000],
        }.items()
    ],
)
def test_no_file_takes_long(content: str) -> None:
    started = time.process_time()
    parse(content)
    assert time.process_time() - started < 3


def test_a_file_of_more_than_a_mebibyte_is_refused_unread() -> None:
    text = "# " + "x" * (1 << 20)
    assert refused(text) == ["1:1 error[too-large] the file is larger than 1048576 bytes"]
    assert read("a: 1 # " + "x" * ((1 << 20) - 7)).data == {"a": 1}
