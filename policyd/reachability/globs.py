"""What can be said of globs without a name to try them on.

Knows globs as `policyd.pattern` defines them: `*` stands for any characters, `?` for one.
"""

from __future__ import annotations

from collections.abc import Sequence


def is_plain(glob: str) -> bool:
    """True when *glob* stands for itself only."""
    return "*" not in glob and "?" not in glob


def head(glob: str) -> str:
    """The characters that every match begins with."""
    return _until_wildcard(glob)


def tail(glob: str) -> str:
    """The characters that every match ends with."""
    return _until_wildcard(glob[::-1])[::-1]


def _until_wildcard(text: str) -> str:
    ends = [at for at in (text.find("*"), text.find("?")) if at >= 0]
    return text[: min(ends)] if ends else text


def covers(wide: str, narrow: str) -> bool:
    """True when everything that *narrow* matches is surely matched by *wide*.

    A match of *wide* on the text of *narrow*, in which `?` is met by a `?` or a `*` only and
    `*` by a `*` only.  False where that does not tell.
    """
    reached = {0}
    for char in narrow:
        reached = _step(wide, _skip_stars(wide, reached), char)
    return len(wide) in _skip_stars(wide, reached)


def _skip_stars(wide: str, reached: set[int]) -> set[int]:
    """*reached*, and what a star that stands for nothing lets through."""
    closed = set(reached)
    for at in sorted(reached):
        while at < len(wide) and wide[at] == "*":
            at += 1
            closed.add(at)
    return closed


def _step(wide: str, reached: set[int], char: str) -> set[int]:
    following = set()
    for at in reached:
        word = wide[at : at + 1]
        if word == "*":
            following.add(at)
        elif word and (word == char or (word == "?" and char != "*")):
            following.add(at + 1)
    return following


def covered_by(globs: Sequence[str], place: int) -> int | None:
    """The place of another glob that makes the one at *place* superfluous, or None.

    Of two that say the same, the later one is superfluous.
    """
    narrow = globs[place]
    for other, wide in enumerate(globs):
        mutual = other > place and covers(narrow, wide)
        if other != place and covers(wide, narrow) and not mutual:
            return other
    return None
