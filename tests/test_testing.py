"""Case files are run: decisions, diagnostics, and kinds whose answers are handed in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policyd.testing import (
    Answer,
    CaseFile,
    CaseKind,
    CaseResult,
    load_cases,
    run_case_file,
)

POLICY = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request}
    configSchema:
      properties: {limit: {type: integer, default: 9}}
    rules:
      - id: no-rm
        deny: args.command.contains("rm ")
        message: no rm
      - id: short
        require: size(args.command) < config.limit
        severity: warn
        message: too long
"""


def loaded(folder: Path, cases: str, policy: str = POLICY) -> CaseFile:
    (folder / "shell.yaml").write_text(policy)
    path = folder / "shell_test.yaml"
    path.write_text(cases)
    case_file = load_cases(path).case_file
    assert case_file is not None, load_cases(path).diagnostics
    return case_file


def results(
    folder: Path, cases: str, answers: Mapping[CaseKind, Answer] | None = None
) -> list[tuple[str, ...]]:
    case_file = loaded(folder, cases)
    return [result.problems for result in run_case_file(case_file, answers or {})]


def test_each_case_has_a_result_with_its_place(tmp_path: Path) -> None:
    case_file = loaded(
        tmp_path,
        """\
cases:
  - name: rm is refused
    when:
      event: tools/call
      phase: request
      payload: {name: shell, arguments: {command: rm x}}
    then: {allowed: false, findings: [{rule: no-rm, severity: error}]}
  - name: ls is refused
    when:
      event: tools/call
      phase: request
      payload: {name: shell, arguments: {command: ls}}
    then: {allowed: false}
""",
    )
    file = str(tmp_path / "shell_test.yaml")
    passed = CaseResult(file, 3, "rm is refused")
    problems = ("expected the payload to be denied, it is allowed",)
    assert run_case_file(case_file) == (passed, CaseResult(file, 9, "ls is refused", problems))
    assert [result.passed for result in run_case_file(case_file)] == [True, False]


def test_a_rule_that_cannot_be_evaluated_shows_its_reason(tmp_path: Path) -> None:
    ((problem,),) = results(
        tmp_path,
        """\
when: {event: tools/call, phase: request, payload: {name: shell}}
then: {allowed: false}
""",
    )
    place = f"{tmp_path}/shell.yaml:9:15"
    assert (
        problem == f"`shell` could not be evaluated: {place}: rule `no-rm`: no such key `command`"
    )


def test_context_config_and_direction_reach_the_policies(tmp_path: Path) -> None:
    problems = results(
        tmp_path,
        """\
when:
  event: tools/call
  phase: request
  direction: sending
  context: {principal: {type: user, id: ada}}
  config: {shell: {limit: 3}}
  payload: {name: shell, arguments: {command: long}}
then: {allowed: true, findings: [{rule: short}], unchanged: true}
""",
    )
    assert problems == [()]


def test_a_config_that_breaks_its_schema_is_told(tmp_path: Path) -> None:
    ((problem,),) = results(
        tmp_path,
        """\
when:
  event: tools/call
  phase: request
  config: {shell: {limit: none}}
  payload: {name: shell, arguments: {command: ls}}
then: {allowed: true}
""",
    )
    reason = "the config of `shell` does not meet its configSchema at `/limit`"
    assert problem == f"the invocation is refused: {reason}"


def test_a_compile_case_compares_diagnostics(tmp_path: Path) -> None:
    text = """\
policies:
  p.yaml: |
    policyd: v1
    validtors: []
diagnostics:
  - p.yaml:2:1 error[unknown-field] unknown field `validtors`
"""
    assert results(tmp_path, text) == [()]
    assert results(tmp_path, text.replace(":2:1", ":2:9")) == [
        (
            "expected the diagnostic `p.yaml:2:9 error[unknown-field] unknown field `validtors``, "
            "there is none",
            "expected no diagnostic `p.yaml:2:1 error[unknown-field] unknown field `validtors``, "
            "there is one",
        )
    ]


def answered(case_file: CaseFile, when: Mapping[str, Any]) -> Mapping[str, Any]:
    assert case_file.snapshot is not None
    return {"result": {"asked": when["method"], "count": len(case_file.snapshot.interceptors)}}


def ran(_case_file: CaseFile, when: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"exit": len(when["args"]), "stdout": "", "stderr": ""}


def test_other_kinds_are_answered_by_what_is_handed_in(tmp_path: Path) -> None:
    call = "when: {method: ping}\nthen: {result: {asked: ping, count: 1}}\n"
    command = "when: {args: [check, x]}\nthen: {exit: 2}\n"
    answers: dict[CaseKind, Answer] = {CaseKind.WIRE: answered, CaseKind.CLI: ran}
    assert results(tmp_path, call, answers) == [()]
    assert results(tmp_path, command, answers) == [()]
    assert results(tmp_path, command.replace("exit: 2", "exit: 0"), answers) == [
        ("expected exit code 0, it is 2",)
    ]
    assert results(tmp_path, call) == [("nothing here can answer a case of the kind `wire`",)]
