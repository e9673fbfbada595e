"""Regular expressions and globs, in time linear in the text.

Knows google-re2: how a pattern is compiled and how a match in UTF-8 bytes becomes an offset in
code points.  Knows no rule and no expression language.  Within its layer it stands on
`pattern_mistakes`, which stands on `expression`; of the latter it uses `Flaw`, nothing else.

Syntax: https://github.com/google/re2/wiki/Syntax.  Differences that surprise: `\\w`, `\\d`,
`\\s` and `\\b` are ASCII, `^` and `$` are the ends of the text unless `(?m)` is on, and `$`
does not match before a final line break.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import re2

from policyd.expression import Flaw
from policyd.pattern_mistakes import explain, spot

MAX_MEMORY: Final = 4 << 20
"""Bytes that one compiled pattern may take, its automaton included.

Measured: the largest of 221 published secret rules compiles in 256 KiB, and nothing gets faster
beyond 1 MiB; RE2's own default of 8 MiB would let 300 patterns take 2.4 GB.
"""

MAX_GLOB: Final = 1000
"""Code points that a glob may have."""

_ANYWHERE = re2._re2.RE2.Anchor.UNANCHORED
_WHOLE = re2._re2.RE2.Anchor.ANCHOR_BOTH
_SURROGATES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_STRETCH: Final = 256  # bytes
_STRETCH_TIME: Final = 0.0005  # seconds
_NO_MATCH = -1


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Texts may hold lone surrogates (JSON can spell them, UTF-8 cannot): each is searched as
    U+FFFD, so offsets stay those of the text.
    text: the pattern as written.
    groups: the number of its capturing groups.
    matches_empty: it can match a stretch of no characters, somewhere in some text.
    edgeless: it does not ask where a text starts or ends; to `\\b` an edge is a character that
        is in no word, such as NUL.
    """

    text: str
    groups: int
    matches_empty: bool
    edgeless: bool
    _tester: Any = field(repr=False, compare=False)
    _finder: Any = field(repr=False, compare=False)

    def search(self, text: str) -> bool:
        """True when the pattern matches anywhere in *text*."""
        data = _encode(text)
        return bool(self._tester.Match(_ANYWHERE, data, 0, len(data))[0][0] != _NO_MATCH)

    def stretches(self, text: str) -> Iterator[bool]:
        """Stretch after stretch of *text*: does a match lie inside of it?

        Each takes about a millisecond, however slow the pattern is on this text, and all
        together about as long as one search of the whole text, which may find a match in
        several stretches.  So who has a deadline learns what a search would take.
        """
        data = _encode(text)
        at, size = 0, _STRETCH
        while at < len(data):
            started = time.perf_counter()
            end = min(at + size, len(data))
            yield bool(self._tester.Match(_ANYWHERE, data, at, end)[0][0] != _NO_MATCH)
            at = end
            slow = time.perf_counter() - started > _STRETCH_TIME
            size = max(size // 2, _STRETCH) if slow else size * 2

    def fullmatch(self, text: str) -> bool:
        """True when the pattern matches the whole of *text*."""
        data = _encode(text)
        return bool(self._tester.Match(_WHOLE, data, 0, len(data))[0][0] != _NO_MATCH)

    def spans(self, text: str, group: int = 0) -> list[tuple[int, int]]:
        """The places of all matches of *group*, as `iter_spans` finds them."""
        return list(self.iter_spans(text, group))

    def iter_spans(self, text: str, group: int = 0) -> Iterator[tuple[int, int]]:
        """Where *group* matched, in each match of the whole pattern from left to right.

        Start and end (exclusive) in code points; matches do not overlap; a group that took no
        part in a match, or matched no characters, is left out.  Each step may scan the rest of
        the text, so who has a budget spends between the steps.
        """
        data = _encode(text)
        finder = self._finder if group else self._tester
        at, end = 0, len(data)
        chars = _Chars(data)
        while at <= end:
            found = finder.Match(_ANYWHERE, data, at, end)
            start, stop = found[0]
            if start == _NO_MATCH:
                return
            first, last = found[group]
            if first < last:
                yield chars.before(first), chars.before(last)
            at = stop if start < stop else _next_char(data, stop)

    def iter_groups(self, text: str) -> Iterator[Match]:
        """All matches from left to right, matches of no characters among them."""
        data = _encode(text)
        at, end = 0, len(data)
        chars = _Chars(data)
        while at <= end:
            found = self._finder.Match(_ANYWHERE, data, at, end)
            start, stop = found[0]
            if start == _NO_MATCH:
                return
            place = chars.before(start)
            groups = [data[first:last].decode() for first, last in found]
            yield Match(place, place + len(groups[0]), tuple(groups))
            at = stop if start < stop else _next_char(data, stop)


@dataclass(frozen=True, slots=True)
class Match:
    """One match of a pattern.

    start, end: in code points, the end exclusive.
    groups: the whole match and what each group matched, empty where it took no part.
    """

    start: int
    end: int
    groups: tuple[str, ...]


def compile_pattern(text: str) -> Pattern | Flaw:
    """The compiled pattern, or what is wrong in it and where.

    The code of the flaw is `bad-pattern`.
    """
    flaw = spot(text)
    if flaw is not None:
        return flaw
    tester = _compile(text, captures=False)
    if not tester.ok():
        return explain(text, tester.error().decode("utf-8", "replace"))
    finder = _compile(text, captures=True)
    groups: int = finder.NumberOfCapturingGroups()
    return Pattern(text, groups, _matches_empty(tester), _is_edgeless(text), tester, finder)


def compile_glob(text: str) -> Callable[[str], bool]:
    """A test of whole strings against a glob, case-sensitive.

    `*` stands for any characters, none included, and `?` for exactly one; both cover `/` and
    line breaks, and nothing else is special.  Raises ValueError when *text* has more than
    MAX_GLOB code points.
    """
    if len(text) > MAX_GLOB:
        raise ValueError("the glob is too long")
    inner = text.strip("*")
    if "*" not in inner and "?" not in inner:
        return _plain_glob(text, inner)
    source = "".join(_GLOB_WORDS.get(char) or _quote(char) for char in text)
    compiled = compile_pattern(f"(?s:{source})")
    assert isinstance(compiled, Pattern), "every glob within the limit is a pattern"
    return compiled.fullmatch


class Filter:
    """Many patterns over one text at once.

    RE2's filter looks for the literal atoms of all patterns in one pass and runs only patterns
    whose atoms are there: 221 secret rules over 1 MB take 20 ms instead of 350.
    unfiltered: indexes of patterns without an atom that must occur, such as `\\d+`; these are
        run over every text.
    """

    __slots__ = ("_parts", "unfiltered")

    def __init__(self, patterns: Sequence[str]) -> None:
        """Take the texts of *patterns*.  Raises ValueError for one that does not compile."""
        if any(isinstance(compile_pattern(text), Flaw) for text in patterns):
            raise ValueError("a pattern of the filter does not compile")
        self._parts = _filter_parts(patterns, 0)
        self.unfiltered = tuple(index for part in self._parts for index in part.unfiltered())

    def hits(self, text: str) -> list[int]:
        """The indexes, ascending, of the patterns that match somewhere in *text*."""
        data = _encode(text)
        return [index for part in self._parts for index in part.hits(data)]


# Filters


@dataclass(frozen=True, slots=True)
class _FilterPart:
    """A compiled filter of `count` patterns, the first of which has the index `first`."""

    first: int
    count: int
    filter: Any

    def hits(self, data: bytes, potential: bool = False) -> list[int]:
        found = self.filter.Match(data, potential) or ()
        return [self.first + index for index in found if index < self.count]

    def unfiltered(self) -> list[int]:
        return self.hits(b"", potential=True)


@dataclass(frozen=True, slots=True)
class _SinglePart:
    """A pattern with more atoms than a filter can hold."""

    first: int
    tester: Any

    def hits(self, data: bytes) -> list[int]:
        found = self.tester.Match(_ANYWHERE, data, 0, len(data))[0][0] != _NO_MATCH
        return [self.first] if found else []

    def unfiltered(self) -> list[int]:
        return [self.first]


def _filter_parts(patterns: Sequence[str], first: int) -> list[_FilterPart | _SinglePart]:
    """Filters over all of *patterns*, halved as long as their atoms are too many for one."""
    built = _compile_filter(patterns)
    if built is not None:
        return [_FilterPart(first, len(patterns), built)]
    if len(patterns) == 1:
        return [_SinglePart(first, _compile(patterns[0], captures=False))]
    half = len(patterns) // 2
    return _filter_parts(patterns[:half], first) + _filter_parts(patterns[half:], first + half)


_SENTINEL = "policyd filter sentinel"


def _compile_filter(patterns: Sequence[str]) -> Any:
    """One filter over *patterns* and the sentinel, or None when it cannot be built.

    A set of atoms that is too large fails either here or, silently, at every match; the
    sentinel tells.
    """
    built = re2.Filter()
    options = _options(captures=False)
    for text in (*patterns, _SENTINEL):
        built.Add(text, options)
    try:
        built.Compile()
    except re2.error:
        return None
    return built if built.Match(_SENTINEL) else None


# Compiling and matching


def _options(captures: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    options.never_capture = not captures
    return options


def _compile(text: str, captures: bool) -> Any:
    # The class behind re2.compile: its Match costs 1 us where the public search costs 5, and
    # re2.compile would keep the last 128 programs of retired policies alive.
    return re2._re2.RE2(text.encode(), _options(captures))


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub(b"\xef\xbf\xbd", text.encode("utf-8", "surrogatepass"))


class _Chars:
    """Turns ascending byte offsets into code point offsets, in one pass over the bytes."""

    __slots__ = ("_ascii", "_at", "_count", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ascii = data.isascii()
        self._at = self._count = 0

    def before(self, offset: int) -> int:
        if self._ascii:
            return offset
        self._count += len(self._data[self._at : offset].decode())
        self._at = offset
        return self._count


def _next_char(data: bytes, offset: int) -> int:
    offset += 1
    while offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset += 1
    return offset


def _is_edgeless(text: str) -> bool:
    """False where there may be an anchor; a `^` that negates a class is none."""
    bare = text.replace("[^", "")
    return not any(anchor in bare for anchor in ("^", "$", r"\A", r"\z"))


_NEIGHBOURS = ("", "\n", "a", " ")


def _matches_empty(tester: Any) -> bool:
    """Whether an empty match exists between any two kinds of neighbours.

    What `^`, `$`, `\\b` and `\\B` ask depends on no more than these.
    """
    return any(
        tester.Match(_WHOLE, (before + after).encode(), len(before), len(before))[0][0] != _NO_MATCH
        for before in _NEIGHBOURS
        for after in _NEIGHBOURS
    )


def matches_always(pattern: Pattern) -> bool:
    """Whether a search for *pattern* succeeds in every text, because no characters are enough."""
    return all(
        pattern._tester.Match(_WHOLE, after.encode(), 0, 0)[0][0] != _NO_MATCH
        for after in _NEIGHBOURS
    )


_SAMPLES = ("a", "Z", "7", " ", "-", "_", ".", "/", '"', "{", "\u00e9", "\u6587")


def matches_whole(pattern: Pattern) -> bool:
    """Whether the matches of *pattern* cover every text of one line, as those of `.+` do."""
    return all(
        sum(end - start for start, end in pattern.iter_spans(text)) == len(text)
        for text in (*_SAMPLES, "".join(_SAMPLES))
    )


# Globs

_GLOB_WORDS = {"*": ".*", "?": "."}


def quoted(text: str) -> str:
    """A pattern that matches *text* and nothing else; lone surrogates as texts spell them."""
    return "".join(map(_quote, text))


def _quote(char: str) -> str:
    code = 0xFFFD if 0xD800 <= ord(char) < 0xE000 else ord(char)
    return char if char.isalnum() else f"\\x{{{code:x}}}"


def _plain_glob(text: str, inner: str) -> Callable[[str], bool]:
    """The test for a glob with stars at its ends only: *inner* is what they surround."""
    if not inner:
        return (lambda candidate: True) if text else (lambda candidate: candidate == "")
    if text == inner:
        return lambda candidate: candidate == inner
    if text.startswith("*") and text.endswith("*"):
        return lambda candidate: inner in candidate
    if text.startswith("*"):
        return lambda candidate: candidate.endswith(inner)
    return lambda candidate: candidate.startswith(inner)
