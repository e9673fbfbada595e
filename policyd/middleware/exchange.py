"""The messages of one exchange, run through the chain.

Knows events and phases, not which side of a connection it is on: the direction is said with
each message.  What the chain leaves alone is the very object that came.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from anyio.lowlevel import checkpoint
from mcp.shared.exceptions import MCPError

from policyd.chain import Chain
from policyd.execution import Decision
from policyd.middleware.context import asked
from policyd.middleware.embedded import (
    REQUESTS,
    RESPONSES,
    UnreadableError,
    check_interim,
    inputs_of,
    method_answered,
    read_request,
)
from policyd.middleware.errors import abort_error, crash_error, mutation_error, unreadable_error
from policyd.middleware.log import log_findings, shown
from policyd.middleware.stamps import (
    INPUT_REQUIRED,
    StampError,
    keep_request_stamps,
    keep_result_stamps,
)
from policyd.model import Direction, Phase

SKIPPED = frozenset(
    {
        "initialize",
        "interceptor/invoke",
        "interceptors/invoke",
        "interceptors/list",
        "notifications/initialized",
        "notifications/subscriptions/acknowledged",
        "ping",
        "server/discover",
    }
)
"""What opens a session or a stream, holds nothing to judge, or a chain itself is made of."""

_KEEP = {Phase.REQUEST: keep_request_stamps, Phase.RESPONSE: keep_result_stamps}

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
        clock = _Clock()
        if RESPONSES in params:
            params = await self._responses(params, direction, clock)
        return await self._judge(method, Phase.REQUEST, direction, params, clock)

    async def result(
        self, method: str, result: dict[str, Any], direction: Direction
    ) -> dict[str, Any]:
        """The result of a request, with the requests for input that it may hold.

        Raises MCPError when it may not go on.
        """
        clock = _Clock()
        if REQUESTS in result or result.get("resultType") == INPUT_REQUIRED:
            result = await self._requests(result, direction, clock)
        return await self._judge(method, Phase.RESPONSE, direction, result, clock)

    async def notification(
        self, method: str, params: dict[str, Any], direction: Direction
    ) -> dict[str, Any] | None:
        """The params of a notification, or None when it is to be dropped."""
        try:
            return await self._judge(method, Phase.REQUEST, direction, params, _Clock())
        except MCPError as error:
            logger.warning("dropped a %s: error %d of the chain", shown(method), error.code)
            return None

    async def _requests(
        self, result: dict[str, Any], direction: Direction, clock: _Clock
    ) -> dict[str, Any]:
        changed = {}
        try:
            if result.get("resultType") == INPUT_REQUIRED:
                check_interim(result)
            requests = inputs_of(result, REQUESTS)
            for key, entry in requests.items():
                await checkpoint()
                method, params = read_request(entry)
                judged = await self._judge(method, Phase.REQUEST, direction, params, clock)
                if judged is not params:
                    changed[key] = {**entry, "params": judged}
        except UnreadableError as error:
            raise unreadable_error(Phase.REQUEST, str(error)) from None
        return {**result, REQUESTS: {**requests, **changed}} if changed else result

    async def _responses(
        self, params: dict[str, Any], direction: Direction, clock: _Clock
    ) -> dict[str, Any]:
        changed = {}
        try:
            responses = inputs_of(params, RESPONSES)
            for key, entry in responses.items():
                await checkpoint()
                method = method_answered(entry)
                judged = await self._judge(method, Phase.RESPONSE, direction, entry, clock)
                if judged is not entry:
                    changed[key] = judged
        except UnreadableError as error:
            raise unreadable_error(Phase.RESPONSE, str(error)) from None
        return {**params, RESPONSES: {**responses, **changed}} if changed else params

    async def _judge(
        self,
        event: str,
        phase: Phase,
        direction: Direction,
        payload: dict[str, Any],
        clock: _Clock,
    ) -> dict[str, Any]:
        try:
            if self._found is None:
                self._found = asked(self._context)
            decision = await self._chain.execute(
                event,
                phase,
                payload,
                direction=direction,
                context=self._found,
                timeout=clock.left,
                protocol=self._protocol,
                enveloped=False,
            )
        except Exception as error:
            # the border to interceptors and context functions of others: what cannot be
            # judged may not go on, and what they raised may not be told
            raise crash_error(error, phase) from None
        decision = clock.read(decision)
        log_findings(decision)
        if not decision.allowed:
            raise abort_error(decision)
        judged: object = decision.payload
        if judged is payload:
            return payload
        if not isinstance(judged, dict):
            raise mutation_error(decision, "the changed payload is not an object")
        try:
            return _KEEP[phase](payload, judged)
        except StampError as error:
            raise mutation_error(decision, str(error)) from None


class _Clock:
    """The time that a chain has for one message and all those within.

    How long that is, the first decision tells.
    """

    __slots__ = ("_limit", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._limit: float | None = None

    @property
    def left(self) -> float | None:
        """Seconds that are left; None for the chain's own limit."""
        if self._limit is None:
            return None
        return max(0.0, self._started + self._limit - time.monotonic())

    def read(self, decision: Decision) -> Decision:
        """*decision* with the limit of the whole message in place of what was left of it."""
        if self._limit is None:
            self._limit = decision.invocation.timeout
            return decision
        return replace(decision, invocation=replace(decision.invocation, timeout=self._limit))
