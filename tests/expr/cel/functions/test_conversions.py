from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.functions.scalars import (
    double_text,
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp_text,
)
from policyd.expr.cel.values import DURATION_MAX, CelType, UInt

Call = Callable[..., Any]
MOMENT = datetime(2026, 1, 31, 12, 30, 15, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "size"),
    [("", 0), ("πέντε", 5), ("😀", 1), (b"\xff\x00", 2), ([1, 2], 2), ({"a": 1}, 1)],
)
def test_size_counts_characters_bytes_elements_and_entries(
    call: Call, value: Any, size: int
) -> None:
    assert call("size", value) == size


def test_size_of_a_number_is_refused(refuse: Call) -> None:
    assert refuse("size", 1) == "`size` does not take int"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "int"),
        (UInt(1), "uint"),
        (1.0, "double"),
        (True, "bool"),
        (None, "null_type"),
        (MOMENT, "google.protobuf.Timestamp"),
        (CelType("int"), "type"),
    ],
)
def test_type_names_the_type(call: Call, value: Any, name: str) -> None:
    assert call("type", value) == CelType(name)


def test_type_of_an_address_is_its_own(call: Call) -> None:
    assert call("type", call("ip", "10.0.0.1")) == CelType("net.IP")


def test_dyn_is_the_value(call: Call) -> None:
    value = [1]
    assert call("dyn", value) is value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("é", "é"),
        (-5, "-5"),
        (UInt(5), "5"),
        (2**64, "18446744073709551616"),
        (1.0, "1"),
        (-0.0, "-0"),
        (100.0, "100"),
        (0.001, "0.001"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (123456.5, "123456.5"),
        (999999.0, "999999"),
        (1000000.0, "1e+06"),
        (-1.5e300, "-1.5e+300"),
        (5.960464477539063e-08, "5.960464477539063e-08"),
        (0.1 + 0.2, "0.30000000000000004"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (True, "true"),
        (False, "false"),
        (b"\xc3\xbf", "ÿ"),
        (MOMENT, "2026-01-31T12:30:15.12Z"),
        (datetime(7, 1, 1, tzinfo=UTC), "0007-01-01T00:00:00Z"),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "2026-01-01T00:00:00Z"),
        (timedelta(minutes=90), "5400s"),
        (timedelta(milliseconds=-1500), "-1.5s"),
        (timedelta(microseconds=1), "0.000001s"),
        (timedelta(0), "0s"),
    ],
)
def test_string_spells_a_value(call: Call, value: Any, text: str) -> None:
    assert call("string", value) == text


def test_string_spells_an_address(call: Call) -> None:
    assert call("string", call("ip", "0x7f.1")) == "127.0.0.1"
    assert call("string", call("cidr", "10.1.2.3/8")) == "10.0.0.0/8"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "`string` does not take null"),
        ([], "`string` does not take list"),
        (b"\xff", "the bytes are not UTF-8"),
        (10**2000, "the number is too large"),
    ],
)
def test_string_refuses_what_has_no_spelling(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("string", value) == reason


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        (UInt(5), 5),
        (-7.9, -7),
        (1.9, 1),
        ("-42", -42),
        ("+0042", 42),
        (MOMENT, 1769862615),
        (datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), -1),
    ],
)
def test_int_takes_what_stands_for_an_integer(call: Call, value: Any, number: int) -> None:
    result = call("int", value)
    assert (type(result), result) == (int, number)


NOT_AN_INT = "the text is not an int"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2.0**63, "integer overflow"),
        (-(2.0**63), "integer overflow"),
        (math.nan, "integer overflow"),
        (2**63, "integer overflow"),
        (UInt(2**63), "integer overflow"),
        ("9223372036854775808", "integer overflow"),
        ("1.0", NOT_AN_INT),
        ("1_0", NOT_AN_INT),
        (" 1", NOT_AN_INT),
        ("٣", NOT_AN_INT),
        ("", NOT_AN_INT),
        ("-", NOT_AN_INT),
        ("1" * 5000, NOT_AN_INT),
        (True, "`int` does not take bool"),
        (timedelta(0), "`int` does not take duration"),
    ],
)
def test_int_refuses_what_is_none(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("int", value) == reason


@pytest.mark.parametrize(
    ("value", "number"), [(5, 5), (UInt(5), 5), (3.9, 3), ("300", 300), (2.0**63, 2**63)]
)
def test_uint_takes_what_stands_for_a_natural_number(call: Call, value: Any, number: int) -> None:
    result = call("uint", value)
    assert (type(result), result) == (UInt, number)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (-1, "unsigned integer overflow"),
        (-0.5, "unsigned integer overflow"),
        (2.0**64, "unsigned integer overflow"),
        ("18446744073709551616", "unsigned integer overflow"),
        ("-1", "the text is not an uint"),
        (MOMENT, "`uint` does not take timestamp"),
    ],
)
def test_uint_refuses_what_is_none(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("uint", value) == reason


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5.0), (UInt(5), 5.0), (1.5, 1.5), ("-84.32e7", -843200000.0), ("inf", math.inf)],
)
def test_double_takes_numbers_and_their_texts(call: Call, value: Any, number: float) -> None:
    result = call("double", value)
    assert (type(result), result) == (float, number)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (10**400, "the number is too large for a double"),
        ("1_0", "the text is not a double"),
        (" 1", "the text is not a double"),
        ("0x10", "the text is not a double"),
        ("١", "the text is not a double"),
        ("1" * 401, "the text is not a double"),
        (None, "`double` does not take null"),
    ],
)
def test_double_refuses_what_is_none(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("double", value) == reason


def test_bool_takes_the_listed_spellings(call: Call, refuse: Call) -> None:
    assert call("bool", True) is True
    assert [call("bool", text) for text in ("1", "t", "TRUE")] == [True] * 3
    assert [call("bool", text) for text in ("0", "f", "False")] == [False] * 3
    assert refuse("bool", "yes") == "the text is not a bool"
    assert refuse("bool", 1) == "`bool` does not take int"


def test_bytes_are_utf_8(call: Call, refuse: Call) -> None:
    assert call("bytes", "ÿ") == b"\xc3\xbf"
    assert call("bytes", b"\xff") == b"\xff"
    assert refuse("bytes", "\ud800") == "the text holds half of a surrogate pair"
    assert refuse("bytes", 1) == "`bytes` does not take int"


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (MOMENT, MOMENT),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        ("2026-01-31T12:30:15.12Z", MOMENT),
        ("2026-01-31T12:30:15.1200009Z", MOMENT),
        ("2026-01-31T14:00:15.120+01:30", MOMENT),
        ("2026-01-31T07:30:15.12-05:00", MOMENT),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_timestamp_takes_rfc_3339_and_seconds(call: Call, value: Any, moment: datetime) -> None:
    assert call("timestamp", value) == moment


NOT_A_TIMESTAMP = "the text is not an RFC 3339 timestamp"
OUT_OF_RANGE = "the timestamp is out of range"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2026-01-31", NOT_A_TIMESTAMP),
        ("2026-01-31 12:30:15Z", NOT_A_TIMESTAMP),
        ("2026-01-31t12:30:15Z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30Z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15.Z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:60Z", NOT_A_TIMESTAMP),
        ("2026-02-30T12:30:15Z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15+0100", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15*01:00", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15+24:00", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15+01:60", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15.1Z ", NOT_A_TIMESTAMP),
        ("٢٠٢٦-01-31T12:30:15Z", NOT_A_TIMESTAMP),
        ("2026-01-31T12:30:15." + "1" * 400 + "Z", NOT_A_TIMESTAMP),
        ("0000-01-01T00:00:00Z", NOT_A_TIMESTAMP),
        ("0001-01-01T00:00:00+01:00", OUT_OF_RANGE),
        (253402300800, OUT_OF_RANGE),
        (10**30, OUT_OF_RANGE),
        (1.5, "`timestamp` does not take double"),
        (True, "`timestamp` does not take bool"),
    ],
)
def test_timestamp_refuses_what_is_none(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("timestamp", value) == reason


@pytest.mark.parametrize(
    ("value", "duration"),
    [
        (timedelta(1), timedelta(1)),
        ("0", timedelta(0)),
        ("1h30m", timedelta(minutes=90)),
        ("-1.5h", timedelta(hours=-1.5)),
        ("+.5s", timedelta(seconds=0.5)),
        ("1.s", timedelta(seconds=1)),
        ("1ms2us3µs4μs5999ns", timedelta(microseconds=1014)),
        ("-999ns", timedelta(0)),
        ("9223372036.854775s", DURATION_MAX),
    ],
)
def test_duration_takes_numbers_with_units(call: Call, value: Any, duration: timedelta) -> None:
    assert call("duration", value) == duration


NOT_A_DURATION = "the text is not a duration"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", NOT_A_DURATION),
        ("-", NOT_A_DURATION),
        ("1", NOT_A_DURATION),
        ("1h0", NOT_A_DURATION),
        ("1d", NOT_A_DURATION),
        ("1 h", NOT_A_DURATION),
        ("1hm", NOT_A_DURATION),
        (".s", NOT_A_DURATION),
        ("1.2.3s", NOT_A_DURATION),
        ("1e3s", NOT_A_DURATION),
        ("٣s", NOT_A_DURATION),
        ("1s" * 300, NOT_A_DURATION),
        ("9223372036.854776s", "the duration is out of range"),
        ("9" * 300 + "h", "the duration is out of range"),
        (1, "`duration` does not take int"),
    ],
)
def test_duration_refuses_what_is_none(refuse: Call, value: Any, reason: str) -> None:
    assert refuse("duration", value) == reason


@given(st.floats(allow_nan=False))
def test_a_spelled_double_reads_as_itself(number: float) -> None:
    assert float(double_text(number)) == number


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_spelled_timestamp_reads_as_itself(moment: datetime) -> None:
    assert parse_timestamp(timestamp_text(moment)) == moment


@given(st.timedeltas(min_value=-DURATION_MAX, max_value=DURATION_MAX))
def test_a_spelled_duration_reads_as_itself(duration: timedelta) -> None:
    assert parse_duration(duration_text(duration)) == duration
