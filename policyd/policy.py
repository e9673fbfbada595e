"""What a policy file means: policies, each with its hook and its rules.

Reads a document that meets the schema, adds what a JSON Schema cannot say (exactly one
kind of rule, phases that a field needs, names that must be unique), and keeps the place of
everything.  Compiles nothing: expressions, patterns and pointers stay text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.detectors import BUILT_IN, Catalog
from policyd.diagnostics import Report, Span, closest
from policyd.document import Document, Path, Text
from policyd.events import MCP_METHODS, expand
from policyd.model import PHASES, Kind, Mode, Phase
from policyd.types import Type

CHECK_KINDS = ("deny", "require", "schema", "detect")
CHANGE_KINDS = ("patch", "redact", "drop")

REDACT_PRIORITY: Mapping[Phase, int] = {Phase.REQUEST: -50_000, Phase.RESPONSE: 50_000}
"""Where redaction runs unless told: the bands that SEP-2624 recommends."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a document, together with its place."""

    document: Document
    path: Path

    @property
    def value(self) -> Any:
        """The plain JSON value."""
        value = self.document.data
        for step in self.path:
            value = value[step]
        return value

    @property
    def text(self) -> Text:
        """The value, which is a string, with its place."""
        return self.document.text(self.path)

    @property
    def span(self) -> Span:
        """Where the value stands."""
        return self.document.span(self.path)

    @property
    def key_span(self) -> Span:
        """Where the key stands that leads to the value."""
        return self.document.key_span(self.path)

    def get(self, key: str) -> Node | None:
        """The member *key* of a mapping, or None."""
        return self[key] if key in self.value else None

    def __getitem__(self, step: str | int) -> Node:
        return Node(self.document, (*self.path, step))

    def __iter__(self) -> Iterator[Node]:
        """The elements of a list, or the members of a mapping."""
        value = self.value
        steps: Any = value if isinstance(value, dict) else range(len(value))
        return (self[step] for step in steps)


@dataclass(frozen=True, slots=True)
class Hook:
    """Which payloads a policy is for.

    events: as written; tools: globs as written, or None for every tool; when: a precondition.
    """

    events: tuple[str, ...]
    phases: tuple[Phase, ...]
    tools: Node | None
    when: Node | None
    node: Node

    @property
    def moments(self) -> tuple[tuple[str, Phase], ...]:
        """Every event and phase, wildcards expanded; `*` itself stands for all other events."""
        concrete = {name: None for event in self.events for name in (event, *expand(event))}
        # a namespace in which there is no event is reported, and stands for itself until then
        names = [name for name in concrete if "*" not in name or name == "*"] or self.events
        return tuple((name, phase) for name in names for phase in self.phases)


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of `rules`, or one entry of a mutator's `patch`, `redact` or `drop`.

    `kind` is the YAML word, `node` the whole entry.
    """

    id: str
    kind: str
    node: Node


@dataclass(frozen=True, slots=True)
class Policy:
    """One entry in `validators` or `mutators`.

    priority: for each phase, what was written or the default of its kind.
    tools: what the arguments of a tool may be, by its name, where the set says so.
    detectors: those that its rules may name.
    """

    name: str
    kind: Kind
    hook: Hook
    rules: tuple[Rule, ...]
    mode: Mode
    fail_open: bool
    timeout: float | None
    priority: Mapping[Phase, int]
    constants: Mapping[str, Any]
    node: Node
    tools: Mapping[str, Type] = field(default_factory=dict)
    detectors: Catalog = BUILT_IN


def place_of(rule: Rule) -> Span:
    """Where a rule stands, for who points at it: its id, or the whole entry."""
    node = rule.node.get("id")
    return rule.node.span if node is None else node.span


def parse_policies(
    document: Document, report: Report, broken: frozenset[Path] = frozenset()
) -> tuple[Policy, ...]:
    """The policies of a document, in the order they are written.

    *broken* holds the places where the document does not meet the schema: what is there is
    left out, a rule of a validator alone, of anything else the whole policy.
    """
    root = Node(document, ())
    found: list[Policy] = []
    if any(len(place) < 2 for place in broken):
        return ()
    for section, kind in (("validators", Kind.VALIDATION), ("mutators", Kind.MUTATION)):
        for node in root.get(section) or ():
            own = frozenset(place for place in broken if place[:2] == node.path)
            if any(not _in_rule(place) for place in own):
                continue
            policy = _parse_policy(node, kind, report, own)
            if policy is not None:
                found.append(policy)
    if not found and not report.failed and not _MAY_STAND_ALONE & set(document.data):
        report.error(
            "no-policy",
            root.span,
            "the file holds no policy",
            "add `validators` or `mutators`, or say `empty: true`",
        )
    if found and "empty" in document.data:
        text = "`empty: true` contradicts the policies in this file"
        report.error("not-empty", root["empty"].key_span, text)
    return tuple(found)


_MAY_STAND_ALONE = {"empty", "tools", "detectors"}


def _in_rule(place: Path) -> bool:
    return len(place) >= 4 and place[2] == "rules"


def _parse_policy(node: Node, kind: Kind, report: Report, broken: frozenset[Path]) -> Policy | None:
    value = node.value
    hook = _parse_hook(node["match"], report)
    if kind is Kind.VALIDATION:
        rules = _check_rules(node, report, broken)
    else:
        rules = _change_rules(node, report)
    if not rules:
        return None
    return Policy(
        name=value["name"],
        kind=kind,
        hook=hook,
        rules=rules,
        mode=Mode(value.get("mode", "enforce")),
        fail_open=value.get("failOpen", False),
        timeout=parse_timeout(node.get("timeout"), report),
        priority=_parse_priority(node.get("priority"), hook, rules[0].kind, report),
        constants=node.document.data.get("constants", {}),
        node=node,
    )


def _parse_hook(node: Node, report: Report) -> Hook:
    value = node.value
    phases = PHASES[value["phase"]]
    for event in node["events"]:
        _check_event(event, report)
        if event.value.startswith("notifications/") and phases != (Phase.REQUEST,):
            text = "a notification has no response: write `phase: request`"
            report.error("never-runs", node["phase"].span, text)
    hook = Hook(tuple(value["events"]), phases, node.get("tools"), node.get("when"), node)
    if hook.tools is not None:
        _check_tools(hook, hook.tools, report)
    return hook


def _check_event(node: Node, report: Report) -> None:
    event = node.value
    if event.startswith(("interceptors/", "interceptor/")):
        text = f"`{event}` is never intercepted: it is how interceptors are called"
        report.error("never-runs", node.span, text)
    elif event.endswith("/*"):
        if not expand(event):
            namespaces = sorted({name.split("/")[0] + "/*" for name in MCP_METHODS if "/" in name})
            guess = closest(event, namespaces)
            help = f"did you mean `{guess}`?" if guess else None
            report.error("unknown-event", node.span, f"no event of MCP matches `{event}`", help)
    elif event != "*" and event not in MCP_METHODS:
        guess = closest(event, MCP_METHODS)
        text = f"`{event}` is not an event of MCP"
        if guess is not None and _is_slip(event, guess):
            report.error("unknown-event", node.span, text, f"did you mean `{guess}`?")
        else:
            help = "the policy runs only where an invoker sends this event itself"
            report.warning("unknown-event", node.span, text, help)


def _is_slip(word: str, guess: str) -> bool:
    """True when *word* is *guess* but for case, another separator, or a letter or two."""
    if word.casefold().replace("_", "/").replace(".", "/") == guess.casefold():
        return True
    return abs(len(word) - len(guess)) <= 2 and (
        word.split("/")[0] == guess.split("/")[0] or word.split("/")[-1] == guess.split("/")[-1]
    )


def _check_tools(hook: Hook, tools: Node, report: Report) -> None:
    if Phase.RESPONSE in hook.phases:
        report.error(
            "tools-in-response",
            tools.key_span,
            "`tools` needs `phase: request`: a response does not say which tool was called",
            "split the policy in two, and leave `tools` out of the response part",
        )
    elif not any(event == "tools/call" for event, _ in hook.moments):
        text = "`tools` needs the event `tools/call`: no other names a tool"
        report.error("never-runs", tools.key_span, text)
    elif any(event != "tools/call" for event, _ in hook.moments):
        text = "`tools` needs `events: [tools/call]` alone: other events name no tool"
        report.error("tools-with-other-events", tools.key_span, text)


def parse_timeout(node: Node | None, report: Report) -> float | None:
    """The seconds of a `timeout` such as `50ms`; one beyond the limits is reported."""
    if node is None:
        return None
    text = node.value
    seconds = float(text[:-2]) / 1000 if text.endswith("ms") else float(text[:-1])
    if not 0.001 <= seconds <= 60:
        text = f"`{text}` is no usable timeout: from `1ms` to `60s`"
        report.error("bad-value", node.span, text)
    return seconds


def _parse_priority(
    node: Node | None, hook: Hook, rule_kind: str, report: Report
) -> Mapping[Phase, int]:
    if node is None:
        default = REDACT_PRIORITY if rule_kind == "redact" else {}
        return {phase: default.get(phase, 0) for phase in hook.phases}
    if isinstance(node.value, int):
        return dict.fromkeys(hook.phases, node.value)
    for member in node:
        if member.path[-1] not in hook.phases:
            text = f"a priority for `{member.path[-1]}`, a phase that `match` leaves out"
            report.error("never-runs", member.key_span, text)
    return {phase: node.value.get(phase.value, 0) for phase in hook.phases}


def _check_rules(node: Node, report: Report, broken: frozenset[Path]) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    seen: dict[str, Node] = {}
    for entry in node["rules"]:
        if any(place[:4] == entry.path for place in broken):
            continue
        kind = only_one(entry, CHECK_KINDS, "a rule", report)
        rule_id = entry.value["id"]
        if rule_id in seen:
            first = seen[rule_id]["id"].span
            text = f"the id `{rule_id}` is taken: line {first.line} has it"
            report.error("id-taken", entry["id"].span, text)
        seen.setdefault(rule_id, entry)
        if kind is not None:
            rules.append(Rule(rule_id, kind, entry))
    return tuple(rules)


def _change_rules(node: Node, report: Report) -> tuple[Rule, ...]:
    kind = only_one(node, CHANGE_KINDS, "a mutator", report)
    if kind is None:
        return ()
    entries = list(node[kind])
    return tuple(
        Rule(entry.value.get("id", f"{kind}[{index}]"), kind, entry)
        for index, entry in enumerate(entries)
    )


def only_one(node: Node, kinds: tuple[str, ...], what: str, report: Report) -> str | None:
    """The one member of *node* that is among *kinds*; None after a diagnostic."""
    present = [kind for kind in kinds if kind in node.value]
    if len(present) == 1:
        return present[0]
    listed = ", ".join(f"`{kind}`" for kind in kinds)
    if not present:
        first = next(iter(node), node)
        report.error("missing-field", first.key_span, f"{what} needs one of {listed}")
    else:
        text = f"{what} has one of {listed}, not `{present[0]}` and `{present[1]}` together"
        report.error("conflicting-fields", node[present[1]].key_span, text)
    return None
