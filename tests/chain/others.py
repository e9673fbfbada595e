"""A server that somebody else wrote: it lists and answers what a test says, and remembers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

HOOKS = [{"events": ["x"], "phase": "request"}]

Answer = Callable[[dict[str, Any]], Any]
"""From the params of `interceptor/invoke` to its result, or to one that has to be awaited."""


def validation(name: str, **members: Any) -> dict[str, Any]:
    """An entry of `interceptors/list`: a validator of requests for `x` unless *members* differ."""
    return {"name": name, "type": "validation", "hooks": HOOKS, **members}


def mutation(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "type": "mutation", "hooks": HOOKS, **members}


def valid(params: dict[str, Any]) -> dict[str, Any]:
    return {"type": "validation", "valid": True}


def denied(params: dict[str, Any]) -> dict[str, Any]:
    told = [{"message": f"no, says {params['name']}", "severity": "error"}]
    return {"type": "validation", "valid": False, "severity": "error", "messages": told}


def marked(params: dict[str, Any]) -> dict[str, Any]:
    """A mutator's answer: its name is appended to `trail`."""
    payload = params["payload"]
    trail = [*payload.get("trail", []), params["name"]]
    return {"type": "mutation", "modified": True, "payload": {**payload, "trail": trail}}


def crash(params: dict[str, Any]) -> dict[str, Any]:
    raise MCPError(-32603, "the payload was " + str(params["payload"]))


def garbage(params: dict[str, Any]) -> dict[str, Any]:
    return {"type": params["name"]}


class Others:
    """Hosts what *listing* is: entries, or whole results of `interceptors/list` by cursor."""

    def __init__(self, listing: list[dict[str, Any]], answer: Answer = valid) -> None:
        self.listing = listing
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.lists = 0
        self.server: Server[Any] = Server("others")
        self.server.add_request_handler("interceptors/list", types.RequestParams, self.list_)
        self.server.add_request_handler("interceptor/invoke", types.RequestParams, self.invoke)

    async def list_(self, context: Any, params: Any) -> dict[str, Any]:
        self.lists += 1
        return {"interceptors": self.listing}

    async def invoke(self, context: Any, params: Any) -> dict[str, Any]:
        self.asked.append(context.params)
        answer = self.answer(context.params)
        told: dict[str, Any] = await answer if inspect.isawaitable(answer) else answer
        return told
