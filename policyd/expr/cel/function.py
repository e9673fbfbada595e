"""What a function is to the CEL compiler.

Knows how a function is called, what the checker may ask it at load, and what the fast path may
ask it.  Knows none of the functions: they are the entries of `functions.FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class _Sentinel(Enum):
    NOT_LITERAL = "not a literal"


NOT_LITERAL: Final = _Sentinel.NOT_LITERAL
"""Stands for an argument whose value is not known when the policy is compiled."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the language.  Every function is pure.

    name: as written in a call; a dot makes it a namespaced function (`path.within`).
    call: takes the argument values, the receiver first; raises EvaluationError where the
        arguments have the wrong types or values.
    function_arity: the numbers of arguments of `name(...)`; empty when not called that way.
    method_arity: the same for `receiver.name(...)`, counting the receiver.
    returns_bool: the value is always a boolean.
    literal: checks arguments when the policy is compiled: takes the value of each argument, or
        NOT_LITERAL; returns what is wrong, or None.
    budgeted: `call` takes the Budget as its first argument.
    specialise: takes the same tuple as `literal`; returns a faster callable that takes only
        the arguments that are not literals (after the Budget where `budgeted`), or None.
    """

    name: str
    call: Callable[..., Any]
    function_arity: tuple[int, ...]
    method_arity: tuple[int, ...]
    returns_bool: bool = False
    literal: Callable[[tuple[Any, ...]], str | None] | None = None
    budgeted: bool = False
    specialise: Callable[[tuple[Any, ...]], Callable[..., Any] | None] | None = None
