"""The conformance suite of MCP, which we did not write, with and without our middleware.

The server is `everything/`, which has what the suite asks for, in both protocol eras.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from tests.conftest import Process

ROOT = Path(__file__).parents[2]
EVERYTHING = Path(__file__).with_name("everything")
MODULES = EVERYTHING / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

DEADLINE = 120.0
"""Seconds after which a run of the suite is given up; it takes about three."""

Score: TypeAlias = dict[str, list[tuple[str, str]]]
"""The checks of each scenario and how they went."""

Outcome: TypeAlias = tuple[Score, set[tuple[str, str, str]]]
"""A score; and event, phase and direction of what a chain was asked."""

pytestmark = pytest.mark.skipif(
    not MODULES.exists() and "CI" not in os.environ, reason="`make node` has not been run"
)


@pytest.fixture(scope="session")
def installed(install: Callable[[Path], None]) -> None:
    """The suite, and the node it needs."""
    install(EVERYTHING)


def run_suite(url: str, version: str, results: Path) -> Score:
    """Every scenario that applies to a version of the protocol."""
    node = MODULES / ".bin" / "node"
    options = ["--suite", "all", "--spec-version", version, "--output-dir", str(results)]
    command = [str(node), str(SUITE), "server", "--url", url, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    # 1: a scenario failed, which is for the caller to judge
    assert done.returncode in (0, 1), done.stderr
    return {
        # `server-ping-2026-12-01T01-23-48-196Z`
        file.parent.name.removeprefix("server-")[: -len("-2026-12-01T01-23-48-196Z")]: checks(file)
        for file in results.glob("*/checks.json")
    }


def checks(file: Path) -> list[tuple[str, str]]:
    """What one scenario judged; its remarks are left out."""
    told = json.loads(file.read_text(encoding="utf-8"))
    return sorted((check["id"], check["status"]) for check in told if check["status"] != "INFO")


def score_of(launch: type[Process], version: str, results: Path, *options: str) -> Outcome:
    """How the server fares, and what its chain was asked."""
    command = [sys.executable, "-m", "tests.interop.everything.server", *options]
    server = launch(command, pipe=True, directory=ROOT)
    stdout = server.process.stdout
    assert stdout is not None
    try:
        with server.bounded():
            url = stdout.readline().strip()
        assert url, "\n".join(server.log)
        score = run_suite(url, version, results)
        server.process.send_signal(signal.SIGINT)
        with server.bounded():
            last = stdout.readline()
    finally:
        server.process.kill()
        server.wait()
    return score, {(event, phase, direction) for event, phase, direction in json.loads(last)}


SERVED = ("tools/call", "tools/list", "prompts/get", "resources/read", "completion/complete")
ASKED_BACK = ("elicitation/create", "sampling/createMessage")
ERAS = {
    "2025-11-25": (33, SERVED, ASKED_BACK),
    "2026-07-28": (40, SERVED, (*ASKED_BACK, "roots/list")),
}
"""How many scenarios there are, what clients ask, and what they are asked."""


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("version", ERAS)
def test_the_server_scores_the_same_behind_the_middleware(
    version: str, tmp_path: Path, launch: type[Process]
) -> None:
    scenarios, served, asked_back = ERAS[version]
    bare, nothing = score_of(launch, version, tmp_path / "bare")
    governed, asked = score_of(launch, version, tmp_path / "governed", "--governed")

    assert governed == bare
    assert len(bare) == scenarios
    assert {status for each in bare.values() for _, status in each} == {"SUCCESS"}
    # the chain of the second one was there, on both ways and in both directions
    assert nothing == set()
    assert asked >= {(event, "request", "receiving") for event in served}
    assert asked >= {(event, "response", "sending") for event in served}
    assert asked >= {(event, "request", "sending") for event in asked_back}
    assert asked >= {(event, "response", "receiving") for event in asked_back}
