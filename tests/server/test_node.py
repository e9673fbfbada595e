"""Both generations of the Node SDK's client, which we did not write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from policyd.server.protocol import EXTENSION, VERSION

if TYPE_CHECKING:
    from tests.server.conftest import Running

NODE = Path(__file__).parents[1] / "node"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and "CI" not in os.environ, reason="node is not installed"
)


def run(command: list[str], seconds: float) -> str:
    done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def installed() -> None:
    """The clients are in `tests/node/node_modules`, in the versions that package.json names."""
    wanted = json.loads((NODE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    if {name: _version(name) for name in wanted} != wanted:
        run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], 300)
    assert {name: _version(name) for name in wanted} == wanted


def _version(name: str) -> str | None:
    manifest = NODE / "node_modules" / name / "package.json"
    if not manifest.exists():
        return None
    version: str = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    return version


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize(
    ("script", "protocol"),
    [
        (["v1.mjs"], None),
        (["v2.mjs", "legacy"], "2025-11-25"),
        (["v2.mjs", "auto"], "2026-07-28"),
    ],
    ids=["v1", "v2-legacy", "v2-auto"],
)
def test_a_node_client_is_served(
    served: Running, directory: Path, script: list[str], protocol: str | None, transport: str
) -> None:
    serve = [sys.executable, "-m", "policyd", "serve", "--stdio", str(directory)]
    target = [served.url] if transport == "http" else serve
    seen: dict[str, Any] = json.loads(run(["node", *script, transport, *target], 60))
    assert seen.get("protocol") == protocol
    assert (seen["server"]["name"], seen["server"]["version"]) == ("policyd", VERSION)
    for place in ("extensions", "experimental"):
        assert "tools/call" in seen["capabilities"][place][EXTENSION]["supportedEvents"]
    assert seen["list"]["interceptors"][0]["hooks"] == [
        {"events": ["tools/call"], "phase": "request"}
    ]
    denied = seen["denied"]
    assert (denied["valid"], denied["severity"]) == (False, "error")
    assert denied["messages"][0]["path"] == "arguments.command"
    assert seen["allowed"]["valid"] is True
    assert seen["masked"]["payload"] == {"name": "[employee]", "n": 1.5}
    assert seen["unknown"] == {"code": -32602, "data": {"interceptor": "nobody"}}
    assert seen["fragile"] == {
        "code": -32603,
        "data": {
            "interceptor": "fragile",
            "phase": "request",
            "reason": "the policy could not be evaluated",
        },
    }
    assert seen["phase"]["data"] == {
        "interceptor": "no-rm",
        "reason": "`phase` must be `request` or `response`",
    }
