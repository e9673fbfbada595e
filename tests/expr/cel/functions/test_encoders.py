from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget

Call = Callable[..., Any]


def test_bytes_become_text_and_back(call: Call) -> None:
    assert call("base64.encode", b"hello") == "aGVsbG8="
    assert call("base64.decode", "aGVsbG8=") == b"hello"
    assert call("base64.decode", "aGVsbG8") == b"hello"
    assert call("base64.decode", "") == b""


@pytest.mark.parametrize("text", ["a", "ab=", "_-8=", "aGVs\nbG8=", "aGVsbG8=x", "é", "\ud800"])
def test_what_is_not_base64_is_refused(refuse: Call, text: str) -> None:
    assert refuse("base64.decode", text) == "the text is not base64"


def test_only_bytes_are_encoded_and_only_text_is_decoded(refuse: Call) -> None:
    assert refuse("base64.encode", "hello") == "`base64.encode` does not take string"
    assert refuse("base64.decode", b"aGVs") == "`base64.decode` does not take bytes"


@given(st.binary(max_size=40))
def test_decoding_undoes_encoding(data: bytes) -> None:
    budget = Budget(10**6, float("inf"))
    text = FUNCTIONS["base64.encode"].call(budget, data)
    assert FUNCTIONS["base64.decode"].call(budget, text) == data
    assert FUNCTIONS["base64.decode"].call(budget, text.rstrip("=")) == data
