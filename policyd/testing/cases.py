"""Case files: what they hold, where they are, and everything that can be wrong in them.

Knows the format of `schemas/case.v1.schema.json`.  Runs no case and compares nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from policyd.compiler import compile_bundle
from policyd.detectors import DETECTORS
from policyd.diagnostics import Diagnostic, Report, Span, did_you_mean
from policyd.document import Document, parse_document
from policyd.document import Path as DataPath
from policyd.schema import check_case_document
from policyd.snapshot import Snapshot
from policyd.source import (
    MAX_FILE_BYTES,
    Bundle,
    DirectorySource,
    SourceFile,
    case_files,
    make_bundle,
)

_SAMPLE = re.compile(r"\$\{sample\.([^}]*)\}")


class CaseKind(StrEnum):
    """What a case is about.

    decide: an invocation of a whole policy set; compile: the diagnostics of a policy set;
    wire: a JSON-RPC call to a server; cli: a command line.
    """

    DECIDE = "decide"
    COMPILE = "compile"
    WIRE = "wire"
    CLI = "cli"


@dataclass(frozen=True, slots=True)
class Case:
    """One case; *when* and *then* are as written, samples put in.

    line: where the case begins in its file, from 1.
    """

    name: str
    kind: CaseKind
    line: int
    when: Mapping[str, Any]
    then: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One case file, ready to run.

    name: as shown to people.
    bundle: the policies that it is about.
    snapshot: what they compile to; None where no case needs that.
    """

    name: str
    cases: tuple[Case, ...]
    bundle: Bundle
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class Loading:
    """What came of a case file.

    case_file: None when any diagnostic is an error.
    diagnostics: of the case file and of its policies, sorted by place.
    texts: the texts of all these files by name, for excerpts.
    """

    case_file: CaseFile | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]


def find_case_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Every case file at or below *paths*, each once, sorted.

    A policy file stands for the case file beside it.
    """
    return case_files([candidate for path in paths for candidate in _candidates(path)])


def load_cases(path: Path) -> Loading:
    """Read a case file and compile the policies that it is about.

    Policies whose diagnostics are expected are not compiled yet.
    """
    report = Report()
    texts: dict[str, str] = {}
    document = _read(path, texts, report)
    if document is None:
        return Loading(None, report.diagnostics, texts)
    cases = _cases(document, report)
    bundle = _bundle(document, path, cases, report)
    texts.update(bundle.texts())
    if report.failed:
        return Loading(None, report.diagnostics, texts)
    snapshot = None
    if any(case.kind in (CaseKind.DECIDE, CaseKind.WIRE) for case in cases):
        compilation = compile_bundle(bundle)
        snapshot = compilation.snapshot
        if snapshot is None:
            return Loading(None, (*report.diagnostics, *compilation.diagnostics), texts)
    case_file = CaseFile(str(path), cases, bundle, snapshot)
    return Loading(case_file, report.diagnostics, texts)


def _candidates(path: Path) -> Iterator[Path]:
    if path.is_dir() or path.stem.endswith("_test"):
        yield path
    else:
        beside = (path.with_name(f"{path.stem}_test{suffix}") for suffix in (".yaml", ".yml"))
        yield from (candidate for candidate in beside if candidate.exists())


def _read(path: Path, texts: dict[str, str], report: Report) -> Document | None:
    """The document of a case file that has the right shape, its text noted in *texts*."""
    source = _source(path, report)
    if source is None:
        return None
    texts[source.name] = source.content.decode(errors="replace")
    document = parse_document(source, report)
    if document is None:
        return None
    check_case_document(document, report)
    if not report.failed:
        _check_parts(document, report)
    if not report.failed:
        _check_names(document, report)
    return None if report.failed else document


def _source(path: Path, report: Report) -> SourceFile | None:
    try:
        if path.exists() and not path.is_file():
            reason = "this is not a regular file"  # reading a pipe would wait for ever
        else:
            with path.open("rb") as file:
                return SourceFile(str(path), file.read(MAX_FILE_BYTES + 1))
    except OSError as error:
        reason = (error.strerror or "the file cannot be read").lower()
    report.error("unreadable-file", Span(str(path), 1, 1, 1, 1), reason)
    return None


def _check_parts(document: Document, report: Report) -> None:
    """What a JSON Schema cannot say well: one case, or several, or the diagnostics."""
    data = document.data
    present = [key for key in ("when", "cases", "diagnostics") if key in data]
    if not present:
        text = "the file holds no case"
        help = "write `when` and `then`, a list of `cases`, or the expected `diagnostics`"
        report.error("missing-field", document.span(()), text, help)
    for key in present[1:]:
        text = f"a case file has `{present[0]}` or `{key}`, not both"
        report.error("conflicting-fields", document.key_span((key,)), text)
    for one, other in (("when", "then"), ("then", "when")):
        if one in data and other not in data:
            span = document.key_span((one,))
            report.error("missing-field", span, f"`{one}` needs a `{other}` beside it")


def _check_names(document: Document, report: Report) -> None:
    lines: dict[str, int] = {}
    for i, case in enumerate(document.data.get("cases", ())):
        span = document.span(("cases", i, "name"))
        line = lines.setdefault(case["name"], span.line)
        if line != span.line:
            text = f"the name `{case['name']}` is taken: line {line} has it"
            report.error("name-taken", span, text)


def _cases(document: Document, report: Report) -> tuple[Case, ...]:
    data = document.data
    title = data.get("description") or Path(document.source.name).stem
    if "diagnostics" in data:
        line = document.key_span(("diagnostics",)).line
        then = {"diagnostics": data["diagnostics"]}
        return (Case(title, CaseKind.COMPILE, line, {}, then),)
    if "when" in data:
        return (_case(document, (), title, report),)
    return tuple(
        _case(document, ("cases", i), case["name"], report) for i, case in enumerate(data["cases"])
    )


def _case(document: Document, path: DataPath, name: str, report: Report) -> Case:
    data = document.data
    for step in path:
        data = data[step]
    when = _filled(data["when"], (*path, "when"), document, report)
    then = _filled(data["then"], (*path, "then"), document, report)
    return Case(name, _kind(when), document.key_span((*path, "when")).line, when, then)


def _kind(when: Mapping[str, Any]) -> CaseKind:
    if "method" in when:
        return CaseKind.WIRE
    return CaseKind.CLI if "args" in when else CaseKind.DECIDE


def _filled(value: Any, path: DataPath, document: Document, report: Report) -> Any:
    """*value* with samples in place of every `${sample.DETECTOR}`, in keys too."""
    if isinstance(value, str):
        return _with_samples(value, document.text(path).at, report)
    if isinstance(value, list):
        return [_filled(child, (*path, i), document, report) for i, child in enumerate(value)]
    if not isinstance(value, dict):
        return value
    filled: dict[str, Any] = {}
    for key, child in value.items():
        below = (*path, key)
        name = _with_samples(key, partial(_key_place, document, below), report)
        filled[name] = _filled(child, below, document, report)
    return filled


def _key_place(document: Document, path: DataPath, _offset: int, _length: int) -> Span:
    return document.key_span(path)


def _with_samples(text: str, place: Callable[[int, int], Span], report: Report) -> str:
    def sample(match: re.Match[str]) -> str:
        name = match[1]
        if name in DETECTORS:
            return DETECTORS[name].sample()
        help = did_you_mean(name, DETECTORS)
        start, end = match.span(1)
        span = place(start, end - start)
        report.error("unknown-detector", span, f"unknown detector `{name}`", help)
        return match[0]

    return _SAMPLE.sub(sample, text)


def _bundle(document: Document, path: Path, cases: Iterable[Case], report: Report) -> Bundle:
    """The policies that the cases are about; what is missing is reported."""
    policies = document.data.get("policies")
    if isinstance(policies, dict):
        return make_bundle(policies)
    if policies is not None:
        for i, name in enumerate(policies):
            if not (path.parent / name).exists():
                text = f"there is no `{name}` beside this file"
                report.error("missing-path", document.span(("policies", i)), text)
        return DirectorySource([path.parent / name for name in policies]).read()
    beside = path.with_name(path.stem.removesuffix("_test") + path.suffix)
    if beside != path and beside.exists():
        return DirectorySource([beside]).read()
    if any(case.kind is not CaseKind.CLI for case in cases):
        text = f"there is no `{beside.name}` beside this file"
        help = "name the policies that are tested: `policies: [FILE]`"
        report.error("missing-path", Span(document.source.name, 1, 1, 1, 1), text, help)
    return make_bundle({})
