"""`policyd test`: whether policies do what their case files say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from policyd.cli.coverage import annotate_coverage, coverage_to_json, say_coverage
from policyd.cli.exits import Exit
from policyd.cli.policies import compile_paths, format_option, load_evidence, paths_argument
from policyd.cli.render import (
    BAD,
    GOOD,
    Format,
    counted,
    examples,
    say,
    say_diagnostics,
    say_json,
    workflow_command,
)
from policyd.diagnostics import Diagnostic, Level, diagnostic_to_json
from policyd.testing import CaseResult, Coverage, cover, find_case_files, run_case_file

_NO_CASES = """\
no case file was found: it stands beside NAME.yaml, is called NAME_test.yaml, and looks like this:

  cases:
    - name: deleting everything is refused
      when:
        event: tools/call
        phase: request
        payload: {name: shell, arguments: {command: rm -rf /}}
      then: {allowed: false, findings: [{rule: no-rm-rf}]}"""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of all case files: results, what does not compile, and, if asked, coverage."""

    results: tuple[CaseResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: dict[str, str]
    coverage: Coverage | None = None

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        return len(self.results) - self.passed

    @property
    def broken(self) -> bool:
        return any(diagnostic.level is Level.ERROR for diagnostic in self.diagnostics)


@click.command(
    "test",
    short_help="Run the case files beside policies.",
    epilog=examples(
        "policyd test policies/",
        'policyd test --coverage --filter "rm -rf" policies/shell.yaml',
    ),
)
@paths_argument
@format_option(Format.TEXT, Format.JSON, Format.GITHUB)
@click.option("--filter", "wanted", default="", help="Run only cases with this text in their name.")
@click.option("--coverage", is_flag=True, help="Show which rules and branches the cases reach.")
def command(paths: Sequence[Path], format: Format, wanted: str, coverage: bool) -> Exit:
    """Run every case file (`NAME_test.yaml`) at or below each PATH.

    A case says what happens (`when`) and what must come of it (`then`); `policyd schema case`
    prints all that it can hold. Only what fails is shown. The exit code is 4 when a case fails,
    3 when policies or case files do not compile, and 2 when there is no case at all: tests
    that do not run must not look like tests that pass.

    With --coverage, each rule is shown with the number of cases in which it fired and did not,
    and each part of an expression that something depends on (an operand of && and ||, the
    condition of ?:, the body of a macro, `when`) that was never true or never false. That
    changes no exit code; `policyd check --prove` asks for more and does.
    """
    if not find_case_files(paths):
        raise click.UsageError(_NO_CASES)
    outcome = _run(paths, wanted.casefold(), coverage)
    if not outcome.results and not outcome.broken:
        raise click.UsageError(f"no case has `{wanted}` in its name")
    _SAY[format](outcome)
    if outcome.broken:
        return Exit.BROKEN_POLICIES
    return Exit.FAILED_TESTS if outcome.failed else Exit.FINE


def _run(paths: Sequence[Path], wanted: str, coverage: bool) -> _Outcome:
    # the policies as one set: a file without cases, or a name taken twice, is no pass either
    bundle, compilation = compile_paths(paths, allow_empty=True)
    own = () if compilation.snapshot is not None else compilation.diagnostics
    evidence = load_evidence(paths)
    case_files = [
        replace(file, cases=tuple([c for c in file.cases if wanted in c.name.casefold()]))
        for file in evidence.case_files
    ]
    results = [result for file in case_files for result in run_case_file(file)]
    measured = compilation.snapshot is not None and coverage
    return _Outcome(
        tuple(results),
        (*own, *evidence.without(own)),
        {**bundle.texts(), **evidence.texts},
        cover(bundle, case_files) if measured else None,
    )


def _say_text(outcome: _Outcome) -> None:
    say_diagnostics(outcome.diagnostics, outcome.texts, err=True)
    for result in _failures(outcome):
        say(f"{result.file}:{result.line}: failed: {result.name}", BAD)
        for problem in result.problems:
            say(f"  {problem}")
    if outcome.coverage is not None:
        say_coverage(outcome.coverage)
    say(_summary(outcome), BAD if outcome.failed or outcome.broken else GOOD)


def _summary(outcome: _Outcome) -> str:
    told = f"{outcome.passed} passed, {outcome.failed} failed"
    if not outcome.broken:
        return told
    errors = sum(diagnostic.level is Level.ERROR for diagnostic in outcome.diagnostics)
    return f"{told}, {counted(errors, 'error')} in policies or case files"


def _say_json(outcome: _Outcome) -> None:
    covered = outcome.coverage
    say_json(
        {
            "passed": outcome.passed,
            "failed": outcome.failed,
            "results": [_result_to_json(result) for result in outcome.results],
            "diagnostics": [diagnostic_to_json(each) for each in outcome.diagnostics],
            **({} if covered is None else {"coverage": coverage_to_json(covered)}),
        }
    )


def _result_to_json(result: CaseResult) -> dict[str, Any]:
    return {
        "file": result.file,
        "line": result.line,
        "name": result.name,
        "passed": result.passed,
        "problems": list(result.problems),
    }


def _say_github(outcome: _Outcome) -> None:
    say_diagnostics(outcome.diagnostics, outcome.texts, Format.GITHUB)
    for result in _failures(outcome):
        place = {"file": result.file, "line": result.line, "title": result.name}
        say(workflow_command("error", place, "\n".join(result.problems)))
    if outcome.coverage is not None:
        annotate_coverage(outcome.coverage)


def _failures(outcome: _Outcome) -> Iterator[CaseResult]:
    return (result for result in outcome.results if not result.passed)


_SAY = {Format.TEXT: _say_text, Format.JSON: _say_json, Format.GITHUB: _say_github}
