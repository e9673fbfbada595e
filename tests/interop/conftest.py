"""Chains that others wrote, or our restatements of them, attached to `policyd serve`.

Each program (`go/`, `node/v1.mjs`, `node/v2.mjs`, `python/`) is one process that holds any
number of chains and is asked in JSON lines.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.conftest import Process, Running

HERE = Path(__file__).parent
GO, NODE, POLICIES = HERE / "go", HERE / "node", HERE / "policies"

BUILD_SECONDS = 600.0
"""The first build compiles the Go SDK."""


class Kind(NamedTuple):
    """What a program is asked to be.

    decoder: the generation of what reads descriptors, which only Go has two of.
    """

    program: str
    era: str = ""
    transport: str = "http"
    decoder: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, self))

    @property
    def options(self) -> dict[str, str]:
        """Members of a question that not every program knows."""
        return {"decoder": self.decoder} if self.decoder else {}


KINDS = (
    Kind("go", "legacy", decoder="hook"),
    Kind("go", "legacy", decoder="hooks"),
    Kind("go", "auto", decoder="hooks"),
    Kind("v1", "legacy"),
    Kind("v2", "legacy"),
    Kind("v2", "auto"),
    Kind("python", "legacy"),
    Kind("python", "auto"),
    Kind("python", "legacy", "stdio"),
    Kind("python", "auto", "stdio"),
)

READERS = tuple(
    Kind(program, transport="", decoder=decoder)
    for program, decoder in (("go", "hook"), ("go", "hooks"), ("python", ""), ("v1", ""))
)

TOOLS = {"go": "go", "v1": "node", "v2": "node"}


def _marked(kind: Kind) -> Any:
    """*kind*, skipped where its tool is missing, unless it must be there."""
    tool = TOOLS.get(kind.program)
    missing = tool is not None and shutil.which(tool) is None and "CI" not in os.environ
    skip = pytest.mark.skipif(missing, reason=f"{tool} is not installed")
    return pytest.param(kind, id=str(kind), marks=skip)


class Program:
    """A process that is asked in JSON lines."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def ask(self, op: str, **members: Any) -> dict[str, Any]:
        """The answer to one question."""
        stdin, stdout = self.process.process.stdin, self.process.process.stdout
        assert stdin is not None
        assert stdout is not None
        with self.process.bounded():
            stdin.write(json.dumps({"op": op, **members}) + "\n")
            stdin.flush()
            line = stdout.readline()
        assert line, "\n".join(self.process.log)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> int:
        """The exit code after the end of the input."""
        assert self.process.process.stdin is not None
        self.process.process.stdin.close()
        return self.process.wait()


class Chain:
    """A chain of one kind that is attached to a server.

    server: the process whose log is that of the server.
    attached: `protocol`, and from Node also `server` and `capabilities`.
    """

    def __init__(self, kind: Kind, program: Program, directory: Path, served: Running) -> None:
        self.kind = kind
        self.program = program
        self.server: Process = served
        target: dict[str, Any] = {"url": served.url}
        if kind.transport == "stdio":
            self.server = program.process
            serve = ["-m", "policyd", "serve", "--stdio", str(directory)]
            target = {"command": [sys.executable, *serve]}
        self.attached = program.ask("attach", era=kind.era, **target, **kind.options)
        assert "error" not in self.attached, self.attached

    def execute(self, payload: Any, **changed: Any) -> dict[str, Any]:
        """How a request of `tools/call` went, or of what *changed* says."""
        asked = {"event": "tools/call", "phase": "request", "payload": payload, **changed}
        return self._ask("execute", **asked)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """How a call of a tool went."""
        return self.execute({"name": name, "arguments": arguments})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """`{"result": ...}` or `{"refusal": {code, message, data}}`; for Node only."""
        return self._ask("ask", method=method, params=params)

    def detach(self) -> None:
        """End the session."""
        assert self._ask("detach") == {}

    def _ask(self, op: str, **members: Any) -> dict[str, Any]:
        return self.program.ask(op, chain=self.attached["chain"], **members)


Programs = Callable[[str], Program]
Attach = Callable[..., Chain]


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the Go program; go.sum says what it is built from."""
    target = tmp_path_factory.mktemp("go") / "interop"
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    _run(["go", "build", "-o", str(target), "."], GO, environment)
    return [str(target)]


@pytest.fixture(scope="session")
def install() -> Callable[[Path], None]:
    """Installs the node packages of a folder, in the versions that its package.json names."""

    def install(folder: Path) -> None:
        wanted = json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
        if {name: _version(folder, name) for name in wanted} != wanted:
            _run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], folder)
        assert {name: _version(folder, name) for name in wanted} == wanted

    return install


@pytest.fixture(scope="session")
def node_modules(install: Callable[[Path], None]) -> Path:
    """Where the Node clients are."""
    install(NODE)
    return NODE


def _version(folder: Path, name: str) -> str | None:
    manifest = folder / "node_modules" / name / "package.json"
    if not manifest.exists():
        return None
    version: str = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    return version


def _run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, launch: type[Process]) -> Iterator[Programs]:
    """Programs by name, started when first asked for; each must end with 0."""
    started: dict[str, Program] = {}

    def command(name: str) -> list[str]:
        if name == "go":
            built: list[str] = request.getfixturevalue("go_program")
            return built
        if name == "python":
            return [sys.executable, "-m", "tests.interop.python.program"]
        return ["node", str(request.getfixturevalue("node_modules") / f"{name}.mjs")]

    def program(name: str) -> Program:
        if name not in started:
            process = launch(command(name), pipe=True, directory=HERE.parents[1])
            started[name] = Program(process)
        return started[name]

    yield program
    assert {name: ended.close() for name, ended in started.items()} == dict.fromkeys(started, 0)


class Site:
    """A directory with one policy file, and a server of it."""

    def __init__(self, directory: Path, served: Running) -> None:
        self.directory = directory
        self.served = served

    def attach(self, kind: Kind, program: Program) -> Chain:
        """A chain of *kind*; over pipes it has a server of its own."""
        return Chain(kind, program, self.directory, self.served)

    def edit(self, name: str, *others: Process) -> None:
        """Put another set in force, and wait until our server and *others* say so."""
        watching = [(server, len(server.log)) for server in {self.served, *others}]
        publish(self.directory, name)
        for server, seen in watching:
            server.wait_for("is in force", after=seen)


def publish(directory: Path, name: str) -> None:
    """Make `policies/<name>.yaml` the policies of *directory*, in one step."""
    fresh = directory / ".fresh"
    shutil.copyfile(POLICIES / f"{name}.yaml", fresh)
    fresh.replace(directory / "policies.yaml")


Open = Callable[..., Site]


@pytest.fixture(scope="session")
def open_site(tmp_path_factory: pytest.TempPathFactory, serve: type[Running]) -> Iterator[Open]:
    """Serves a set of policies; each server must end with 0."""
    opened: list[Running] = []

    def begin(name: str, *options: str) -> Site:
        directory = tmp_path_factory.mktemp(name)
        publish(directory, name)
        opened.append(serve([str(directory), "--http", "127.0.0.1:0", *options]))
        return Site(directory, opened[-1])

    yield begin
    assert [running.stop() for running in opened] == [0] * len(opened)


def _chains(site: Site, programs: Programs, kind: Kind) -> Iterator[Chain]:
    attached = site.attach(kind, programs(kind.program))
    yield attached
    attached.detach()


@pytest.fixture(scope="session")
def site(open_site: Open) -> Site:
    """The server of the scenarios, which nobody edits."""
    return open_site("scenarios")


@pytest.fixture(scope="session", params=[_marked(kind) for kind in KINDS])
def chain(request: pytest.FixtureRequest, site: Site, programs: Programs) -> Iterator[Chain]:
    """A chain of each kind, attached to the server of the scenarios."""
    yield from _chains(site, programs, request.param)


@pytest.fixture(scope="session")
def sep_site(open_site: Open) -> Site:
    """The same policies, served exactly as the SEP has them."""
    return open_site("scenarios", "--dialect", "sep")


@pytest.fixture(params=[_marked(kind) for kind in KINDS if kind.transport == "http"])
def sep_chain(
    request: pytest.FixtureRequest, sep_site: Site, programs: Programs
) -> Iterator[Chain]:
    """A chain of each kind, attached to a server that speaks the dialect of the SEP."""
    yield from _chains(sep_site, programs, request.param)


@pytest.fixture(scope="session")
def editable(open_site: Open) -> Site:
    """A server whose policies are `before.yaml`, but for the time of `edited`."""
    return open_site("before")


@pytest.fixture(params=[_marked(kind) for kind in KINDS if kind.transport == "http"])
def before(request: pytest.FixtureRequest, editable: Site, programs: Programs) -> Iterator[Chain]:
    """A chain of each kind, attached while nothing is edited."""
    yield from _chains(editable, programs, request.param)


@pytest.fixture(scope="session", params=[_marked(kind) for kind in KINDS])
def edited(request: pytest.FixtureRequest, editable: Site, programs: Programs) -> Iterator[Chain]:
    """A chain of each kind that was attached before the policies became `after.yaml`."""
    for attached in _chains(editable, programs, request.param):
        editable.edit("after", attached.server)
        yield attached
    editable.edit("before")


@pytest.fixture(params=[_marked(kind) for kind in READERS])
def reader(request: pytest.FixtureRequest) -> Kind:
    """A program that is not attached to anything, for what it makes of texts."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture(
    scope="session",
    params=[
        _marked(kind._replace(transport=transport))
        for kind in KINDS
        if kind.program in ("v1", "v2")
        for transport in ("http", "stdio")
    ],
)
def node(request: pytest.FixtureRequest, site: Site, programs: Programs) -> Iterator[Chain]:
    """Each Node client over each transport."""
    yield from _chains(site, programs, request.param)
