"""What a chain is given by its caller, and what is wrong with it.

Knows no chain and no host.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from policyd.diagnostics import did_you_mean
from policyd.errors import InvocationError
from policyd.functions import is_seconds
from policyd.model import Descriptor, Direction
from policyd.wire import INVALID_PARAMS


def seconds_of(timeout: Any, *, least: float | None = 0.0) -> float | None:
    """*timeout* in seconds; None, no limit, for an infinite one.

    Raises ValueError for what is no number, and unless it is greater than *least*.
    """
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not number or timeout != timeout or (least is not None and not is_seconds(timeout)):
        bound = "" if least is None else " greater than 0"
        raise ValueError(f"`timeout` is a number of seconds{bound}")
    return None if timeout == float("inf") else float(timeout)


def check_host(given: Any, kind: type, what: str) -> None:
    """Raises TypeError unless *given* is of *kind*, which is called *what*."""
    if not isinstance(given, kind):
        raise TypeError(f"what is added is {what}")


def check_direction(direction: Any) -> None:
    """Raises InvocationError for a direction that is none."""
    if direction is not None and direction not in tuple(Direction):
        reason = "the direction is `sending` or `receiving`"
        raise InvocationError(INVALID_PARAMS, "Invalid params", {"reason": reason})


def check_names(names: Collection[str] | str, known: Iterable[Descriptor]) -> None:
    """Raises InvocationError for a name that no interceptor has: nobody would be asked."""
    listed = {descriptor.name for descriptor in known}
    for name in (names,) if isinstance(names, str) else names:
        if name not in listed:
            shown = name[:128] if isinstance(name, str) else "?"
            guess = did_you_mean(shown, listed)
            reason = f"no interceptor is called `{shown}`"
            data = {"reason": reason if guess is None else f"{reason}; {guess}"}
            raise InvocationError(INVALID_PARAMS, "Invalid params", data)
