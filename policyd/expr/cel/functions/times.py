"""The fields of timestamps and durations.

Knows time zones: fixed offsets such as `+02:00`, and IANA names through zoneinfo.  A zone that
is not a literal is looked up in the machine's zone data at its first use.  Source: CEL language
definition, "timestamp and duration accessors": months, days of year and days of month count
from 0 (getDate from 1), Sunday is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from policyd.errors import EvaluationError
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.values import no_overload

_MICROSECOND: Final = timedelta(microseconds=1)
_MAX_ZONE: Final = 64

_OF_TIMESTAMP: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}

_OF_DURATION: Final[dict[str, Callable[[int], int]]] = {
    "getHours": lambda microseconds: microseconds // 3_600_000_000,
    "getMinutes": lambda microseconds: microseconds // 60_000_000,
    "getSeconds": lambda microseconds: microseconds // 1_000_000,
    "getMilliseconds": lambda microseconds: microseconds // 1000 % 1000,
}
"""Of the absolute value; the sign is put back, so that all are cut towards zero."""


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    """The zone called *name*.  Raises EvaluationError where there is none."""
    if name == "UTC":
        return UTC
    try:
        return _fixed_offset(name) if ":" in name else _named_zone(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError("no such time zone") from None


def _fixed_offset(name: str) -> tzinfo:
    hours, _, minutes = name.removeprefix("-").removeprefix("+").partition(":")
    sizes = (len(hours), len(minutes))
    if sizes not in ((1, 2), (2, 2)) or not (name.isascii() and (hours + minutes).isdecimal()):
        raise ValueError
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if name.startswith("-") else offset)


def _named_zone(name: str) -> tzinfo:
    if len(name) > _MAX_ZONE or not name[:1].isalpha():
        raise ValueError
    return ZoneInfo(name)


@dataclass(frozen=True, slots=True)
class _Accessor:
    """One field, of a timestamp in some zone or of a duration."""

    name: str

    def call(self, value: Any, *zone: Any) -> int:
        if type(value) is datetime:
            if not zone:
                return _OF_TIMESTAMP[self.name](value)
            if type(zone[0]) is str:
                return self.in_zone(value, _zone(zone[0]))
        if type(value) is timedelta and self.name in _OF_DURATION and not zone:
            microseconds = value // _MICROSECOND
            part = _OF_DURATION[self.name](abs(microseconds))
            return part if microseconds >= 0 else -part
        raise no_overload(self.name, value, *zone)

    def in_zone(self, value: Any, zone: tzinfo) -> int:
        if type(value) is not datetime:
            raise no_overload(self.name, value, "")
        try:
            return _OF_TIMESTAMP[self.name](value.astimezone(zone))
        except OverflowError:
            raise EvaluationError("the timestamp is out of range") from None

    def specialise(self, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        value, *zones = arguments
        if value is not NOT_LITERAL or not zones or type(zones[0]) is not str:
            return None
        if _check_zone(arguments) is not None:
            return None
        zone = _zone(zones[0])
        return lambda moment: self.in_zone(moment, zone)


def _check_zone(arguments: tuple[Any, ...]) -> str | None:
    zone = arguments[-1]
    if len(arguments) < 2 or type(zone) is not str:
        return None
    try:
        _zone(zone)
    except EvaluationError as error:
        return f"{error.reason} `{zone}`"
    return None


def _function(name: str) -> Function:
    accessor = _Accessor(name)
    return Function(
        name,
        accessor.call,
        (),
        (1, 2),
        literal=_check_zone,
        specialise=accessor.specialise,
    )


FUNCTIONS: Final = tuple(map(_function, _OF_TIMESTAMP))
"""The functions of this library."""
