"""What a settings file changes about policies, as if their own files said so.

`allPolicies` is for every policy, `policies.NAME` for one and stronger.  What a policy judges
may be narrowed and never widened, as SEP-2624 "InterceptorOverrides" has it for chains.
Knows policies as they are written; compiles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from policyd.diagnostics import Report, did_you_mean
from policyd.events import matches_event
from policyd.model import PHASES, Kind, Mode, Phase
from policyd.policy import Hook, Node, Policy, parse_timeout
from policyd.settings.file import parse_settings
from policyd.source import SourceFile


def override_policies(
    source: SourceFile | None, policies: Sequence[Policy], report: Report
) -> Mapping[str, Policy]:
    """Each policy of which the settings file *source* changes something, by name, changed.

    Mistakes go to *report*, those of the whole file as well.  A name that no policy has is one,
    unless policies are missing because of other mistakes.
    """
    document = None if source is None else parse_settings(source, report)
    if document is None:
        return {}
    root = Node(document, ())
    everyone, single = root.get("allPolicies"), root.get("policies")
    if single is not None and not report.failed:
        _check_names(single, policies, report)
    found: dict[str, Policy] = {}
    for policy in policies:
        own = None if single is None else single.get(policy.name)
        changes = [node for node in (everyone, own) if node is not None]
        if changes:
            found[policy.name] = _changed(policy, changes, report)
    return found


def _check_names(single: Node, policies: Iterable[Policy], report: Report) -> None:
    names = [policy.name for policy in policies]
    for node in single:
        name = str(node.path[-1])
        if name not in names:
            text = f"there is no policy `{name}` to override"
            help = did_you_mean(name, names) or "`policyd list` tells the names"
            report.error("unknown-policy", node.key_span, text, help)


def _changed(policy: Policy, changes: Iterable[Node], report: Report) -> Policy:
    for node in changes:
        value = node.value
        timeout, match = node.get("timeout"), node.get("match")
        policy = replace(
            policy,
            mode=Mode(value.get("mode", policy.mode)),
            fail_open=value.get("failOpen", policy.fail_open),
            timeout=policy.timeout if timeout is None else parse_timeout(timeout, report),
            hook=policy.hook if match is None else _narrowed(policy, match, report),
        )
        policy = replace(policy, priority=_priority(policy, node.get("priority"), report))
    return policy


def _priority(policy: Policy, node: Node | None, report: Report) -> Mapping[Phase, int]:
    """The priority of each phase that is left; one that is not overridden is as declared."""
    declared = {phase: policy.priority[phase] for phase in policy.hook.phases}
    if node is None:
        return declared
    if policy.kind is Kind.VALIDATION:
        text = f"`{policy.name}` is a validator: only mutators have an order"
        report.error("never-runs", node.key_span, text, "leave `priority` out")
        return declared
    if isinstance(node.value, int):
        return dict.fromkeys(declared, node.value)
    for member in node:
        if member.path[-1] not in declared:
            text = f"`{policy.name}` does not run in the {member.path[-1]} phase"
            report.error("never-runs", member.key_span, text)
    return {phase: node.value.get(phase.value, own) for phase, own in declared.items()}


def _narrowed(policy: Policy, match: Node, report: Report) -> Hook:
    hook = policy.hook
    events, phase = match.get("events"), match.get("phase")
    for node in events or ():
        if not any(matches_event(declared, node.value) for declared in hook.events):
            text = f"`{policy.name}` is not for `{node.value}`: {_ONLY_NARROWER}"
            help = did_you_mean(node.value, hook.events) or _listed(hook.events)
            report.error("wider-match", node.span, text, help)
    phases = hook.phases if phase is None else PHASES[phase.value]
    if phase is not None and not set(phases) <= set(hook.phases):
        text = f"`{policy.name}` is for the {hook.phases[0]} phase only: {_ONLY_NARROWER}"
        report.error("wider-match", phase.span, text, "leave `phase` out")
        phases = hook.phases
    return replace(
        hook, events=hook.events if events is None else tuple(events.value), phases=phases
    )


_ONLY_NARROWER = "an override can only narrow what a policy judges"


def _listed(events: Sequence[str]) -> str:
    return f"its own `events`: {', '.join(f'`{event}`' for event in events)}"
