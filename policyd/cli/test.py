"""`policyd test`: whether policies do what their case files say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from policyd.cli.exits import Exit
from policyd.cli.policies import compile_paths, format_option, paths_argument
from policyd.cli.render import (
    BAD,
    GOOD,
    Format,
    counted,
    diagnostic_to_json,
    examples,
    say,
    say_diagnostics,
    say_json,
    workflow_command,
)
from policyd.diagnostics import Diagnostic, Level
from policyd.testing import CaseResult, find_case_files, load_cases, run_case

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
    """What came of all case files: results, and what does not compile."""

    results: tuple[CaseResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: dict[str, str]

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
        'policyd test --filter "rm -rf" policies/shell.yaml',
    ),
)
@paths_argument
@format_option(Format.TEXT, Format.JSON, Format.GITHUB)
@click.option("--filter", "wanted", default="", help="Run only cases with this text in their name.")
def command(paths: Sequence[Path], format: Format, wanted: str) -> Exit:
    """Run every case file (`NAME_test.yaml`) at or below each PATH.

    A case says what happens (`when`) and what must come of it (`then`); `policyd schema case`
    prints all that it can hold. Only what fails is shown. The exit code is 4 when a case fails,
    3 when policies or case files do not compile, and 2 when there is no case at all: tests
    that do not run must not look like tests that pass.
    """
    files = find_case_files(paths)
    if not files:
        raise click.UsageError(_NO_CASES)
    outcome = _run(paths, files, wanted.casefold())
    if not outcome.results and not outcome.broken:
        raise click.UsageError(f"no case has `{wanted}` in its name")
    _SAY[format](outcome)
    if outcome.broken:
        return Exit.BROKEN_POLICIES
    return Exit.FAILED_TESTS if outcome.failed else Exit.FINE


def _run(paths: Sequence[Path], files: Iterable[Path], wanted: str) -> _Outcome:
    # the policies as one set: a file without cases, or a name taken twice, is no pass either
    bundle, compilation = compile_paths(paths, allow_empty=True)
    found = dict.fromkeys(compilation.diagnostics if compilation.snapshot is None else ())
    texts = bundle.texts()
    results: list[CaseResult] = []
    for file in files:
        loading = load_cases(file)
        found.update(dict.fromkeys(loading.diagnostics))
        texts.update(loading.texts)
        if loading.case_file is not None:
            results += [
                run_case(loading.case_file, case)
                for case in loading.case_file.cases
                if wanted in case.name.casefold()
            ]
    return _Outcome(tuple(results), tuple(found), texts)


def _say_text(outcome: _Outcome) -> None:
    say_diagnostics(outcome.diagnostics, outcome.texts, err=True)
    for result in _failures(outcome):
        say(f"{result.file}:{result.line}: failed: {result.name}", BAD)
        for problem in result.problems:
            say(f"  {problem}")
    say(_summary(outcome), BAD if outcome.failed or outcome.broken else GOOD)


def _summary(outcome: _Outcome) -> str:
    told = f"{outcome.passed} passed, {outcome.failed} failed"
    if not outcome.broken:
        return told
    errors = sum(diagnostic.level is Level.ERROR for diagnostic in outcome.diagnostics)
    return f"{told}, {counted(errors, 'error')} in policies or case files"


def _say_json(outcome: _Outcome) -> None:
    say_json(
        {
            "passed": outcome.passed,
            "failed": outcome.failed,
            "results": [_result_to_json(result) for result in outcome.results],
            "diagnostics": [diagnostic_to_json(each) for each in outcome.diagnostics],
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


def _failures(outcome: _Outcome) -> Iterator[CaseResult]:
    return (result for result in outcome.results if not result.passed)


_SAY = {Format.TEXT: _say_text, Format.JSON: _say_json, Format.GITHUB: _say_github}
