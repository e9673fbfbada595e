"""What a server sends while it answers: requests and notifications to the client.

Requests of the handshake era only (2025-11-25 and older); later ones ride in results.  Knows
the SDK's two channels, that of a request and that of a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.shared.dispatcher import CallOptions, Outbound, ProgressFnT

from policyd.middleware.exchange import SKIPPED, Exchange
from policyd.model import Direction


class GovernedOutbound:
    """A channel whose messages are judged before they leave, and answers before they arrive.

    *exchange* says which exchange a message belongs to at the moment it is sent.
    """

    def __init__(self, inner: Outbound, exchange: Callable[[], Exchange], owner: object) -> None:
        self._inner = inner
        self._exchange = exchange
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        # the channel of a request has more to it than sending: transport, id, cancellation
        return getattr(self._inner, name)

    def is_of(self, owner: object) -> bool:
        """True when *owner* has wrapped this channel before, under whatever wrapper."""
        if self._owner is owner:
            return True
        return isinstance(self._inner, GovernedOutbound) and self._inner.is_of(owner)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send a request that may go, and return the answer if it may arrive.

        Raises MCPError when one of them may not, and as the channel itself does.
        """
        if method in SKIPPED:
            return await self._inner.send_raw_request(method, params, opts)
        exchange = self._exchange()
        given = as_object(params)
        judged = await exchange.params(method, given, Direction.SENDING)
        sent = params if judged is given else judged
        on_progress = (opts or {}).get("on_progress")
        if on_progress is not None:
            opts = {**(opts or {}), "on_progress": _watched(exchange, on_progress)}
        answer = await self._inner.send_raw_request(method, sent, opts)
        return await exchange.result(method, answer, Direction.RECEIVING)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Send a notification; one that may not go is dropped."""
        if method in SKIPPED:
            return await self._inner.notify(method, params, opts)
        given = as_object(params)
        judged = await self._exchange().notification(method, given, Direction.SENDING)
        if judged is not None:
            await self._inner.notify(method, params if judged is given else judged, opts)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress; the token is the channel's own business and not judged."""
        judged = await judged_progress(
            self._exchange(), Direction.SENDING, (progress, total, message)
        )
        if judged is not None:
            await self._inner.progress(*judged)  # type: ignore[attr-defined]


def _watched(exchange: Exchange, on_progress: ProgressFnT) -> ProgressFnT:
    """A callback for the client's progress that is told what may arrive."""

    async def watched(progress: float, total: float | None, message: str | None) -> None:
        report = (progress, total, message)
        judged = await judged_progress(exchange, Direction.RECEIVING, report)
        if judged is not None:
            await on_progress(*judged)

    return watched


Progress = tuple[float, float | None, str | None]


async def judged_progress(
    exchange: Exchange, direction: Direction, report: Progress
) -> Progress | None:
    """A report of progress as it may go on, or None."""
    names = ("progress", "total", "message")
    params = {name: v for name, v in zip(names, report, strict=True) if v is not None}
    judged = await exchange.notification("notifications/progress", params, direction)
    if judged is None or judged is params:
        return None if judged is None else report
    return judged.get("progress", report[0]), judged.get("total"), judged.get("message")


def as_object(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Params as the chain is handed them: absent ones are an empty object."""
    if params is None:
        return {}
    return params if type(params) is dict else dict(params)
