"""One case, run: what a policy set decides, or which diagnostics it gives, held against `then`.

How to answer the other kinds of cases (a JSON-RPC call, a command line) is handed in, so that
nothing here knows a server or a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from policyd.compiler import compile_bundle
from policyd.errors import InvocationError
from policyd.model import Direction, Invocation
from policyd.snapshot import unmatched
from policyd.testing.cases import Case, CaseFile, CaseKind
from policyd.testing.comparison import (
    answer_problems,
    decision_problems,
    diagnostic_problems,
    output_problems,
)

Answer = Callable[[CaseFile, Mapping[str, Any]], Mapping[str, Any]]
"""From the `when` of a case to what came of it, as JSON.

wire: `{"result": ...}` or `{"error": ...}`.  cli: `{"exit": 0, "stdout": "...", "stderr": "..."}`.
"""

NO_ANSWERS: Mapping[CaseKind, Answer] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went.

    file, line: where the case stands.
    problems: every difference, in words for the author of the policy; none when it passed.
    """

    file: str
    line: int
    name: str
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when everything was as expected."""
        return not self.problems


def run_case_file(
    case_file: CaseFile, answers: Mapping[CaseKind, Answer] = NO_ANSWERS
) -> tuple[CaseResult, ...]:
    """Run every case of a file, in order."""
    return tuple(run_case(case_file, case, answers) for case in case_file.cases)


def run_case(
    case_file: CaseFile, case: Case, answers: Mapping[CaseKind, Answer] = NO_ANSWERS
) -> CaseResult:
    """Run one case of a file.

    *answers* says how to answer the kinds `wire` and `cli`; without, such a case fails.
    """
    if case.kind is CaseKind.COMPILE:
        diagnostics = compile_bundle(case_file.bundle).diagnostics
        problems = diagnostic_problems(case.then["diagnostics"], diagnostics)
    elif case.kind is CaseKind.DECIDE:
        problems = _decide(case_file, case)
    elif case.kind not in answers:
        problems = (f"nothing here can answer a case of the kind `{case.kind}`",)
    else:
        answer = answers[case.kind](case_file, case.when)
        compare = answer_problems if case.kind is CaseKind.WIRE else output_problems
        problems = compare(case.then, answer)
    return CaseResult(case_file.name, case.line, case.name, problems)


def _decide(case_file: CaseFile, case: Case) -> tuple[str, ...]:
    assert case_file.snapshot is not None, "loading compiles what a case of this kind needs"
    when = case.when
    invocation = Invocation(
        event=when["event"],
        phase=when["phase"],
        payload=when["payload"],
        context=when.get("context", {}),
        config=when.get("config", {}),
        direction=Direction(when["direction"]) if "direction" in when else None,
        invoker=when.get("invoker"),
    )
    try:
        decision = case_file.snapshot.decide(invocation)
    except InvocationError as error:
        reason = error.data.get("reason", error.message)
        return (f"the invocation is refused: {reason}",)
    if not decision.outcomes:
        # it would pass whatever the policies say
        return (unmatched(when["event"], when["phase"]),)
    return decision_problems(case.then, decision)
