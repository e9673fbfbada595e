"""`policyd detectors` and `policyd detect`."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyd.detectors import DETECTORS, GROUPS

RunCommand = Callable[..., dict[str, Any]]

GITHUB = DETECTORS["github-token"].sample()
ROOT = Path(__file__).parents[2]

OWN = """
policyd: v1
detectors:
  - {name: own-id, pattern: 'X[0-9]{4}', examples: {match: [X1234]}}
"""


def test_all_detectors_are_listed_with_a_shape(policyd: RunCommand) -> None:
    ran = policyd("detectors", "--format", "json")
    rows = json.loads(ran["stdout"])["detectors"]
    assert [row["name"] for row in rows] == list(DETECTORS)
    assert all(row["shape"] and row["evidence"] for row in rows)
    assert DETECTORS["github-token"].sample() not in ran["stdout"]


def test_a_list_may_be_of_some_detectors(policyd: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    ran = policyd("detectors", "--detectors", "network, custom", "--policies", str(tmp_path))
    lines = ran["stdout"].splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "own-id", *GROUPS["network"]]
    assert lines[1].split() == ["own-id", "custom", "shape", "A9{4}"]


def test_what_fires_in_a_text_is_shown_covered(policyd: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"one\ntoken {GITHUB} by dana@example.com\n")
    ran = policyd("detect", str(file))
    assert ran == {
        "exit": 0,
        "stdout": (
            "2:7  github-token  gh*** (40 characters)  (shape)\n"
            "2:51  email  da*** (16 characters)  (shape)\n"
        ),
        "stderr": f"2 findings, {len(GROUPS['secrets']) + len(GROUPS['pii']) + 4} detectors\n",
    }


def test_what_fires_in_json_is_shown_with_pointers(policyd: RunCommand) -> None:
    payload = {"a": [{"ssn": 219099999}, True, None], GITHUB: "x", "mail": "a@b.cd"}
    ran = policyd("detect", "-", "--format", "json", stdin=json.dumps(payload))
    assert json.loads(ran["stdout"]) == {
        "found": [
            {
                "where": "/a/0/ssn",
                "detector": "us-ssn",
                "evidence": "shape",
                "covered": "*** (9 characters)",
            },
            {
                "where": "/[redacted]",
                "detector": "github-token",
                "evidence": "shape",
                "covered": "gh*** (40 characters)",
            },
            {
                "where": "/mail",
                "detector": "email",
                "evidence": "shape",
                "covered": "*** (6 characters)",
            },
        ]
    }


@pytest.mark.parametrize("command", [("detectors",), ("detect", "-")])
def test_an_unknown_name_is_a_usage_error(policyd: RunCommand, command: tuple[str, ...]) -> None:
    ran = policyd(*command, "--detectors", "emial")
    assert ran["exit"] == 2
    assert "--detectors: no detector or group `emial`" in ran["stderr"]


def test_a_file_that_is_too_large_is_refused(
    policyd: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("policyd.cli.detect"), "MAX_BYTES", 3)
    ran = policyd("detect", "-", stdin="abcd")
    assert ran["exit"] == 2
    assert "the file is larger than 3 bytes" in ran["stderr"]


def test_policies_with_mistakes_end_the_command(policyd: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN.replace("[X1234]", "[Y]"))
    ran = policyd("detect", "-", "--policies", str(tmp_path), stdin="X1234")
    assert ran["exit"] == 3
    assert "example-fails" in ran["stderr"]


def test_the_table_of_the_page_is_the_one_of_today() -> None:
    path = ROOT / "scripts" / "generate_detectors.py"
    spec = importlib.util.spec_from_file_location("generate_detectors", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ROOT / "docs" / "detectors.md").read_text(encoding="utf-8")
    assert script.page(text) == text
