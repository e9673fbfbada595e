"""`redact`: replace, mask, hash or remove what must not be seen.

    redact:
      - detect: [secrets, email]              # what detectors find, in every text and key
        replace: "[{detector}]"
      - pattern: 'employee id: (\\d{6})'       # what an RE2 pattern finds, in every text
        group: 1
        replace: {mask: "*", keep: 2}
      - path: /structuredContent/**/ssn       # whole values at their place
        replace: {hash: sha256}

Values at a path are replaced first, then all texts are searched once, as they then stand.
"""

from __future__ import annotations

from typing import Any

from policyd.activation import Activation
from policyd.detectors import scanner
from policyd.expression import Budget, Flaw
from policyd.model import Change
from policyd.pattern import compile_pattern
from policyd.pointer import PointerFlaw, parse_pattern
from policyd.policy import Node, Rule
from policyd.redaction import (
    Hash,
    Literal,
    Mask,
    PathRedaction,
    PatternFinder,
    Remove,
    Strategy,
    TextRedaction,
    mask_flaw,
    redact_places,
    redact_texts,
)
from policyd.rules.kinds import Step
from policyd.site import Site

_KINDS = ("detect", "pattern", "path")


def build(rules: tuple[Rule, ...], site: Site) -> Step | None:
    """A step that carries out all redactions."""
    built = [_redaction(rule, site) for rule in rules]
    if any(redaction is None for redaction in built):
        return None
    paths = tuple(r for r in built if isinstance(r, PathRedaction))
    texts = tuple(r for r in built if isinstance(r, TextRedaction))

    def step(
        payload: Any, activation: Activation, budget: Budget
    ) -> tuple[Any, tuple[Change, ...]]:
        changes: tuple[Change, ...] = ()
        for redaction in paths:
            budget.spend(1)
            # never the root, which no path may match, so there is always a place left
            payload, changed = redact_places(payload, redaction, budget)
            changes += changed
        if texts:
            payload, changed = redact_texts(payload, texts, budget)
            changes += changed
        return payload, changes

    return step


def _redaction(rule: Rule, site: Site) -> TextRedaction | PathRedaction | None:
    kind = site.only_one(rule.node, _KINDS, "a redaction")
    replace = _strategy(rule.node, site)
    group = rule.node.get("group")
    if group is not None and kind != "pattern":
        site.report.error("unused-field", group.key_span, "`group` goes with `pattern` only")
    if kind is None or replace is None:
        return None
    if kind == "detect":
        return _by_detectors(rule, replace, site)
    return _by_pattern(rule, replace, site) if kind == "pattern" else _by_path(rule, replace, site)


def _by_detectors(rule: Rule, replace: Strategy, site: Site) -> TextRedaction | None:
    names = site.detectors(rule.node["detect"])
    return None if names is None else TextRedaction(rule.id, scanner(names), replace)


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
    return TextRedaction(rule.id, PatternFinder(pattern, group), replace, keys=False)


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
    return PathRedaction(rule.id, pattern, replace)


def _strategy(node: Node, site: Site) -> Strategy | None:
    replace = node.get("replace")
    if replace is None:
        return Literal("[{detector}]")
    value = replace.value
    if isinstance(value, str):
        return Literal(value)
    kind = site.only_one(replace, ("mask", "hash", "remove"), "`replace`")
    keep = replace.get("keep")
    if keep is not None and kind != "mask":
        site.report.error("unused-field", keep.key_span, "`keep` goes with `mask` only")
        return None
    if kind == "mask":
        flaw = mask_flaw(value["mask"])
        if flaw is None:
            return Mask(value["mask"], value.get("keep", 0))
        site.report.error("bad-value", replace["mask"].span, flaw)
        return None
    if kind == "hash":
        return Hash()
    return None if kind is None else Remove()
