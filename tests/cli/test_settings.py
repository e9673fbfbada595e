"""Flags, variables and `policyd.yaml` together, and where that file is looked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policyd.cli import Exit
from policyd.server import BindError
from policyd.settings import Settings

POLICIES = """policyd: v1
validators:
  - name: calls
    match: {events: [tools/call], phase: request}
    rules: [{id: stop, deny: has(payload.name), message: stop}]
"""
CALL = '{"name": "t", "arguments": {}}'
AUDIT = "settings: v1\nallPolicies: {mode: audit}\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("policyd.cli.serve.set_up_logging", lambda *_told, **_options: None)
    (tmp_path / "p.yaml").write_text(POLICIES)
    return tmp_path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `policyd.server.serve` was asked for."""
    calls: list[Settings] = []
    monkeypatch.setattr("policyd.server.serve", lambda _engine, _reloader, told: calls.append(told))
    return calls


def test_flags_win_over_variables_and_those_over_the_file(
    directory: Path, served: list[Settings], policyd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "policyd.yaml").write_text(
        "settings: v1\npaths: [p.yaml]\nhttp: a:1\ndialect: sep\nhostNames: [h]\n"
    )
    monkeypatch.setenv("POLICYD_HTTP", "b:2")
    monkeypatch.setenv("POLICYD_HOST_NAMES", "i,j")
    assert policyd("serve", "--host-name", "k") == {"exit": 0, "stdout": "", "stderr": ""}
    assert served == [
        Settings(
            paths=(Path("p.yaml"),), http=("b", 2), dialect=served[0].dialect, host_names=("k",)
        )
    ]
    assert served[0].dialect == "sep"


@pytest.mark.parametrize(
    ("file", "flags", "stdio"),
    [
        ("stdio: true", ["--http", "h:1"], False),
        ("http: h:1", ["--stdio"], True),
        ("stdio: true", ["--no-stdio"], False),
        ("stdio: true", [], True),
    ],
)
def test_the_transport_is_the_one_of_the_stronger_place(
    file: str, flags: list[str], stdio: bool, directory: Path, served: list[Settings], policyd: Any
) -> None:
    (directory / "policyd.yaml").write_text(f"settings: v1\n{file}\n")
    assert policyd("serve", *flags, "p.yaml")["exit"] == Exit.FINE
    assert [settings.stdio for settings in served] == [stdio]


@pytest.mark.parametrize(
    ("variables", "args", "told"),
    [
        ({}, ["serve"], "no policies: give a PATH, `paths` in the settings or POLICYD_PATHS"),
        ({}, ["serve", "--settings", "x", "p.yaml"], "'--settings': `x`: there is no such file"),
        ({}, ["list", "--settings", ".", "p.yaml"], "'--settings': `.`: it is not a file"),
        ({"SETTINGS": "x"}, ["check", "p.yaml"], "the variable `POLICYD_SETTINGS`: `x`: there is"),
        ({"STDIO": "?"}, ["serve", "p.yaml"], "the variable `POLICYD_STDIO`: `?` is neither"),
        ({"PATHS": "q"}, ["serve"], "the variable `POLICYD_PATHS`: `q`: there is no such file"),
        ({}, ["serve", "--log-level", "z", "p.yaml"], "'--log-level': `z` is none of"),
        ({}, ["serve", "--host-name", "", "p.yaml"], "'--host-name': a text is missing"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(
    variables: dict[str, str],
    args: list[str],
    told: str,
    policyd: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"POLICYD_{name}", value)
    ended = policyd(*args)
    assert (ended["exit"], ended["stdout"]) == (Exit.USAGE, "")
    assert told in ended["stderr"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("settings: v1\nhtpp: a:1\n", "policyd.yaml:2:1: error[unknown-field]"),
        ("settings: v1\npaths: [p.yaml, q]\n", "policyd.yaml:2:17: error[missing-path]"),
        (POLICIES, "policyd.yaml:1:1: error[not-settings]"),
        ("#" * (1 << 20) + "\n", "policyd.yaml:1:1: error[too-large]"),
    ],
)
def test_a_settings_file_that_is_wrong_is_told_as_policies_are(
    text: str, told: str, directory: Path, served: list[Settings], policyd: Any
) -> None:
    (directory / "policyd.yaml").write_text(text)
    ended = policyd("serve")
    assert (ended["exit"], ended["stdout"], served) == (Exit.USAGE, "", [])
    assert ended["stderr"].startswith(told)


@pytest.mark.parametrize("where", ["found", "flag", "variable"])
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["list"], "validation  audit "),
        (["eval", "--event", "tools/call", "--phase", "request", "--payload", "-"], "audit error["),
        (["explain", "--event", "tools/call", "--phase", "request", "--payload", "-"], "allowed"),
        (["check"], "1 policy in 1 file, 0 errors, 0 warnings"),
    ],
)
def test_every_command_shows_what_would_be_in_force(
    where: str,
    args: list[str],
    told: str,
    directory: Path,
    policyd: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "policyd.yaml" if where == "found" else "audit.yml"
    (directory / name).write_text(AUDIT)
    if where == "variable":
        monkeypatch.setenv("POLICYD_SETTINGS", name)
    flags = ["--settings", name] if where == "flag" else []
    ended = policyd(*args, *flags, "p.yaml", stdin=CALL)
    assert (ended["exit"], ended["stderr"]) == (Exit.FINE, "")
    assert told in ended["stdout"]


def test_no_settings_are_read_where_nobody_wants_them(directory: Path, policyd: Any) -> None:
    (directory / "policyd.yaml").write_text(AUDIT)
    assert " audit " in policyd("list", "p.yaml")["stdout"]
    assert " enforce " in policyd("list", "--settings", "none", "p.yaml")["stdout"]


def test_an_override_that_cannot_be_does_not_compile(directory: Path, policyd: Any) -> None:
    (directory / "policyd.yaml").write_text("settings: v1\npolicies: {call: {mode: audit}}\n")
    ended = policyd("check", "p.yaml")
    assert ended["exit"] == Exit.BROKEN_POLICIES
    assert ended["stdout"].splitlines()[:2] == [
        "policyd.yaml:2:12: error[unknown-policy]: there is no policy `call` to override",
        "    2 | policies: {call: {mode: audit}}",
    ]


def test_a_variable_that_nobody_reads_is_logged(
    served: list[Settings],
    policyd: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("POLICYD_LOGLEVEL", "error")
    assert policyd("serve", "p.yaml")["exit"] == Exit.FINE
    told = "the variable `POLICYD_LOGLEVEL` means nothing here; did you mean `POLICYD_LOG_LEVEL`?"
    assert caplog.messages == [told]


def test_a_log_for_programs_holds_the_diagnostics(
    directory: Path, served: list[Settings], policyd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (directory / "p.yaml").write_text(
        POLICIES.replace("tools/call", "acme/x") + "    timeout: 90s\n"
    )
    ended = policyd("serve", "--log-format", "json", "p.yaml")
    assert ended == {"exit": Exit.BROKEN_POLICIES, "stdout": "", "stderr": ""}
    assert [(one.levelname, vars(one)["diagnostics"][0]["code"]) for one in caplog.records] == [
        ("WARNING", "unknown-event"),
        ("ERROR", "bad-value"),
    ]


def test_a_log_for_programs_says_why_nobody_can_listen(
    policyd: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_asked: object) -> None:
        raise BindError("cannot listen")

    monkeypatch.setattr("policyd.server.serve", refuse)
    ended = policyd("serve", "--log-format", "json", "p.yaml")
    assert ended == {"exit": Exit.OUR_FAILURE, "stdout": "", "stderr": ""}
    assert caplog.messages == ["cannot listen"]
