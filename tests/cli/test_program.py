"""The process around the commands: what is imported, what ends it, what it never does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policyd.cli import Exit, check, main
from policyd.cli.program import COMMANDS

POLICY = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request}
    rules:
      - {id: no-rm, deny: args.command == "rm", message: no rm}
"""

SERVING = ("mcp", "mcp_types", "pydantic", "uvicorn", "starlette", "watchfiles")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(POLICY)
    return path


def run(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "policyd", *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.mark.parametrize("command", ["check", "list", "test", "init", "schema", "--version"])
def test_only_serving_imports_what_serves(command: str, policy: Path) -> None:
    (policy.parent / "p_test.yaml").write_text(
        "when: {event: tools/call, phase: request, payload: {name: sh, arguments: {command: ls}}}\n"
        "then: {allowed: true}\n"
    )
    args = {
        "init": [str(policy.parent / "new")],
        "schema": [],
        "--version": [],
    }.get(command, [str(policy)])
    script = (
        "import sys\n"
        "from policyd.cli.program import _run\n"
        f"code = _run([{command!r}, *{args!r}])\n"
        f"late = {(*SERVING, 'rich')!r}\n"
        "print(code, sorted(set(late) & set(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stderr == "0 []\n"


def test_the_module_runs_like_the_command(policy: Path) -> None:
    ended = run("check", policy.name, cwd=policy.parent)
    assert (ended.returncode, ended.stderr) == (Exit.FINE, "")
    assert ended.stdout.startswith("1 policy in 1 file, 0 errors, 0 warnings (generation ")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_is_prose_that_ends_with_two_examples(command: str, policyd: Any) -> None:
    ended = policyd(command, "--help")
    assert (ended["exit"], ended["stderr"]) == (Exit.FINE, "")
    head, _, examples = ended["stdout"].partition("\n  Examples:\n")
    lines = examples.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"    policyd {command}") for line in lines)
    prose = head.split("\n\n")[1:3]
    assert all(paragraph.rstrip(" \n").endswith((".", "`.")) for paragraph in prose)


def test_an_internal_error_is_one_line(
    policyd: Any, monkeypatch: pytest.MonkeyPatch, policy: Path
) -> None:
    def crash(*_args: object, **_options: object) -> None:
        raise KeyError("two\nlines")

    monkeypatch.setattr(check, "compile_paths", crash)
    told = "policyd: internal error: KeyError: 'two\\nlines'"
    assert policyd("check", str(policy)) == {
        "exit": Exit.OUR_FAILURE,
        "stdout": "",
        "stderr": f"{told} (POLICYD_DEBUG=1 shows where)\n",
    }
    monkeypatch.setenv("POLICYD_DEBUG", "1")
    ended = policyd("check", str(policy))
    assert ended["exit"] == Exit.OUR_FAILURE
    assert ended["stderr"].startswith("Traceback (most recent call last):\n")
    assert ended["stderr"].endswith(f"\n{told}\n")


def test_an_interrupt_is_quiet(policyd: Any, monkeypatch: pytest.MonkeyPatch, policy: Path) -> None:
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "compile_paths", interrupt)
    ended = policyd("check", str(policy))
    assert ended == {"exit": Exit.INTERRUPTED, "stdout": "", "stderr": ""}


def test_a_reader_that_goes_away_is_no_error(policy: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "policyd", "check", str(policy)]
    with os.fdopen(write, "wb") as pipe:
        ended = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (ended.returncode, ended.stderr) == (Exit.BROKEN_PIPE, b"")


def on_terminal(*args: str | Path, **env: str) -> bytes:
    """What a command prints when stdout is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "policyd", *map(str, args)]
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    subprocess.run(
        command,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**plain, "TERM": "xterm-256color", **env},
        timeout=60,
        check=False,
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the end of a terminal is an error
            part = b""
        if not part:
            break
        printed += part
    os.close(ours)
    return printed


def test_a_terminal_gets_colours_and_the_same_words(policy: Path) -> None:
    policy.write_text(POLICY.replace("deny", "dney"))
    plain = run("check", policy).stdout
    printed = on_terminal("check", policy)
    assert b"\x1b[1;31m" in printed
    stripped = printed.decode().replace("\r\n", "\n")
    for code in ("1;31", "36", "0"):
        stripped = stripped.replace(f"\x1b[{code}m", "")
    assert stripped == plain


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(policy: Path, env: dict[str, str]) -> None:
    policy.write_text(POLICY.replace("deny", "dney"))
    assert b"\x1b" not in on_terminal("check", policy, **env)


def test_an_encoding_that_lacks_a_character_gets_an_escape(policy: Path) -> None:
    policy.write_text(POLICY.replace("name: shell", "name: sh€ll"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ended = run("check", policy, env=environment)
    assert ended.returncode == Exit.BROKEN_POLICIES
    assert "`sh\\u20acll` is not a valid `name`" in ended.stdout


def test_what_an_author_wrote_cannot_steer_a_terminal(policy: Path) -> None:
    policy.write_text(POLICY.replace("name: shell", r'name: "a\e[2Jb\u202e"'), encoding="utf-8")
    ended = run("check", policy)
    assert ended.returncode == Exit.BROKEN_POLICIES
    assert "\x1b" not in ended.stdout
    assert "\u202e" not in ended.stdout


def test_main_takes_the_arguments_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["policyd", "schema", "nothing"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == Exit.USAGE
