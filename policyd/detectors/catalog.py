"""The detectors that names in a policy stand for: by name, and by group.

Knows names and groups; knows no single detector and no policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from policyd.detectors.detector import Detector
from policyd.detectors.scanner import Scanner

SYNONYMS: Mapping[str, str] = MappingProxyType({"credentials": "secrets"})
"""Groups that are another word for a group."""


class Catalog:
    """Detectors, in an order that says which name wins where nothing else decides.

    detectors: by name.
    groups: the names of the detectors of each group, in the order of the detectors; `all` holds
        every one.
    """

    __slots__ = ("detectors", "groups")

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self.detectors: Mapping[str, Detector] = MappingProxyType({d.name: d for d in detectors})
        groups: dict[str, list[str]] = {}
        for name, detector in self.detectors.items():
            for group in (*detector.groups, "all"):
                groups.setdefault(group, []).append(name)
        for word, group in SYNONYMS.items():
            groups[word] = groups.get(group, [])
        self.groups: Mapping[str, tuple[str, ...]] = MappingProxyType(
            {group: tuple(names) for group, names in groups.items()}
        )

    def __contains__(self, name: object) -> bool:
        """True for the name of a detector or of a group."""
        return name in self.groups or name in self.detectors

    def resolve(self, names: Iterable[str]) -> tuple[Detector, ...]:
        """The detectors that *names* (of detectors and groups) stand for, each once.

        Their order is that of the catalog, whatever the order of the names.  Raises KeyError
        with the first name that is neither.
        """
        wanted: set[str] = set()
        for name in names:
            if name not in self:
                raise KeyError(name)
            wanted.update(self.groups.get(name, (name,)))
        return tuple(detector for name, detector in self.detectors.items() if name in wanted)

    def scanner(self, names: Iterable[str]) -> Scanner:
        """The scanner of the detectors that *names* stand for; the same one for the same set.

        A scanner is never changed, and making one costs more than most policies.  Raises
        KeyError as `resolve` does.
        """
        return _scanner(self.resolve(names))

    def extended(self, detectors: Iterable[Detector]) -> Catalog:
        """This catalog with more detectors, which come first: they know what they look for."""
        return Catalog((*detectors, *self.detectors.values()))


# of a few generations: those that are gone must not be kept alive
_scanner = lru_cache(64)(Scanner)
