"""A method of an interceptor server, and its border to the peer.

Knows JSON-RPC methods by name.  Knows neither what is served nor a transport: what cannot be
answered is an InvocationError, and nothing else ever leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policyd.errors import InvocationError, frames_of
from policyd.model import Outcome, reason_of
from policyd.wire import INTERNAL_ERROR

logger = logging.getLogger(__name__)

Params = Mapping[str, Any] | None
Invoker = Mapping[str, Any] | None
"""Who was authenticated: `type`, `id`, `scopes`, `claims`; None for nobody."""

INVOKER: Final = "policyd.invoker"
"""The key of an ASGI scope under which who calls stands, where that is known."""

Result = dict[str, Any]


class Standing(dict[str, Any]):
    """A result that is told again and again, and never changed.

    encoded: the JSON text of it, by how it is stamped; kept here by whoever encodes it.
    """

    __slots__ = ("encoded",)

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.encoded: dict[bool, bytes] = {}


@dataclass(frozen=True, slots=True)
class Method:
    """A method in two steps, each of which raises InvocationError and nothing else.

    at_once: the result, or None where it would take longer than an event loop may be held.
    thorough: the result, whatever it takes; it may be cancelled.
    """

    at_once: Callable[[Params, Invoker], Result | None]
    thorough: Callable[[Params, Invoker], Awaitable[Result]]

    async def __call__(self, params: Params, invoker: Invoker = None) -> Result:
        """The result."""
        told = self.at_once(params, invoker)
        return await self.thorough(params, invoker) if told is None else told


def method_table(list_: Callable[[Params], Result], invoke: Method) -> dict[str, Method]:
    """The two methods under all their names, each with its border to the peer.

    The plural of `interceptor/invoke` is undecided upstream, so it is served as well.
    """

    def list_at_once(params: Params, invoker: Invoker) -> Result:
        return list_(params)

    async def list_thoroughly(params: Params, invoker: Invoker) -> Result:
        return list_(params)

    listing = Method(_guarded(list_at_once), _guarded_async(list_thoroughly))
    invoking = Method(_guarded(invoke.at_once), _guarded_async(invoke.thorough))
    return {
        "interceptors/list": listing,
        "interceptor/invoke": invoking,
        "interceptors/invoke": invoking,
    }


def log_failure(outcome: Outcome) -> None:
    """Tell the log why an interceptor could not be evaluated, if it could not."""
    reason = reason_of(outcome)
    if reason is not None:
        logger.warning("`%s` could not be evaluated: %s", outcome.interceptor, reason)


def _guarded(step: Callable[[Params, Invoker], Any]) -> Callable[[Params, Invoker], Any]:
    def guarded(params: Params, invoker: Invoker) -> Any:
        try:
            return step(params, invoker)
        except InvocationError:
            raise
        except Exception as error:  # the border to the peer
            refusal = _crashed(error, params)
        raise refusal  # here, so that it does not carry the crash as its context

    return guarded


def _guarded_async(
    step: Callable[[Params, Invoker], Awaitable[Result]],
) -> Callable[[Params, Invoker], Awaitable[Result]]:
    async def guarded(params: Params, invoker: Invoker) -> Result:
        try:
            return await step(params, invoker)
        except InvocationError:
            raise
        except Exception as error:  # the border to the peer
            refusal = _crashed(error, params)
        raise refusal  # here, so that it does not carry the crash as its context

    return guarded


def _crashed(error: Exception, params: Params) -> InvocationError:
    """What the peer is told of a crash: nothing of it.

    No text of the exception is logged either, because it may quote the payload.
    """
    logger.error("a method crashed with %s:\n%s", type(error).__name__, frames_of(error))
    name = (params or {}).get("name")
    data = {"interceptor": name[:128]} if isinstance(name, str) else {}
    data["reason"] = "internal error"
    return InvocationError(INTERNAL_ERROR, "Interceptor execution failed", data)
