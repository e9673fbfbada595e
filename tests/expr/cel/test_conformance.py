"""The conformance cases of the CEL specification, where they lie beside the repository."""

from __future__ import annotations

import base64
import json
import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel import Program, compile_cel
from policyd.expr.cel.values import CelType, UInt
from policyd.expression import Budget, Scope

CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpora" / "cel-spec"
EXCEPTIONS = json.loads(Path(__file__).with_name("cel_spec_exceptions.json").read_text("utf-8"))
FILES = (
    "basic", "comparisons", "conversions", "dynamic", "fields", "fp_math", "integer_math", "lists",
    "logic", "macros", "namespace", "parse", "plumbing", "string", "timestamps", "type_deduction",
    "string_ext", "math_ext", "encoders_ext",
)  # fmt: skip
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


@pytest.mark.parametrize("file", FILES)
def test_the_specification_holds_but_for_the_listed_cases(file: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus is not beside the repository")
    failed = {
        f"{file}/{case['section']}/{case['name']}"
        for case in json.loads((CORPUS / f"{file}.json").read_text("utf-8"))["tests"]
        if not case.get("disable_macros") and not case.get("check_only") and not passes(case)
    }
    listed = {name for group in EXCEPTIONS for name in group["cases"]}
    assert failed == {name for name in listed if name.startswith(f"{file}/")}
