"""An `Invocation` as the params of `interceptor/invoke`.  Knows no interceptor and no server."""

from __future__ import annotations

from typing import Any

from policyd.model import Invocation


def invocation_to_json(
    name: str, invocation: Invocation, *, timeout: float | None
) -> dict[str, Any]:
    """The params that ask the interceptor *name* about *invocation* (SEP "Invocation").

    timeout: the seconds that its server is given, in place of the invocation's own, or None.
    On the wire it is an integer of milliseconds, 1 or more: the Go SDK reads an int64.

    `config` holds the values for this one interceptor.  What is absent is left out, because
    the TypeScript and Python SDKs refuse null.
    """
    params: dict[str, Any] = {
        "name": name,
        "event": invocation.event,
        "phase": str(invocation.phase),
        "payload": invocation.payload,
    }
    config = invocation.config.get(name)
    if config is not None:
        params["config"] = dict(config)
    if timeout is not None:
        params["timeoutMs"] = max(1, round(timeout * 1000))
    if invocation.context:
        params["context"] = dict(invocation.context)
    return params
