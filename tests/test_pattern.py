"""Patterns, globs and filters, and what is said about a pattern that does not compile."""

from __future__ import annotations

import random
import re
import string
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.expression import Flaw
from policyd.pattern import MAX_GLOB, Filter, Pattern, compile_glob, compile_pattern

GITLEAKS = Path(__file__).parents[1] / ".." / "shared" / "corpora" / "gitleaks" / "gitleaks.toml"


def pattern(text: str) -> Pattern:
    compiled = compile_pattern(text)
    assert isinstance(compiled, Pattern), compiled
    return compiled


def flaw(text: str) -> Flaw:
    found = compile_pattern(text)
    assert isinstance(found, Flaw), found
    return found


# Matching


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        (r"\brm\s+-rf\b", "sudo rm  -rf /", True),
        (r"\brm\s+-rf\b", "farm -rf", False),
        ("^b$", "a\nb", False),
        ("(?m)^b$", "a\nb", True),
        ("b$", "b\n", False),
        ("", "", True),
        ("ñ+", "maññana", True),
        (r"\x{e9}", "é", True),
        ("a\ufffdb", "a\ud800b", True),
        (r"\?", "\ud800", False),
        ("a.b", "a\x00b", True),
    ],
)
def test_search_looks_anywhere(source: str, text: str, found: bool) -> None:
    assert pattern(source).search(text) is found


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("github.acme.com", "github.acme.com", True),
        ("github.acme.com", "github.acme.com.evil.example", False),
        ("github.acme.com", "github.acme.com\n", False),
        ("a|ab", "ab", True),
        (".*", "\ud83d", True),
    ],
)
def test_fullmatch_wants_the_whole_text(source: str, text: str, found: bool) -> None:
    assert pattern(source).fullmatch(text) is found


@pytest.mark.parametrize(
    ("source", "text", "group", "spans"),
    [
        ("a", "banana", 0, [(1, 2), (3, 4), (5, 6)]),
        ("ana", "banana", 0, [(1, 4)]),
        ("é", "éaé😀é", 0, [(0, 1), (2, 3), (4, 5)]),
        (r"id: (\d+)", "ü id: 12, id: 345", 1, [(6, 8), (14, 17)]),
        ("(a)|(b)", "ab", 2, [(1, 2)]),
        (r"id: (\d*)", "id: ", 1, []),
        ("x*", "éxx", 0, [(1, 3)]),
        ("^a", "aaa", 0, [(0, 1)]),
        (r"\ba", "aa a", 0, [(0, 1), (3, 4)]),
        ("a", "\ud800a\ud83d\ude00a", 0, [(1, 2), (4, 5)]),
        ("z", "banana", 0, []),
    ],
)
def test_spans_are_code_points_of_non_overlapping_matches(
    source: str, text: str, group: int, spans: list[tuple[int, int]]
) -> None:
    assert pattern(source).spans(text, group) == spans


@given(st.text(alphabet="aé€😀 \n\ud800", max_size=30), st.sampled_from(["a+", "[aé]", "€|😀a?"]))
def test_spans_agree_with_the_standard_library(text: str, source: str) -> None:
    assert pattern(source).spans(text) == [match.span() for match in re.finditer(source, text)]


def test_the_spans_can_be_taken_one_by_one() -> None:
    steps = pattern("a").iter_spans("aa")
    assert next(steps) == (0, 1)
    assert next(steps) == (1, 2)
    with pytest.raises(StopIteration):
        next(steps)


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("a", False),
        ("a*", True),
        ("a|", True),
        (r"\b", True),
        (r"\B", True),
        ("^", True),
        ("(?m)^$", True),
        (r"(?m)\b$", True),
        ("x{0}", True),
        (r"a\b", False),
        (r"\b\B", False),
        (r"(?:\b|^)[ab]", False),
    ],
)
def test_a_pattern_knows_whether_it_can_match_nothing(source: str, empty: bool) -> None:
    assert pattern(source).matches_empty is empty


def test_a_pattern_knows_its_groups() -> None:
    assert pattern(r"(a)(?:b)(?P<n>c)").groups == 2
    assert pattern("a") == pattern("a")
    assert repr(pattern("a")) == ("Pattern(text='a', groups=0, matches_empty=False, edgeless=True)")


EDGES = {
    "a": True,
    r"\bword\b": True,
    "[^a]b": True,
    r"x\By": True,
    "^a": False,
    "a$": False,
    r"\Aa": False,
    r"a\z": False,
    "(?m)^a": False,
    "[]^]a": False,
    r"\^a": False,
}


@pytest.mark.parametrize("source", EDGES)
def test_a_pattern_knows_whether_it_may_ask_for_the_edges_of_a_text(source: str) -> None:
    assert pattern(source).edgeless is EDGES[source]


@given(
    st.sampled_from([source for source, edgeless in EDGES.items() if edgeless]),
    st.lists(st.text("abwordxy ", max_size=5), min_size=1, max_size=4),
)
def test_an_edgeless_pattern_misses_nothing_in_texts_that_are_joined(
    source: str, texts: list[str]
) -> None:
    found = pattern(source)
    if any(found.search(text) for text in texts):
        assert found.search("\0".join(texts))


def test_matching_stays_linear_where_backtracking_explodes() -> None:
    assert not pattern("^(a+)+$").search("a" * 100_000 + "!")


# Mistakes

SUPPORTED_FLAGS = "use the flags i, m, s and U only"
SEPARATELY = "test the two conditions separately"
NO_BACKTRACKING = "leave it out: a pattern here never backtracks"
ANY = "write `.*` for any text, or a backslash before it for the character"
REPEAT = "repeat the expression itself"
COUNTS = "at most 1000 repetitions, the lower number first; nested counts multiply"


@pytest.mark.parametrize(
    ("source", "text", "offset", "length", "help"),
    [
        ("a(?=b)", "look-ahead `(?=` is not supported", 1, 3, SEPARATELY),
        ("(?!b)", "look-ahead `(?!` is not supported", 0, 3, SEPARATELY),
        ("é(?<=b)", "look-behind `(?<=` is not supported", 1, 4, SEPARATELY),
        ("(?<!b)", "look-behind `(?<!` is not supported", 0, 4, SEPARATELY),
        ("(?>b)", "atomic group `(?>` is not supported", 0, 3, "write `(?:`"),
        (r"(a)\1", r"back-reference `\1` is not supported", 3, 2, REPEAT),
        (r"\k<n>", r"back-reference `\k` is not supported", 0, 2, REPEAT),
        ("(?P=n)", "`(?P=` is not supported", 0, 4, REPEAT),
        ("a++", "possessive `++` is not supported", 1, 2, NO_BACKTRACKING),
        ("[*+]a*+", "possessive `*+` is not supported", 5, 2, NO_BACKTRACKING),
        ("[[:alpha:]?+]a?+", "possessive `?+` is not supported", 14, 2, NO_BACKTRACKING),
        (r"\Qa++\Eb++", "possessive `++` is not supported", 8, 2, NO_BACKTRACKING),
        (r"a\Z", r"`\Z` is not supported", 1, 2, r"write `\z`"),
        (r"\u00E9", r"`\u` is not supported", 0, 2, r"write `\x{e9}`"),
        (r"\u0000", r"`\u` is not supported", 0, 2, r"write `\x{0}`"),
        (r"\uXYZT", r"`\u` is not supported", 0, 2, r"write `\x{e9}`"),
        (r"\h", r"`\h` is not supported", 0, 2, r"write `[ \t]`"),
        (r"\R", r"`\R` is not supported", 0, 2, r"write `\r?\n`"),
        (r"\e", r"`\e` is not supported", 0, 2, r"write `\x1b`"),
        (r"\C", r"`\C` is not supported", 0, 2, "write `(?s:.)`"),
        (r"\y", r"unknown escape `\y`", 0, 2, r"write `\\` for a backslash"),
        ("(?x)a", "flag `(?x` is not supported", 0, 3, SUPPORTED_FLAGS),
        ("(?#c)", "comment `(?#` is not supported", 0, 3, "put the comment beside the pattern"),
        ("(?|a)", "unknown group `(?|`", 0, 3, "write `(?:` for a group that captures nothing"),
        ("(?P<n-1>a)", "bad name of a group `(?P<n-1>`", 0, 8, "write `(?P<name>...)`"),
        ("a(b(c)", "this `(` is never closed", 1, 1, r"write `\(` for the character"),
        ("[(]a)b", "this `)` closes nothing", 4, 1, r"write `\)` for the character"),
        (r"\(()", None, 0, 0, None),
        ("a[b", "this `[` is never closed", 1, 2, r"write `\[` for the character"),
        ("[^", "this `[` is never closed", 0, 2, r"write `\[` for the character"),
        ("[[:alpha:", "this `[` is never closed", 0, 9, r"write `\[` for the character"),
        ("[]z-a]", "unknown character class or range `z-a`", 2, 3, None),
        (r"\p{Foo}", r"unknown character class or range `\p{Foo}`", 0, 7, None),
        ("ab\\", "the pattern ends with a backslash", 2, 1, r"write `\\` for the character"),
        ("a*|*", "`*` repeats nothing", 3, 1, ANY),
        ("a**", "`**` repeats a repetition", 1, 2, "keep one of the two operators"),
        ("a{1001}", "bad repetition `{1001}`", 1, 6, COUNTS),
        ("a{2,1}", "bad repetition `{2,1}`", 1, 5, COUNTS),
        ("a\b", "control character U+0008 in the pattern", 1, 1, r"`\b`"),
        ("\x00", "control character U+0000 in the pattern", 0, 1, r"`\x00`"),
        ("a\x9b", "control character U+009B in the pattern", 1, 1, r"`\x9b`"),
        ("a\n", "the pattern ends with a line break", 1, 1, "`|-`"),
        ("a\ud800", "half of a surrogate pair in the pattern", 1, 1, None),
    ],
)
def test_a_mistake_is_named_with_its_place_and_what_to_write(
    source: str, text: str | None, offset: int, length: int, help: str | None
) -> None:
    if text is None:
        assert pattern(source).groups == 1
        return
    found = flaw(source)
    assert (found.code, found.text, found.offset, found.length) == (
        "bad-pattern",
        text,
        offset,
        length,
    )
    assert found.help == help or (help is not None and help in (found.help or ""))


def test_a_pattern_that_needs_too_much_memory_is_refused_as_a_whole() -> None:
    source = r"(?:\pL{400}){2}" * 3
    found = flaw(source)
    assert (found.text, found.offset, found.length) == (
        "the pattern is too large",
        0,
        len(source),
    )


@pytest.mark.parametrize("char", ["\t", "\r", "\n"])
def test_white_space_inside_a_pattern_is_itself(char: str) -> None:
    assert pattern(f"a{char}b").search(f"a{char}b")


@settings(max_examples=60)
@given(st.text(max_size=20) | st.text(alphabet="()[]{}?*+\\|^$.:<>=!PQEabk1,", max_size=12))
def test_any_text_is_a_pattern_or_a_flaw_inside_it(source: str) -> None:
    found = compile_pattern(source)
    if isinstance(found, Flaw):
        assert 0 <= found.offset <= len(source)
        assert found.offset + found.length <= max(len(source), 1)


# Globs


@pytest.mark.parametrize(
    ("glob", "text", "matches"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("**", "a/b\nc", True),
        ("shell", "shell", True),
        ("shell", "Shell", False),
        ("exec_*", "exec_run", True),
        ("exec_*", "xexec_run", False),
        ("*_run", "exec_run", True),
        ("*_run", "exec_run2", False),
        ("*ec*", "exec_run", True),
        ("*ec*", "run", False),
        ("a?c", "abc", True),
        ("a?c", "a\nc", True),
        ("a?c", "ac", False),
        ("a?c", "a\ud800c", True),
        ("a*c*e", "abcde", True),
        ("a*c*e", "abcd", False),
        ("a*[b].+", "a1[b].+", True),
        ("a*[b].+", "a1b..", False),
        ("a*\x00", "ab\x00", True),
        ("a*\ud800", "ab\ud800", True),
        ("?😀*é", "x😀yé", True),
    ],
)
def test_a_glob_matches_whole_strings(glob: str, text: str, matches: bool) -> None:
    assert compile_glob(glob)(text) is matches


@given(st.text(alphabet="ab*?é\n", max_size=8), st.text(alphabet="abé\n", max_size=8))
def test_a_glob_agrees_with_fnmatch(glob: str, text: str) -> None:
    assert compile_glob(glob)(text) is fnmatchcase(text, glob)


def test_the_longest_glob_compiles_and_a_longer_one_is_refused() -> None:
    longest = "😀?" * (MAX_GLOB // 2)
    assert compile_glob(longest)("😀" * MAX_GLOB)
    with pytest.raises(ValueError, match="the glob is too long"):
        compile_glob(longest + "?")


# Filters


def test_a_filter_tells_which_patterns_match() -> None:
    filter = Filter(["foo", r"\d+", "ba[rz]", "(?i)É", ".*"])
    assert filter.unfiltered == (1, 3, 4)
    assert filter.hits("a baz 1 é") == [1, 2, 3, 4]
    assert filter.hits("foo") == [0, 4]
    assert filter.hits("\ud800foo") == [0, 4]


def test_a_filter_without_patterns_finds_nothing() -> None:
    assert Filter([]).hits("policyd filter sentinel") == []


def test_a_filter_of_patterns_without_atoms_still_runs_them() -> None:
    assert Filter([r"\d", r"\s"]).hits("a 1") == [0, 1]
    assert Filter([r"\d", r"\s"]).hits("a") == []


def test_the_sentinel_of_a_filter_is_never_a_hit() -> None:
    assert Filter(["x"]).hits("policyd filter sentinel") == []


def test_a_filter_refuses_a_pattern_that_does_not_compile() -> None:
    with pytest.raises(ValueError, match="does not compile"):
        Filter(["a", "("])


def test_patterns_with_more_atoms_than_one_filter_holds_are_spread_over_several() -> None:
    numbers = random.Random(1)
    words = ["".join(numbers.choices(string.ascii_lowercase, k=200)) for _ in range(400)]
    filter = Filter([*words, "|".join(words), "last"])
    assert filter.hits(f"{words[17]} last") == [17, 400, 401]
    assert filter.hits("") == []
    assert filter.unfiltered == (400,)


SOURCES = ["abc", "(?i)straße", "(?i)k", "(?i)σ+", "a{2}|b{3}", "x.y", "[^a]b", "(?i)a[bc]d"]
FILTER = Filter(SOURCES)


@given(st.text(alphabet="abcdkKſσςΣßẞxyStRrAaEe\u212aé \n", max_size=12))
def test_a_filter_agrees_with_its_patterns_one_by_one(text: str) -> None:
    assert FILTER.hits(text) == [
        index for index, source in enumerate(SOURCES) if pattern(source).search(text)
    ]


def test_published_secret_rules_compile_and_filter_like_one_by_one() -> None:
    if not GITLEAKS.exists():
        pytest.skip("no rules beside the repository")
    rules = tomllib.loads(GITLEAKS.read_text("utf-8"))["rules"]
    sources = [rule["regex"] for rule in rules if "regex" in rule]
    text = " ".join(
        f'{word}_token = "{word * 5}"' for rule in rules for word in rule.get("keywords", ())
    )
    expected = [index for index, source in enumerate(sources) if pattern(source).search(text)]
    assert expected
    assert Filter(sources).hits(text) == expected
