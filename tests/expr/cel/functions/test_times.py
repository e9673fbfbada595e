from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS

Call = Callable[..., Any]
MOMENT = datetime(2026, 3, 1, 23, 45, 30, 123_456, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("name", "in_utc", "in_sydney", "at_minus_2330"),
    [
        ("getFullYear", 2026, 2026, 2026),
        ("getMonth", 2, 2, 2),
        ("getDate", 1, 2, 1),
        ("getDayOfMonth", 0, 1, 0),
        ("getDayOfWeek", 0, 1, 0),
        ("getDayOfYear", 59, 60, 59),
        ("getHours", 23, 10, 0),
        ("getMinutes", 45, 45, 15),
        ("getSeconds", 30, 30, 30),
        ("getMilliseconds", 123, 123, 123),
    ],
)
def test_a_timestamp_has_fields_in_every_zone(
    call: Call, name: str, in_utc: int, in_sydney: int, at_minus_2330: int
) -> None:
    assert call(name, MOMENT) == in_utc
    assert call(name, MOMENT, "UTC") == in_utc
    assert call(name, MOMENT, "Australia/Sydney") == in_sydney
    assert call(name, MOMENT, "-23:30") == at_minus_2330


@pytest.mark.parametrize("zone", ["02:00", "+2:00", "+02:00"])
def test_an_offset_is_written_in_several_ways(call: Call, zone: str) -> None:
    assert call("getHours", MOMENT, zone) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("getHours", 1), ("getMinutes", 62), ("getSeconds", 3730), ("getMilliseconds", 500)],
)
def test_a_duration_is_counted_in_each_unit_and_cut_towards_zero(
    call: Call, name: str, value: int
) -> None:
    duration = timedelta(seconds=3730.5)
    assert call(name, duration) == value
    assert call(name, -duration) == -value


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Z",
        "Mars/Olympus",
        "America",
        "../etc/passwd",
        "/etc/passwd",
        "+24:00",
        "+02:60",
        "+0200",
        "+02:0",
        "+٠٢:00",
        "a" * 65,
        "Europe/\x00",
        "Europe/\ud800",
        "é",
    ],
)
def test_a_zone_that_does_not_exist_is_refused(refuse: Call, zone: str) -> None:
    assert refuse("getHours", MOMENT, zone) == "no such time zone"


def test_a_literal_zone_is_checked_at_load() -> None:
    check = FUNCTIONS["getHours"].literal
    assert check is not None
    assert check((NOT_LITERAL, "Mars/Olympus")) == "no such time zone `Mars/Olympus`"
    assert check((NOT_LITERAL, "Europe/Paris")) is None
    assert check((NOT_LITERAL,)) is None
    assert check((NOT_LITERAL, 5)) is None


def test_other_values_have_no_fields(refuse: Call) -> None:
    assert refuse("getHours", "now") == "`getHours` does not take string"
    assert refuse("getHours", "now", "UTC") == "`getHours` does not take string and string"
    assert refuse("getHours", MOMENT, 5) == "`getHours` does not take timestamp and int"
    assert refuse("getDate", timedelta(1)) == "`getDate` does not take duration"
    hours = "`getHours` does not take duration and string"
    assert refuse("getHours", timedelta(1), "UTC") == hours


def test_the_end_of_time_has_no_field_further_east(refuse: Call) -> None:
    last = datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert refuse("getHours", last, "+02:00") == "the timestamp is out of range"
