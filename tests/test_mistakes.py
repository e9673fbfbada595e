"""Typical mistakes of policy authors: each is told at its own character, with what to write.

A file of `testdata/mistakes` begins with comments: what the mistake is, and for each diagnostic
`# expect: LINE:COLUMN LEVEL[CODE] PHRASE`, where the phrase stands in its text or its help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyd.testing import load_cases

MISTAKES = sorted((Path(__file__).parent / "testdata" / "mistakes").glob("*.yaml"))
EXPECT = re.compile(r"# expect: (\d+):(\d+) (error|warning)\[([a-z-]+)\] ?(.*)\n")

RunCommand = Callable[..., dict[str, Any]]
Told = tuple[int, int, str, str]


def told_of_cases(path: Path) -> list[tuple[Told, str]]:
    return [
        (
            (told.span.line, told.span.column, str(told.level), told.code),
            f"{told.text}\n{told.help}",
        )
        for told in load_cases(path).diagnostics
    ]


def told_of_policies(path: Path, policyd: RunCommand) -> list[tuple[Told, str]]:
    output = policyd("check", "--format", "json", str(path))
    assert output["exit"] in (0, 3), output["stderr"]
    return [
        (
            (told["line"], told["column"], told["level"], told["code"]),
            f"{told['text']}\n{told.get('help')}",
        )
        for told in json.loads(output["stdout"])
    ]


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_told_where_it_is_with_what_to_write(path: Path, policyd: RunCommand) -> None:
    expected = EXPECT.findall(path.read_text("utf-8"))
    assert expected, "the file does not say what is wrong in it"
    of_cases = path.stem.endswith("_test")
    told = told_of_cases(path) if of_cases else told_of_policies(path, policyd)
    assert [place for place, _ in told] == [
        (int(line), int(column), level, code) for line, column, level, code, _ in expected
    ]
    for (_, words), (*_, phrase) in zip(told, expected, strict=True):
        assert phrase in words


def test_there_are_mistakes_of_many_kinds() -> None:
    codes = {code for path in MISTAKES for *_, code, _ in EXPECT.findall(path.read_text("utf-8"))}
    assert len(MISTAKES) >= 40
    assert len(codes) >= 40
