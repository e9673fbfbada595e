"""An interceptor of a chain, and what hosts it.

Compiled policies run where they stand, without waiting; everything else is asked.  Knows no
way to ask.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from policyd.errors import Cause
from policyd.expr.shape import Shape
from policyd.interceptor import Interceptor
from policyd.model import Descriptor, Failure, Invocation, Outcome, Phase

Ask = Callable[[Invocation, float | None], Awaitable[Outcome]]
"""What an interceptor says of a bare payload, within so many seconds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An interceptor that has to be waited for.

    descriptor: as it is to be run, overrides included.
    config_shape: what its `config` must look like, or None.
    """

    descriptor: Descriptor
    config_shape: Shape | None
    ask: Ask


Hooked = Interceptor | Entry
"""An interceptor of a chain: compiled here, or asked."""


class Host(Protocol):
    """Where interceptors of a chain come from."""

    @property
    def entries(self) -> tuple[Hooked, ...]:
        """The interceptors as last read; the same tuple until they change."""
        ...

    @property
    def generation(self) -> str:
        """The generation of the policies, or an empty text where it is not known."""
        ...

    async def refresh(self, timeout: float | None) -> None:
        """Read the interceptors again if that is due, within *timeout* seconds."""
        ...

    async def aclose(self) -> None:
        """Let go of what was opened for this host."""
        ...


def failed(
    descriptor: Descriptor, invocation: Invocation, reason: str, cause: Cause = Cause.ERROR
) -> Failure:
    """An interceptor that could not say anything of *invocation*."""
    phase = Phase(invocation.phase)
    return Failure(descriptor.name, descriptor.kind, phase, cause, reason)
