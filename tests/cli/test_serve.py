"""`policyd serve`: what is settled before there is a server."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policyd.cli import Exit
from policyd.settings import Settings

POLICY = "policyd: v1\nempty: true\n"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("policyd.cli.serve.set_up_logging", lambda *_told, **_options: None)
    path = tmp_path / "p.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `policyd.server.serve` was asked for."""
    calls: list[Settings] = []

    def record(engine: Any, reloader: Any, settings: Settings) -> None:
        assert reloader.status.generation == engine.current.generation
        calls.append(settings)

    monkeypatch.setattr("policyd.server.serve", record)
    return calls


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], {"http": ("127.0.0.1", 8765)}),
        (["--http", "0.0.0.0:80"], {"http": ("0.0.0.0", 80)}),
        (["--http", "[::1]:0"], {"http": ("::1", 0)}),
        (["--stdio"], {"stdio": True}),
        (["--stdio", "--dialect", "sep"], {"stdio": True, "dialect": "sep"}),
        (["--expose", "bundle"], {"expose": "bundle"}),
        (
            ["--host-name", "a.example", "--host-name", "b.example"],
            {"host_names": ("a.example", "b.example")},
        ),
    ],
)
def test_options_reach_the_server(
    args: list[str],
    expected: dict[str, Any],
    policy: Path,
    served: list[Settings],
    policyd: Any,
) -> None:
    assert policyd("serve", *args, "p.yaml") == {"exit": Exit.FINE, "stdout": "", "stderr": ""}
    assert served == [Settings(paths=(Path("p.yaml"),), **expected)]


@pytest.mark.parametrize(
    "address",
    ["8765", ":8765", "localhost", "localhost:", "localhost:http", "localhost:65536", "::1:80"],
)
def test_an_address_that_is_none_is_refused(
    address: str, policy: Path, served: list[Settings], policyd: Any
) -> None:
    ended = policyd("serve", "--http", address, "p.yaml")
    assert (ended["exit"], ended["stdout"], served) == (Exit.USAGE, "", [])
    assert "Invalid value for '--http'" in ended["stderr"]


def test_there_is_one_transport(policy: Path, served: list[Settings], policyd: Any) -> None:
    ended = policyd("serve", "--stdio", "--http", "localhost:80", "p.yaml")
    assert (ended["exit"], served) == (Exit.USAGE, [])
    assert "`--http` and `--stdio` exclude each other" in ended["stderr"]


def test_policies_that_do_not_compile_are_not_served(
    policy: Path, served: list[Settings], policyd: Any
) -> None:
    policy.write_text("policyd: v2\n")
    ended = policyd("serve", "p.yaml")
    assert (ended["exit"], ended["stdout"], served) == (Exit.BROKEN_POLICIES, "", [])
    assert ended["stderr"].startswith("p.yaml:1:10: error[unknown-version]: ")


def test_warnings_are_told_and_served(policy: Path, served: list[Settings], policyd: Any) -> None:
    policy.write_text(
        "policyd: v1\nvalidators:\n  - name: a\n    match: {events: [acme/x], phase: request}\n"
        "    rules: [{id: a, require: 'true', message: a}]\n"
    )
    ended = policyd("serve", "p.yaml")
    assert (ended["exit"], len(served)) == (Exit.FINE, 1)
    assert ended["stderr"].startswith("p.yaml:4:22: warning[unknown-event]: ")


def test_nothing_is_served_only_on_purpose(
    tmp_path: Path, policy: Path, served: list[Settings], policyd: Any
) -> None:
    (tmp_path / "none").mkdir()
    assert policyd("serve", "none")["exit"] == Exit.BROKEN_POLICIES
    assert policyd("serve", "--allow-empty", "none")["exit"] == Exit.FINE
    assert len(served) == 1


def test_an_address_in_use_is_told_in_one_line(policy: Path) -> None:
    command = [sys.executable, "-m", "policyd", "serve", "p.yaml", "--http", "127.0.0.1:0"]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert first.stderr is not None
        line = first.stderr.readline()
        port = line.rpartition("127.0.0.1:")[2].split("/")[0].strip()
        command[-1] = f"127.0.0.1:{port}"
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (second.returncode, second.stdout) == (Exit.OUR_FAILURE, "")
        (told,) = second.stderr.splitlines()
        assert told.startswith(f"policyd: cannot listen on `127.0.0.1:{port}`: ")
    finally:
        first.send_signal(signal.SIGTERM)
        assert first.wait(timeout=30) == Exit.FINE
        assert first.stderr is not None
        first.stderr.close()


def test_the_log_is_set_up_as_it_is_asked_for(
    policy: Path, served: list[Settings], policyd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        "policyd.cli.serve.set_up_logging", lambda level, **options: asked.append((level, options))
    )
    args = ("--log-level", "debug", "--log-format", "json", "p.yaml")
    assert policyd("serve", *args)["exit"] == Exit.FINE
    assert asked == [("debug", {"as_json": True})]
