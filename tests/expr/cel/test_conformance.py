"""The conformance cases of the CEL specification, where they lie beside the repository."""

from __future__ import annotations

import base64
import json
import math
import time
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.cel.values import CelType, UInt
from policyd.expression import Budget, Scope

CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpora" / "cel-spec"
EXCEPTIONS = json.loads(Path(__file__).with_name("cel_spec_exceptions.json").read_text("utf-8"))
CORE = (
    "basic", "comparisons", "conversions", "dynamic", "fields", "fp_math", "integer_math", "lists",
    "logic", "macros", "namespace", "parse", "plumbing", "string", "timestamps", "type_deduction",
)  # fmt: skip
EXTENSIONS = ("bindings_ext", "encoders_ext", "macros2", "math_ext", "optionals", "string_ext")
DOCUMENT = Path(__file__).parents[3] / "docs" / "CONFORMANCE.md"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def value_of(written: dict[str, Any]) -> Any:
    """The value that the corpus writes as `{type: value}`."""
    ((kind, value),) = written.items()
    if kind == "double":
        return float(value)
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "list":
        return [value_of(item) for item in value]
    if kind == "map":
        return {value_of(key): value_of(item) for key, item in value}
    if kind in ("timestamp", "duration"):
        length = (value["seconds"] * 10**6 + value["nanos"] // 1000) * MICROSECOND
        return EPOCH + length if kind == "timestamp" else length
    if kind == "uint":
        return UInt(value)
    return CelType(value) if kind == "type" else value


def typed(value: Any) -> Any:
    """*value* so that `==` tells types apart, and NaN equals itself."""
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, dict):
        return {(type(key), key): typed(item) for key, item in value.items()}
    return type(value), "NaN" if isinstance(value, float) and math.isnan(value) else value


def passes(case: dict[str, Any]) -> bool:
    """True when the case yields its value, or is an error where it should be one."""
    bindings = {name: value_of(value) for name, value in case["bindings"].items()}
    names = frozenset({*bindings, *case.get("type_env", {})})
    program = compile_cel(case["expr"], Scope(names))
    if not isinstance(program, Program):
        return "error" in case
    try:
        found = program(bindings, Budget(10**6, time.monotonic() + 60))
    except EvaluationError:
        return "error" in case
    return "value" in case and typed(found) == typed(value_of(case["value"]))


def named(file: str, case: dict[str, Any]) -> str:
    return f"{file}/{case['section']}/{case['name']}"


@cache
def outcomes(file: str) -> list[tuple[str, bool]]:
    """The cases of *file* and whether each passes; names may be there twice.

    Those that only ask for a type are left out.
    """
    if not CORPUS.is_dir():
        pytest.skip("the corpus is not beside the repository")
    cases = json.loads((CORPUS / f"{file}.json").read_text("utf-8"))["tests"]
    return [(named(file, case), passes(case)) for case in cases if not case.get("check_only")]


def listed(*, applies: bool) -> set[str]:
    groups = [group for group in EXCEPTIONS if group["applies"] is applies]
    return {name for group in groups for name in group["cases"]}


def figures(*files: str) -> tuple[int, int, int]:
    """How many cases *files* have, how many of them apply, and how many of those pass."""
    found = [outcome for file in files for outcome in outcomes(file)]
    outside = listed(applies=False)
    applicable = [passed for name, passed in found if name not in outside]
    return len(found), len(applicable), sum(applicable)


def row(title: str, *files: str) -> str:
    """The row of the table in docs/CONFORMANCE.md."""
    cases, applicable, passed = figures(*files)
    return f"| {title} | {cases} | {applicable} | {passed} | {100 * passed / applicable:.1f} % |"


@pytest.mark.parametrize("file", [*CORE, *EXTENSIONS])
def test_the_specification_holds_but_for_the_listed_cases(file: str) -> None:
    failed = {name for name, passed in outcomes(file) if not passed}
    excepted = listed(applies=True) | listed(applies=False)
    assert failed == {name for name in excepted if name.startswith(f"{file}/")}


def test_the_share_of_cases_that_hold_is_what_the_documents_say() -> None:
    rows = [row("core", *CORE), *[row(f"`{file}`", file) for file in EXTENSIONS]]
    text = DOCUMENT.read_text("utf-8")
    assert [line for line in rows if line not in text] == []
    for files, least in ((CORE, 0.99), *[((file,), 0.95) for file in EXTENSIONS]):
        _, applicable, passed = figures(*files)
        assert passed >= least * applicable
