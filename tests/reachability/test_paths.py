"""Paths that no payload of a moment can have."""

from __future__ import annotations

import pytest

from policyd.compiler import compile_bundle
from policyd.source import make_bundle

MUTATOR = """\
policyd: v1
mutators:
  - name: p
    match: {{events: [{events}], phase: {phase}{more}}}
    {change}
"""

VALIDATOR = """\
policyd: v1
validators:
  - name: p
    match: {{events: [{events}], phase: {phase}{more}}}
    rules:
      - {{id: r, message: m, {change}}}
"""


def told(change: str, moment: str, more: str = "") -> list[str]:
    """Each diagnostic as `LEVEL «WHAT IT POINTS AT» TEXT (HELP)`."""
    events, phase = moment.rsplit(" ", 1)
    form = MUTATOR if change.split(":")[0] in ("patch", "redact", "drop") else VALIDATOR
    text = form.format(change=change, events=events, phase=phase, more=more and f", {more}")
    lines = text.split("\n")
    found = []
    for diagnostic in compile_bundle(make_bundle({"p.yaml": text})).diagnostics:
        assert diagnostic.code == "no-such-place", diagnostic
        span = diagnostic.span
        part = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        line = f"{diagnostic.level} «{part}» {diagnostic.text}"
        found.append(line if diagnostic.help is None else f"{line} ({diagnostic.help})")
    return found


CALL, RESULT = "tools/call request", "tools/call response"


@pytest.mark.parametrize(
    ("moment", "change", "text"),
    [
        (
            CALL,
            "redact: [{path: /argumnts/**/ssn}]",
            "error «argumnts» no request of `tools/call` has `/argumnts`, so the rule does nothing "
            "(did you mean `arguments`?)",
        ),
        (
            CALL,
            "redact: [{detect: [email], in: [/arguments, /argumnts]}]",
            "error «argumnts» no request of `tools/call` has `/argumnts`, so nothing is looked for "
            "there (did you mean `arguments`?)",
        ),
        (
            CALL,
            "redact: [{detect: [email], except: [{cel: has(args.x)}, /nam]}]",
            "error «nam» no request of `tools/call` has `/nam`, so it exempts nothing "
            "(did you mean `name`?)",
        ),
        (
            CALL,
            "redact: [{path: /args/ssn}]",
            "error «args» no request of `tools/call` has `/args`, so the rule does nothing "
            "(did you mean `arguments`?)",
        ),
        (
            CALL,
            "redact: [{path: /params/arguments/ssn}]",
            "error «params» no request of `tools/call` has `/params`, so the rule does nothing "
            "(a path starts within the payload: write `/arguments/ssn`)",
        ),
        (
            CALL,
            "redact: [{path: /content/*/text}]",
            "error «content» no request of `tools/call` has `/content`, so the rule does nothing "
            "(a response of `tools/call` has it)",
        ),
        (
            CALL,
            "redact: [{path: /x-acme/note}]",
            "warning «x-acme» no request of `tools/call` has `/x-acme`, so the rule does nothing",
        ),
        (
            CALL,
            "redact: [{path: /name/first}]",
            "warning «first» no request of `tools/call` has `/name/first`, so the rule does "
            "nothing",
        ),
        (
            RESULT,
            "redact: [{path: /content/*/txt}]",
            "error «txt» no response of `tools/call` has `/content/*/txt`, so the rule does "
            "nothing (did you mean `text`?)",
        ),
        (
            "resources/list response",
            "redact: [{path: /tools/0/description}]",
            "error «tools» no response of `resources/list` has `/tools`, so the rule does nothing "
            "(a response of `tools/list` has it)",
        ),
        (
            "tools/list response",
            "redact: [{path: /tools/*/descripton}]",
            "error «descripton» no response of `tools/list` has `/tools/*/descripton`, so the rule "
            "does nothing (did you mean `description`?)",
        ),
        (
            "tools/list response",
            "drop: [{from: /tool, where: item.name == 'a'}]",
            "error «tool» no response of `tools/list` has `/tool`, so the rule does nothing "
            "(did you mean `tools`?)",
        ),
        (
            "tools/list response",
            "drop: [{from: /nextCursor, where: item == 'a'}]",
            "error «/nextCursor» no list is at `/nextCursor` in a response of `tools/list`, so "
            "the policy always fails",
        ),
        (
            CALL,
            "patch: [{op: replace, path: /argument/limit, value: 5}]",
            "error «argument» no request of `tools/call` has `/argument`, so the policy always "
            "fails (did you mean `arguments`?)",
        ),
        (
            CALL,
            "patch: [{op: add, path: /nam, value: x}]",
            "error «nam» no request of `tools/call` has `/nam`, so nobody reads it "
            "(did you mean `name`?)",
        ),
        (
            CALL,
            "patch: [{op: add, path: /x-acme, value: x}]",
            "warning «x-acme» no request of `tools/call` has `/x-acme`, so nobody reads it",
        ),
        (
            CALL,
            "patch: [{op: copy, path: /arguments/b, from: /argumets/a}]",
            "error «argumets» no request of `tools/call` has `/argumets`, so the policy always "
            "fails (did you mean `arguments`?)",
        ),
        (
            "tools/call, tools/list request",
            "patch: [{op: replace, path: /arguments/a, value: 1}]",
            "error «arguments» no request of `tools/list` has `/arguments`, so the policy always "
            "fails (a request of `prompts/get` has it)",
        ),
        (
            CALL,
            "detect: [secrets], path: /argments",
            "error «argments» no request of `tools/call` has `/argments`, so the rule does "
            "nothing (did you mean `arguments`?)",
        ),
        (
            CALL,
            "schema: {type: object}, path: /argments",
            "error «argments» no request of `tools/call` has `/argments`, so the rule finds "
            "something every time (did you mean `arguments`?)",
        ),
        (
            CALL,
            "deny: args.a, path: /argments/a",
            "warning «argments» no request of `tools/call` has `/argments`, so the finding "
            "points nowhere (did you mean `arguments`?)",
        ),
    ],
)
def test_a_path_that_no_payload_has_is_told(moment: str, change: str, text: str) -> None:
    assert told(change, moment) == [text]


@pytest.mark.parametrize(
    ("moment", "change", "more"),
    [
        (CALL, "redact: [{path: /arguments/a/b/0/c}]", ""),
        (CALL, "redact: [{path: /*/a}]", ""),
        (CALL, "redact: [{path: /**/a}]", ""),
        (RESULT, "redact: [{path: /content/0/text}, {path: /content/*/text}]", ""),
        (RESULT, "redact: [{path: /structuredContent/**/ssn}]", ""),
        ("tools/call both", "redact: [{path: /content/*/text}]", ""),
        ("acme/thing request", "redact: [{path: /anything}]", ""),
        ('"*" both', "redact: [{path: /anything}]", ""),
        (CALL, "patch: [{op: add, path: /_meta, value: {}}, {op: remove, path: /_meta/a}]", ""),
        (CALL, "patch: [{op: replace, path: '', value: {}}, {op: add, path: /x, value: 1}]", ""),
        (CALL, "patch: [{op: test, path: '', value: {}}, {op: remove, path: /arguments/x}]", ""),
        (RESULT, "patch: [{op: add, path: /content/-, value: {type: text, text: a}}]", ""),
        (
            "tools/call, tools/list request",
            "patch: [{op: replace, path: /arguments/a, value: 1}]",
            'when: event == "tools/call"',
        ),
        ("tools/list response", "drop: [{from: /tools, where: item.name == 'a'}]", ""),
        (RESULT, "drop: [{from: /structuredContent/rows, where: item == 'a'}]", ""),
        (CALL, "detect: [secrets], path: /arguments", ""),
        (CALL, "deny: args.a, path: ''", ""),
        (CALL, "require: args.a", ""),
    ],
)  # fmt: skip
def test_nothing_is_said_of_a_path_that_a_payload_may_have(
    moment: str, change: str, more: str
) -> None:
    found = [line for line in told_any(change, moment, more) if "[no-such-place]" in line]
    assert found == []


def told_any(change: str, moment: str, more: str) -> list[str]:
    events, phase = moment.rsplit(" ", 1)
    form = MUTATOR if change.split(":")[0] in ("patch", "redact", "drop") else VALIDATOR
    text = form.format(change=change, events=events, phase=phase, more=more and f", {more}")
    compilation = compile_bundle(make_bundle({"p.yaml": text}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return [str(diagnostic) for diagnostic in compilation.diagnostics]
