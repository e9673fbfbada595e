"""`interceptors/list` and `interceptor/invoke` over functions written in Python.

Knows the registered functions and the wire, like `methods` knows an engine.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from policyd.functions import Interceptors
from policyd.server.method import Invoker, Method, Params, Result, log_failure, method_table
from policyd.server.methods import listed
from policyd.wire import (
    Dialect,
    invocation_from_json,
    list_params_from_json,
    outcome_to_json,
    supported_events,
)


class FunctionMethods:
    """The methods of a server whose interceptors are functions."""

    def __init__(self, interceptors: Interceptors, dialect: Dialect) -> None:
        self._interceptors = interceptors
        self._dialect = dialect

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return method_table(self._list, Method(lambda params, invoker: None, self._invoke))

    def capability(self) -> dict[str, Any]:
        """The settings of the interceptor capability, as of now."""
        return {"supportedEvents": supported_events(self._interceptors.descriptors, self._dialect)}

    def _list(self, params: Params) -> Result:
        event = list_params_from_json(params)
        return listed(self._interceptors.descriptors, event, self._dialect)

    async def _invoke(self, params: Params, invoker: Invoker) -> Result:
        call = invocation_from_json(params, datetime.now(UTC), invoker=invoker)
        function = self._interceptors.get(call.name)
        invocation = call.invocation
        if function is not None:
            # an error of the kind "timeout" tells the limit that was kept
            invocation = replace(invocation, timeout=function.limit(invocation.timeout))
        outcome = await self._interceptors.invoke(call.name, invocation)
        log_failure(outcome)
        return outcome_to_json(outcome, invocation, "", self._dialect)
