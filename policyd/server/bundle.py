"""The whole set as two interceptors, so that a chain makes two calls whatever the number.

Knows what the two are called and what they say in a list.  Knows no transport.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policyd.events import ANY_EVENT
from policyd.model import Descriptor, Kind, Phase
from policyd.settings import Exposure

__all__ = ["NAMES", "Exposure", "bundle_descriptors"]


NAMES: Final[Mapping[str, Kind]] = {
    "policyd/validators": Kind.VALIDATION,
    "policyd/mutators": Kind.MUTATION,
}
"""The two interceptors of a bundle."""


def bundle_descriptors(policies: Iterable[Descriptor]) -> tuple[Descriptor, ...]:
    """The two interceptors that stand for *policies*.

    They are hooked to every event, so that a chain that lists once calls them for a policy
    that a hot reload brings.  They fail open where all policies do: a server that is gone
    then stops nothing.  Their config holds the config of each policy under its name.
    """
    known = tuple(policies)
    fail_open = bool(known) and all(policy.fail_open for policy in known)
    return tuple(
        Descriptor(
            name=name,
            kind=kind,
            events=(ANY_EVENT,),
            phases=tuple(Phase),
            fail_open=fail_open,
            description=f"Runs all {_WORDS[kind]} of this server.",
            config_schema=_config_schema(policy for policy in known if policy.kind is kind),
        )
        for name, kind in NAMES.items()
    )


_WORDS: Final = {Kind.VALIDATION: "validators", Kind.MUTATION: "mutators"}


def _config_schema(policies: Iterable[Descriptor]) -> dict[str, Any] | None:
    schemas = {p.name: p.config_schema for p in policies if p.config_schema is not None}
    return {"type": "object", "properties": schemas} if schemas else None
