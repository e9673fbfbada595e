"""A settings file that changes while its policies are served."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio
import pytest

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.reload import Outcome, Reloader
from policyd.settings import SettingsWatch
from policyd.source import DirectorySource

POLICIES = """policyd: v1
validators:
  - name: calls
    match: {events: [tools/call], phase: request}
    rules: [{id: stop, deny: has(payload.name), message: stop}]
"""


def test_overrides_are_put_in_force_and_wrong_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO)
    Path("p.yaml").write_text(POLICIES)
    file = Path("policyd.yaml")
    file.write_text("settings: v1\n")
    source = DirectorySource(["p.yaml"], settings=file, digest=SettingsWatch().digest)
    snapshot = compile_bundle(source.read()).snapshot
    assert snapshot is not None
    engine = Engine(snapshot)
    reloader = Reloader(engine, source)

    async def edit(text: str | None) -> tuple[Outcome, str]:
        if text is None:
            file.unlink()
        else:
            file.write_text(f"settings: v1\n{text}\n")
        outcome = await reloader.reload()
        return outcome, str(engine.current.descriptors[0].mode)

    async def edits() -> list[tuple[Outcome, str]]:
        return [
            await edit("logLevel: error"),
            await edit("allPolicies: {mode: audit}"),
            await edit("policies: {call: {mode: audit}}"),
            await edit("logLevel: loud"),
            await edit(None),
            await edit("allPolicies: {mode: audit}"),
            await edit("x-none: 1"),
        ]

    assert anyio.run(edits) == [
        (Outcome.UNCHANGED, "enforce"),
        (Outcome.INSTALLED, "audit"),
        (Outcome.REJECTED, "audit"),
        (Outcome.REJECTED, "audit"),
        (Outcome.REJECTED, "audit"),
        (Outcome.UNCHANGED, "audit"),
        (Outcome.INSTALLED, "enforce"),
    ]
    assert engine.current.generation == snapshot.generation
    told = [vars(record)["diagnostics"] for record in caplog.records if record.levelname == "ERROR"]
    assert [one[0]["code"] for one in told] == ["unknown-policy", "unknown-value", "missing-path"]
    restart = "policyd.yaml: `logLevel` changed, which counts after a restart"
    assert caplog.messages.count(restart) == 2
