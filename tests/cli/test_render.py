"""How diagnostics look to GitHub and to a person."""

from __future__ import annotations

import pytest

from policyd.cli.render import annotation, counted, say, workflow_command
from policyd.diagnostics import Diagnostic, Level, Span


def test_a_workflow_command_escapes_what_would_end_a_part() -> None:
    properties = {"file": "a,b:c%.yaml", "line": 3}
    assert workflow_command("error", properties, "50%\r\n: , done") == (
        "::error file=a%2Cb%3Ac%25.yaml,line=3::50%25%0D%0A: , done"
    )


def test_a_span_of_several_lines_has_no_columns() -> None:
    span = Span("p.yaml", 3, 5, 6, 2)
    diagnostic = Diagnostic(Level.WARNING, "some-code", span, "it is odd")
    assert annotation(diagnostic) == (
        "::warning file=p.yaml,line=3,endLine=6,title=some-code::it is odd"
    )


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "policy", "0 policies"),
        (1, "policy", "1 policy"),
        (2, "file", "2 files"),
        (1, "error", "1 error"),
    ],
)
def test_numbers_agree_with_their_nouns(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_controls_and_half_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[2J\u202e\ud800é\nb")
    assert capsys.readouterr().out == "a\\x1b[2J\\u202e\\ud800é\nb\n"
