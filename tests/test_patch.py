from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.patch import (
    Op,
    Operation,
    OperationFlaw,
    PatchError,
    apply_patch,
    equal,
    fresh,
    parse_operation,
    same_json,
)
from policyd.pointer import format_pointer

CORPUS = Path(__file__).parents[1] / ".." / "shared" / "corpora" / "json-patch-tests"


class Unreadable(Exception):
    """The patch does not parse."""


def parse(patch: Any) -> list[Operation]:
    operations = []
    for data in patch:
        operation = parse_operation(data)
        if isinstance(operation, OperationFlaw):
            raise Unreadable(operation)
        operations.append(operation)
    return operations


# Parsing


@pytest.mark.parametrize(
    ("data", "operation"),
    [
        (
            {"op": "add", "path": "/a/-", "value": None},
            Operation(Op.ADD, ("a", "-"), (), None),
        ),
        ({"op": "remove", "path": "/a~1b", "value": 1}, Operation(Op.REMOVE, ("a/b",))),
        ({"op": "replace", "path": "", "value": {}}, Operation(Op.REPLACE, (), (), {})),
        ({"op": "move", "path": "/a", "from": "/b"}, Operation(Op.MOVE, ("a",), ("b",))),
        ({"op": "copy", "path": "/a/b", "from": "/a"}, Operation(Op.COPY, ("a", "b"), ("a",))),
        ({"op": "test", "path": "/a", "value": 1, "note": ""}, Operation(Op.TEST, ("a",), (), 1)),
        ({"op": "move", "path": "/a", "from": "/a"}, Operation(Op.MOVE, ("a",), ("a",))),
        ({"op": "move", "path": "/ab", "from": "/a"}, Operation(Op.MOVE, ("ab",), ("a",))),
    ],
)
def test_an_operation_is_read_without_members_that_it_does_not_define(
    data: dict[str, Any], operation: Operation
) -> None:
    assert parse_operation(data) == operation


KNOWN = "one of `add`, `remove`, `replace`, `move`, `copy`, `test`"


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        ({"path": "/a"}, OperationFlaw("op", "an operation needs an `op`", None, KNOWN)),
        (
            {"op": None, "path": "/a"},
            OperationFlaw("op", "an operation needs an `op`", None, KNOWN),
        ),
        (
            {"op": "REPLACE", "path": "/a", "value": 1},
            OperationFlaw("op", "unknown operation `REPLACE`", 0, "did you mean `replace`?"),
        ),
        (
            {"op": "add", "value": 1},
            OperationFlaw("path", "`add` needs a `path` that is a pointer"),
        ),
        (
            {"op": "add", "path": 1, "value": 1},
            OperationFlaw("path", "`add` needs a `path` that is a pointer"),
        ),
        (
            {"op": "add", "path": "a", "value": 1},
            OperationFlaw("path", "a pointer must start with `/`", 0, "write `/a`"),
        ),
        ({"op": "replace", "path": "/a"}, OperationFlaw("value", "`replace` needs a `value`")),
        (
            {"op": "remove", "path": ""},
            OperationFlaw("path", "the whole document cannot be removed"),
        ),
        (
            {"op": "copy", "path": "/a"},
            OperationFlaw("from", "`copy` needs a `from` that is a pointer"),
        ),
        (
            {"op": "copy", "path": "/a", "from": "/b~c"},
            OperationFlaw(
                "from", "`~` must be followed by 0 or 1", 2, "write `~0` for `~` and `~1` for `/`"
            ),
        ),
        (
            {"op": "move", "path": "/a/b/c", "from": "/a"},
            OperationFlaw("path", "a value cannot be moved into itself"),
        ),
        (
            {"op": "move", "path": "/a", "from": ""},
            OperationFlaw("path", "a value cannot be moved into itself"),
        ),
    ],
)
def test_a_wrong_operation_is_a_flaw_of_one_member(
    data: dict[str, Any], flaw: OperationFlaw
) -> None:
    assert parse_operation(data) == flaw


# Applying


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        (
            {"headers": {"https://api.example.com/v1": "x", "k": "y"}},
            [{"op": "remove", "path": "/headers/https:~1~1api.example.com~1v1"}],
            {"headers": {"k": "y"}},
        ),
        (
            {"a~b": 0, "a~1b": 0},
            [
                {"op": "replace", "path": "/a~0b", "value": 1},
                {"op": "replace", "path": "/a~01b", "value": 2},
            ],
            {"a~b": 1, "a~1b": 2},
        ),
        (
            {"content": ["A", "B", "C"]},
            [{"op": "remove", "path": "/content/0"}, {"op": "remove", "path": "/content/1"}],
            {"content": ["B"]},
        ),
        (
            {"content": ["A"]},
            [{"op": "add", "path": "/content/-", "value": "notice"}],
            {"content": ["A", "notice"]},
        ),
        (
            {"limit": 500, "debug": True},
            [{"op": "replace", "path": "/limit", "value": 50}, {"op": "remove", "path": "/debug"}],
            {"limit": 50},
        ),
        ({"a": 1, "b": 2}, [{"op": "move", "path": "/b", "from": "/a"}], {"b": 1}),
        (
            {"a": [1, 2, 3]},
            [{"op": "move", "path": "/a/2", "from": "/a/0"}],
            {"a": [2, 3, 1]},
        ),
        (
            {"a": {"x": 1}},
            [{"op": "copy", "path": "/a/y", "from": "/a"}],
            {"a": {"x": 1, "y": {"x": 1}}},
        ),
        ({"a": 1}, [{"op": "replace", "path": "", "value": [2]}], [2]),
        ({"a": 1}, [{"op": "move", "path": "", "from": "/a"}], 1),
    ],
)
def test_operations_apply_in_turn(document: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(document)
    assert equal(apply_patch(document, parse(patch)), expected)
    assert document == before


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (
            [
                {"op": "replace", "path": "/limit", "value": 50},
                {"op": "remove", "path": "/debug"},
            ],
            "operation 1 (`remove` at `/debug`): the document has no member `debug`",
        ),
        (
            [{"op": "remove", "path": "/content/-"}],
            "operation 0 (`remove` at `/content/-`): `/content` has no element `-`",
        ),
        (
            [{"op": "replace", "path": "/content/01", "value": 1}],
            "operation 0 (`replace` at `/content/01`): "
            "`/content` is an array, and `01` is not an index",
        ),
        (
            [{"op": "add", "path": "/a/b", "value": 1}],
            "operation 0 (`add` at `/a/b`): the document has no member `a`",
        ),
        (
            [{"op": "test", "path": "/limit", "value": 501}],
            "operation 0 (`test` at `/limit`): the value there is another one",
        ),
        (
            [{"op": "move", "path": "/x", "from": "/gone"}],
            "operation 0 (`move` at `/x`): the document has no member `gone`",
        ),
        (
            [{"op": "copy", "path": "/x", "from": "/gone"}],
            "operation 0 (`copy` at `/x`): the document has no member `gone`",
        ),
        (
            [{"op": "move", "path": "/gone", "from": "/gone"}],
            "operation 0 (`move` at `/gone`): the document has no member `gone`",
        ),
    ],
)
def test_a_failed_operation_leaves_everything_as_it_was(patch: Any, text: str) -> None:
    document = {"limit": 500, "content": ["A"]}
    with pytest.raises(PatchError) as caught:
        apply_patch(document, parse(patch))
    error = caught.value
    assert str(error) == text
    assert (error.index, error.op, error.path) == (
        len(patch) - 1,
        patch[-1]["op"],
        patch[-1]["path"],
    )
    assert text.endswith(error.reason)
    assert document == {"limit": 500, "content": ["A"]}


@pytest.mark.parametrize(
    ("document", "path", "value", "holds"),
    [
        ({"dryRun": 1}, "/dryRun", True, False),
        ({"dryRun": True}, "/dryRun", True, True),
        ({"dryRun": True}, "/dryRun", 1, False),
        ({"dryRun": 0}, "/dryRun", False, False),
        ({"n": 1}, "/n", 1.0, True),
        ({"n": 1.5}, "/n", 1, False),
        ({}, "/x", None, False),
        ({"x": None}, "/x", None, True),
        ({"x": 0}, "/x", None, False),
        ({"x": "1"}, "/x", 1, False),
        ({"o": {"b": [1], "a": 1}}, "/o", {"a": 1, "b": [True]}, False),
        ({"o": {"b": [True], "a": 1}}, "/o", {"a": 1, "b": [True]}, True),
        ({"o": {"b": [True], "a": 1}}, "/o", {"a": 1}, False),
        ({"o": [1, 2]}, "/o", [2, 1], False),
        ({"o": [1, 2]}, "/o", [1], False),
        ({"o": []}, "/o", {}, False),
        ({"o": {}}, "/o", None, False),
    ],
)
def test_a_test_compares_as_json_does(document: Any, path: str, value: Any, holds: bool) -> None:
    operations = parse([{"op": "test", "path": path, "value": value}])
    if holds:
        assert apply_patch(document, operations) is document
    else:
        with pytest.raises(PatchError):
            apply_patch(document, operations)


def test_a_move_to_where_it_is_changes_nothing() -> None:
    document = {"a": {"b": 1}}
    assert apply_patch(document, parse([{"op": "move", "path": "/a", "from": "/a"}])) is document


def test_no_operations_change_nothing() -> None:
    document: dict[str, Any] = {}
    assert apply_patch(document, ()) is document


def test_computed_values_stand_in_for_literal_ones() -> None:
    operations = parse(
        [
            {"op": "add", "path": "/a", "value": "literal"},
            {"op": "add", "path": "/b", "value": "literal"},
        ]
    )
    assert apply_patch({}, operations, {1: None}) == {"a": "literal", "b": None}


def test_two_results_never_share_a_value_of_the_policy() -> None:
    literal = {"tags": ["x"]}
    operations = parse(
        [
            {"op": "add", "path": "/a", "value": literal},
            {"op": "replace", "path": "/a", "value": literal},
            {"op": "copy", "path": "/b", "from": "/a"},
        ]
    )
    first, second = apply_patch({}, operations), apply_patch({}, operations)
    first["a"]["tags"].append("y")
    assert first == {"a": {"tags": ["x", "y"]}, "b": {"tags": ["x"]}}
    assert second == {"a": {"tags": ["x"]}, "b": {"tags": ["x"]}}
    assert literal == {"tags": ["x"]}


def test_a_computed_value_is_copied_too() -> None:
    constant: list[Any] = [{}]
    operations = parse([{"op": "add", "path": "/a", "value": 0}])
    result = apply_patch({}, operations, {0: constant})
    result["a"][0]["new"] = 1
    assert constant == [{}]


# Published records


def records() -> Iterator[Any]:
    for name in ("tests.json", "spec_tests.json"):
        path = CORPUS / name
        if path.exists():
            for number, record in enumerate(json.loads(path.read_text("utf-8"))):
                if "patch" in record and not record.get("disabled"):
                    yield pytest.param(record, id=f"{name}-{number}")


@pytest.mark.parametrize("record", list(records()))
def test_a_published_record_holds(record: dict[str, Any]) -> None:
    before = copy.deepcopy(record["doc"])
    if "error" in record:
        with pytest.raises((Unreadable, PatchError)):
            apply_patch(record["doc"], parse(record["patch"]))
    else:
        result = apply_patch(record["doc"], parse(record["patch"]))
        assert equal(result, record.get("expected", result))
    assert record["doc"] == before


# A second opinion

KEYS = st.sampled_from(["a", "b", "0", "1", "~", "x/y"])
SCALARS = st.none() | st.booleans() | st.sampled_from([0, 1, 2, 1.0, 0.5, "", "a", "1"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
TOKENS = st.sampled_from(["a", "b", "0", "1", "2", "-", "~", "x/y", "01", "-1"])
POINTERS = st.lists(TOKENS, max_size=3).map(format_pointer)
PATCHES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "replace", "test"]), "path": POINTERS, "value": JSON}
        ),
        st.fixed_dictionaries({"op": st.just("remove"), "path": POINTERS}),
        st.fixed_dictionaries(
            {"op": st.sampled_from(["move", "copy"]), "path": POINTERS, "from": POINTERS}
        ),
    ),
    max_size=4,
)
CONTAINERS = st.lists(JSON, max_size=3) | st.dictionaries(KEYS, JSON, max_size=4)


@given(CONTAINERS, PATCHES)
def test_jsonpatch_agrees(document: Any, patch: Any) -> None:
    before = copy.deepcopy(document)
    try:
        mine: Any = ("result", apply_patch(document, parse(patch)))
    except (Unreadable, PatchError):
        mine = ("failure", None)
    assert document == before
    try:
        theirs: Any = ("result", jsonpatch.apply_patch(document, copy.deepcopy(patch)))
    except Exception:  # it raises half a dozen types, TypeError among them
        theirs = ("failure", None)
    assert mine[0] == theirs[0]
    assert equal(mine[1], theirs[1])


# Values


@given(JSON, JSON)
def test_equality_is_that_of_the_text_where_numbers_are_spelt_alike(left: Any, right: Any) -> None:
    one, other = (json.dumps(value, sort_keys=True) for value in (left, right))
    assert same_json(left, right) == (one == other)
    if same_json(left, right):
        assert equal(left, right)
    assert equal(left, right) == (one.replace("1.0", "1") == other.replace("1.0", "1"))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, False),
        (0.0, -0.0, False),
        (1, True, False),
        (0.1, 0.1, True),
        (2**64, 2**64, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ([{}], [[]], False),
        ("1", 1, False),
    ],
)
def test_same_json_tells_spellings_apart_but_not_the_order_of_members(
    left: Any, right: Any, same: bool
) -> None:
    assert same_json(left, right) is same
    assert same_json([left], [right]) is same


@given(JSON)
def test_a_fresh_copy_is_equal_and_shares_no_container(value: Any) -> None:
    copied = fresh(value)
    assert same_json(value, copied)

    def containers(of: Any) -> list[int]:
        if isinstance(of, dict):
            return [id(of), *(one for child in of.values() for one in containers(child))]
        if isinstance(of, list):
            return [id(of), *(one for child in of for one in containers(child))]
        return []

    assert not set(containers(value)) & set(containers(copied))


def test_depth_is_no_limit() -> None:
    deep: Any = 1
    other: Any = 1.0
    for _ in range(900):
        deep, other = [{"k": deep}], [{"k": other}]
    assert equal(deep, other)
    assert not same_json(deep, other)
    assert same_json(fresh(deep), deep)
    result = apply_patch({"a": deep}, parse([{"op": "copy", "path": "/b", "from": "/a"}]))
    assert equal(result["b"], other)
