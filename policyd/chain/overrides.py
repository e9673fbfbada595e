"""What an invoker may change about an interceptor without asking its server.

Source: SEP-2624 "InterceptorOverrides".  Hooks may be narrowed and never widened; everything
else is the invoker's to decide.  Knows descriptors only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from policyd.diagnostics import did_you_mean
from policyd.errors import PolicydError
from policyd.events import matches_event
from policyd.model import Descriptor, Kind, Mode, Phase


class OverrideError(PolicydError):
    """An override that names no interceptor, or that would widen what one is hooked to."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Changes to one interceptor; None leaves a member as the interceptor declares it.

    mode: `enforce` makes an auditing interceptor count, `audit` only records.
    fail_open: whether the chain goes on when the interceptor fails.
    priority: lower runs first; one number, or one for each phase.  Mutators only.
    timeout: seconds.
    hooks: event names or wildcards with the phase they are for; each must lie within what the
        interceptor declares (`*` is within `*` only).
    """

    mode: Mode | str | None = None
    fail_open: bool | None = None
    priority: int | Mapping[str, int] | None = None
    timeout: float | None = None
    hooks: Sequence[tuple[Sequence[str], Phase | str]] | None = None

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in tuple(Mode):
            raise OverrideError("`mode` is `enforce` or `audit`")
        if self.fail_open not in (None, True, False):
            raise OverrideError("`fail_open` is True or False")
        if self.timeout is not None and not self.timeout > 0:
            raise OverrideError("`timeout` is a number of seconds greater than 0")
        phases = {phase for _, phase in self.hooks or ()}
        if isinstance(self.priority, Mapping):
            phases |= self.priority.keys()
        if not phases <= set(Phase):
            raise OverrideError("a phase is `request` or `response`")
        if any(isinstance(events, str) for events, _ in self.hooks or ()):
            raise OverrideError("`hooks` is a list of pairs: a list of events, and a phase")


def apply_overrides(
    declared: Iterable[Descriptor], overrides: Mapping[str, Overrides]
) -> tuple[tuple[Descriptor, Descriptor], ...]:
    """Each descriptor with the one to run it by.

    A descriptor whose phases are treated differently comes several times; one whose hooks are
    all taken away does not come.  A hook that the descriptor does not declare is not added.
    """
    return tuple(
        (descriptor, changed)
        for descriptor in declared
        for changed in _changed(descriptor, overrides.get(descriptor.name))
    )


def check_overrides(overrides: Mapping[str, Overrides], declared: Iterable[Descriptor]) -> None:
    """Raises OverrideError when *overrides* name nobody who is declared, or widen a hook.

    For the moment a host is added; what it declares later may fit them less, and they still
    narrow it.
    """
    listed = tuple(declared)
    names = [descriptor.name for descriptor in listed]
    for name, changes in overrides.items():
        if name not in names:
            guess = did_you_mean(name, names)
            hint = "" if guess is None else f"; {guess}"
            raise OverrideError(f"there is no interceptor `{name}` to override{hint}")
        _check_hooks([d for d in listed if d.name == name], name, changes)


def _check_hooks(declared: Sequence[Descriptor], name: str, changes: Overrides) -> None:
    for events, phase in changes.hooks or ():
        within = [event for d in declared if phase in d.phases for event in d.events]
        for event in events:
            if not any(matches_event(pattern, event) for pattern in within):
                raise OverrideError(
                    f"`{name}` is not hooked to `{event}` in the {phase} phase, and an override"
                    " can only narrow its hooks"
                )


def _changed(descriptor: Descriptor, changes: Overrides | None) -> Iterable[Descriptor]:
    if changes is None:
        return (descriptor,)
    settled = replace(
        descriptor,
        mode=descriptor.mode if changes.mode is None else Mode(changes.mode),
        fail_open=descriptor.fail_open if changes.fail_open is None else changes.fail_open,
        timeout=descriptor.timeout if changes.timeout is None else changes.timeout,
    )
    by_phase: dict[tuple[tuple[str, ...], int], list[Phase]] = {}
    for phase in descriptor.phases:
        events = _events(descriptor, phase, changes)
        if events:
            by_phase.setdefault((events, _priority(descriptor, phase, changes)), []).append(phase)
    return [
        replace(settled, events=events, priority=priority, phases=tuple(phases))
        for (events, priority), phases in by_phase.items()
    ]


def _events(descriptor: Descriptor, phase: Phase, changes: Overrides) -> tuple[str, ...]:
    if changes.hooks is None:
        return descriptor.events
    wanted = [event for events, hooked in changes.hooks if hooked == phase for event in events]
    # the wire may have split one interceptor into several descriptors: each keeps its share
    return tuple(
        dict.fromkeys(e for e in wanted if any(matches_event(p, e) for p in descriptor.events))
    )


def _priority(descriptor: Descriptor, phase: Phase, changes: Overrides) -> int:
    if descriptor.kind is Kind.VALIDATION or changes.priority is None:
        return descriptor.priority
    if isinstance(changes.priority, int):
        return changes.priority
    return changes.priority.get(phase, 0)
