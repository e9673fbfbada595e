"""How one interceptor server is called: the interface, and what can go wrong.

Knows JSON-RPC answers.  Knows no transport and no meaning of any method.
"""

from __future__ import annotations

from typing import Any, Protocol

from policyd.errors import PolicydError


class Port(Protocol):
    """One interceptor server, as its caller sees it.

    Calls may run at the same time.  A port belongs to one event loop at a time.
    """

    async def call(self, method: str, params: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The result that the server gives to *method* with *params*.

        params: JSON values; the server never gets hold of them, nor the caller of the
            server's own.
        timeout: seconds for everything, connecting included.

        Raises Refusal for a JSON-RPC error, Unreachable when there is no connection or no
        usable answer, TimeoutError when the time is up.  A caller that is cancelled gives
        the call up; the server is told where the transport can tell it.
        """
        ...

    async def aclose(self) -> None:
        """Give up what the port owns: connections, tasks, processes.

        Takes seconds at most.  Calls that are running and later ones raise Unreachable.
        """
        ...


class Refusal(PolicydError):
    """The server answered with a JSON-RPC error.

    `code`, `message` and `data` are the error's.  The last two are the server's words and may
    hold parts of a payload: `str()` names the code only.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"the server answered error {code}")


class Unreachable(PolicydError):
    """There was no connection, or no answer that is one.

    `reason` is one line that holds nothing of a payload or of another's error text.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ConnectionLost(Unreachable):
    """The connection, or the session on it, has ended: a new one may serve."""


class OtherEra(Unreachable):
    """The server answers as one that does not speak the 2026-07-28 era over plain JSON."""


def port_closed() -> Unreachable:
    """What a call of a closed port ends with."""
    return Unreachable("the port is closed")
