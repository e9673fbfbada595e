"""`redact`: replace, mask, hash or remove what must not be seen.

    redact:
      - detect: [secrets, email]              # what detectors find, in every text, key and number
        replace: "[{detector}]"
      - pattern: 'employee id: (\\d{6})'       # what an RE2 pattern finds, in every text and number
        group: 1
        replace: {mask: "*", keep: 2}
      - path: /structuredContent/**/ssn       # whole values at their place
        replace: {hash: sha256, key: {env: POLICYD_KEY}}

All look at the payload as it came.  What stands at a `path` is searched by no other entry.
`strategy` says what `replace` may be, `reach` where an entry applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policyd.activation import Activation
from policyd.expression import Budget, Flaw
from policyd.model import Change
from policyd.pattern import compile_pattern
from policyd.pointer import PointerFlaw, parse_pattern
from policyd.policy import Node, Rule
from policyd.redaction import (
    PathRedaction,
    PatternFinder,
    ScopedRedaction,
    Strategy,
    TextRedaction,
    Value,
    redact,
)
from policyd.rules.kinds import Step
from policyd.rules.reach import Reach, build_reach
from policyd.rules.strategy import build_strategy
from policyd.site import Site

_KINDS = ("detect", "pattern", "path")


@dataclass(frozen=True, slots=True)
class Redact:
    """The step of `redact`: each entry, and where it applies."""

    entries: tuple[tuple[ScopedRedaction, Reach], ...]

    def __call__(
        self, payload: Any, activation: Activation, budget: Budget
    ) -> tuple[Any, tuple[Change, ...]]:
        """Carry out all entries that apply, on the payload as it came."""
        active = [entry for entry, reach in self.entries if reach.covers(activation, budget)]
        budget.spend(len(self.entries))
        # no path may match the root, so there is always something left
        return redact(payload, active, budget)


def build(rules: tuple[Rule, ...], site: Site) -> Step | None:
    """A step that carries out all redactions."""
    built = [_entry(rule, site) for rule in rules]
    ready = tuple(entry for entry in built if entry is not None)
    return Redact(ready) if len(ready) == len(built) else None


def _entry(rule: Rule, site: Site) -> tuple[ScopedRedaction, Reach] | None:
    node = rule.node
    kind = site.only_one(node, _KINDS, "a redaction")
    names = site.detectors(node["detect"]) if kind == "detect" else ()
    replace = None if names is None else build_strategy(node, names, site)
    reach = build_reach(node, site)
    _check_fields(node, kind, site)
    if kind is None or names is None or replace is None or reach is None:
        return None
    _check_type(node, kind, replace, site)
    redaction: TextRedaction | PathRedaction | None
    if kind == "detect":
        redaction = TextRedaction(
            rule.id,
            site.policy.detectors.scanner(names),
            replace,
            retype=_retypes(node),
            names=tuple(site.policy.detectors.detectors),
        )
    elif kind == "pattern":
        redaction = _by_pattern(rule, replace, site)
    else:
        redaction = _by_path(rule, replace, site)
    return None if redaction is None else (ScopedRedaction(redaction, reach.scope), reach)


def _check_fields(node: Node, kind: str | None, site: Site) -> None:
    group, within = node.get("group"), node.get("in")
    if group is not None and kind != "pattern":
        site.report.error("unused-field", group.key_span, "`group` goes with `pattern` only")
    if within is not None and kind == "path":
        text = "`in` goes with `detect` and `pattern` only: a `path` says where"
        site.report.error("unused-field", within.key_span, text)


def _retypes(node: Node) -> bool:
    return bool(node.value.get("retype", False))


def _check_type(node: Node, kind: str, replace: Strategy, site: Site) -> None:
    """Warn where a value may come out with another type than the client expects."""
    help = "a client that knows the tool's `outputSchema` refuses such a result"
    if _retypes(node):
        text = "what is no text becomes one, so its type changes"
        site.report.warning("type-changes", node["retype"].key_span, text, help)
    elif kind != "path" and isinstance(replace, Value) and not isinstance(replace.value, str):
        text = "a text becomes a value of another type"
        site.report.warning("type-changes", node["replace"]["value"].key_span, text, help)


def _by_pattern(rule: Rule, replace: Strategy, site: Site) -> TextRedaction | None:
    node, group = rule.node["pattern"], rule.node.value.get("group", 0)
    pattern = compile_pattern(node.text)
    if isinstance(pattern, Flaw):
        site.flaws(node.text, (pattern,))
        return None
    if group > pattern.groups:
        text = f"the pattern has no group {group}, only {pattern.groups}"
        site.report.error("unknown-group", rule.node["group"].span, text)
        return None
    if pattern.matches_empty:
        text = "the pattern matches the empty text, so it would match everywhere"
        site.report.error("matches-empty", node.span, text, "write `+` instead of `*`")
        return None
    # a pattern of ordinary words must not rename the members that a protocol is made of
    finder = PatternFinder(pattern, group)
    return TextRedaction(
        rule.id,
        finder,
        replace,
        keys=False,
        retype=_retypes(rule.node),
        names=tuple(site.policy.detectors.detectors),
    )


def _by_path(rule: Rule, replace: Strategy, site: Site) -> PathRedaction | None:
    node = rule.node["path"]
    pattern = parse_pattern(node.text)
    if isinstance(pattern, PointerFlaw):
        site.pointer_flaw(node.text, pattern)
        return None
    if pattern.matches_root:
        text = "the path matches the whole payload, of which nothing would be left"
        site.report.error("matches-root", node.span, text)
        return None
    return PathRedaction(rule.id, pattern, replace, _retypes(rule.node))
