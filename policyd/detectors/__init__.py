"""Finds secrets and personal data in texts.

The table of all detectors, their groups, and the scanner that runs them.  Knows texts only: not
payloads, not where a text stands, not what becomes of a match.

What is looked for is the thing itself as it is usually written: base64 or other encodings
around it, invisible characters within it and look-alike digits are not undone here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from policyd.detectors.credentials import CREDENTIALS
from policyd.detectors.detector import Detector, Evidence
from policyd.detectors.personal import PERSONAL
from policyd.detectors.scanner import Match, Scanner
from policyd.detectors.vendors import VENDORS

__all__ = ["DETECTORS", "GROUPS", "Detector", "Evidence", "Match", "Scanner", "resolve", "scanner"]

DETECTORS: Mapping[str, Detector] = MappingProxyType(
    {detector.name: detector for detector in (*CREDENTIALS, *VENDORS, *PERSONAL)}
)
"""Every detector by its name."""


def _group(name: str) -> tuple[str, ...]:
    return tuple(detector.name for detector in DETECTORS.values() if name in detector.groups)


GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "secrets": _group("secrets"),
        "credentials": _group("secrets"),
        "secrets.generic": _group("secrets.generic"),
        "pii": _group("pii"),
        "pii.us": _group("pii.us"),
        "pii.eu": _group("pii.eu"),
        "all": tuple(DETECTORS),
    }
)
"""The names of the detectors of each group.

`credentials` is another word for `secrets`.  `secrets.generic` is not part of `secrets`,
because what it finds is often no secret; `all` holds it.
"""


def resolve(names: Iterable[str]) -> tuple[Detector, ...]:
    """The detectors that *names* (of detectors and groups) stand for, each once.

    Their order is that of `DETECTORS`, whatever the order of the names.  Raises KeyError with
    the first name that is neither.
    """
    wanted: set[str] = set()
    for name in names:
        if name in GROUPS:
            wanted.update(GROUPS[name])
        elif name in DETECTORS:
            wanted.add(name)
        else:
            raise KeyError(name)
    return tuple(detector for detector in DETECTORS.values() if detector.name in wanted)


def scanner(names: Iterable[str]) -> Scanner:
    """The scanner of the detectors that *names* stand for; one and the same for the same set.

    A scanner is never changed, and making one costs more than most policies.  Raises KeyError
    as `resolve` does.
    """
    return _scanner(resolve(names))


_scanner = cache(Scanner)
