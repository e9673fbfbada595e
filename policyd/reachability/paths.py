"""The paths of a policy that no payload can have.

Knows which entries of a policy have paths, and what each does where there is nothing: it changes
nothing, it fails, or it finds something every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policyd.diagnostics import Report
from policyd.model import Phase
from policyd.pointer import format_pointer, parse_pointer
from policyd.policy import Node, Policy
from policyd.reachability.places import End, Path, follow, suggestion
from policyd.types import Anything, ListOf, payload_type

_Moment = tuple[str, Phase]


@dataclass(frozen=True, slots=True)
class _Use:
    """What a path is for.

    effect: what comes of it where no payload has it.
    wild: it may hold wildcards; adds: it may end in `-`; lists: a list is needed there.
    everywhere: it is needed in every event and phase of the policy, not only in one.
    decides: without it the rule does nothing, or fails; else it is only told.
    """

    effect: str
    wild: bool = False
    adds: bool = False
    lists: bool = False
    everywhere: bool = False
    decides: bool = True


_NOTHING: Final = "so the rule does nothing"
_FAILS: Final = "so the policy always fails"

_OF_RULES: Final[Mapping[str, tuple[str, _Use]]] = {
    "deny": ("path", _Use("so the finding points nowhere", decides=False)),
    "require": ("path", _Use("so the finding points nowhere", decides=False)),
    "detect": ("path", _Use(_NOTHING)),
    "schema": ("path", _Use("so the rule finds something every time")),
    "redact": ("path", _Use(_NOTHING, wild=True)),
    "drop": ("from", _Use(_NOTHING, lists=True)),
}


_PLACES: Final[Mapping[str, _Use]] = {
    "in": _Use("so nothing is looked for there", wild=True),
    "except": _Use("so it exempts nothing", wild=True),
}
"""The members of a search that hold pointers, a list each; of `except` some are conditions."""


def check_paths(policy: Policy, report: Report) -> None:
    """Report the paths of *policy* that lead nowhere in all payloads that it is for."""
    for rule in policy.rules:
        if rule.kind == "patch":
            if not _check_operation(rule.node, policy, report):
                return
        else:
            word, use = _OF_RULES[rule.kind]
            node = rule.node.get(word)
            if node is not None:
                _check(node, use, policy, report)
            _check_places(rule.node, policy, report)


def _check_places(node: Node, policy: Policy, report: Report) -> None:
    for word, use in _PLACES.items():
        for entry in node.get(word) or ():
            if isinstance(entry.value, str):
                _check(entry, use, policy, report)


def _check_operation(node: Node, policy: Policy, report: Report) -> bool:
    """Check the paths of one operation; False where it replaces the payload as a whole."""
    op: str = node.value["op"]
    everywhere = policy.hook.when is None
    path, source = node.get("path"), node.get("from")
    if path is None or path.value == "":
        return op == "test"
    use = _Use(_FAILS, adds=op in ("add", "copy", "move"), everywhere=everywhere)
    _check(path, use, policy, report)
    if source is not None and op in ("copy", "move"):
        _check(source, _Use(_FAILS, everywhere=everywhere), policy, report)
    return True


def _check(node: Node, use: _Use, policy: Policy, report: Report) -> None:
    steps = parse_pointer(node.value)
    if not isinstance(steps, tuple) or not steps:
        return
    path = Path(steps, use.wild, use.adds)
    ends: dict[_Moment, End] = {}
    for moment in policy.hook.moments:
        end = _end(moment, path, use)
        if end is not None:
            ends[moment] = end
        elif not use.everywhere:
            return
    if ends:
        _report(node, path, use, ends, report)


def _end(moment: _Moment, path: Path, use: _Use) -> End | None:
    """Where *path* ends too early in the payloads of *moment*, or None."""
    reached = follow(payload_type(*moment), path)
    if isinstance(reached, End):
        return reached
    if use.lists and not any(isinstance(type, ListOf | Anything) for type in reached):
        return End(len(path.steps), reached)
    return None


def _report(node: Node, path: Path, use: _Use, ends: Mapping[_Moment, End], report: Report) -> None:
    moment, end = max(ends.items(), key=lambda item: item[1].depth)
    event, phase = moment
    whole = format_pointer(path.steps)
    if end.depth == len(path.steps):
        text = f"no list is at `{whole}` in a {phase} of `{event}`, so the policy always fails"
        report.error("no-such-place", node.span, text)
        return
    shown = format_pointer(path.steps[: end.depth + 1])
    help = suggestion(end, path, moment)
    creates = use.adds and end.depth == len(path.steps) - 1
    effect = "so nobody reads it" if creates else use.effect
    text = f"no {phase} of `{event}` has `{shown}`, {effect}"
    offset = len(format_pointer(path.steps[: end.depth])) + 1
    span = node.text.at(offset, max(1, len(shown) - offset))
    # MCP lets everybody add members, so without a guess it may be meant as it stands
    tell = report.error if use.decides and help is not None else report.warning
    tell("no-such-place", span, text, help)
