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

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType, TracebackType
from typing import Any, Self

from anyio import to_thread

from policyd.chain.arguments import (
    check_direction,
    check_host,
    check_names,
    seconds_of,
)
from policyd.chain.entry import Host
from policyd.chain.local import EngineHost, FunctionHost
from policyd.chain.overrides import OverrideError, Overrides
from policyd.chain.remote import RemoteHost, ServerError, Terms, told_name
from policyd.chain.route import Route, Routes
from policyd.chain.run import Around, Proceed, Run, log_failures, stamped
from policyd.engine import INLINE_SIZE, Engine
from policyd.execution import Decision, Status, Verdict
from policyd.functions import Interceptors
from policyd.model import (
    Descriptor,
    Direction,
    Failure,
    Finding,
    Invocation,
    MutationResult,
    Phase,
    Severity,
    ValidationResult,
)
from policyd.ports import Target, open_port
from policyd.snapshot import check_phase
from policyd.wire import check_payload

__all__ = [
    "Around",
    "Chain",
    "Decision",
    "Descriptor",
    "Direction",
    "Failure",
    "Finding",
    "Invocation",
    "MutationResult",
    "OverrideError",
    "Overrides",
    "Phase",
    "Proceed",
    "ServerError",
    "Severity",
    "Status",
    "Terms",
    "ValidationResult",
]

logger = logging.getLogger(__name__)

_NO_CONFIG: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
_NO_OVERRIDES: Mapping[str, Overrides] = MappingProxyType({})


class Chain:
    """Interceptors, and how they are run.

    config: values for interceptors with a `configSchema`, by interceptor name; those of that
        name on any host get them.
    timeout: seconds that one execution may take, or None.
    around: a hook around each interceptor.

    Raises ValueError for a timeout that is no number greater than 0.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, Mapping[str, Any]] = _NO_CONFIG,
        timeout: float | None = None,
        around: Around | None = None,
    ) -> None:
        self._config = config
        self._timeout = None if timeout is None else seconds_of(timeout)
        self._around = around
        self._hosts: list[Host] = []
        self._routes = Routes([])
        self._unused: set[str] = set()

    def add_engine(
        self, engine: Engine, *, overrides: Mapping[str, Overrides] = _NO_OVERRIDES
    ) -> None:
        """Add the policies of *engine*, in whatever generation is in force.

        Raises OverrideError, and TypeError for what is no Engine.
        """
        check_host(engine, Engine, 'an Engine, as `policyd.load("policies/")` gives it')
        self._hosts.append(EngineHost(engine, overrides))

    def add_functions(
        self, interceptors: Interceptors, *, overrides: Mapping[str, Overrides] = _NO_OVERRIDES
    ) -> None:
        """Add functions of this process, those registered later included.

        Raises OverrideError, and TypeError for what is no Interceptors.
        """
        check_host(interceptors, Interceptors, "the Interceptors that functions register with")
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

        What is opened here is closed by `aclose`.  Raises ServerError when there is no list to
        be had, OverrideError, and TypeError or ValueError for what stands for no server.
        """
        port = open_port(server, headers=headers)
        terms = terms or Terms()
        host = RemoteHost(port, overrides, replace(terms, name=terms.name or told_name(server)))
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
        enveloped: bool = True,
    ) -> Decision:
        """What all interceptors that are hooked to *event* and *phase* say of *payload*.

        direction: derived from the phase unless given (a request is received, a response
            sent).
        names: only these interceptors; None for all.
        config, timeout: in place of the chain's own; with 0 seconds or less time is up.
        context: the SEP's invocation context; `timestamp` is added for whoever is asked.
        protocol: the MCP version of the message; an interceptor whose `compat` leaves it out
            counts as failed.
        enveloped: False where the payload is bare: the params of a request or the result of a
            response, whatever they look like.

        The decision's `to_json()` is the SEP's ChainExecutionResult.  Why interceptors failed
        is logged, those that fail open or only audit included.

        Raises InvocationError for a payload that is not JSON, a phase or direction that is
        none, a name that nobody has, and a config that breaks a configSchema; where somebody
        has to be asked, also for a context and a config that are not JSON.
        """
        started = time.monotonic()
        check_phase(phase)
        check_direction(direction)
        limit = self._timeout if timeout is None else seconds_of(timeout, least=None)
        deadline = None if limit is None else started + limit
        for host in self._hosts:
            # half of what is left at most: the message has to be judged as well
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) / 2
            await host.refresh(left)
        generation = self._generation()
        if names is not None:
            check_names(names, self.descriptors)
        route = self._route(event, phase, names, protocol)
        used = self._config if config is None else config
        if used:
            self._tell_unused(used)
        invocation = Invocation(
            event,
            phase,
            payload,
            context or {},
            used,
            direction,
            bare=not enveloped,
        )
        if route.empty:
            verdict = Verdict(Status.SUCCESS, payload, ())
        else:
            size = check_payload(payload, most=INLINE_SIZE)
            if size > INLINE_SIZE:
                await to_thread.run_sync(check_payload, payload)
            dated = stamped(invocation, travels=route.here is None)
            run = Run(dated, deadline, self._around, size > INLINE_SIZE)
            verdict = await run.verdict(route)
            log_failures(verdict)
        duration = time.monotonic() - started
        if limit is not None:
            invocation = replace(invocation, timeout=limit)
        return Decision(invocation, verdict, generation, duration)

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

    def _tell_unused(self, config: Mapping[str, Any]) -> None:
        """Log once which names in a config nobody has."""
        unused = config.keys() - {descriptor.name for descriptor in self.descriptors}
        for name in sorted(unused - self._unused):
            logger.warning("there is a config for %r, and no interceptor of that name", name)
        self._unused |= unused

    def _generation(self) -> str:
        if len(self._hosts) == 1:
            return self._hosts[0].generation
        return "+".join(host.generation for host in self._hosts if host.generation)
