"""`policyd init`: what it writes works, and it never writes over anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policyd.cli import Exit
from policyd.cli.init import starter_texts

FILES = (
    "audit-writes.yaml",
    "audit-writes_test.yaml",
    "result-secrets.yaml",
    "result-secrets_test.yaml",
    "shell-commands.yaml",
    "shell-commands_test.yaml",
)


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_starter_policies_compile_pass_their_tests_and_are_proven_by_them(policyd: Any) -> None:
    ended = policyd("init")
    lines = [f"wrote policies/{name}" for name in FILES]
    assert ended == {
        "exit": Exit.FINE,
        "stdout": "\n".join(
            [
                *lines,
                "next:",
                "  policyd test policies",
                "  policyd check --prove policies",
                "  policyd serve policies",
                "",
            ]
        ),
        "stderr": "",
    }
    checked = policyd("check", "--strict", "--prove", "policies")
    assert checked["exit"] == Exit.FINE
    assert "\n9 of 9 rules proven, " in checked["stdout"]
    assert checked["stdout"].startswith("3 policies in 3 files, 0 errors, 0 warnings")
    tested = policyd("test", "policies")
    assert (tested["exit"], tested["stdout"]) == (Exit.FINE, "19 passed, 0 failed\n")


def test_every_starter_policy_has_cases() -> None:
    assert tuple(starter_texts()) == FILES


def test_directories_are_made_where_they_are_missing(policyd: Any) -> None:
    assert policyd("init", "a/b")["exit"] == Exit.FINE
    assert sorted(path.name for path in Path("a/b").iterdir()) == list(FILES)


def test_other_files_are_left_alone(policyd: Any) -> None:
    Path("policies").mkdir()
    Path("policies/mine.yaml").write_text("mine")
    assert policyd("init")["exit"] == Exit.FINE
    assert Path("policies/mine.yaml").read_text() == "mine"


@pytest.mark.parametrize("dangling", [False, True])
def test_nothing_is_overwritten(policyd: Any, dangling: bool) -> None:
    taken = Path("policies/shell-commands.yaml")
    taken.parent.mkdir()
    if dangling:
        taken.symlink_to("nowhere")
    else:
        taken.write_text("mine")
    ended = policyd("init")
    assert (ended["exit"], ended["stdout"]) == (Exit.USAGE, "")
    assert "policies/shell-commands.yaml exists; nothing was written" in ended["stderr"]
    assert [path.name for path in taken.parent.iterdir()] == [taken.name]


def test_a_file_in_the_way_is_named(policyd: Any) -> None:
    Path("file").write_text("")
    ended = policyd("init", "file/policies")
    assert (ended["exit"], ended["stdout"]) == (Exit.USAGE, "")
    assert "file/policies" in ended["stderr"]
