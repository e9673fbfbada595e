"""From a target to its port, and what that costs before the first call."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from policyd.ports import open_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Running
    from tests.ports.conftest import Command


@pytest.mark.parametrize(
    "target",
    [
        "",
        "localhost",
        "ftp://host/mcp",
        "http://",
        "http://:80/",
        "http://host:0/",
        "http://host:port/",
        "http://host:99999/",
        "http://[::1/",
        "file:///etc/passwd",
    ],
)
def test_a_string_that_is_no_url_is_refused_unquoted(target: str) -> None:
    with pytest.raises(ValueError, match=r"^`target` is no http or https URL$"):
        open_port(target)


@pytest.mark.parametrize("target", [None, 1, b"http://host/", {"url": "http://host/"}, object()])
def test_a_target_of_no_known_kind_is_refused(target: Any) -> None:
    with pytest.raises(TypeError, match=r"^`target` is no "):
        open_port(target)


@pytest.mark.parametrize("target", [[], ()])
def test_an_empty_command_line_is_refused(target: Any) -> None:
    with pytest.raises(ValueError, match="needs at least the command"):
        open_port(target)


def test_headers_go_with_a_url_only() -> None:
    with pytest.raises(ValueError, match="`headers` go with a URL only"):
        open_port(["policyd"], headers={"authorization": "x"})


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, warnings shown."""
    # RuntimeWarning tells of what was never awaited, ResourceWarning of what was never closed
    command = [sys.executable, "-W", "default", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    ended = run(
        "import sys; from policyd.ports import open_port; open_port('http://host/mcp'); "
        "print([m for m in ('mcp', 'mcp_types', 'aiohttp', 'pydantic') if m in sys.modules])"
    )
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


FORGETFUL = """
import asyncio
from policyd.ports import open_port

async def main():
    for target in TARGETS:
        port = open_port(target)
        print(len((await port.call("interceptors/list", {}, 20))["interceptors"]) > 0)
        PORTS.append(port)

PORTS = []
asyncio.run(main())
"""


def test_a_program_that_closes_nothing_ends_silently(
    served: Running, command: Callable[[], Command]
) -> None:
    made = command()
    ended = run(f"TARGETS = [{served.url!r}, {made.words!r}]\n{FORGETFUL}")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("True\nTrue\n", "", 0)
    assert (len(made.pids), made.alive) == (1, [])
