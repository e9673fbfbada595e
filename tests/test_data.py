"""Behaviour as data: every case of `testdata`, run by the code that runs `policyd test`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from policyd.engine import Engine
from policyd.errors import InvocationError
from policyd.server.methods import Methods
from policyd.testing import Answer, Case, CaseFile, CaseKind, load_cases, run_case
from policyd.wire import Dialect

TESTDATA = Path(__file__).parent / "testdata"

FOLDERS = ("compile", "decide", "wire", "cli", "cases")

METHOD_NOT_FOUND = -32601


def call(case_file: CaseFile, when: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a server answers to a JSON-RPC call."""
    assert case_file.snapshot is not None
    methods = Methods(Engine(case_file.snapshot), Dialect(when.get("dialect", "universal")))
    method = methods.table().get(when["method"])
    if method is None:
        return {"error": {"code": METHOD_NOT_FOUND}}
    try:
        return {"result": anyio.run(method, when.get("params"))}
    except InvocationError as error:
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}


def run_command(
    folder: Path, run: Callable[..., dict[str, Any]], case_file: CaseFile, when: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What a command line does in *folder*, where the files of the case are put first."""
    files = {**case_file.bundle.texts(), **when.get("files", {})}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return run(*when["args"], stdin=when.get("stdin", ""))


def cases() -> Iterator[Any]:
    for path in sorted(path for folder in FOLDERS for path in (TESTDATA / folder).glob("*.yaml")):
        name = str(path.relative_to(TESTDATA).with_suffix(""))
        loading = load_cases(path)
        if loading.case_file is None:
            told = "\n".join(map(str, loading.diagnostics))
            yield pytest.param(None, told, id=name)
            continue
        for case in loading.case_file.cases:
            yield pytest.param(loading.case_file, case, id=f"{name}: {case.name}")


@pytest.mark.parametrize(("case_file", "case"), list(cases()))
def test_the_case_holds(
    case_file: CaseFile | None,
    case: Case | str,
    policyd: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if case_file is None or isinstance(case, str):
        pytest.fail(f"the case file does not compile\n{case}")
    monkeypatch.chdir(tmp_path)
    answers: dict[CaseKind, Answer] = {
        CaseKind.WIRE: call,
        CaseKind.CLI: partial(run_command, tmp_path, policyd),
    }
    result = run_case(case_file, case, answers)
    if not result.passed:
        problems = textwrap.indent("\n".join(result.problems), "  ")
        pytest.fail(f"{result.file}:{result.line}: {result.name}\n{problems}", pytrace=False)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_kind_of_behaviour_has_cases(folder: str) -> None:
    assert list((TESTDATA / folder).glob("*.yaml"))
