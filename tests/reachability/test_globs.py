from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policyd.pattern import compile_glob
from policyd.reachability.globs import covers, head, is_plain, tail

GLOBS = st.text("ab*?", max_size=5)
NAMES = st.text("ab", max_size=6)


@given(GLOBS, GLOBS, NAMES)
def test_what_a_glob_covers_it_matches(wide: str, narrow: str, name: str) -> None:
    if covers(wide, narrow) and compile_glob(narrow)(name):
        assert compile_glob(wide)(name)


@given(GLOBS, NAMES)
def test_every_match_begins_with_the_head_and_ends_with_the_tail(glob: str, name: str) -> None:
    if compile_glob(glob)(name):
        assert name.startswith(head(glob))
        assert name.endswith(tail(glob))
        assert not is_plain(glob) or name == glob


@given(GLOBS)
def test_a_glob_covers_itself_and_is_covered_by_a_star(glob: str) -> None:
    assert covers(glob, glob)
    assert covers("*", glob)
