"""The functions of CEL, by name.

`FUNCTIONS` is the list: nothing registers itself.  Each module is one library; `addresses`,
`arguments`, `keys` and `scalars` hold no functions but what several libraries share.
Every function is pure, raises EvaluationError and nothing else, and never names a part of a value
in it.  What a function builds is bounded by `arguments.MAX_TEXT` and `MAX_LIST`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from policyd.expr.cel.function import Function
from policyd.expr.cel.functions import (
    conversions,
    encoders,
    formatting,
    lists,
    maths,
    network,
    optionals,
    overloads,
    paths,
    patterns,
    sets,
    sql,
    strings,
    text,
    times,
    visible,
)

__all__ = ["FUNCTIONS"]

_LIBRARIES: Final = (
    conversions,
    encoders,
    formatting,
    lists,
    maths,
    network,
    optionals,
    overloads,
    paths,
    patterns,
    sets,
    sql,
    strings,
    text,
    times,
    visible,
)


def _merge() -> Mapping[str, Function]:
    merged: dict[str, Function] = {}
    for library in _LIBRARIES:
        for function in library.FUNCTIONS:
            assert function.name not in merged, f"two functions are called {function.name}"
            merged[function.name] = function
    return MappingProxyType(merged)


FUNCTIONS: Final = _merge()
"""Every function by its name as written in a call."""
