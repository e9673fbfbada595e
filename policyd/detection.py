"""`detectors`: what a policy set looks for besides what policyd knows.

    policyd: v1
    detectors:
      - name: employee-id
        groups: [pii]                       # `custom` is one of its groups in any case
        pattern: '\\bE-(\\d{7})\\b'
        group: 1
        keywords: [employee]                # the text must hold one of them
        context: [employee, staff]          # one of them must stand near, as a whole word
        checksum: luhn
        entropy: 2.5
        examples: {match: [...], ignore: [...]}
      - from: gitleaks.toml                 # a rule file beside this one

A detector of any file serves the whole set.  Its examples are tried: one that does not do what
they say does not load.  Knows documents and detectors; knows no rule.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping

from policyd.detectors import BUILT_IN, Catalog, Detector, Scanner
from policyd.detectors.custom import Declaration, declared
from policyd.detectors.gitleaks import parse_rules
from policyd.diagnostics import Report
from policyd.document import Document, Path
from policyd.expression import Flaw
from policyd.pattern import Pattern, compile_pattern
from policyd.policy import Node
from policyd.source import SourceFile

GROUP = "custom"
"""The group of all detectors that are declared in policy files."""


class Declared:
    """The detectors of a set, file after file."""

    __slots__ = ("_found", "_rules")

    def __init__(self, rules: Iterable[SourceFile]) -> None:
        """*rules* are the rule files that may be named."""
        self._rules: Mapping[str, bytes] = {
            posixpath.normpath(file.name): file.content for file in rules
        }
        self._found: dict[str, Detector] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def catalog(self) -> Catalog:
        """What the policies of the set may name."""
        return BUILT_IN.extended(self._found.values()) if self._found else BUILT_IN

    def add(self, document: Document, broken: Collection[Path], report: Report) -> None:
        """Take in what *document* declares.

        broken: the places where the document does not meet the schema; they say nothing.
        """
        if not isinstance(document.data, dict) or "detectors" not in document.data:
            return
        root = Node(document, ("detectors",))
        if any(len(place) < 2 for place in broken):
            return
        for entry in [root] if isinstance(root.value, dict) else root:
            if not any(place[: len(entry.path)] == entry.path for place in broken):
                self._enter(entry, report)

    def _enter(self, entry: Node, report: Report) -> None:
        if "from" in entry.value:
            self._load(entry, report)
            return
        detector = _detector(entry, report)
        if detector is None:
            return
        name = detector.name
        if name in self._found or name in BUILT_IN or name == GROUP:
            report.error("name-taken", entry["name"].span, f"the name `{name}` is taken")
            return
        self._found[name] = detector

    def _load(self, entry: Node, report: Report) -> None:
        for member in entry:
            if member.path[-1] != "from":
                text = f"`{member.path[-1]}` has no effect beside `from`"
                report.error("unused-field", member.key_span, text)
        node = entry["from"]
        place = posixpath.join(posixpath.dirname(node.span.file), node.value)
        content = self._rules.get(posixpath.normpath(place))
        if content is None:
            text = f"there is no rule file `{node.value}` among the policy files"
            help = "it ends in `.toml` and lies at or below the paths that are given"
            report.error("missing-file", node.span, text, help)
            return
        rules = parse_rules(content)
        if isinstance(rules, str):
            report.error("bad-rule-file", node.span, f"`{node.value}` cannot be used: {rules}")
            return
        if rules.refused:
            listed = ", ".join(f"`{name}`" for name in rules.refused)
            text = f"rules of `{node.value}` that RE2 cannot take are left out: {listed}"
            report.warning("refused-rules", node.span, text)
        self._found.update({detector.name: detector for detector in rules.detectors})


def _detector(entry: Node, report: Report) -> Detector | None:
    missing = [name for name in ("name", "pattern") if name not in entry.value]
    if missing:
        span = next(iter(entry), entry).key_span
        report.error("missing-field", span, f"a detector needs `{missing[0]}`, or `from` alone")
        return None
    pattern = _pattern(entry, report)
    if pattern is None:
        return None
    value = entry.value
    declaration = Declaration(
        name=value["name"],
        groups=tuple(dict.fromkeys((GROUP, *value.get("groups", ())))),
        pattern=pattern,
        group=value.get("group", 0),
        keywords=tuple(value.get("keywords", ())),
        context=tuple(value.get("context", ())),
        checksum=value.get("checksum"),
        entropy=value.get("entropy"),
    )
    examples = value.get("examples", {})
    detector = declared(
        declaration,
        sample=next(iter(examples.get("match", ())), ""),
        look_alikes=tuple(examples.get("ignore", ())),
    )
    return detector if _does_as_told(detector, entry, report) else None


def _pattern(entry: Node, report: Report) -> Pattern | None:
    node, group = entry["pattern"], entry.value.get("group", 0)
    pattern = compile_pattern(node.text)
    if isinstance(pattern, Flaw):
        span = node.text.at(pattern.offset, pattern.length)
        report.error(pattern.code, span, pattern.text, pattern.help)
        return None
    if group > pattern.groups:
        text = f"the pattern has no group {group}, only {pattern.groups}"
        report.error("unknown-group", entry["group"].span, text)
        return None
    if pattern.matches_empty:
        text = "the pattern matches the empty text, so it would match everywhere"
        report.error("matches-empty", node.span, text, "write `+` instead of `*`")
        return None
    return pattern


def _does_as_told(detector: Detector, entry: Node, report: Report) -> bool:
    examples = entry.get("examples")
    if examples is None:
        return True
    scanner, wrong = Scanner((detector,)), False
    for kind, expected in (("match", True), ("ignore", False)):
        for example in examples.get(kind) or ():
            if scanner.found(example.value) is not expected:
                wrong = True
                found = "is found" if not expected else "is not found"
                text = f"the example {found}, so the detector does not do what it should"
                report.error("example-fails", example.span, text)
    return not wrong
