"""YAML text to data with places, and that nothing is raised, whatever the text."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.diagnostics import Report, Span
from policyd.document import Document, compose, parse_document
from policyd.source import SourceFile

PARSERS = [
    pytest.param("CSafeLoader", id="libyaml"),
    pytest.param("SafeLoader", id="pure"),
]


def parse(content: str | bytes) -> tuple[Document | None, list[str]]:
    """The document, and its diagnostics as the case files write them."""
    data = content.encode() if isinstance(content, str) else content
    report = Report()
    document = parse_document(SourceFile("p.yaml", data), report)
    told = [
        f"{d.span.line}:{d.span.column} {d.level}[{d.code}] {d.text}" for d in report.diagnostics
    ]
    return document, told


def read(content: str | bytes) -> Document:
    document, told = parse(content)
    assert document is not None, told
    return document


# What is read


@pytest.mark.parametrize("loader", PARSERS)
@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1\n", {"a": 1}),
        ("a: [x, 'y', \"z\"]", {"a": ["x", "y", "z"]}),
        ("- - 1\n  - {}\n- []\n", [[1, {}], []]),
        ("on: tools/call\n", {"on": "tools/call"}),
        ("012: a\n", {"012": "a"}),
        ("'1': a\n\"true\": b\n", {"1": "a", "true": "b"}),
        ("? a\n: b\n", {"a": "b"}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("%YAML 1.2\n---\na: 1\n", {"a": 1}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("a: >-\n  x\n  y\n", {"a": "x y"}),
        ("'<<': 1\n", {"<<": 1}),
        ("a: x#y\n", {"a": "x#y"}),
        ("a: b:c\n", {"a": "b:c"}),
        ("~\n", None),
        ("a:\n", {"a": None}),
        ("expires: 2026-01-01\n", {"expires": "2026-01-01"}),
        ("a: '#'\n# b\n", {"a": "#"}),
    ],
)
def test_what_json_can_hold_is_read(
    loader: str, text: str, data: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "_LOADER", getattr(yaml, loader))
    document = read(text)
    assert (document.data, parse(text)[1]) == (data, [])


def test_a_byte_order_mark_and_windows_line_breaks_leave_no_trace() -> None:
    text = "\ufeffname: p1\r\nexpr: |\r\n  payload.params.name\r\n  == 'x'\r\n"
    document = read(text)
    assert document.data == {"name": "p1", "expr": "payload.params.name\n== 'x'\n"}
    assert document.key_span(("name",)) == Span("p.yaml", 1, 1, 1, 5)
    assert document.text(("expr",)).at(20, 2) == Span("p.yaml", 4, 3, 4, 5)


# Places


SAMPLE = """\
# a comment
policyd: v1
validators:
  - name: a
    match: {events: [tools/call, "*"], phase: request}

  - name: b   # why
    rules: []
mutators:
  - priority:
    patch:
    - {op: add}
"""

PLACES = [
    ((), "2:1-12:16"),
    (("policyd",), "2:10-2:12"),
    (("validators",), "4:3-8:14"),
    (("validators", 0), "4:5-5:55"),
    (("validators", 0, "name"), "4:11-4:12"),
    (("validators", 0, "match"), "5:12-5:55"),
    (("validators", 0, "match", "events", 1), "5:34-5:37"),
    (("validators", 1, "name"), "7:11-7:12"),
    (("validators", 1, "rules"), "8:12-8:14"),
    (("mutators", 0, "priority"), "10:14-10:14"),
    (("mutators", 0, "patch"), "12:5-12:16"),
    # what is not there stands where it should be
    (("validators", 1, "match", "events"), "7:5-8:14"),
    (("nothing",), "2:1-12:16"),
]


def written(span: Span) -> str:
    return f"{span.line}:{span.column}-{span.end_line}:{span.end_column}"


@pytest.mark.parametrize("loader", PARSERS)
@pytest.mark.parametrize(("path", "place"), PLACES)
def test_every_value_has_a_place(
    loader: str, path: compose.Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "_LOADER", getattr(yaml, loader))
    assert written(read(SAMPLE).span(path)) == place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("policyd",), "2:1-2:8"),
        (("validators", 0, "match", "phase"), "5:40-5:45"),
        (("mutators", 0, "priority"), "10:5-10:13"),
        (("validators", 1), "7:5-8:14"),
        (("validators", 1, "match"), "7:5-8:14"),
    ],
)
def test_every_key_has_a_place(path: compose.Path, place: str) -> None:
    assert written(read(SAMPLE).key_span(path)) == place


def test_a_value_can_be_shown_as_it_is_written() -> None:
    document = read("version: 1.10\nfailOpen: TRUE\nevents: [a,\n  'b']\nnone: ~\n")
    keys = ("version", "failOpen", "events", "none")
    assert [document.written((key,)) for key in keys] == ["1.10", "TRUE", "[a,\n  'b']", "~"]


def test_only_a_string_has_text() -> None:
    document = read("a: [x, 1, y]\n")
    assert (document.text(("a", 0)), document.text(("a", 2)).span.column) == ("x", 11)
    for path in (("a",), ("a", 1), ("a", 3), ("b",)):
        with pytest.raises(KeyError):
            document.text(path)


def test_a_file_that_ends_in_the_middle_of_a_line_has_no_place_outside() -> None:
    for text in ("a: 1", "a: |\n  x", "a:", "a: >\n  x\n   ", "- {a: b}"):
        document = read(text)
        lines = text.split("\n")
        for span in document.spans.values():
            assert span.end_line <= len(lines)
            assert span.end_column <= len(lines[span.end_line - 1]) + 1


# Properties


YAML_PIECES = st.sampled_from(
    [
        *"\n\n\n  -:?[]{},#&*!|>%@`'\"\\\t~.0123456789abn=<",
        *(": ", "- ", " #", "? ", "\n  ", "\n- ", "\r\n", "'", "''", '"', "\\u00e9", "&a ", "*a"),
        *("!!str ", "<<: ", "---\n", "...\n", "%YAML 1.1\n", "|\n ", ">-\n ", "|2\n", "\ufeff"),
        *("\x00", "é", "😀", "\u2028", "true", "no", "012", ".inf", "a: b\n", "key: 'v'\n"),
    ]
)
VALID = (
    SAMPLE + "m:\n  a: |\n    x\n  b: >-\n    y\n    z\n  c: 'it''s'\n  d: \"\\u00e9\\\n    x\"\n"
)


def check_report(content: bytes) -> None:
    """Parsing returns, and everything it says has a place in the file and follows the law."""
    report = Report()
    document = parse_document(SourceFile("p.yaml", content), report)
    assert (document is None) is report.failed
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    for diagnostic in report.diagnostics:
        span = diagnostic.span
        assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
        assert span.end_line <= len(lines)
        assert span.column <= len(lines[span.line - 1]) + 1
        for text in (diagnostic.text, diagnostic.help or "x"):
            assert "\n" not in text
            assert not text.endswith(".")
            assert not text[0].isupper()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    check_report(content)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_no_text_raises(content: str) -> None:
    check_report(content.encode("utf-8", "surrogatepass"))


@settings(max_examples=500, deadline=None)
@given(st.lists(YAML_PIECES, max_size=40).map("".join))
def test_no_text_that_looks_like_yaml_raises(content: str) -> None:
    check_report(content.encode())


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(VALID)), st.integers(0, 12), st.lists(YAML_PIECES).map("".join)
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_edit_of_a_valid_file_raises(edits: list[tuple[int, int, str]]) -> None:
    text = VALID
    for place, removed, inserted in edits:
        text = text[:place] + inserted + text[place + removed :]
    check_report(text.encode())


@settings(max_examples=200, deadline=None)
@given(st.lists(YAML_PIECES, max_size=30).map("".join))
def test_both_parsers_of_pyyaml_refuse_or_read_alike(content: str) -> None:
    results = []
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compose, "_LOADER", loader)
            document, _ = parse(content)
            results.append(document)
    if results[0] is not None and results[1] is not None:
        assert results[0].data == results[1].data


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc xyz:#'\"-é😀\n", max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON_VALUES, st.booleans())
def test_what_is_written_as_yaml_is_read_as_it_was(data: object, flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, version=(1, 2))
    document, told = parse(text)
    if document is None:  # PyYAML writes some floats and control characters in its own way
        assert any("control-character" in line for line in told), (told, text)
        return
    if "text here, not a number" not in "".join(told):
        assert document.data == data
