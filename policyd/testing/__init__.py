"""Runs case files: what `policyd test` runs, and what our own tests run.

    loading = load_cases(Path("policies/shell_test.yaml"))
    if loading.case_file is not None:
        results = run_case_file(loading.case_file)

Knows also what the cases leave open: which rules and branches they never reach (`cover`), and
which faults in a policy they would not notice (`prove`).
"""

from __future__ import annotations

from policyd.testing.cases import (
    Case,
    CaseFile,
    CaseKind,
    Loading,
    find_case_files,
    load_cases,
)
from policyd.testing.coverage import Branch, Coverage, RuleCount, cover
from policyd.testing.proof import Proof, prove
from policyd.testing.run import Answer, CaseResult, run_case, run_case_file

__all__ = [
    "Answer",
    "Branch",
    "Case",
    "CaseFile",
    "CaseKind",
    "CaseResult",
    "Coverage",
    "Loading",
    "Proof",
    "RuleCount",
    "cover",
    "find_case_files",
    "load_cases",
    "prove",
    "run_case",
    "run_case_file",
]
