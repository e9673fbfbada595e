"""`policyd schema import` against real MCP servers, over a pipe and over HTTP."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyd.cli.schema import MAX_PAGES
from policyd.tools import HEADER

RunCommand = Callable[..., dict[str, Any]]

SERVER = """
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("files")


@server.tool()
def read(path: str, limit: int = 10) -> str:
    return ""


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


if sys.argv[1:]:
    server.run(transport="streamable-http", port=int(sys.argv[1]))
else:
    server.run(transport="stdio")
"""

PAGED = """
import json
import sys

ENDLESS = sys.argv[1:] == ["endless"]
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    result["serverInfo"] = {"name": "paged", "version": "1"}
    if request["method"] == "server/discover":
        answer = {"error": {"code": -32601, "message": "none"}}
    elif request["method"] == "tools/list":
        cursor = (request.get("params") or {}).get("cursor")
        name = "second" if cursor else "first"
        page = {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
        if ENDLESS or not cursor:
            page["nextCursor"] = "next"
        answer = {"result": page}
    else:
        answer = {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""

WRITTEN = f"""{HEADER}
policyd: v1

tools:
  - name: "add"
    inputSchema: {{"properties": {{"a": {{"type": "integer"}}, "b": {{"type": "integer"}}}}, \
"required": ["a", "b"], "type": "object"}}
  - name: "read"
    inputSchema: {{"properties": {{"limit": {{"type": "integer"}}, "path": {{"type": "string"}}}}, \
"required": ["path"], "type": "object"}}
"""

POLICY = """
policyd: v1
validators:
  - name: p
    match: {events: [tools/call], phase: request, tools: [read]}
    rules: [{id: r, deny: args.pth == "x", message: m}]
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    return file


@pytest.fixture
def paged(tmp_path: Path) -> Path:
    file = tmp_path / "paged.py"
    file.write_text(PAGED)
    return file


def test_the_tools_of_a_command_are_written_and_policies_checked_against_them(
    policyd: RunCommand, server: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    output = folder / "files.tools.yaml"
    (folder / "p.yaml").write_text(POLICY)
    command = ("schema", "import", "-o", str(output), "--", sys.executable, str(server))
    assert policyd(*command) == {"exit": 0, "stdout": "", "stderr": ""}
    assert output.read_text() == WRITTEN
    checked = policyd("check", str(folder))
    assert checked["exit"] == 3
    assert "p.yaml:6:32: error[no-such-field]: `args` has no field `pth`" in checked["stdout"]
    assert "did you mean `path`?" in checked["stdout"]
    assert policyd(*command)["exit"] == 0


def test_the_tools_of_a_server_at_a_url_are_printed(
    policyd: RunCommand, server: Path, launch: type[Any]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = launch([sys.executable, str(server), str(port)], pipe=False)
    process.wait_for("Uvicorn running")
    ended = policyd("schema", "import", "--http", f"http://127.0.0.1:{port}/mcp", "-o", "-")
    process.stop()
    assert ended == {"exit": 0, "stdout": WRITTEN, "stderr": ""}


def test_all_pages_are_read(policyd: RunCommand, paged: Path) -> None:
    ended = policyd("schema", "import", "-o", "-", "--", sys.executable, str(paged))
    assert ended["exit"] == 0
    names = [line for line in ended["stdout"].splitlines() if "name:" in line]
    assert names == ['  - name: "first"', '  - name: "second"']


def test_a_list_that_does_not_end_is_given_up(policyd: RunCommand, paged: Path) -> None:
    ended = policyd("schema", "import", "-o", "-", "--", sys.executable, str(paged), "endless")
    assert ended["exit"] == 1
    assert ended["stderr"] == f"policyd: the server lists more than {MAX_PAGES} pages\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "name one server: `--http URL`, or `-- COMMAND...`"),
        (("--http", "http://127.0.0.1/", "--", "x"), "name one server"),
        (("--http", "ftp://127.0.0.1/"), "`target` is no http or https URL"),
        (("--http", "http://127.0.0.1/", "--header", "x"), "`--header` takes NAME:VALUE"),
        (("--header", "a: b", "--", "x"), "`headers` go with a URL only"),
        (("-o", "other.yaml", "--http", "http://127.0.0.1/"), "`other.yaml` exists"),
        (("-o", ".", "--http", "http://127.0.0.1/"), "`.` exists"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(
    policyd: RunCommand,
    words: tuple[str, ...],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.yaml").write_text("policyd: v1\n")
    ended = policyd("schema", "import", *words)
    assert ended["exit"] == 2
    assert problem in ended["stderr"]


def test_a_server_that_cannot_be_reached_is_named_as_the_reason(policyd: RunCommand) -> None:
    ended = policyd("schema", "import", "-o", "-", "--", sys.executable, "-c", "")
    assert ended["exit"] == 1
    assert ended["stderr"].startswith("policyd: ")


def test_a_file_in_a_directory_that_does_not_exist_cannot_be_written(
    policyd: RunCommand, server: Path, tmp_path: Path
) -> None:
    output = str(tmp_path / "none" / "tools.yaml")
    ended = policyd("schema", "import", "-o", output, "--", sys.executable, str(server))
    assert ended["exit"] == 2
    assert "cannot be written" in ended["stderr"]
