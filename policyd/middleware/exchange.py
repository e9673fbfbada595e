"""The messages of one exchange, run through the chain.

Knows events and phases, not which side of a connection it is on: the direction is said with
each message.  What the chain leaves alone is the very object that came.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from policyd.chain import Chain
from policyd.middleware.embedded import (
    REQUESTS,
    RESPONSES,
    UnreadableError,
    inputs_of,
    is_interim,
    keep_stamps,
    method_answered,
    read_request,
)
from policyd.middleware.errors import (
    abort_error,
    crash_error,
    log_failures,
    mutation_error,
    unreadable_error,
)
from policyd.model import Direction, Phase

SKIPPED = frozenset(
    {
        "initialize",
        "interceptor/invoke",
        "interceptors/invoke",
        "interceptors/list",
        "ping",
        "server/discover",
        "subscriptions/listen",
    }
)
"""Requests that hold nothing to judge, or that a chain itself is made of."""

NOTIFIED = frozenset({"notifications/message", "notifications/progress"})
"""The notifications that carry data of a server to its client."""

logger = logging.getLogger(__name__)


class Exchange:
    """Judges a request, its result, and what is sent while it is answered.

    *context* is called at most once, when there is something to judge.
    """

    __slots__ = ("_chain", "_context", "_found", "_protocol")

    def __init__(
        self, chain: Chain, context: Callable[[], Mapping[str, Any]], protocol: str | None
    ) -> None:
        self._chain = chain
        self._context = context
        self._protocol = protocol
        self._found: Mapping[str, Any] | None = None

    async def params(
        self, method: str, params: dict[str, Any], direction: Direction
    ) -> dict[str, Any]:
        """The params of a request, answers to earlier requests for input included.

        Raises MCPError when they may not go on.
        """
        if RESPONSES in params:
            params = await self._responses(params, direction)
        return await self._judge(method, Phase.REQUEST, direction, params)

    async def result(
        self, method: str, result: dict[str, Any], direction: Direction
    ) -> dict[str, Any]:
        """The result of a request, or the requests for input in an interim one.

        Raises MCPError when it may not go on.
        """
        if REQUESTS in result or result.get("resultType") == "input_required":
            result = await self._requests(result, direction)
            if is_interim(result):
                return result
        return await self._judge(method, Phase.RESPONSE, direction, result)

    async def notification(
        self, method: str, params: dict[str, Any], direction: Direction
    ) -> dict[str, Any] | None:
        """The params of a notification, or None when it is to be dropped."""
        try:
            return await self._judge(method, Phase.REQUEST, direction, params)
        except MCPError as error:
            logger.warning("dropped a `%s`: error %d of the chain", method, error.code)
            return None

    async def _requests(self, result: dict[str, Any], direction: Direction) -> dict[str, Any]:
        changed = {}
        try:
            requests = inputs_of(result, REQUESTS)
            for key, entry in requests.items():
                method, params = read_request(entry)
                judged = await self._judge(method, Phase.REQUEST, direction, params)
                if judged is not params:
                    changed[key] = {**entry, "params": judged}
        except UnreadableError as error:
            raise unreadable_error(Phase.REQUEST, str(error)) from None
        return {**result, REQUESTS: {**requests, **changed}} if changed else result

    async def _responses(self, params: dict[str, Any], direction: Direction) -> dict[str, Any]:
        changed = {}
        try:
            responses = inputs_of(params, RESPONSES)
            for key, entry in responses.items():
                method = method_answered(entry)
                judged = await self._judge(method, Phase.RESPONSE, direction, entry)
                if judged is not entry:
                    changed[key] = judged
        except UnreadableError as error:
            raise unreadable_error(Phase.RESPONSE, str(error)) from None
        return {**params, RESPONSES: {**responses, **changed}} if changed else params

    async def _judge(
        self, event: str, phase: Phase, direction: Direction, payload: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            if self._found is None:
                self._found = self._context()
            decision = await self._chain.execute(
                event,
                phase,
                payload,
                direction=direction,
                context=self._found,
                protocol=self._protocol,
            )
        except Exception as error:
            # the border to interceptors and context functions of others: what cannot be
            # judged may not go on, and what they raised may not be told
            raise crash_error(error, phase) from None
        log_failures(decision)
        if not decision.allowed:
            raise abort_error(decision)
        judged: object = decision.payload
        if judged is payload:
            return payload
        if not isinstance(judged, dict):
            raise mutation_error(decision, "the changed payload is not an object")
        return keep_stamps(payload, judged)
