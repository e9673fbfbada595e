from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from policyd.schema import schema_text

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=120)
    (built,) = out.glob("policyd-*.whl")
    return zipfile.ZipFile(built)


@pytest.mark.parametrize("name", ["policy", "case", "settings"])
def test_the_wheel_carries_the_schemas(wheel: zipfile.ZipFile, name: str) -> None:
    packed = wheel.read(f"policyd/_schemas/{name}.v1.schema.json").decode()
    assert packed == schema_text(name)


def test_the_wheel_carries_what_mcp_says_of_payloads(wheel: zipfile.ZipFile) -> None:
    beside = ROOT / "policyd" / "types" / "mcp.json"
    assert wheel.read("policyd/types/mcp.json") == beside.read_bytes()


def test_the_wheel_carries_the_starter_files_and_the_typing_mark(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    starter = {f"policyd/cli/starter/{path.name}" for path in STARTER.iterdir()}
    assert {"policyd/py.typed", *starter} <= names


STARTER = ROOT / "policyd" / "cli" / "starter"


def test_the_wheel_carries_no_tests(wheel: zipfile.ZipFile) -> None:
    assert not [name for name in wheel.namelist() if name.startswith(("tests/", "policies/"))]


def test_every_example_names_the_schema_that_is_shipped() -> None:
    for path in sorted((ROOT / "policies").glob("*.yaml")):
        kind = "case" if path.stem.endswith("_test") else "policy"
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first == f"# yaml-language-server: $schema=../schemas/{kind}.v1.schema.json", path
