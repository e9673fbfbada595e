from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.compiler import compile_bundle
from policyd.diagnostics import Level
from policyd.model import Descriptor, Kind, Phase
from policyd.snapshot import Snapshot
from policyd.source import make_bundle


def snapshot(*texts: str) -> Snapshot:
    files = {f"{index}.yaml": text for index, text in enumerate(texts)}
    compilation = compile_bundle(make_bundle(files))
    assert compilation.snapshot is not None, [str(d) for d in compilation.diagnostics]
    return compilation.snapshot


def validator(name: str, more: str = "", phase: str = "request") -> str:
    return f"""
policyd: v1
validators:
  - name: {name}
    match: {{events: [tools/call], phase: {phase}}}
    {more}
    rules:
      - {{id: r, deny: 'size(payload) > 3', message: too many members}}
"""


def mutator(name: str, more: str = "", phase: str = "both") -> str:
    return f"""
policyd: v1
mutators:
  - name: {name}
    match: {{events: ["tools/*"], phase: {phase}}}
    {more}
    redact:
      - {{detect: [secrets]}}
"""


def test_an_entry_becomes_one_interceptor_with_all_it_says() -> None:
    text = validator(
        "p/q",
        "version: 1.2.0\n    description: a guard\n    failOpen: true\n    mode: audit\n"
        "    timeout: 50ms\n    compat: {minProtocol: '2025-11-25'}\n"
        "    configSchema: {type: object}",
    )
    assert snapshot(text).descriptors == (
        Descriptor(
            name="p/q",
            kind=Kind.VALIDATION,
            events=("tools/call",),
            phases=(Phase.REQUEST,),
            version="1.2.0",
            description="a guard",
            mode=snapshot(text).descriptors[0].mode,
            fail_open=True,
            timeout=0.05,
            config_schema={"type": "object"},
            compat={"minProtocol": "2025-11-25"},
        ),
    )
    assert snapshot(text).descriptors[0].mode.value == "audit"


@pytest.mark.parametrize(
    ("more", "phase", "listed"),
    [
        ("", "both", [("m/request", -50_000), ("m/response", 50_000)]),
        ("", "response", [("m", 50_000)]),
        ("priority: 7", "both", [("m", 7)]),
        ("priority: {request: 7}", "both", [("m/request", 7), ("m/response", 0)]),
        ("priority: {request: 7, response: 7}", "both", [("m", 7)]),
    ],
)
def test_a_mutator_with_two_priorities_is_listed_once_for_each_phase(
    more: str, phase: str, listed: Any
) -> None:
    descriptors = snapshot(mutator("m", more, phase)).descriptors
    assert [(d.name, d.priority) for d in descriptors] == listed


def test_the_generation_is_the_content_and_not_the_order_of_the_files() -> None:
    texts = {"a.yaml": validator("a"), "b.yaml": validator("b")}
    one = compile_bundle(make_bundle(texts)).snapshot
    other = compile_bundle(make_bundle(dict(reversed(texts.items())))).snapshot
    changed = compile_bundle(make_bundle({**texts, "b.yaml": validator("c")})).snapshot
    assert one is not None
    assert other is not None
    assert changed is not None
    assert (one.generation, one.descriptors) == (other.generation, other.descriptors)
    assert one.generation == one.revision[:12]
    assert one.generation != changed.generation


def test_a_set_without_files_is_refused_unless_allowed() -> None:
    refused = compile_bundle(make_bundle({}))
    assert [d.code for d in refused.diagnostics] == ["no-policies"]
    assert refused.snapshot is None
    allowed = compile_bundle(make_bundle({}), allow_empty=True)
    assert allowed.diagnostics == ()
    assert allowed.snapshot is not None
    assert allowed.snapshot.descriptors == ()


def test_a_broken_file_keeps_the_whole_set_from_loading() -> None:
    compilation = compile_bundle(make_bundle({"a.yaml": validator("a"), "b.yaml": "policyd: v1"}))
    assert compilation.snapshot is None
    assert [str(d) for d in compilation.diagnostics] == [
        "b.yaml:1:1: error[no-policy]: the file holds no policy"
    ]


def test_what_could_not_be_read_keeps_the_whole_set_from_loading() -> None:
    bundle = make_bundle({"a.yaml": b"\xff"})
    compilation = compile_bundle(bundle)
    assert compilation.snapshot is None
    assert [d.code for d in compilation.diagnostics] == ["not-utf8"]


PIECES = st.sampled_from(
    [
        "policyd: v1",
        "validators:",
        "mutators:",
        "  - name: p",
        "    match: {events: [tools/call], phase: request}",
        "    match: {events: ['*'], phase: both, tools: [a]}",
        "    rules:",
        "      - id: r",
        "        deny: args.x == 1",
        "        deny: {jmespath: 'a == `1`'}",
        "        schema: {type: object, properties: {a: 1}}",
        "        detect: [secrets]",
        "        message: denied {{ tool }}",
        "        path: /a",
        "    variables: {a: args.b, b: variables.a}",
        "    configSchema: {properties: 1}",
        "    patch: [{op: add, path: /a, value: {cel: args}}]",
        "    redact: [{pattern: 'x', group: 1}]",
        "    drop: [{from: /tools, where: item}]",
        "    priority: {request: 1}",
        "constants: {a: [1], b: {c: 2}}",
        "empty: true",
        "  - 1",
        "    : : :",
        "\t",
    ]
)


@given(st.lists(PIECES, max_size=14).map("\n".join) | st.text(max_size=80))
def test_any_text_compiles_or_is_refused_and_every_span_lies_in_its_file(text: str) -> None:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        content = text.encode("utf-8", "surrogatepass")
    compilation = compile_bundle(make_bundle({"p.yaml": content}))
    errors = [d for d in compilation.diagnostics if d.level is Level.ERROR]
    assert (compilation.snapshot is None) == bool(errors)
    lines = content.decode("utf-8", "replace").splitlines() or [""]
    for diagnostic in compilation.diagnostics:
        span = diagnostic.span
        assert span.file == "p.yaml"
        assert 1 <= span.line <= len(lines) + 1
        assert span.column >= 1
        assert (span.line, span.column) <= (span.end_line, span.end_column)
