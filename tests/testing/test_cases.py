"""Case files: what is read from them, and everything that can be wrong in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from policyd.detectors import DETECTORS
from policyd.source import MAX_FILE_BYTES
from policyd.testing import Case, CaseKind, find_case_files, load_cases
from policyd.testing.comparison import spelled

POLICY = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request}
    rules:
      - id: no-rm
        deny: args.command.contains("rm ")
        message: no rm
"""

WHEN = "{event: tools/call, phase: request, payload: {name: shell}}"

CASES = f"""\
cases:
  - name: one
    when: {WHEN}
    then: {{allowed: true}}
  - name: two
    when: {WHEN}
    then: {{allowed: false}}
"""


def write(folder: Path, **texts: str) -> Path:
    """Files by stem; the path of the case file."""
    for stem, text in texts.items():
        (folder / f"{stem}.yaml").write_text(text)
    return folder / "shell_test.yaml"


def cases_of(path: Path) -> tuple[Case, ...]:
    loading = load_cases(path)
    assert loading.case_file is not None, loading.diagnostics
    return loading.case_file.cases


def told(path: Path) -> list[str]:
    loading = load_cases(path)
    assert loading.case_file is None
    return [spelled(each).removeprefix(f"{path.parent}/") for each in loading.diagnostics]


def test_a_case_file_is_about_the_policy_file_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path, shell=POLICY, shell_test=CASES, other="not: read")
    loading = load_cases(path)
    assert loading.case_file is not None
    assert [file.name for file in loading.case_file.bundle.files] == [str(tmp_path / "shell.yaml")]
    assert loading.case_file.snapshot is not None
    assert loading.texts == {str(path): CASES, str(tmp_path / "shell.yaml"): POLICY}
    when = {"event": "tools/call", "phase": "request", "payload": {"name": "shell"}}
    assert loading.case_file.cases == (
        Case("one", CaseKind.DECIDE, 3, when, {"allowed": True}),
        Case("two", CaseKind.DECIDE, 6, when, {"allowed": False}),
    )


def test_a_case_at_the_top_is_called_by_the_description(tmp_path: Path) -> None:
    case = f"when: {WHEN}\nthen: {{allowed: true}}\n"
    named = write(tmp_path, shell=POLICY, shell_test=f"description: rm is refused\n{case}")
    assert [each.name for each in cases_of(named)] == ["rm is refused"]
    nameless = write(tmp_path, shell_test=case)
    assert [each.name for each in cases_of(nameless)] == ["shell_test"]


def test_policies_may_stand_in_the_case_file(tmp_path: Path) -> None:
    inline = "\n".join(f"    {line}" for line in POLICY.splitlines())
    path = write(tmp_path, shell_test=f"policies:\n  p.yaml: |\n{inline}\n{CASES}")
    loading = load_cases(path)
    assert loading.case_file is not None
    assert loading.case_file.bundle.texts() == {"p.yaml": POLICY}


def test_policies_may_be_named_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", more=POLICY.replace("name: shell", "name: more"))
    path = write(tmp_path, a=POLICY, shell_test=f"policies: [a.yaml, more]\n{CASES}")
    loading = load_cases(path)
    assert loading.case_file is not None
    assert [file.name for file in loading.case_file.bundle.files] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "more" / "more.yaml"),
    ]


def test_the_policies_of_a_compile_case_are_not_compiled_yet(tmp_path: Path) -> None:
    text = "policies: {p.yaml: 'policyd: v9'}\ndiagnostics: [anything]\n"
    path = write(tmp_path, shell_test=text)
    loading = load_cases(path)
    assert loading.case_file is not None
    assert loading.case_file.snapshot is None
    assert cases_of(path) == (
        Case("shell_test", CaseKind.COMPILE, 2, {}, {"diagnostics": ["anything"]}),
    )


@pytest.mark.parametrize(
    ("when", "then", "kind", "compiled"),
    [
        (WHEN, "{allowed: true}", CaseKind.DECIDE, True),
        ("{method: interceptors/list}", "{result: {}}", CaseKind.WIRE, True),
        ("{args: [--version]}", "{exit: 0}", CaseKind.CLI, False),
    ],
)
def test_what_happens_tells_the_kind_of_a_case(
    tmp_path: Path, when: str, then: str, kind: CaseKind, compiled: bool
) -> None:
    path = write(tmp_path, shell=POLICY, shell_test=f"when: {when}\nthen: {then}\n")
    loading = load_cases(path)
    assert loading.case_file is not None
    assert [case.kind for case in loading.case_file.cases] == [kind]
    assert (loading.case_file.snapshot is not None) is compiled


def test_a_command_line_needs_no_policies(tmp_path: Path) -> None:
    path = write(tmp_path, shell_test="when: {args: [--version]}\nthen: {exit: 0}\n")
    assert [case.kind for case in cases_of(path)] == [CaseKind.CLI]


def test_samples_stand_for_made_up_values_in_keys_and_texts(tmp_path: Path) -> None:
    name = next(iter(DETECTORS))
    sample = DETECTORS[name].sample()
    text = f"""\
when:
  event: tools/call
  phase: request
  payload: {{"${{sample.{name}}}": ["a ${{sample.{name}}} b ${{sample.{name}}}", 7, "$sample"]}}
then: {{lacks: ["${{sample.{name}}}"]}}
"""
    (case,) = cases_of(write(tmp_path, shell=POLICY, shell_test=text))
    assert case.when["payload"] == {sample: [f"a {sample} b {sample}", 7, "$sample"]}
    assert case.then == {"lacks": [sample]}


MISTAKES: dict[str, tuple[str, list[str]]] = {
    "an unknown field": (
        f"whenn: {WHEN}\nthen: {{allowed: true}}\n",
        ["shell_test.yaml:1:1 error[unknown-field] unknown field `whenn`"],
    ),
    "an unknown field of an invocation": (
        "when: {event: tools/call, fase: request, payload: 1}\nthen: {allowed: true}\n",
        ["shell_test.yaml:1:27 error[unknown-field] unknown field `fase`"],
    ),
    "an unknown field of a case": (
        f"cases:\n  - name: a\n    when: {WHEN}\n    then: {{alowed: true}}\n",
        ["shell_test.yaml:4:12 error[unknown-field] unknown field `alowed`"],
    ),
    "a decision expected of a command": (
        "when: {args: [check]}\nthen: {allowed: true}\n",
        [
            "shell_test.yaml:2:1 error[missing-field] `exit` is missing",
            "shell_test.yaml:2:8 error[unknown-field] unknown field `allowed`",
        ],
    ),
    "no case": (
        "description: nothing\n",
        ["shell_test.yaml:1:1 error[missing-field] the file holds no case"],
    ),
    "a case and several": (
        f"when: {WHEN}\nthen: {{allowed: true}}\n{CASES}",
        [
            "shell_test.yaml:3:1 error[conflicting-fields] a case file has `when` or `cases`, "
            "not both"
        ],
    ),
    "half a case": (
        f"when: {WHEN}\n",
        ["shell_test.yaml:1:1 error[missing-field] `when` needs a `then` beside it"],
    ),
    "the other half beside cases": (
        f"{CASES}then: {{allowed: true}}\n",
        ["shell_test.yaml:8:1 error[missing-field] `then` needs a `when` beside it"],
    ),
    "a name twice": (
        CASES.replace("name: two", "name: one"),
        ["shell_test.yaml:5:11 error[name-taken] the name `one` is taken: line 2 has it"],
    ),
    "an unknown detector in a text": (
        f"when: {WHEN}\nthen:\n  contains:\n    - a ${{sample.credit-car}}\n",
        ["shell_test.yaml:4:18 error[unknown-detector] unknown detector `credit-car`"],
    ),
    "an unknown detector in a key": (
        "when:\n  event: tools/call\n  phase: request\n  payload:\n    '${sample.x}': 1\n"
        "then: {allowed: true}\n",
        ["shell_test.yaml:5:5 error[unknown-detector] unknown detector `x`"],
    ),
    "a policy file that is not there": (
        f"policies: [shell.yaml, gone.yaml]\n{CASES}",
        ["shell_test.yaml:1:24 error[missing-path] there is no `gone.yaml` beside this file"],
    ),
    "no YAML": (
        "cases: [\n",
        ["shell_test.yaml:2:1 error[yaml-syntax] "],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_with_their_places(tmp_path: Path, mistake: str) -> None:
    text, expected = MISTAKES[mistake]
    found = told(write(tmp_path, shell=POLICY, shell_test=text))
    assert len(found) == len(expected)
    for line, wanted in zip(found, expected, strict=True):
        assert line.startswith(wanted)


def test_a_case_file_without_its_policy_file_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, shell_test=CASES)
    assert told(path) == [
        "shell_test.yaml:1:1 error[missing-path] there is no `shell.yaml` beside this file"
    ]


def test_a_case_file_with_a_name_of_its_own_must_name_its_policies(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(CASES)
    assert told(tmp_path / "cases.yaml") == [
        "cases.yaml:1:1 error[missing-path] there is no `cases.yaml` beside this file"
    ]


def test_policies_that_do_not_compile_are_told_at_their_own_place(tmp_path: Path) -> None:
    path = write(tmp_path, shell=POLICY.replace("deny", "dney"), shell_test=CASES)
    assert told(path)[0].startswith("shell.yaml:7:9 error[unknown-field] unknown field `dney`")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shell_test.yaml"
    assert told(path) == ["shell_test.yaml:1:1 error[unreadable-file] no such file or directory"]
    os.mkfifo(path)
    assert told(path) == ["shell_test.yaml:1:1 error[unreadable-file] this is not a regular file"]


def test_a_file_that_is_too_large_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shell_test.yaml"
    path.write_bytes(b"# much too long\n" * (MAX_FILE_BYTES // 16 + 1))
    (line,) = told(path)
    assert line.startswith("shell_test.yaml:1:1 error[too-large] ")


def test_case_files_are_found_below_directories_and_beside_policies(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / ".git").mkdir()
    files: list[Any] = [
        tmp_path / "b_test.yml",
        tmp_path / "more" / "a_test.yaml",
        tmp_path / "shell_test.yaml",
    ]
    for file in [*files, tmp_path / ".git" / "c_test.yaml", tmp_path / ".d_test.yaml"]:
        file.write_text(CASES)
    write(tmp_path, shell=POLICY, alone=POLICY)
    assert find_case_files([tmp_path]) == tuple(files)
    assert find_case_files([tmp_path / "shell.yaml"]) == (tmp_path / "shell_test.yaml",)
    assert find_case_files([tmp_path / "shell_test.yaml", tmp_path / "shell.yaml"]) == (
        tmp_path / "shell_test.yaml",
    )
    assert find_case_files([tmp_path / "alone.yaml"]) == ()
