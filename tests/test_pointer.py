from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.pointer import (
    REMOVE,
    Draft,
    Place,
    PointerError,
    PointerFlaw,
    PointerPattern,
    add,
    format_pointer,
    get,
    parse_pattern,
    parse_pointer,
    remove,
    replace,
)

DEEP = 900

KEYS = st.sampled_from(["a", "b", "0", "1", "-", "", "a/b", "~", "~1", "é"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def pattern(text: str) -> PointerPattern:
    parsed = parse_pattern(text)
    assert isinstance(parsed, PointerPattern)
    return parsed


def all_places(value: Any, place: Place = ()) -> list[Place]:
    """Every place of a document, found in the obvious recursive way."""
    found = [place]
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, child in pairs:
        found += all_places(child, (*place, key))
    return found


def matches(steps: tuple[str, ...], place: Place) -> bool:
    """Whether a pattern covers a place, found in the obvious recursive way."""
    if not steps:
        return not place
    if steps[0] == "**":
        return matches(steps[1:], place) or (bool(place) and matches(steps, place[1:]))
    return bool(place) and steps[0] in ("*", str(place[0])) and matches(steps[1:], place[1:])


# Parsing


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ()),
        ("/", ("",)),
        ("/a/b", ("a", "b")),
        ("/a//b/", ("a", "", "b", "")),
        ("/a~1b", ("a/b",)),
        ("/m~0n", ("m~n",)),
        ("/~01", ("~1",)),
        ("/~00", ("~0",)),
        ("/https:~1~1api.example.com~1v1", ("https://api.example.com/v1",)),
        ("/ /é/%20", (" ", "é", "%20")),
    ],
)
def test_a_pointer_reads_as_tokens_and_prints_as_it_was(text: str, tokens: tuple[str, ...]) -> None:
    assert parse_pointer(text) == tokens
    assert format_pointer(tokens) == text


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("a", PointerFlaw("a pointer must start with `/`", 0, "write `/a`")),
        (
            "params/name",
            PointerFlaw("a pointer must start with `/`", 0, "write `/params/name`"),
        ),
        (
            "/a/b~2c",
            PointerFlaw("`~` must be followed by 0 or 1", 4, "write `~0` for `~` and `~1` for `/`"),
        ),
        (
            "/a~0~",
            PointerFlaw("`~` must be followed by 0 or 1", 4, "write `~0` for `~` and `~1` for `/`"),
        ),
    ],
)
def test_a_wrong_pointer_is_a_flaw_with_its_place(text: str, flaw: PointerFlaw) -> None:
    assert parse_pointer(text) == flaw
    assert parse_pattern(text) == flaw


@given(st.lists(st.text(max_size=4)).map(tuple))
def test_tokens_survive_printing_and_parsing(tokens: tuple[str, ...]) -> None:
    assert parse_pointer(format_pointer(tokens)) == tokens


def test_indexes_print_as_numbers() -> None:
    assert format_pointer(("content", 0, "a/b")) == "/content/0/a~1b"


# Reading


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ((), {"a": [1, {"": 2}], "0": 3, "-": 4}),
        (("a", "0"), 1),
        (("a", "1", ""), 2),
        (("0",), 3),
        (("-",), 4),
    ],
)
def test_get_follows_members_and_indexes(pointer: tuple[str, ...], value: Any) -> None:
    assert get({"a": [1, {"": 2}], "0": 3, "-": 4}, pointer) == value


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        (("b",), "the document has no member `b`"),
        (("o", "b"), "`/o` has no member `b`"),
        (("a", "2"), "`/a` has no element `2`"),
        (("a", "-"), "`/a` has no element `-`"),
        (
            ("a", "99999999999999999999"),
            "`/a` is an array, and `99999999999999999999` is not an index",
        ),
        (("a", "01"), "`/a` is an array, and `01` is not an index"),
        (("a", "+1"), "`/a` is an array, and `+1` is not an index"),
        (("a", "-1"), "`/a` is an array, and `-1` is not an index"),
        (("a", "1e0"), "`/a` is an array, and `1e0` is not an index"),
        (("a", "١"), "`/a` is an array, and `١` is not an index"),
        (("a", ""), "`/a` is an array, and `` is not an index"),
        (("s", "0"), "`/s` has no members, so there is no `0` in it"),
        (("n", "x"), "`/n` has no members, so there is no `x` in it"),
        (("x\ny",), "the document has no member `x y`"),
    ],
)
def test_a_pointer_that_leads_nowhere_says_so_in_its_own_words(
    pointer: tuple[str, ...], text: str
) -> None:
    document = {"a": ["hidden", "secret"], "o": {"key": 1}, "s": "text", "n": None}
    with pytest.raises(PointerError) as reading:
        get(document, pointer)
    with pytest.raises(PointerError) as replacing:
        replace(document, pointer, 0)
    with pytest.raises(PointerError) as removing:
        remove(document, pointer)
    assert [str(e.value) for e in (reading, replacing, removing)] == [text] * 3


# Editing one place


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ((), 9),
        (("o", "new"), {"a": [1, 2], "o": {"k": 1, "new": 9}}),
        (("o", "k"), {"a": [1, 2], "o": {"k": 9}}),
        (("a", "0"), {"a": [9, 1, 2], "o": {"k": 1}}),
        (("a", "2"), {"a": [1, 2, 9], "o": {"k": 1}}),
        (("a", "-"), {"a": [1, 2, 9], "o": {"k": 1}}),
    ],
)
def test_add_sets_a_member_or_inserts_an_element(pointer: tuple[str, ...], expected: Any) -> None:
    assert add({"a": [1, 2], "o": {"k": 1}}, pointer, 9) == expected


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        (("a", "3"), "`/a` has no element `3`"),
        (("a", "01"), "`/a` is an array, and `01` is not an index"),
        (("x", "y"), "the document has no member `x`"),
        (("a", "0", "y"), "`/a/0` has no members, so there is no `y` in it"),
    ],
)
def test_add_makes_no_parents(pointer: tuple[str, ...], text: str) -> None:
    with pytest.raises(PointerError) as caught:
        add({"a": [1, 2]}, pointer, 9)
    assert str(caught.value) == text


def test_replace_and_remove_at_the_root() -> None:
    assert replace({"a": 1}, (), None) is None
    with pytest.raises(PointerError, match="the whole document cannot be removed"):
        remove({"a": 1}, ())


def test_an_edit_copies_the_way_and_shares_the_rest() -> None:
    document: dict[str, Any] = {"way": [{"x": 1}, {"y": 2}], "rest": {"z": 3}}
    before = copy.deepcopy(document)
    edited = replace(document, ("way", "0", "x"), 9)
    assert document == before
    assert edited == {"way": [{"x": 9}, {"y": 2}], "rest": {"z": 3}}
    assert edited["rest"] is document["rest"]
    assert edited["way"][1] is document["way"][1]
    assert edited["way"] is not document["way"]


@given(JSON, st.data(), JSON)
def test_what_is_set_is_read_back_and_the_original_stays(
    document: Any, data: st.DataObject, value: Any
) -> None:
    place = data.draw(st.sampled_from(all_places(document)))
    pointer = tuple(str(step) for step in place)
    before = copy.deepcopy(document)
    edited = replace(document, pointer, value)
    assert get(edited, pointer) is value
    assert document == before
    added = add(document, pointer, value)
    assert get(added, pointer) is value
    assert document == before
    if pointer:
        # an element shifts what follows, a member takes the place of what was there
        size = len(get(document, pointer[:-1]))
        assert len(get(remove(document, pointer), pointer[:-1])) == size - 1
        assert document == before


# Patterns


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [()]),
        ("/a", [("a",)]),
        ("/*", [("a",), ("b",), ("0",)]),
        ("/a/*/ssn", [("a", 0, "ssn")]),
        ("/a/0/ssn", [("a", 0, "ssn")]),
        ("/a/00/ssn", []),
        ("/a/1", [("a", 1)]),
        ("/a/9", []),
        ("/0", [("0",)]),
        ("/**/ssn", [("a", 0, "ssn"), ("b", "ssn"), ("b", "ssn", "ssn"), ("b", "c", "ssn")]),
        ("/b/**/ssn", [("b", "ssn"), ("b", "ssn", "ssn"), ("b", "c", "ssn")]),
        ("/b/**", [("b",), ("b", "ssn"), ("b", "ssn", "ssn"), ("b", "c"), ("b", "c", "ssn")]),
        ("/**/*/ssn", [("a", 0, "ssn"), ("b", "ssn"), ("b", "ssn", "ssn"), ("b", "c", "ssn")]),
        ("/**/**/c", [("b", "c")]),
        ("/b/c/ssn/x", []),
        ("/missing/**", []),
    ],
)
def test_a_pattern_finds_each_place_once_in_document_order(text: str, places: list[Place]) -> None:
    document = {
        "a": [{"ssn": 1}, "text"],
        "b": {"ssn": {"ssn": 2}, "c": {"ssn": 3}},
        "0": None,
    }
    assert list(pattern(text).places(document)) == places


@given(
    JSON,
    st.lists(st.sampled_from(["*", "**", "a", "b", "0", "1", "-", ""]), max_size=4).map(tuple),
)
def test_a_pattern_matches_what_its_definition_says(document: Any, steps: tuple[str, ...]) -> None:
    found = list(pattern(format_pointer(steps)).places(document))
    assert found == [place for place in all_places(document) if matches(steps, place)]


@given(
    JSON,
    st.lists(st.sampled_from(["*", "**", "a", "b", "0"]), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["mark", "remove"]),
)
def test_a_rewrite_changes_the_topmost_matches_and_nothing_else(
    document: Any, steps: tuple[str, ...], what: str
) -> None:
    before = copy.deepcopy(document)
    compiled = pattern(format_pointer(steps))
    if what == "remove" and compiled.matches_root:
        return
    result = compiled.rewrite(document, lambda value, place: REMOVE if what == "remove" else "X")

    def expected(value: Any, place: Place) -> Any:
        if matches(steps, place):
            return REMOVE if what == "remove" else "X"
        if isinstance(value, dict):
            members = {key: expected(child, (*place, key)) for key, child in value.items()}
            return {key: child for key, child in members.items() if child is not REMOVE}
        if isinstance(value, list):
            elements = [expected(child, (*place, at)) for at, child in enumerate(value)]
            return [child for child in elements if child is not REMOVE]
        return value

    assert result == expected(document, ())
    assert document == before
    if not list(compiled.places(document)):
        assert result is document


def test_a_change_sees_each_value_with_its_place() -> None:
    seen: list[tuple[Any, Place]] = []

    def change(value: Any, place: Place) -> Any:
        seen.append((value, place))
        return value

    document = {"a": [1, {"b": 2}]}
    assert pattern("/**").rewrite(document, change) is document
    assert seen == [
        (document, ()),
        ([1, {"b": 2}], ("a",)),
        (1, ("a", 0)),
        ({"b": 2}, ("a", 1)),
        (2, ("a", 1, "b")),
    ]


def test_a_rewrite_shares_the_branches_it_did_not_change() -> None:
    document: dict[str, Any] = {"a": {"x": 1}, "b": [{"y": 2}, {"x": 3}]}
    result = pattern("/**/x").rewrite(document, lambda value, place: value + 1)
    assert result == {"a": {"x": 2}, "b": [{"y": 2}, {"x": 4}]}
    assert result["b"][0] is document["b"][0]


def test_elements_taken_out_do_not_shift_the_others() -> None:
    document = {"content": [{"t": 1}, {"t": 2}, {"t": 3}, {"t": 4}]}
    result = pattern("/content/*").rewrite(
        document, lambda value, place: REMOVE if value["t"] % 2 else {**value, "at": place[1]}
    )
    assert result == {"content": [{"t": 2, "at": 1}, {"t": 4, "at": 3}]}


def test_the_root_can_be_rewritten_but_not_removed() -> None:
    assert pattern("").rewrite({"a": 1}, lambda value, place: 7) == 7
    with pytest.raises(PointerError, match="the whole document cannot be removed"):
        pattern("/**").rewrite({"a": 1}, lambda value, place: REMOVE)


@pytest.mark.parametrize(("text", "offset"), [("/a/b*", 4), ("/***", 1), ("/~1~0/x*y", 7)])
def test_a_star_within_a_step_is_refused(text: str, offset: int) -> None:
    assert parse_pattern(text) == PointerFlaw(
        "`*` must be a whole step",
        offset,
        "write `*` between two `/` for any one level, `**` for any number of levels",
    )


@pytest.mark.parametrize(
    ("text", "plain", "matches_root"),
    [
        ("", True, True),
        ("/a/0", True, False),
        ("/a/*", False, False),
        ("/**", False, True),
        ("/**/**", False, True),
        ("/*", False, False),
    ],
)
def test_a_pattern_knows_whether_it_is_a_pointer_and_whether_it_is_the_root(
    text: str, plain: bool, matches_root: bool
) -> None:
    assert (pattern(text).plain, pattern(text).matches_root) == (plain, matches_root)


# Depth


def nest(depth: int) -> Any:
    document: Any = "leaf"
    for level in range(depth):
        document = [document] if level % 2 else {"k": document}
    return document


def test_nothing_depends_on_the_depth_of_a_document() -> None:
    document = nest(DEEP)
    (leaf,) = (place for place in pattern("/**").places(document) if len(place) == DEEP)
    pointer = tuple(str(step) for step in leaf)
    assert get(document, pointer) == "leaf"
    assert get(replace(document, pointer, "new"), pointer) == "new"
    assert get(add(document, pointer, "new"), pointer) == "new"
    assert not get(remove(document, pointer), pointer[:-1])
    rewritten = pattern("/**").rewrite(
        document, lambda value, place: "new" if value == "leaf" else value
    )
    assert get(rewritten, pointer) == "new"
    assert get(document, pointer) == "leaf"


# Drafts


def test_a_draft_copies_a_container_once() -> None:
    document: dict[str, Any] = {"a": {"b": [1]}, "c": {}}
    draft = Draft(document)
    assert draft.root is document
    inner = draft.container(("a", "b"))
    assert inner == [1]
    assert inner is not document["a"]["b"]
    assert draft.container(("a", "b")) is inner
    assert draft.container(("a",))["b"] is inner
    assert draft.root["c"] is document["c"]
    draft.write([(("a", "x"), 1), (("c",), REMOVE)])
    assert draft.root == {"a": {"b": [1], "x": 1}}
    assert document == {"a": {"b": [1]}, "c": {}}
