from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import InvocationError
from policyd.wire import dump_json, parse_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def refusal(data: bytes) -> tuple[int, str, dict[str, Any]]:
    with pytest.raises(InvocationError) as caught:
        parse_json(data)
    return caught.value.code, caught.value.message, caught.value.data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON at line 1 column 0"),
        (b"{", "not valid JSON at line 1 column 1"),
        (b'{"limit": NaN}', "not valid JSON at line 1 column 11"),
        (b"[Infinity]", "not valid JSON at line 1 column 2"),
        (b"[-Infinity]", "not valid JSON at line 1 column 3"),
        (b'"\\ud800"', "not valid JSON at line 1 column 8"),
        (b'"\xed\xa0\x80"', "not valid JSON at line 1 column 2"),
        (b'"\xff"', "not valid JSON at line 1 column 2"),
        (b"\xef\xbb\xbf{}", "not valid JSON at line 1 column 1"),
        ("{}".encode("utf-16"), "not valid JSON at line 1 column 1"),
        (b"{}garbage", "not valid JSON at line 1 column 3"),
        (b"[1,]", "not valid JSON at line 1 column 4"),
        (b"01", "not valid JSON at line 1 column 2"),
        (b"[" * 250 + b"]" * 250, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_a_parse_error(data: bytes, reason: str) -> None:
    assert refusal(data) == (-32700, "Parse error", {"reason": reason})


@pytest.mark.parametrize(
    "data",
    [
        b'{"path":"/etc/shadow","path":"/srv/a"}',
        b'{"path":1,"\\u0070ath":1}',
        b'{"a":{"b":[{"c":1,"c":1}]}}',
        b'{"":0,"":0}',
        '{"é":1,"\\u00e9":2}'.encode(),
    ],
)
def test_an_object_with_the_same_key_twice_is_an_invalid_request(data: bytes) -> None:
    expected = (-32600, "Invalid Request", {"reason": "an object has the same key twice"})
    assert refusal(data) == expected


def test_the_same_key_in_two_objects_is_fine() -> None:
    assert parse_json(b'[{"a":{"a":1}},{"a":2}]') == [{"a": {"a": 1}}, {"a": 2}]


@given(st.dictionaries(st.text(), st.integers(), min_size=1), st.data())
def test_every_repeated_key_is_found(members: dict[str, int], data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from(list(members)))
    body = ",".join(
        f"{json.dumps(key, ensure_ascii=data.draw(st.booleans()))}:{value}"
        for key, value in [*members.items(), (repeated, 0)]
    )
    assert refusal(f"[{{{body}}}]".encode())[0] == -32600


@given(JSON)
def test_a_value_survives_the_way_out_and_in(value: Any) -> None:
    again = parse_json(dump_json(value))
    assert again == value
    assert json.dumps(again) == json.dumps(value)  # 1 and 1.0, key order


def test_integers_of_any_size_stay_exact() -> None:
    assert parse_json(dump_json([2**64, -(10**400)])) == [2**64, -(10**400)]


def test_output_is_compact_and_keeps_the_order_of_keys() -> None:
    assert dump_json({"b": [1, 2.0], "a": None}) == b'{"b":[1,2.0],"a":null}'


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes"])
def test_what_is_not_json_is_never_written(value: object) -> None:
    with pytest.raises(TypeError):
        dump_json(value)
