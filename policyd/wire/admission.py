"""Which JSON values may be judged at all.

What another parser could read differently, or what could hurt whoever walks over it, is
refused before any policy sees it.  Knows no policy and no meaning of any member.
"""

from __future__ import annotations

import sys
from typing import Any

from policyd.errors import InvocationError
from policyd.wire.dialect import INVALID_PARAMS

MAX_DEPTH = 128
"""Levels of arrays and objects; the walkers of Python and of the SDK stop at about 250."""

MAX_SIZE = 8 << 20
"""Values plus characters; a message of 4 MiB stays below it."""

_MAX_NUMBER = sys.float_info.max


def check_payload(payload: Any, name: str = "payload", most: int = MAX_SIZE) -> int:
    """Refuse *payload* unless every parser reads it the same and every walker survives it.

    Raises InvocationError(-32602) for more than 128 levels, NaN and Infinity, numbers beyond
    ±1.797e308 (the range of a double), lone surrogates in strings or keys, and whatever is
    not a JSON value.  The reason holds *name* and never a part of the payload.

    Returns its size, values plus characters: about the bytes of its JSON text.  One that is
    larger than *most* says that the rest was not looked at.
    """
    level: list[Any] = [[payload]]
    size = 0
    for _ in range(MAX_DEPTH + 1):
        level, grown = _descend(level, name, most - size)
        size += grown
        if size > MAX_SIZE:
            raise _refusal(name, "is too large")
        if not level or size > most:
            return size
    raise _refusal(name, f"is nested more than {MAX_DEPTH} levels deep")


def _descend(level: list[Any], name: str, room: int) -> tuple[list[Any], int]:
    """The containers one level below, and the size of this level; no more once above *room*."""
    below: list[Any] = []
    size = 0
    for container in level:
        size += len(container)
        if size > room:
            break
        if type(container) is dict:
            for key in container:
                plain = type(key) is str and key.isascii()
                size += len(key) if plain else _check_key(key, name)
            container = container.values()
        for value in container:
            kind = type(value)
            if kind is dict or kind is list:
                below.append(value)
            elif kind is str and value.isascii():
                size += len(value)
            else:
                size += _check_scalar(value, name)
    return below, size


def _check_key(key: Any, name: str) -> int:
    """The size of a key."""
    if type(key) is not str:
        raise _refusal(name, "has a key that is not a string")
    return _check_scalar(key, name)


def _check_scalar(value: Any, name: str) -> int:
    """The size of a scalar."""
    kind = type(value)
    if kind is str:
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            raise _refusal(name, "holds a lone surrogate") from None
    if kind is int or kind is float:
        # false for NaN as well; Python compares an integer of any size exactly
        if not -_MAX_NUMBER <= value <= _MAX_NUMBER:
            raise _refusal(name, "holds a number that is not finite")
    elif value is not None and kind is not bool:
        raise _refusal(name, "holds a value that is not JSON")
    return 0


def _refusal(name: str, flaw: str) -> InvocationError:
    return InvocationError(INVALID_PARAMS, "Invalid params", {"reason": f"`{name}` {flaw}"})
