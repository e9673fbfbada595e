"""Who asks, in which session and under which trace: the SEP's invocation context.

Knows where the SDK keeps it on a server.  A principal is told only where the transport has
authenticated one; all else is as the peer says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from mcp.client.session import ClientSession
from mcp.server.auth.middleware.auth_context import get_access_token

from policyd.middleware.sdk import Context, session_id

ServerContext = Callable[[Context], Mapping[str, Any]]
"""From the SDK's request context to `principal`, `traceId`, `spanId`, `sessionId`."""

ClientContext = Callable[[ClientSession], Mapping[str, Any]]
"""From a client's session to the same."""


class ContextError(Exception):
    """A function that says who asks did not.  The text is safe for a log."""


def check_context(function: object) -> None:
    """Raises TypeError for what cannot be asked who asks; None stands for the default."""
    if function is None:
        return
    if not callable(function):
        raise TypeError("`context` is a function that gives a dictionary of who asks")
    if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        raise TypeError("the `context` function must not be async: nobody waits for it")


def asked(function: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Who asks.  Raises ContextError for an answer that is no mapping, and what the call does."""
    found: object = function()
    if isinstance(found, Mapping):
        return found
    if isinstance(found, Coroutine):
        found.close()
    raise ContextError("the `context` function gave no dictionary of who asks")


def server_context(context: Context) -> dict[str, Any]:
    """What the SDK knows of who sent a request.

    `principal` from the access token that the transport has verified: its subject or else its
    client, with its claims, `scope` and `client_id`, never the token itself.  `sessionId` as
    the transport numbers it, else the header `mcp-session-id`.  `traceId` and `spanId` from
    a W3C `traceparent` in `_meta`, else in the header.
    """
    found: dict[str, Any] = {}
    token = get_access_token()
    if token is not None:
        claims = {"client_id": token.client_id, "scope": " ".join(token.scopes)}
        found["principal"] = {
            "type": "user",
            "id": token.subject or token.client_id,
            "claims": {**claims, **(token.claims or {})},
        }
    headers = getattr(context.request, "headers", None) or {}
    session = session_id(context) or headers.get("mcp-session-id")
    if session:
        found["sessionId"] = session
    meta = (context.params or {}).get("_meta")
    sent = meta.get("traceparent") if isinstance(meta, Mapping) else None
    found.update(_trace(sent or headers.get("traceparent")))
    return found


def no_context(session: ClientSession) -> dict[str, Any]:
    """What a client knows of itself without being told: nothing."""
    return {}


def _trace(traceparent: Any) -> dict[str, str]:
    """The ids in a `traceparent` (W3C Trace Context section 3.2), nothing if it is none."""
    parts = traceparent.split("-") if isinstance(traceparent, str) else []
    if len(parts) < 4 or parts[0] == "ff":
        return {}
    trace, span = parts[1], parts[2]
    if not (_is_id(trace, 32) and _is_id(span, 16)):
        return {}
    return {"traceId": trace, "spanId": span}


def _is_id(text: str, length: int) -> bool:
    return len(text) == length and set(text) <= set("0123456789abcdef") and set(text) != {"0"}
