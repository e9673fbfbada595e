"""The params of `interceptor/invoke` as an `Invocation`.

Strict where a slip could turn into a pass, liberal where senders differ: identity and tracing
data that is missing or odd never fails a call.  Knows no interceptor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from policyd.errors import InvocationError
from policyd.model import Invocation, Phase, timestamp_of
from policyd.wire.admission import MAX_SIZE, check_payload
from policyd.wire.dialect import INVALID_PARAMS

MAX_TIMEOUT = 30.0
"""Seconds; a larger `timeoutMs` is clamped, so nothing can be asked to run for ever."""


MAX_NAME = 128
"""Characters of a name that an error repeats."""


class Call(NamedTuple):
    """One `interceptor/invoke`: which interceptor, what it is to judge, and how large that is.

    `size` is in values and characters, as `check_payload` counts them.
    """

    name: str
    invocation: Invocation
    size: int


def invocation_from_json(
    params: Mapping[str, Any] | None,
    now: datetime,
    most: int = MAX_SIZE,
    invoker: Mapping[str, Any] | None = None,
) -> Call:
    """The call that *params* describe (interceptor SEP "Invocation"), made *now* by *invoker*.

    A timestamp in its context counts instead of *now*.

    `config` on the wire belongs to the one interceptor that is named.  `timeoutMs` above
    MAX_TIMEOUT is clamped; 0 is refused rather than read as no limit.  A `context` that is
    not an object counts as absent; unknown members are ignored; null stands for absent except
    in `payload`.

    Of what is larger than *most* the rest is not looked at, as in `check_payload`.

    Raises InvocationError(-32602) with `reason`, and `interceptor` where it is known.
    """
    params = params or {}
    name = _text(params, "name")
    try:
        return _call(name, params, now, most, invoker)
    except InvocationError as error:
        data = {"interceptor": name[:MAX_NAME], **error.data}
        raise InvocationError(error.code, error.message, data) from None


def _call(
    name: str,
    params: Mapping[str, Any],
    now: datetime,
    most: int,
    invoker: Mapping[str, Any] | None,
) -> Call:
    event = _text(params, "event")
    phase = params.get("phase")
    if not isinstance(phase, str) or phase not in _PHASES:
        raise _invalid("`phase` must be `request` or `response`")
    if "payload" not in params:
        raise _invalid("`payload` is missing")
    config = params.get("config")
    if config is not None and type(config) is not dict:
        raise _invalid("`config` must be an object")
    context = params.get("context")
    if type(context) is not dict:
        context = {}
    size = check_payload(params["payload"], "payload", most)
    if config:
        size += check_payload(config, "config", most)
    if context:
        size += check_payload(context, "context", most)
    invocation = Invocation(
        event=event,
        phase=_PHASES[phase],
        payload=params["payload"],
        context=context,
        config={name: config} if config is not None else {},
        timeout=_timeout(params.get("timeoutMs")),
        now=timestamp_of(context) or now,
        invoker=invoker,
    )
    return Call(name, invocation, size)


_PHASES: Final = {phase.value: phase for phase in Phase}


def _text(params: Mapping[str, Any], member: str) -> str:
    value = params.get(member)
    if not isinstance(value, str) or not value:
        raise _invalid(f"`{member}` must be a string that is not empty")
    return value


def _timeout(value: Any) -> float | None:
    """Milliseconds of the wire in seconds."""
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise _invalid("`timeoutMs` must be a number greater than 0")
    # compared first: an integer of 400 digits cannot be divided
    return value / 1000 if value < MAX_TIMEOUT * 1000 else MAX_TIMEOUT


def _invalid(reason: str) -> InvocationError:
    return InvocationError(INVALID_PARAMS, "Invalid params", {"reason": reason})
