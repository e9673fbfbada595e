"""The chain engine: interceptors of any number of hosts, run around one message.

    async with Chain() as chain:
        chain.add_engine(policyd.load("policies/"))
        await chain.add_server("http://127.0.0.1:8765/mcp")
        decision = await chain.execute("tools/call", "request", params)

The order, and what each outcome means, is `execution.run_chain`'s; this is its driver for
interceptors that have to be waited for.  Knows no MCP message around the payload: `middleware`
does.  Source: SEP-2624 "Interceptor Chain".
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType, TracebackType
from typing import Any, Self

from policyd.chain.entry import Host
from policyd.chain.local import EngineHost, FunctionHost
from policyd.chain.overrides import OverrideError, Overrides
from policyd.chain.remote import RemoteHost, Terms, told_name
from policyd.chain.route import Route, Routes
from policyd.chain.run import Around, Proceed, Run, stamped
from policyd.engine import INLINE_SIZE, Engine
from policyd.execution import Decision, Status, Verdict
from policyd.functions import Interceptors
from policyd.model import Descriptor, Direction, Invocation, Phase
from policyd.ports import Target, open_port
from policyd.snapshot import check_phase
from policyd.wire import check_payload

__all__ = [
    "Around",
    "Chain",
    "Decision",
    "OverrideError",
    "Overrides",
    "Proceed",
    "Status",
    "Terms",
]

_NO_CONFIG: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
_NO_OVERRIDES: Mapping[str, Overrides] = MappingProxyType({})


class Chain:
    """Interceptors, and how they are run.

    config: values for interceptors with a `configSchema`, by interceptor name.
    timeout: seconds that one execution may take, or None.
    around: a hook around each interceptor.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, Mapping[str, Any]] = _NO_CONFIG,
        timeout: float | None = None,
        around: Around | None = None,
    ) -> None:
        self._config = config
        self._timeout = timeout
        self._around = around
        self._hosts: list[Host] = []
        self._routes = Routes([])

    def add_engine(
        self, engine: Engine, *, overrides: Mapping[str, Overrides] = _NO_OVERRIDES
    ) -> None:
        """Add the policies of *engine*, in whatever generation is in force.

        Raises OverrideError.
        """
        self._hosts.append(EngineHost(engine, overrides))

    def add_functions(
        self, interceptors: Interceptors, *, overrides: Mapping[str, Overrides] = _NO_OVERRIDES
    ) -> None:
        """Add functions of this process, those registered later included.

        Raises OverrideError.
        """
        self._hosts.append(FunctionHost(interceptors, overrides))

    async def add_server(
        self,
        server: Target,
        *,
        overrides: Mapping[str, Overrides] = _NO_OVERRIDES,
        headers: Mapping[str, str] | None = None,
        terms: Terms | None = None,
    ) -> None:
        """Add the interceptors that *server* lists.

        server: a URL, a command line, an MCP client or session in use, or an MCP server object.
        headers: sent with each request to a URL, such as `Authorization`.

        What is opened here is closed by `aclose`.  Raises Unreachable, Refusal, WireError or
        TimeoutError when there is no list to be had, and OverrideError.
        """
        port = open_port(server, headers=headers)
        host = RemoteHost(port, overrides, terms or Terms(told_name(server)))
        try:
            await host.connect()
        except BaseException:
            await host.aclose()
            raise
        self._hosts.append(host)

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """The interceptors as they are run, in the order they were added."""
        return tuple(hooked.descriptor for host in self._hosts for hooked in host.entries)

    async def execute(
        self,
        event: str,
        phase: Phase | str,
        payload: Any,
        *,
        direction: Direction | None = None,
        names: Collection[str] | None = None,
        config: Mapping[str, Mapping[str, Any]] | None = None,
        context: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        protocol: str | None = None,
    ) -> Decision:
        """What all interceptors that are hooked to *event* and *phase* say of *payload*.

        direction: derived from the phase unless given (a request is received, a response
            sent).
        names: only these interceptors; None for all.
        config, timeout: in place of the chain's own.
        context: the SEP's invocation context; `timestamp` is added for whoever is asked.
        protocol: the MCP version of the message; an interceptor whose `compat` leaves it out
            counts as failed.

        The decision's `to_json()` is the SEP's ChainExecutionResult.  Raises InvocationError
        for a payload that is not JSON, a phase that is none, and a config that breaks a
        configSchema; where somebody has to be asked, also for a context and a config that are
        not JSON.
        """
        started = time.monotonic()
        check_phase(phase)
        limit = self._timeout if timeout is None else timeout
        deadline = None if limit is None else started + limit
        for host in self._hosts:
            # half of what is left at most: the message has to be judged as well
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) / 2
            await host.refresh(left)
        route = self._route(event, phase, names, protocol)
        invocation = Invocation(
            event,
            phase,
            payload,
            context or {},
            self._config if config is None else config,
            direction,
        )
        if route.empty:
            verdict = Verdict(Status.SUCCESS, payload, ())
        else:
            size = check_payload(payload)
            dated = stamped(invocation, travels=route.waits)
            run = Run(dated, deadline, self._around, size > INLINE_SIZE)
            verdict = await run.verdict(route)
        duration = time.monotonic() - started
        if limit is not None:
            invocation = replace(invocation, timeout=limit)
        return Decision(invocation, verdict, self._generation(), duration)

    async def aclose(self) -> None:
        """Close what `add_server` opened.

        The interceptors stay: a message that comes later is not let through unjudged, those
        of servers have failed.
        """
        for host in self._hosts:
            await host.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _route(
        self, event: str, phase: str, names: Collection[str] | None, protocol: str | None
    ) -> Route:
        listed = [host.entries for host in self._hosts]
        if not self._routes.made_of(listed):
            self._routes = Routes(listed)
        return self._routes.route(event, phase, names, protocol)

    def _generation(self) -> str:
        if len(self._hosts) == 1:
            return self._hosts[0].generation
        return "+".join(host.generation for host in self._hosts if host.generation)
