"""What is known of one value: which kinds, which numbers and which texts it may be.

A `Domain` is a set of values, described from outside: everything that is possible is in it, and
some of what is not may be in it as well.  So that it is empty proves something, and that it is
not proves nothing.  Knows no expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from policyd.expr.cel.values import CelType, UInt
from policyd.pattern import compile_glob
from policyd.reachability.globs import head, is_plain, tail

Scalar = tuple[str, Any]
"""A kind and a value of it: `("number", 1)` is also 1.0, and never true."""

KINDS: Final = frozenset(
    {
        "bool",
        "number",
        "string",
        "null",
        "bytes",
        "timestamp",
        "duration",
        "type",
        "list",
        "map",
        "other",
    }
)
"""The kinds of values; what only a function makes is `other`."""

ORDERED: Final = frozenset({"number", "string", "bytes", "timestamp", "duration"})
"""The kinds of which a domain knows bounds."""

_KIND_OF: Final[dict[type, str]] = {
    bool: "bool",
    int: "number",
    UInt: "number",
    float: "number",
    str: "string",
    type(None): "null",
    bytes: "bytes",
    datetime: "timestamp",
    timedelta: "duration",
    CelType: "type",
    list: "list",
    dict: "map",
}


def kind_of(value: Any) -> str:
    """The kind of *value*."""
    return _KIND_OF.get(type(value), "other")


def scalar(value: Any) -> Scalar | None:
    """*value* with its kind; None for what two equal ones need not be one: containers, NaN."""
    kind = kind_of(value)
    if kind in ("list", "map", "other") or value != value:
        return None
    return kind, value


_INFINITE: Final = (math.inf, -math.inf)


@dataclass(frozen=True, slots=True)
class Interval:
    """Values of one ordered kind between two bounds; None is no bound."""

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False

    def meet(self, other: Interval) -> Interval:
        """What is in both."""
        low, low_open = self.low, self.low_open
        if other.low is not None and (low is None or other.low >= low):
            low_open = other.low_open or (low_open and other.low == low)
            low = other.low
        high, high_open = self.high, self.high_open
        if other.high is not None and (high is None or other.high <= high):
            high_open = other.high_open or (high_open and other.high == high)
            high = other.high
        return Interval(low, high, low_open, high_open)

    def holds(self, value: Any) -> bool:
        """True when *value* is in it."""
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return self.high is None or not (
            value > self.high or (self.high_open and value == self.high)
        )

    @property
    def empty(self) -> bool:
        """True when surely nothing is in it."""
        if self.low is None or self.high is None:
            return False
        return bool(
            self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))
        )

    @property
    def point(self) -> Any:
        """The only value in it, or None."""
        return self.low if self.low is not None and self.low == self.high else None

    def whole(self) -> Interval:
        """The whole numbers in it, between closed bounds."""
        low, high = self.low, self.high
        if low is not None and low not in _INFINITE:
            low = math.floor(low) + 1 if self.low_open else math.ceil(low)
        if high is not None and high not in _INFINITE:
            high = math.ceil(high) - 1 if self.high_open else math.floor(high)
        return Interval(low, high)


_EVERYTHING: Final = Interval()


@dataclass(frozen=True, slots=True)
class Texts:
    """What texts must and must not begin with, end with and hold.

    globs: of each group, one must match.
    """

    heads: frozenset[str] = frozenset()
    tails: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    no_heads: frozenset[str] = frozenset()
    no_tails: frozenset[str] = frozenset()
    no_parts: frozenset[str] = frozenset()
    globs: frozenset[tuple[str, ...]] = frozenset()

    def meet(self, other: Texts) -> Texts:
        """What both ask for."""
        if other is _ANY_TEXT:
            return self
        return Texts(
            self.heads | other.heads,
            self.tails | other.tails,
            self.parts | other.parts,
            self.no_heads | other.no_heads,
            self.no_tails | other.no_tails,
            self.no_parts | other.no_parts,
            self.globs | other.globs,
        )

    def holds(self, text: str) -> bool:
        """True when *text* is one of them."""
        return (
            all(text.startswith(head) for head in self.heads)
            and all(text.endswith(tail) for tail in self.tails)
            and all(part in text for part in self.parts)
            and not any(text.startswith(head) for head in self.no_heads)
            and not any(text.endswith(tail) for tail in self.no_tails)
            and not any(part in text for part in self.no_parts)
            and all(any(compile_glob(g)(text) for g in group) for group in self.globs)
        )

    @property
    def empty(self) -> bool:
        """True when surely no text is one of them."""
        if self is _ANY_TEXT:
            return False
        first = max(self.heads, key=len, default="")
        last = max(self.tails, key=len, default="")
        if not all(first.startswith(head) for head in self.heads):
            return True
        if not all(last.endswith(tail) for tail in self.tails):
            return True
        if any(first.startswith(head) for head in self.no_heads):
            return True
        if any(last.endswith(tail) for tail in self.no_tails):
            return True
        surely = (first, last, *self.parts)
        if any(part in text for part in self.no_parts for text in surely):
            return True
        return any(not any(_may_match(g, first, last) for g in group) for group in self.globs)


_ANY_TEXT: Final = Texts()


def _may_match(glob: str, first: str, last: str) -> bool:
    """False when no match of *glob* begins with *first* and ends with *last*."""
    if is_plain(glob):
        return glob.startswith(first) and glob.endswith(last)
    begin, end = head(glob), tail(glob)
    return (begin.startswith(first) or first.startswith(begin)) and (
        end.endswith(last) or last.endswith(end)
    )


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of values.

    kinds: those that it may be of.
    values: the only ones, or None where they are not counted; they are of any kind, also of
        one that CEL does not know.
    excluded: those that it is not.
    bounds: by ordered kind, between what its values lie.
    nan: whether it may be the number that is no number, which lies between no bounds.
    integer: its numbers are whole.
    """

    kinds: frozenset[str] = KINDS
    values: frozenset[Scalar] | None = None
    excluded: frozenset[Scalar] = frozenset()
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    texts: Texts = _ANY_TEXT
    nan: bool = True
    integer: bool = False

    def meet(self, other: Domain) -> Domain:
        """What is in both."""
        if self is other or other is ANYTHING:
            return self
        if self is ANYTHING:
            return other
        return Domain(
            self.kinds & other.kinds,
            _both(self.values, other.values),
            self.excluded | other.excluded,
            _meet_bounds(self.bounds, other.bounds),
            self.texts.meet(other.texts),
            self.nan and other.nan,
            self.integer or other.integer,
        )

    def holds(self, value: Scalar) -> bool:
        """True when *value* may be in it."""
        kind, content = value
        if kind not in self.kinds or value in self.excluded:
            return False
        if self.values is not None and value not in self.values:
            return False
        if kind in self.bounds and not self.bounds[kind].holds(content):
            return False
        return kind != "string" or self.texts.holds(content)

    def members(self) -> list[Scalar] | None:
        """The values that are possible, where they are counted."""
        if self.values is None:
            return None
        return [value for value in self.values if self.holds(value)]

    @property
    def empty(self) -> bool:
        """True when surely nothing is in it."""
        members = self.members()
        if members is not None:
            return not members
        return not any(self._has(kind) for kind in self.kinds)

    def _has(self, kind: str) -> bool:
        """False when no value of *kind* is in it."""
        if kind == "bool":
            return any((kind, value) not in self.excluded for value in (True, False))
        if kind == "null":
            return (kind, None) not in self.excluded
        bounds = self.bounds.get(kind, _EVERYTHING)
        if kind == "number" and self.integer:
            bounds = bounds.whole()
        if kind == "number" and self.nan:
            return True
        point = bounds.point
        if bounds.empty or (point is not None and not self.holds((kind, point))):
            return False
        return kind != "string" or not self.texts.empty


def _both(
    one: frozenset[Scalar] | None, other: frozenset[Scalar] | None
) -> frozenset[Scalar] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _meet_bounds(
    one: Mapping[str, Interval], other: Mapping[str, Interval]
) -> Mapping[str, Interval]:
    if not one or not other:
        return one or other
    kinds = one.keys() | other.keys()
    return {k: one.get(k, _EVERYTHING).meet(other.get(k, _EVERYTHING)) for k in kinds}


ANYTHING: Final = Domain()


def one_of(values: Iterable[Scalar]) -> Domain:
    """The values listed, and no other."""
    listed = frozenset(values)
    return Domain(frozenset({kind for kind, _ in listed}), listed)


@cache
def of_kinds(*kinds: str) -> Domain:
    """All values of these kinds."""
    return Domain(frozenset(kinds))


def other_than(values: Iterable[Scalar]) -> Domain:
    """All values but those listed."""
    return Domain(excluded=frozenset(values))


def matching(globs: Iterable[str]) -> Domain:
    """The texts that one of *globs* matches."""
    group = tuple(globs)
    if all(is_plain(glob) for glob in group):
        return one_of(("string", glob) for glob in group)
    return Domain(frozenset({"string"}), texts=Texts(globs=frozenset({group})))
