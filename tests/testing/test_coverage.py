"""What cases reach: rules that fire and do not, and both ways of each branch."""

from __future__ import annotations

from pathlib import Path

from policyd.source import make_bundle
from policyd.testing import Coverage, cover, load_cases

POLICY = """\
policyd: v1
validators:
  - name: shell
    match: {events: [tools/call], phase: request, when: "tool != 'free'"}
    variables: {large: args.n > 5}
    rules:
      - {id: one, deny: "args.n > 1 && !(tool in ['sh', 'cat'])", message: no}
      - {id: two, deny: variables.large || true && has(args.m), message: no}
      - {id: three, deny: "args.l.exists(x, x == (has(args.m) ? 1 : 2))", message: no}
      - {id: four, deny: {jmespath: "name == 'x'"}, message: no}
mutators:
  - name: hide
    match: {events: [tools/list], phase: response}
    drop:
      - {id: hidden, from: /tools, where: "item.name == 'x'"}
"""
CASES = """\
cases:
  - name: one
    when: {event: tools/call, phase: request, payload: {name: bash, arguments: {n: 2, l: [2]}}}
    then: {allowed: false}
  - name: two
    when: {event: tools/call, phase: request, payload: {name: sh, arguments: {n: 2, l: []}}}
    then: {allowed: true}
  - name: three
    when: {event: tools/list, phase: response, payload: {tools: [{name: x}, {name: y}]}}
    then: {allowed: true}
  - name: served
    when: {method: interceptors/list}
    then: {result: {}}
"""


def covered(folder: Path, *case_texts: str) -> Coverage:
    (folder / "p.yaml").write_text(POLICY)
    files = []
    for i, text in enumerate(case_texts):
        path = folder / f"p{i}_test.yaml"
        path.write_text(f"policies: [p.yaml]\n{text}")
        case_file = load_cases(path).case_file
        assert case_file is not None, load_cases(path).diagnostics
        files.append(case_file)
    return cover(make_bundle({"p.yaml": POLICY}), files)


def rules(coverage: Coverage) -> list[tuple[str, int, int, bool]]:
    return [(each.rule, each.fired, each.silent, each.covered) for each in coverage.rules]


def test_the_cases_in_which_a_rule_fires_and_does_not_are_counted(tmp_path: Path) -> None:
    found = covered(tmp_path, CASES)
    assert rules(found) == [
        ("one", 1, 1, True),
        ("two", 0, 2, False),
        ("three", 1, 1, True),
        ("four", 0, 2, False),
        ("hidden", 1, 0, False),
    ]
    first = found.rules[0]
    assert (first.policy, first.span.file, first.span.line, first.span.column) == (
        "shell",
        "p.yaml",
        7,
        14,
    )


def test_every_part_that_something_depends_on_is_a_branch_with_both_ways(tmp_path: Path) -> None:
    branches = covered(tmp_path, CASES).branches
    assert [
        (each.span.line, each.span.column, each.what, each.of, each.true, each.false)
        for each in branches
    ] == [
        (4, 58, "tool != 'free'", "when", 2, 0),
        (7, 26, "args.n > 1", "&&", 2, 0),
        (7, 40, "!(tool in ['sh', 'cat'])", "&&", 1, 1),
        (8, 25, "variables.large", "||", 0, 2),
        (8, 44, "true && has(args.m)", "||", 0, 2),
        (8, 52, "has(args.m)", "&&", 0, 2),
        (9, 45, "x == (has(args.m) ? 1 : 2)", "exists", 1, 0),
        (9, 51, "has(args.m)", "?:", 0, 1),
        (15, 44, "item.name == 'x'", "where", 1, 1),
    ]
    assert [each.covered for each in branches] == [False, False, True, *[False] * 5, True]


def test_case_files_add_up(tmp_path: Path) -> None:
    once, twice = covered(tmp_path, CASES), covered(tmp_path, CASES, CASES)
    assert [each.fired * 2 for each in once.rules] == [each.fired for each in twice.rules]
    assert [each.true * 2 for each in once.branches] == [each.true for each in twice.branches]


def test_policies_of_other_files_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY)
    path = tmp_path / "p_test.yaml"
    path.write_text(CASES)
    case_file = load_cases(path).case_file
    assert case_file is not None
    other = POLICY.replace("name: shell", "name: other")
    counts = cover(make_bundle({"q.yaml": other}), [case_file]).rules
    assert [(each.policy, each.fired + each.silent) for each in counts] == [
        *[("other", 0)] * 4,
        ("hide", 1),
    ]
