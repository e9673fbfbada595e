"""What of a secret may stay readable: enough to tell two apart, too little to use it.

Knows the names of detectors and texts.  What stays is told by position, so doing it twice
is doing it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from policyd.detectors import GROUPS

_COVER: Final = "*"
_LAST: Final = 4


def readable_part(found: str, detector: str | None) -> str:
    """*found*, covered but for what is customary for what *detector* finds; as long as it was."""
    return _OF.get(detector or "", _last)(found)


def _last(found: str) -> str:
    """The last quarter of the letters and digits, four at most."""
    places = [at for at, char in enumerate(found) if char.isalnum() or char == _COVER]
    kept = min(_LAST, len(places) // 4)
    return _covered(found, places[: len(places) - kept])


def _separated(found: str) -> str:
    """As `_last`, with four of it in any case; a card has at least twelve before them."""
    places = [at for at, char in enumerate(found) if char.isalnum() or char == _COVER]
    return _covered(found, places[:-_LAST])


def _address(found: str) -> str:
    """The first letter and what follows the last `@`."""
    local = found.rfind("@")
    return _covered(found, range(1 if local > 1 else 0, local))


def _none(found: str) -> str:
    return _COVER * len(found)


def _account(found: str) -> str:
    """The country and the last four characters."""
    places = [at for at, char in enumerate(found) if char.isalnum() or char == _COVER]
    return _covered(found, places[2:-_LAST])


def _covered(text: str, places: range | list[int]) -> str:
    chars = list(text)
    for at in places:
        chars[at] = _COVER
    return "".join(chars)


_OF: Final[Mapping[str, Callable[[str], str]]] = {
    "email": _address,
    "payment-card": _separated,
    "iban": _account,
    **dict.fromkeys(GROUPS["invisible"], _none),
}
