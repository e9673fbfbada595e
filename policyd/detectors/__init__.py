"""Finds secrets and personal data in texts.

The table of all detectors, their groups, and the scanner that runs them.  Knows texts only: not
payloads, not where a text stands, not what becomes of a match.

What is looked for is the thing itself as it is usually written: base64 or other encodings
around it, invisible characters within it and look-alike digits are not undone here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policyd.detectors.catalog import Catalog
from policyd.detectors.contact import CONTACT
from policyd.detectors.credentials import CREDENTIALS
from policyd.detectors.detector import Detector, Evidence
from policyd.detectors.invisible import INVISIBLE
from policyd.detectors.national import NATIONAL
from policyd.detectors.network import NETWORK
from policyd.detectors.personal import PERSONAL
from policyd.detectors.places import PLACES
from policyd.detectors.scanner import Match, Scanner
from policyd.detectors.tokens import TOKENS
from policyd.detectors.vendors import VENDORS

__all__ = [
    "BUILT_IN",
    "DETECTORS",
    "GROUPS",
    "Catalog",
    "Detector",
    "Evidence",
    "Match",
    "Scanner",
    "resolve",
    "scanner",
]

BUILT_IN = Catalog(
    (*CREDENTIALS, *VENDORS, *TOKENS, *PLACES, *PERSONAL, *NATIONAL, *CONTACT, *NETWORK, *INVISIBLE)
)
"""Every detector that comes with policyd."""

DETECTORS: Mapping[str, Detector] = BUILT_IN.detectors
"""Every built-in detector by its name."""

GROUPS: Mapping[str, tuple[str, ...]] = BUILT_IN.groups
"""The names of the built-in detectors of each group.

`credentials` is another word for `secrets`.  `secrets.generic` is not part of `secrets`,
because what it finds is often no secret; `all` holds it.
"""


def resolve(names: Iterable[str]) -> tuple[Detector, ...]:
    """The built-in detectors that *names* stand for, as `Catalog.resolve`."""
    return BUILT_IN.resolve(names)


def scanner(names: Iterable[str]) -> Scanner:
    """The scanner of built-in detectors that *names* stand for, as `Catalog.scanner`."""
    return BUILT_IN.scanner(names)
