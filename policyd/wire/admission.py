"""Which JSON values may be judged at all.

What another parser could read differently, or what could hurt whoever walks over it, is
refused before any policy sees it.  Knows no policy and no meaning of any member.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
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
        below: list[Any] = []
        for container in level:
            size += len(container)
            if size > most:
                break
            if type(container) is dict:
                size += _check_keys(container, name)
                container = container.values()
            for value in container:
                kind = type(value)
                if kind is str and value.isascii():
                    size += len(value)
                elif kind is dict or kind is list:
                    below.append(value)
                else:
                    size += _check_scalar(value, name)
        if size > MAX_SIZE:
            raise _refusal(name, "is too large")
        if not below or size > most:
            return size
        level = below
    raise _refusal(name, f"is nested more than {MAX_DEPTH} levels deep")


def _check_keys(keys: Iterable[Any], name: str) -> int:
    """The size of the keys of an object."""
    try:
        text = "".join(keys)
    except TypeError:
        raise _refusal(name, "has a key that is not a string") from None
    return len(text) if text.isascii() else _check_scalar(text, name)


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
