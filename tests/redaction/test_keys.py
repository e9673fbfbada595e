"""Keys of hashes and tokens: where they come from, and what makes one unfit."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import pytest

from policyd.compiler import Compilation, compile_bundle
from policyd.model import Invocation
from policyd.source import DirectorySource
from tests.redaction.support import DANA, KEY

POLICY = """
policyd: v1
mutators:
  - name: p
    match: {events: [tools/call], phase: request}
    redact: [{detect: [email], replace: {%s: %s, key: {%s}}}]
"""
CALL = Invocation("tools/call", "request", {"name": "x", "arguments": {"to": DANA}})
DIGITS = hmac.digest(KEY, DANA.encode(), "sha256").hex()


def compiled(folder: Path, key: str, kind: str = "hash", value: str = "sha256") -> Compilation:
    (folder / "p.yaml").write_text(POLICY % (kind, value, key), encoding="utf-8")
    return compile_bundle(DirectorySource([folder]).read())


def redacted(compilation: Compilation) -> Any:
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot.decide(CALL).payload["arguments"]["to"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.key").write_bytes(KEY + b"\n")
    (tmp_path / "short.key").write_bytes(KEY[:15])
    (tmp_path / "long.key").write_bytes(b"x" * 5000)
    return tmp_path


@pytest.mark.parametrize("key", ["file: good.key", "env: POLICYD_TEST_KEY"])
def test_a_key_comes_from_a_file_beside_the_policy_or_the_environment(
    folder: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLICYD_TEST_KEY", KEY.decode())
    assert redacted(compiled(folder, key)) == f"hmac-sha256:{DIGITS}"
    assert redacted(compiled(folder, key, "tokenize", "true")) == f"[email:{DIGITS[:16]}]"


def test_tokens_without_a_key_are_numbered(folder: Path) -> None:
    text = POLICY.replace(", key: {%s}", "") % ("tokenize", "true")
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    assert redacted(compile_bundle(DirectorySource([folder]).read())) == "[email:1]"


@pytest.mark.parametrize(
    ("key", "code", "flaw"),
    [
        ("file: none.key", "missing-key", "the key file `none.key` cannot be read"),
        ("file: long.key", "missing-key", "the key file `long.key` is too long"),
        ("file: short.key", "weak-key", "the key is too short: 16 bytes at least"),
        ("env: POLICYD_NONE", "missing-key", "the environment has no `POLICYD_NONE`"),
        ("env: POLICYD_SHORT", "weak-key", "the key is too short: 16 bytes at least"),
    ],
)
@pytest.mark.parametrize(("kind", "value"), [("hash", "sha256"), ("tokenize", "true")])
def test_a_key_that_is_unfit_is_told(
    folder: Path,
    key: str,
    code: str,
    flaw: str,
    kind: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POLICYD_SHORT", " short ")
    (told,) = compiled(folder, key, kind, value).diagnostics
    assert (told.code, told.text) == (code, flaw)
