"""What is said twice: entries of `match`, rules of a policy, whole policies.

Nothing of it is wrong by itself; it is told because the second of two is often a copy in which
something should have been changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from policyd.diagnostics import Report
from policyd.events import matches_event
from policyd.policy import Node, Policy, Rule
from policyd.reachability.globs import covered_by

_SAID_ELSEWHERE: Final = frozenset({"id", "message", "hint", "name", "version", "description"})
"""Members that change nothing of what a rule or a policy does."""


def check_match(policy: Policy, report: Report) -> None:
    """Warn of entries of `events` and `tools` that another entry covers."""
    hook = policy.hook
    _check_entries(hook.node["events"], _covered_event, report)
    if hook.tools is not None:
        _check_entries(hook.tools, covered_by, report)


def _check_entries(
    node: Node, covered: Callable[[Sequence[str], int], int | None], report: Report
) -> None:
    entries = node.value
    for place, entry in enumerate(node):
        other = covered(entries, place)
        if other is not None:
            text = f"`{entry.value}` adds nothing: `{entries[other]}` covers it"
            report.warning("covered-entry", entry.span, text)


def _covered_event(events: Sequence[str], place: int) -> int | None:
    own = events[place]
    for other, wide in enumerate(events):
        if wide == own and other < place:
            return other
        if wide != own and matches_event(wide, own):
            return other
    return None


def check_rules(rules: Iterable[tuple[Rule, Any]], report: Report) -> None:
    """Warn of a rule that fires exactly where an earlier one of its policy does.

    Each rule comes with what it does: the same for two that do the same, None for one that
    has to be compared as it is written.
    """
    first: dict[Any, Rule] = {}
    for rule, does in rules:
        key = _text(_bare(rule.node.value)) if does is None else does
        earlier = first.setdefault(key, rule)
        if earlier is not rule:
            line = earlier.node.span.line
            text = (
                f"rule `{rule.id}` fires where `{earlier.id}` in line {line} does, and only there"
            )
            place = rule.node.get(rule.kind) or rule.node
            report.warning("duplicate-rule", place.span, text)


def check_policies(policies: Iterable[Policy], report: Report) -> None:
    """Warn of a policy that does what an earlier one does under another name."""
    first: dict[str, Policy] = {}
    for policy in policies:
        earlier = first.setdefault(_does(policy), policy)
        if earlier.name != policy.name:
            span = earlier.node["name"].span
            text = (
                f"policy `{policy.name}` does what `{earlier.name}` does already: "
                f"{span.file}:{span.line} has it"
            )
            report.warning("duplicate-policy", policy.node["name"].span, text)


def _does(policy: Policy) -> str:
    value = _bare(policy.node.value)
    rules = [_bare(rule.node.value) for rule in policy.rules]
    return _text([policy.kind, value | {"rules": rules}, policy.constants])


def _bare(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: member
        for key, member in value.items()
        if key not in _SAID_ELSEWHERE and not key.startswith("x-")
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
