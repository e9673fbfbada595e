"""Chains over sessions of the Python SDK's client.

Reads one JSON object a line from standard input and answers each with one on standard output:
`{"op": "attach" | "execute" | "detach" | "descriptors" | "result", ...}`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, StdioServerParameters
from mcp_types import Request, RequestParams
from pydantic import ConfigDict, TypeAdapter, ValidationError

from tests.interop.python.chain import RESULT, Execution, Listing

RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


class Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class AnyRequest(Request[Params, str]):
    method: str
    params: Params


class Chain:
    """A session, and what its server listed when it was attached."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.listing = Listing(interceptors=[])
        self.detached = anyio.Event()

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        request = AnyRequest(method=method, params=Params(**params))
        answer: dict[str, Any] = await self.client.session.send_request(request, RAW)
        return answer


class Program:
    """Answers questions; each op is a method."""

    def __init__(self, sessions: TaskGroup) -> None:
        self._sessions = sessions
        self._chains: list[Chain] = []

    async def attach(self, era: str, url: str = "", command: list[str] | None = None) -> Any:
        target: Any = url
        if command is not None:
            target = StdioServerParameters(command=command[0], args=command[1:])
        chain: Chain = await self._sessions.start(_hold, target, era)
        chain.listing = Listing.model_validate(await chain.ask("interceptors/list"))
        self._chains.append(chain)
        return {"chain": len(self._chains) - 1, "protocol": chain.client.protocol_version}

    async def execute(self, chain: int, **asked: Any) -> Any:
        attached = self._chains[chain]
        return await Execution(attached.ask, attached.listing.interceptors, asked).run()

    async def detach(self, chain: int) -> Any:
        self._chains[chain].detached.set()
        return {}

    async def descriptors(self, answer: Any) -> Any:
        entries = Listing.model_validate(answer).interceptors
        return {"hooked": [e.name for e in entries if e.runs("tools/call", "request")]}

    async def result(self, answer: Any) -> Any:
        return {"outcome": RESULT.validate_python(answer).outcome}


async def _hold(target: Any, era: str, *, task_status: TaskStatus[Chain]) -> None:
    """Keep a session in a task of its own: sessions end in whatever order."""
    async with Client(target, mode=era) as client:
        chain = Chain(client)
        task_status.started(chain)
        await chain.detached.wait()


async def main() -> None:
    async with anyio.create_task_group() as sessions:
        program = Program(sessions)
        while line := await to_thread.run_sync(sys.stdin.readline):
            question = json.loads(line)
            try:
                reply = await getattr(program, question.pop("op"))(**question)
            except ValidationError as error:
                reply = {"error": str(error)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
        sessions.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
