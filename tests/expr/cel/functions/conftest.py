"""Functions are called here in each way the compiler calls them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from policyd.errors import EvaluationError
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget


def fresh_budget(steps: int = 10**7) -> Budget:
    return Budget(steps, time.monotonic() + 60)


def apply(function: Function, call: Callable[..., Any], *arguments: Any) -> Any:
    """What *call* yields: a value with its type, or the reason of an EvaluationError."""
    try:
        value = call(fresh_budget(), *arguments) if function.budgeted else call(*arguments)
    except EvaluationError as error:
        return error
    return type(value), value


def outcome(name: str, *arguments: Any) -> Any:
    """Call the function and, where it specialises for a literal, what it specialises to."""
    function = FUNCTIONS[name]
    result = apply(function, function.call, *arguments)
    for place, literal in enumerate(arguments):
        known = tuple(literal if at == place else NOT_LITERAL for at in range(len(arguments)))
        special = function.specialise(known) if function.specialise is not None else None
        if special is not None:
            rest = [argument for at, argument in enumerate(arguments) if at != place]
            assert repr(apply(function, special, *rest)) == repr(result)
        elif function.literal is not None and function.literal(known) is not None:
            assert isinstance(result, EvaluationError), "refused at load, accepted at run time"
    return result


@pytest.fixture(scope="session")
def call() -> Callable[..., Any]:
    """`call(name, *arguments)`: the value."""

    def call(name: str, *arguments: Any) -> Any:
        result = outcome(name, *arguments)
        assert not isinstance(result, EvaluationError), result
        return result[1]

    return call


@pytest.fixture(scope="session")
def refuse() -> Callable[..., str]:
    """`refuse(name, *arguments)`: why the function raises EvaluationError."""

    def refuse(name: str, *arguments: Any) -> str:
        result = outcome(name, *arguments)
        assert isinstance(result, EvaluationError), result
        return result.reason

    return refuse


@pytest.fixture
def budget() -> Budget:
    """More than enough to spend."""
    return fresh_budget()
