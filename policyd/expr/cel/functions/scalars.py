"""Numbers and times as text: how CEL reads and prints them.

Knows the spellings of int, uint, double, bool, timestamp and duration.  Knows no function and
no type dispatch: `conversions` and `formatting` do.  Sources: CEL language definition ("type
conversions"), RFC 3339, and Go's `strconv` and `time.ParseDuration`, which the definition names.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from policyd.errors import EvaluationError
from policyd.expr.cel.values import UInt, checked_duration, checked_int, checked_uint

MAX_SCALAR: Final = 400
"""Characters of a text that may be one number or time; the longest double has 325."""

_MAX_BITS: Final = 4096
_MICROSECOND: Final = timedelta(microseconds=1)
_DIGITS: Final = str.maketrans("123456789", "000000000")


# Printing


def int_text(value: int) -> str:
    """The decimal digits of *value*.  A number of more than 1,200 digits is refused.

    Python takes quadratic time for large numbers, and JSON may hold any.
    """
    if value.bit_length() > _MAX_BITS:
        raise EvaluationError("the number is too large")
    return str(int(value))


def double_text(value: float) -> str:
    """The shortest text that reads as *value*; with an exponent below 1e-4 and from 1e6 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = Decimal(repr(value)).normalize()
    exponent = shortest.adjusted()
    if -4 <= exponent < 6:
        return f"{shortest:f}"
    digits = "".join(map(str, shortest.as_tuple().digits))
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent:+03d}"


def bool_text(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def bytes_text(value: bytes) -> str:
    """*value* read as UTF-8.  Raises EvaluationError where it is not."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise EvaluationError("the bytes are not UTF-8") from None


def timestamp_text(value: datetime) -> str:
    """RFC 3339 in UTC, with no more fractional digits than needed."""
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def duration_text(value: timedelta) -> str:
    """Seconds, with no more fractional digits than needed, and `s`."""
    microseconds = value // _MICROSECOND
    seconds, fraction = divmod(abs(microseconds), 10**6)
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{seconds}" + f".{fraction:06d}".rstrip("0").rstrip(".") + "s"


# Reading


def _unreadable(what: str) -> EvaluationError:
    return EvaluationError(f"the text is not {what}")


def parse_int(text: str) -> int:
    """Decimal digits with an optional sign, within 64 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if len(text) > MAX_SCALAR or not (digits.isascii() and digits.isdigit()):
        raise _unreadable("an int")
    return checked_int(int(text))


def parse_uint(text: str) -> UInt:
    """Decimal digits, within 64 bits."""
    if len(text) > MAX_SCALAR or not (text.isascii() and text.isdigit()):
        raise _unreadable("an uint")
    return checked_uint(int(text))


def parse_double(text: str) -> float:
    """A decimal number with optional fraction and exponent, or `NaN`, `Infinity`, `inf`."""
    plain = text.isascii() and "_" not in text and text == text.strip()
    try:
        if len(text) > MAX_SCALAR or not plain:
            raise ValueError
        return float(text)
    except ValueError:
        raise _unreadable("a double") from None


_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}


def parse_bool(text: str) -> bool:
    """One of the spellings that CEL lists."""
    if text not in _BOOLS:
        raise _unreadable("a bool")
    return _BOOLS[text]


def parse_timestamp(text: str) -> datetime:
    """RFC 3339, strictly: capital `T` and `Z`, seconds, an offset; no leap second.

    Fractions are cut to microseconds.
    """
    fraction, zone = _split_fraction(text[19:])
    shape = text[:19].translate(_DIGITS)
    if not text.isascii() or shape != "0000-00-00T00:00:00" or len(text) > MAX_SCALAR:
        raise _unreadable("an RFC 3339 timestamp")
    month, day, hour, minute, second = (int(text[at : at + 2]) for at in (5, 8, 11, 14, 17))
    try:
        local = datetime(int(text[:4]), month, day, hour, minute, second, fraction, UTC)
        return local - _offset(zone)
    except ValueError:
        raise _unreadable("an RFC 3339 timestamp") from None
    except OverflowError:
        raise EvaluationError("the timestamp is out of range") from None


def _split_fraction(rest: str) -> tuple[int, str]:
    """The microseconds of `.123456Z` and what follows them."""
    if not rest.startswith("."):
        return 0, rest
    zone = rest[1:].lstrip("0123456789")
    digits = rest[1 : len(rest) - len(zone)]
    if not digits:
        raise _unreadable("an RFC 3339 timestamp")
    return int(digits[:6].ljust(6, "0")), zone


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta(0)
    if zone[1:].translate(_DIGITS) != "00:00" or zone[0] not in "+-":
        raise ValueError
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 23 or minutes > 59:
        raise ValueError
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def parse_duration(text: str) -> timedelta:
    """Numbers with units h, m, s, ms, us, ns, as in `1h30m` or `-1.5s`; or `0`.

    Cut to microseconds, towards zero.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if len(text) > MAX_SCALAR or not rest:
        raise _unreadable("a duration")
    nanoseconds = 0
    while rest and text != "0":
        amount, rest = _duration_part(rest)
        nanoseconds += amount
    if nanoseconds > 10**21:
        raise EvaluationError("the duration is out of range")
    duration = timedelta(microseconds=nanoseconds // 1000)
    return checked_duration(-duration if text[0] == "-" else duration)


def _duration_part(rest: str) -> tuple[int, str]:
    """The nanoseconds of the first number and unit, and what follows them."""
    after = rest.lstrip("0123456789.")
    number = rest[: len(rest) - len(after)]
    unit = after[: len(after) - len(after.lstrip("nuµμmsh"))]
    whole, _, fraction = number.partition(".")
    scale = _NANOSECONDS.get(unit)
    if scale is None or not (whole + fraction).isdigit():
        raise _unreadable("a duration")
    amount = int(whole or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
    return amount, after[len(unit) :]
