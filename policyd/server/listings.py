"""What this process has listed, so that chains which list once and cache stay covered.

Knows generations, descriptors and the two catch-up interceptors.  Knows no transport.
The Go and the Python chain read `interceptors/list` once and never again; after a hot reload
they still call names that are gone, and never call names that are new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from policyd.events import ANY_EVENT
from policyd.model import Descriptor, Kind, Mode, Phase

MAX_GENERATIONS = 256
"""Older ones are forgotten; catching up from them runs everything that matches."""

MAX_NAMES = 10_000
"""Older ones are forgotten; calling them is an error again, which fails closed."""

_PREFIXES = {
    Kind.VALIDATION: "policyd/catch-up-validators@",
    Kind.MUTATION: "policyd/catch-up-mutators@",
}


def catch_up_descriptors(
    generation: str, listed: Iterable[Descriptor]
) -> tuple[Descriptor, Descriptor]:
    """The two interceptors that run what a list read in *generation* does not know yet.

    They fail open where all that is *listed* does: a server that is gone then stops nothing.
    """
    known = tuple(listed)
    fail_open = bool(known) and all(one.fail_open for one in known)
    return (
        _catch_up(Kind.VALIDATION, generation, fail_open),
        _catch_up(Kind.MUTATION, generation, fail_open),
    )


def parse_catch_up(name: str) -> tuple[Kind, str] | None:
    """The kind and the generation in the name of a catch-up interceptor, or None."""
    for kind, prefix in _PREFIXES.items():
        if name.startswith(prefix):
            return kind, name.removeprefix(prefix)
    return None


class Listings:
    """The descriptors of every generation that was listed, within bounds."""

    def __init__(self) -> None:
        self._generations: OrderedDict[str, tuple[Descriptor, ...]] = OrderedDict()
        self._names: OrderedDict[str, Kind] = OrderedDict()

    def record(self, generation: str, descriptors: tuple[Descriptor, ...]) -> None:
        """Remember that *generation* was listed."""
        if generation in self._generations:
            self._generations.move_to_end(generation)
            return
        self._generations[generation] = descriptors
        for descriptor in descriptors:
            self._names[descriptor.name] = descriptor.kind
            self._names.move_to_end(descriptor.name)
        while len(self._generations) > MAX_GENERATIONS:
            self._generations.popitem(last=False)
        while len(self._names) > MAX_NAMES:
            self._names.popitem(last=False)

    def kind_of(self, name: str) -> Kind | None:
        """The kind that *name* was last listed with, or None if it never was."""
        return self._names.get(name)

    def unknown_to(
        self, generation: str, kind: Kind, current: Iterable[Descriptor], hook: tuple[str, str]
    ) -> frozenset[str]:
        """The names that match an event and phase now and did not in *generation*.

        A policy that was listed with fewer hooks counts as unknown where it gained one: no
        chain that cached the old list calls it there.  So does one that was only audited, or
        failed open, and is stricter now: such a chain calls it and does not heed it.
        """
        listed = _hooked(self._generations.get(generation, ()), kind, hook)
        now = _hooked(current, kind, hook)
        return frozenset(n for n, d in now.items() if n not in listed or _stricter(d, listed[n]))


def _hooked(
    descriptors: Iterable[Descriptor], kind: Kind, hook: tuple[str, str]
) -> dict[str, Descriptor]:
    return {d.name: d for d in descriptors if d.kind is kind and d.matches(*hook)}


def _stricter(now: Descriptor, then: Descriptor) -> bool:
    enforced = now.mode is Mode.ENFORCE and then.mode is Mode.AUDIT
    return enforced or (then.fail_open and not now.fail_open)


def _catch_up(kind: Kind, generation: str, fail_open: bool) -> Descriptor:
    return Descriptor(
        name=_PREFIXES[kind] + generation,
        kind=kind,
        events=(ANY_EVENT,),
        phases=(Phase.REQUEST, Phase.RESPONSE),
        fail_open=fail_open,
        description="Runs the policies that were added after this list was read.",
    )
