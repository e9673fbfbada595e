"""Calls over a session of the MCP SDK, and the port of a session that others opened.

Knows `mcp`'s `ClientSession`.  Import it late: `mcp` takes two thirds of a second.
"""

from __future__ import annotations

from typing import Any

from mcp import Client
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT, Request
from pydantic import TypeAdapter

from policyd.errors import InvocationError
from policyd.ports.calls import Calls
from policyd.ports.port import ConnectionLost, Refusal, Unreachable
from policyd.wire import dump_json, parse_json

_RESULT: TypeAdapter[Any] = TypeAdapter(dict[str, Any])

_LOST = ("Connection closed", "SSE stream ")
"""How the SDK's own texts for a lost connection begin; their code is also the SEP's timeout."""


class SessionPort:
    """A server behind an SDK client or session that its owner opened and will close."""

    def __init__(self, client: Client | ClientSession) -> None:
        self._client = client
        self._calls = Calls()

    async def call(self, method: str, params: dict[str, Any], timeout: float) -> dict[str, Any]:
        """See `Port.call`."""
        return await self._calls.run(self._ask(method, params), timeout)

    async def aclose(self) -> None:
        """Give up the calls; the client stays open."""
        await self._calls.aclose()

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await ask(self._session(), method, params)

    def _session(self) -> ClientSession:
        if isinstance(self._client, ClientSession):
            return self._client
        try:
            return self._client.session
        except RuntimeError:
            raise Unreachable("the client session is not open") from None


class _Request(Request[dict[str, Any], str]):
    """A request whose params go out as they are; the SDK's models would drop nulls."""

    method: str
    params: dict[str, Any]

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        """What the session sends."""
        return {"method": self.method, "params": self.params}


async def ask(session: ClientSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request; nothing of it, nor of *params*, is shared with the server.

    Transports in memory hand over the objects themselves.  Takes as long as the server does.
    Raises Refusal, Unreachable, and ConnectionLost when a new connection may serve.
    """
    request = _Request(method=method, params=copied(params))
    try:
        result = await session.send_request(request, _RESULT)
    except MCPError as error:
        raise _failure(error) from None
    except RuntimeError:
        raise Unreachable("the client session is not open") from None
    except Exception:
        # a border: what else a transport raises is not told, it may quote the message
        raise Unreachable("the client session failed") from None
    try:
        answer: dict[str, Any] = copied(result)
        return answer
    except (InvocationError, TypeError, ValueError, RecursionError):
        raise Unreachable("the answer is not JSON") from None


def copied(value: Any) -> Any:
    """A copy of a JSON value; 4 us for a message of 360 bytes, where `deepcopy` takes 20."""
    return parse_json(dump_json(value))


def _failure(error: MCPError) -> Refusal | Unreachable:
    code, message = error.code, error.message
    if code == CONNECTION_CLOSED and error.data is None and message.startswith(_LOST):
        return ConnectionLost("the connection to the server was lost")
    if code in (INVALID_REQUEST, REQUEST_TIMEOUT) and "session" in message.lower():
        return ConnectionLost("the server has ended the session")
    try:
        return Refusal(code, message, copied(error.data))
    except (InvocationError, TypeError, ValueError, RecursionError):
        return Refusal(code, message)
