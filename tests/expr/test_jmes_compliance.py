"""The compliance cases of JMESPath, where they lie beside the repository."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.jmes import JmesProgram, compile_jmespath
from policyd.expression import Budget

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "corpora" / "jmespath"
FILES = (
    "basic", "benchmarks", "boolean", "current", "escape", "filters", "functions", "identifiers",
    "indices", "literal", "multiselect", "pipe", "slice", "syntax", "unicode", "wildcard",
)  # fmt: skip

TOO_LARGE = ("sum([z, sum([y, sum(", "a[*].b[*].c[*].d[*]")
"""How the benchmarks begin that are refused: what is built may multiply, or it nests too deep."""


def outcome(expression: str, document: Any) -> Any:
    """The value, or the error as the corpus has it: none of its kinds."""
    program = compile_jmespath(expression)
    if not isinstance(program, JmesProgram):
        return EvaluationError
    try:
        return program({"payload": document}, Budget(10**6, time.monotonic() + 60))
    except EvaluationError:
        return EvaluationError


@pytest.mark.parametrize("file", FILES)
def test_the_compliance_cases_hold(file: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus is not beside the repository")
    differing = []
    for suite in json.loads((CORPUS / f"{file}.json").read_text("utf-8")):
        for case in suite["cases"]:
            found = outcome(case["expression"], suite["given"])
            # a benchmark may say nothing of its result
            wanted = EvaluationError if "error" in case else case.get("result", found)
            if case["expression"].startswith(TOO_LARGE):
                wanted = EvaluationError
            elif found is EvaluationError and "bench" in case:
                wanted = None
            if found != wanted:
                differing.append((case["expression"], wanted, found))
    assert differing == []
