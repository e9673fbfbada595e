"""Whether cases prove policies: what is missing is told with its place, and nothing else is."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from policyd.compiler import read_policies
from policyd.diagnostics import Report
from policyd.source import make_bundle
from policyd.testing import CaseFile, Proof, load_cases, prove
from policyd.testing import faults as faults_module
from policyd.testing.faults import faults_in

HEAD = """\
policyd: v1
constants:
  names: [sh, bash]
  unused: [1, 2]
validators:
  - name: shell
    match: {events: [tools/call], phase: request}
    rules:
"""
RULE = "      - {id: one, deny: args.n > 1 && tool in constants.names, message: no}\n"
FIRES = "{name: bash, arguments: {n: 2}}"


def call(payload: str, then: str) -> str:
    return f"when: {{event: tools/call, phase: request, payload: {payload}}}\nthen: {then}"


def cases(*written: str) -> str:
    """A case file of cases that `call` made."""
    listed = [
        f"  - name: case {i}\n" + textwrap.indent(case, "    ") for i, case in enumerate(written)
    ]
    return "cases:\n" + "\n".join(listed)


PROVING = (
    call(FIRES, "{allowed: false}"),
    call("{name: bash, arguments: {n: 1}}", "{allowed: true}"),
    call("{name: cat, arguments: {n: 2}}", "{allowed: true}"),
)


def loaded(folder: Path, policy: str, *case_texts: str) -> list[CaseFile]:
    (folder / "shell.yaml").write_text(policy)
    files: list[CaseFile] = []
    for i, text in enumerate(case_texts):
        path = folder / (f"shell{i}_test.yaml" if i else "shell_test.yaml")
        path.write_text(text)
        case_file = load_cases(path).case_file
        assert case_file is not None, load_cases(path).diagnostics
        files.append(case_file)
    return files


def proof(folder: Path, policy: str, *case_texts: str) -> Proof:
    return prove(
        read_policies(make_bundle({"shell.yaml": policy}), Report()),
        loaded(folder, policy, *case_texts),
    )


def missing(folder: Path, policy: str, *case_texts: str) -> list[str]:
    found = proof(folder, policy, *case_texts).unproven
    return [f"{each.span.line}:{each.span.column} [{each.code}] {each.text}" for each in found]


def test_a_rule_that_fires_and_does_not_and_whose_faults_are_noticed_is_proven(
    tmp_path: Path,
) -> None:
    assert proof(tmp_path, HEAD + RULE, cases(*PROVING)) == Proof((), 1, 1, 7, 7, 0, 0)


def test_each_thing_that_no_case_shows_is_told_with_its_place_and_what_to_do(
    tmp_path: Path,
) -> None:
    found = proof(tmp_path, HEAD + RULE, cases(PROVING[1]))
    assert (found.rules, found.proven, found.faults, found.noticed) == (1, 0, 1, 0)
    assert [str(each) for each in found.unproven] == [
        "shell.yaml:3:3: error[unnoticed-fault]: no case notices a fault in `shell`: "
        "`constants.names` is cut to its first element",
        "shell.yaml:9:14: error[unproven-rule]: there is no case in which `one` fires",
    ]
    assert {each.help for each in found.unproven} == {"add a case to `shell_test.yaml`"}


def test_a_fault_that_no_case_notices_is_told_with_its_place(tmp_path: Path) -> None:
    assert missing(tmp_path, HEAD + RULE, cases(*PROVING[:2])) == [
        "9:39 [unnoticed-fault] no case notices a fault in `one`: "
        "`tool in constants.names` is dropped from `&&`"
    ]


def test_without_any_case_everything_is_unproven(tmp_path: Path) -> None:
    found = proof(tmp_path, HEAD + RULE)
    assert (found.proven, found.noticed) == (0, 0)
    assert found.unproven[-1].help == "there are no cases: write `shell_test.yaml`"
    assert "there is no case in which `one` is evaluated" in [each.text for each in found.unproven]


def test_a_rule_that_fires_in_every_case_is_not_proven(tmp_path: Path) -> None:
    told = missing(tmp_path, HEAD + RULE, cases(PROVING[0]))
    assert "9:14 [unproven-rule] there is no case in which `one` does not fire" in told


def test_a_case_that_fails_proves_nothing(tmp_path: Path) -> None:
    wrong = call(FIRES, "{allowed: true}")
    found = proof(tmp_path, HEAD + RULE, cases(wrong, *PROVING[1:]))
    assert found.failing == 1
    assert "there is no case in which `one` fires" in [each.text for each in found.unproven]


def test_cases_of_several_files_prove_together(tmp_path: Path) -> None:
    named = "policies: [shell.yaml]\n"
    found = proof(tmp_path, HEAD + RULE, cases(PROVING[0]), named + cases(*PROVING[1:]))
    assert (found.proven, found.unproven) == (1, ())


def test_cases_about_other_policies_prove_nothing(tmp_path: Path) -> None:
    other = "policies:\n  shell.yaml: |\n" + textwrap.indent(HEAD + RULE + "\n# other", "    ")
    found = proof(tmp_path, HEAD + RULE, other + "\n" + cases(*PROVING))
    assert found.proven == 0


def test_cases_of_diagnostics_and_of_other_events_are_passed_over(tmp_path: Path) -> None:
    compiles = "policies: [shell.yaml]\ndiagnostics: []\n"
    ping = "when: {event: ping, phase: request, payload: {}}\nthen: {allowed: true}"
    pinged = (
        HEAD
        + RULE
        + (
            "  - name: ping\n    match: {events: [ping], phase: request}\n    rules:\n"
            "      - {id: ping, deny: 'has(payload._meta)', message: no}\n"
        )
    )
    found = proof(tmp_path, pinged, cases(*PROVING, ping), compiles)
    assert [each.text for each in found.unproven if "`one`" in each.text] == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            "      - {id: one, detect: [email, iban], message: no}\n",
            ["9:28 the detector `email` is taken out", "9:35 the detector `iban` is taken out"],
        ),
        (
            "      - {id: one, severity: warn, deny: size(tool) > 1, message: no}\n",
            ["9:29 the severity is lowered from `warn` to `info`", "9:52 `>` becomes `<=`"],
        ),
        (
            "      - {id: one, severity: info, schema: {type: object}, message: no}\n",
            [],
        ),
        (
            "      - {id: one, severity: info, deny: {jmespath: \"name == 'a'\"}, message: no}\n",
            [],
        ),
    ],
)
def test_a_rule_has_the_faults_of_its_kind(rules: str, expected: list[str]) -> None:
    (policy,) = read_policies(make_bundle({"shell.yaml": HEAD + rules}), Report())
    faults, untried = faults_in(policy)
    told = [f"{fault.span.line}:{fault.span.column} {fault.change}" for fault in faults]
    usual = ["9:14 the rule is taken out", "9:14 the severity is lowered from `error` to `warn`"]
    assert ([each for each in told if each not in usual], untried) == (expected, 0)


def test_only_so_many_faults_of_one_expression_are_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(faults_module, "MAX_FAULTS", 1)
    assert proof(tmp_path, HEAD + RULE, cases(*PROVING)).untried == 3


GUARDED = """\
policyd: v1
validators:
  - name: shell
    match:
      events: [tools/call]
      phase: request
      tools: [sh, "bash*"]
      when: args.n > 1
    variables: {big: args.n > 5}
    rules:
      - {id: one, deny: variables.big, message: no}
"""


def test_match_and_variables_have_faults_too(tmp_path: Path) -> None:
    assert missing(
        tmp_path, GUARDED, cases(call("{name: sh, arguments: {n: 9}}", "{allowed: false}"))
    ) == [
        "7:14 [unnoticed-fault] no case notices a fault in `shell`: `tools` is widened to `*`",
        "8:7 [unnoticed-fault] no case notices a fault in `shell`: `when` is dropped",
        "11:14 [unproven-rule] there is no case in which `one` does not fire",
    ]


UNCONDITIONAL = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request, tools: [sh]}
    rules:
      - {id: one, deny: "true", message: no}
"""


def test_a_rule_without_a_condition_does_not_fire_where_match_says_no(tmp_path: Path) -> None:
    denied = call("{name: sh}", "{allowed: false}")
    other = call("{name: cat}", "{allowed: true}")
    assert missing(tmp_path, UNCONDITIONAL, cases(denied, other)) == []


def test_a_rule_without_any_condition_has_only_to_fire(tmp_path: Path) -> None:
    policy = UNCONDITIONAL.replace(", tools: [sh]", "")
    assert missing(tmp_path, policy, cases(call("{name: sh}", "{allowed: false}"))) == []


MUTATORS = """\
policyd: v1
mutators:
  - name: dry
    match: {events: [tools/call], phase: request, when: has(args.n)}
    patch:
      - {op: test, path: /name, value: sh}
      - {op: add, path: /arguments/limit, value: {cel: "args.n > 9 ? 9 : args.n"}}
  - name: hide
    match: {events: [tools/list], phase: response}
    drop: [{id: hidden, from: /tools, where: item.name == "x"}]
  - name: cover
    match: {events: [prompts/get], phase: response}
    redact:
      - {id: mail, detect: [email]}
      - {id: words, pattern: 'b[a]d', replace: gone}
"""


def response(event: str, payload: str, then: str) -> str:
    return f"when: {{event: {event}, phase: response, payload: {payload}}}\nthen: {then}"


PROVING_MUTATORS = (
    call("{name: sh, arguments: {n: 10}}", "{payload: {name: sh, arguments: {n: 10, limit: 9}}}"),
    call("{name: sh, arguments: {n: 1}}", "{payload: {name: sh, arguments: {n: 1, limit: 1}}}"),
    call("{name: cat, arguments: {n: 1}}", "{allowed: false, failed: [dry]}"),
    call("{name: sh, arguments: {}}", "{unchanged: true}"),
    response("tools/list", "{tools: [{name: x}, {name: y}]}", "{payload: {tools: [{name: y}]}}"),
    response("tools/list", "{tools: []}", "{unchanged: true}"),
    response("prompts/get", '{messages: ["a@example.com"]}', '{payload: {messages: ["[email]"]}}'),
    response("prompts/get", "{messages: [bad]}", "{payload: {messages: [gone]}}"),
)


def test_steps_of_mutators_are_proven_alike(tmp_path: Path) -> None:
    found = proof(tmp_path, MUTATORS, cases(*PROVING_MUTATORS))
    assert [str(each) for each in found.unproven] == []
    assert (found.rules, found.proven, found.failing) == (5, 5, 0)


def test_a_step_whose_work_no_case_looks_at_is_told(tmp_path: Path) -> None:
    seen = response("tools/list", "{tools: [{name: x}]}", "{allowed: true}")
    told = missing(tmp_path, MUTATORS, cases(seen, *PROVING_MUTATORS[:4], *PROVING_MUTATORS[6:]))
    assert told == [
        "10:17 [unnoticed-fault] no case notices a fault in `hidden`: the step is taken out",
        "10:17 [unproven-rule] there is no case in which `hidden` changes nothing",
        "10:56 [unnoticed-fault] no case notices a fault in `hidden`: `==` becomes `!=`",
    ]


def test_a_fault_that_would_not_load_need_not_be_noticed(tmp_path: Path) -> None:
    rule = "      - {id: one, deny: 'size(tool) in [1, 2] && !(tool == \"a\")', message: no}\n"
    (policy,) = read_policies(make_bundle({"shell.yaml": HEAD + rule}), Report())
    broken = "[1, args.nothing.at.all("
    fault = faults_module._Subject(policy, ()).edit(
        "one", policy.rules[0].node["deny"], policy.rules[0].node.span, "is broken", broken
    )
    assert fault.compile() == ()


def test_a_fault_in_a_policy_that_has_two_interceptors_is_in_both(tmp_path: Path) -> None:
    policy = MUTATORS.replace(
        "match: {events: [prompts/get], phase: response}",
        "match: {events: [prompts/get], phase: both}\n    priority: {request: 1, response: 2}",
    )
    cover = read_policies(make_bundle({"shell.yaml": policy}), Report())[2]
    made = [len(fault.compile()) for fault in faults_in(cover)[0]]
    assert made == [2, 2]
