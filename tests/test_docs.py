"""What the documents show is tried: policies compile, cases hold, the embedding runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from policyd.compiler import compile_bundle
from policyd.detectors import DETECTORS, GROUPS
from policyd.diagnostics import Report
from policyd.settings import parse_settings
from policyd.source import SourceFile, make_bundle
from policyd.testing import load_cases, run_case

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document: Path, language: str) -> list[str]:
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def policies() -> list[object]:
    found: list[object] = []
    for document in DOCUMENTS:
        for number, block in enumerate(blocks(document, "yaml")):
            if re.search("^policyd: v1", block, re.MULTILINE):
                found.append(pytest.param(block, id=f"{document.name}-{number}"))
    return found


@pytest.mark.parametrize("text", policies())
def test_a_policy_that_is_shown_compiles_without_a_warning(text: str) -> None:
    assert compile_bundle(make_bundle({"p.yaml": text})).diagnostics == ()


def test_the_settings_that_are_shown_are_settings() -> None:
    found = [
        block for page in DOCUMENTS for block in blocks(page, "yaml") if "settings: v1" in block
    ]
    for text in found:
        report = Report()
        parse_settings(SourceFile("policyd.yaml", text.encode()), report)
        assert report.diagnostics == ()
    assert found


def test_the_cases_that_are_shown_hold_for_the_policy_above_them(tmp_path: Path) -> None:
    shown = blocks(ROOT / "docs" / "policies.md", "yaml")
    (policy,) = (block for block in shown if "no-destructive-shell" in block)
    (cases,) = (block for block in shown if "cases:" in block)
    (tmp_path / "shell.yaml").write_text(policy)
    path = tmp_path / "shell_test.yaml"
    path.write_text(cases)
    case_file = load_cases(path).case_file
    assert case_file is not None
    assert [run_case(case_file, case).problems for case in case_file.cases] == [()]


def test_the_embedding_that_the_readme_shows_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = (block for block in blocks(ROOT / "README.md", "python") if ".decide(" in block)
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue().startswith("destructive-shell recursive-delete /arguments ")


CHAINS = blocks(ROOT / "docs" / "chains.md", "python")


def test_the_middleware_that_the_readme_shows_is_the_one_of_the_guide() -> None:
    (code,) = (b for b in blocks(ROOT / "README.md", "python") if "install_server(" in b)
    assert code in CHAINS


@pytest.mark.parametrize("code", CHAINS, ids=range(len(CHAINS)))
def test_every_program_of_the_guide_to_chains_runs(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, "chains.md", "exec"), {})


def test_the_chain_that_the_guide_shows_judges(
    serve: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = (block for block in CHAINS if "add_server" in block)
    monkeypatch.chdir(ROOT)
    running = serve(["policies/", "--http", "127.0.0.1:0"])
    names: dict[str, Any] = {}
    try:
        exec(compile(code.replace("http://127.0.0.1:8765/mcp", running.url), "x", "exec"), names)
        call = {"name": "shell", "arguments": {"command": "rm -rf /"}}
        result = anyio.run(names["judge"], call)
    finally:
        running.stop()
    assert result["status"] == "validation_failed"


def test_every_test_that_the_documents_name_exists() -> None:
    missing = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for path, name in re.findall(r"`(tests/[\w/.-]+\.(?:py|yaml))(?:::(\w+))?`", text):
            file = ROOT / path
            if not file.exists() or (name and f"def {name}(" not in file.read_text("utf-8")):
                missing.append(f"{path}::{name}")
    assert missing == []


def test_every_detector_and_group_is_documented() -> None:
    text = (ROOT / "docs" / "detectors.md").read_text(encoding="utf-8")
    assert [name for name in (*DETECTORS, *GROUPS) if f"`{name}`" not in text] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 170


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_inside_of_the_repository_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [t for t in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in t]
    missing = [target for target in targets if not (document.parent / target).exists()]
    assert missing == []
