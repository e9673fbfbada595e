"""Syntax errors, in the words of people who write policies."""

from __future__ import annotations

import pytest
import yaml

from policyd.diagnostics import Level, Report
from policyd.document import compose, parse_document
from policyd.document.syntax import Explanation, Trouble, explain
from policyd.source import SourceFile

SINGLE = "put the whole text in single quotes"
HEADER = "only an indentation from 1 to 9, `+` or `-` may follow"
GO_ON = f"{SINGLE}, and write each `'` in it twice"


def told(text: str) -> tuple[str, str | None]:
    """The last error of a file, which is where a syntax error ended it."""
    report = Report()
    assert parse_document(SourceFile("p.yaml", text.encode()), report) is None
    last = [d for d in report.diagnostics if d.level is Level.ERROR][-1]
    return f"{last.span.line}:{last.span.column} [{last.code}] {last.text}", last.help


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        # text that needs quotes
        (
            "cel: payload.a ? 'x' : 'y'\n",
            "1:22 [yaml-syntax] `: ` is not allowed inside a plain scalar",
            SINGLE,
        ),
        (
            "- description: tools: all\n",
            "1:21 [yaml-syntax] `: ` is not allowed inside a plain scalar",
            SINGLE,
        ),
        ("{a: b: c}\n", "1:6 [yaml-syntax] `: ` is not allowed inside a plain scalar", SINGLE),
        (
            "events: [tools:]\n",
            "1:15 [yaml-syntax] `:` is not allowed here",
            f"write a space behind it, or {SINGLE}",
        ),
        ("a: @x\n", "1:4 [yaml-syntax] unquoted text cannot begin with `@`", SINGLE),
        ("a: `x`\n", "1:4 [yaml-syntax] unquoted text cannot begin with a backtick", SINGLE),
        ("a: %x\n", "1:4 [yaml-syntax] unquoted text cannot begin with `%`", SINGLE),
        (
            'deny: "rm" in tool\n',
            '1:12 [yaml-syntax] text goes on behind the closing `"`',
            GO_ON,
        ),
        (
            "- deny: 'don't'\n",
            "1:14 [yaml-syntax] text goes on behind the closing `'`",
            GO_ON,
        ),
        (
            "deny: [1, 2].exists(x, x > 1)\n",
            "1:13 [yaml-syntax] text goes on behind the closing bracket",
            SINGLE,
        ),
        (
            "deny: {{x}} y\n",
            "1:13 [yaml-syntax] text goes on behind the closing bracket",
            SINGLE,
        ),
        ("a: [b, c]]\n", "1:10 [yaml-syntax] `]` closes nothing", SINGLE),
        ("a: {b: c}}\n", "1:10 [yaml-syntax] `}` closes nothing", SINGLE),
        ("a: ]\n", "1:4 [yaml-syntax] `]` is not expected here", SINGLE),
        ("a: [,]\n", "1:5 [yaml-syntax] `,` is not expected here", SINGLE),
        ("a: ? b\n", "1:4 [yaml-syntax] `? ` is not allowed here", SINGLE),
        (
            "a: b #c\n  d\n",
            "2:3 [yaml-syntax] this line does not go on from the line above,"
            " which ends with a comment",
            "` #` starts a comment: quote the whole text",
        ),
        # escapes
        (
            'pattern: "\\d{3}"\n',
            "1:11 [yaml-syntax] `\\d` is not a YAML escape",
            "in single quotes a backslash is only a backslash",
        ),
        (
            'a: "b\n  c \\."\n',
            "2:5 [yaml-syntax] `\\.` is not a YAML escape",
            "in single quotes a backslash is only a backslash",
        ),
        (
            'a: "\\xZZ"\n',
            "1:5 [yaml-syntax] `\\xZZ` is not a YAML escape",
            "write the character itself, or use single quotes for a backslash",
        ),
        (
            'a: "\\ud83d\\ude00"\n',
            "1:5 [yaml-syntax] `\\ud83d` is not a YAML escape",
            "write the character itself, or use single quotes for a backslash",
        ),
        (
            'a: "\\',
            "1:5 [yaml-syntax] `\\` is not a YAML escape",
            "in single quotes a backslash is only a backslash",
        ),
        # what YAML uses for itself
        (
            "deny: !has(x) && y\n",
            "1:7 [yaml-tag] `!has(x)` starts a YAML tag, and tags are not allowed",
            f"for text or an expression that begins with `!`, {SINGLE}",
        ),
        (
            "deny: !{x}\n",
            "1:7 [yaml-tag] `!{x}` starts a YAML tag, and tags are not allowed",
            f"for text or an expression that begins with `!`, {SINGLE}",
        ),
        (
            "a: !foo!bar x\n",
            "1:4 [yaml-tag] `!foo!bar` starts a YAML tag, and tags are not allowed",
            f"for text or an expression that begins with `!`, {SINGLE}",
        ),
        (
            "a: && b\n",
            "1:4 [yaml-anchor] `&` starts a YAML anchor, and anchors are not allowed",
            f"for text that begins with `&`, {SINGLE}",
        ),
        (
            "events: [tools/call, *]\n",
            "1:22 [yaml-alias] `*` starts a YAML alias, and aliases are not allowed",
            'quote text that begins with `*`, as in `"*"`',
        ),
        (
            "a: 1\n%x y\n",
            "2:1 [yaml-directive] `%x y` is not allowed: `%` starts a directive",
            f"remove the line; for text that begins with `%`, {SINGLE}",
        ),
        (
            "%YAML 1.3\n---\na\n",
            "1:1 [yaml-directive] `%YAML 1.3` is not allowed: `%` starts a directive",
            f"remove the line; for text that begins with `%`, {SINGLE}",
        ),
        # what is not closed
        (
            'a: "x\nb: 1\n',
            '1:4 [yaml-syntax] this `"` is never closed',
            'close it with `"`; in text that begins with a quote, quote the whole text',
        ),
        (
            "a: 'x\nb: 1\n---\n",
            "1:4 [yaml-syntax] this `'` is never closed",
            "close it with `'`; in text that begins with a quote, quote the whole text",
        ),
        (
            "a: [1, 2\nb: 3\n",
            "1:4 [yaml-syntax] this `[` is not closed before line 2",
            f"close it with `]`; {SINGLE} if it is text",
        ),
        (
            "a: {x: 1\nb: 3\n",
            "1:4 [yaml-syntax] this `{` is not closed before line 2",
            f"close it with `}}`; {SINGLE} if it is text",
        ),
        (
            "a: ['b' c]\n",
            "1:9 [yaml-syntax] `,` or `]` is missing here",
            "quote the whole text if the `[` belongs to it",
        ),
        (
            "[[[[",
            "1:5 [yaml-syntax] a value is missing at the end of the file",
            "close every bracket and quote",
        ),
        # indentation
        (
            "name: p1\n\texpr: x\n",
            "2:1 [yaml-syntax] a tab cannot be used as indentation",
            "indent with spaces",
        ),
        (
            "a:\n\tb: 1\n",
            "2:1 [yaml-syntax] a tab cannot be used as indentation",
            "indent with spaces",
        ),
        (
            "a: |\n\tx\n",
            "2:1 [yaml-syntax] a tab cannot be used as indentation",
            "indent with spaces",
        ),
        (
            "a: 1\n  b: 2\n",
            "2:4 [yaml-syntax] a key is not allowed here",
            "check the indentation of this line, and whether the line above needs quotes",
        ),
        (
            "name:a\nphase: b\n",
            "2:6 [yaml-syntax] a key is not allowed here",
            "write a space after `name:` on line 1",
        ),
        (
            "a:\n  b: 1\n c: 2\n",
            "3:2 [yaml-syntax] this line does not fit what stands above it",
            "line 1 begins what it would belong to",
        ),
        (
            "- a\nb: 1\n",
            "2:1 [yaml-syntax] this line does not fit what stands above it",
            "line 1 begins what it would belong to",
        ),
        (
            "a: 1\n- b\n",
            "2:1 [yaml-syntax] a list item is not allowed here",
            "indent the items of a list alike, below their key",
        ),
        (
            "- - a\n - b\n",
            "2:2 [yaml-syntax] a list item is not allowed here",
            "indent the items of a list alike, below their key",
        ),
        (
            "a: - b\n",
            "1:4 [yaml-syntax] a list cannot begin on the line of its key",
            "begin the list on the next line, or quote text that begins with `- `",
        ),
        (
            "a: 1\nfoo bar\n",
            "2:1 [yaml-syntax] `: ` is missing after `foo bar`",
            "write `key: value`; text that goes on from the line above is indented more",
        ),
        (
            "rules:\n  - id: a\n  -id b\n",
            "3:3 [yaml-syntax] `: ` is missing after `-id b`",
            "write a space after the `-` of a list item",
        ),
        (
            "a: 1\n: b\n",
            "2:1 [yaml-syntax] the key is missing before this `:`",
            SINGLE,
        ),
        # block scalars
        (
            "a: | foo\n",
            f"1:6 [yaml-syntax] {HEADER} `|` on its line",
            "begin the text on the next line, or quote it",
        ),
        (
            "deny: > 5\n",
            f"1:9 [yaml-syntax] {HEADER} `>` on its line",
            "begin the text on the next line, or quote it",
        ),
        (
            "a: |0\n  x\n",
            f"1:5 [yaml-syntax] {HEADER} `|` on its line",
            "begin the text on the next line, or quote it",
        ),
        # limits of libyaml itself
        (
            "a: " + "[" * 3_000,
            "1:1003 [too-deep] the values are nested too deeply",
            "write flatter data",
        ),
    ],
)
def test_a_syntax_error_says_what_to_do(text: str, message: str, help: str) -> None:
    assert told(text) == (message, help)


def test_the_pure_parser_of_pyyaml_gives_at_least_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compose, "_LOADER", yaml.SafeLoader)
    assert told("a: 1\nb: 'x' in y\n") == (
        "2:8 [yaml-syntax] this is not valid YAML",
        "quote the text, or check the indentation",
    )


def test_an_unknown_message_is_explained_in_general() -> None:
    assert explain(Trouble(["a: b"], "None: something new", 0, 3, (0, 0))) == Explanation(
        "this is not valid YAML", "quote the text, or check the indentation", 0, 3
    )
