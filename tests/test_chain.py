"""The chain engine over every kind of host: an engine, functions, servers of the SDK, HTTP."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

import policyd
from policyd.chain import Chain, OverrideError, Overrides, Proceed, Terms
from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.errors import Cause, InvocationError
from policyd.execution import Decision, Status
from policyd.functions import Interceptors
from policyd.model import (
    Descriptor,
    Direction,
    Failure,
    Invocation,
    MutationResult,
    Outcome,
    Phase,
    ValidationResult,
)
from policyd.server import add_interceptors
from policyd.snapshot import Snapshot
from policyd.source import make_bundle
from policyd.wire import Dialect

CALL: dict[str, Any] = {"name": "shell", "arguments": {"command": "ls", "trail": ""}}

HEAD = "policyd: v1\n"

NO_RM = """
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules: [{id: rm, deny: "args.command == 'rm'", message: not this}]
"""


def snapshot(text: str) -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": HEAD + text}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot


def engine(text: str) -> Engine:
    return Engine(snapshot(text))


def server(text: str, dialect: Dialect = Dialect.UNIVERSAL) -> tuple[MCPServer, Engine]:
    """A server of the SDK that hosts policies, and their engine."""
    policies = engine(text)
    hosting = MCPServer("interceptors")
    add_interceptors(hosting, policies, dialect)
    return hosting, policies


def appends(name: str, priority: int = 0, phase: str = "request") -> str:
    return f"""
  - name: {name}
    match: {{events: [tools/call], phase: {phase}}}
    priority: {priority}
    patch: [{{op: replace, path: /arguments/trail, value: {{cel: "args.trail + '{name};'"}}}}]
"""


def run(body: Callable[[Chain], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with Chain(**options) as chain:
            await body(chain)

    anyio.run(within)


def call(command: str) -> dict[str, Any]:
    return {"name": "shell", "arguments": {"command": command, "trail": ""}}


def test_one_chain_runs_every_kind_of_host(serve: type[Any], tmp_path: Path) -> None:
    Path(tmp_path, "p.yaml").write_text(HEAD + "mutators:" + appends("over-http", 3))
    running = serve([str(tmp_path), "--http", "127.0.0.1:0"])
    interceptors = Interceptors()

    @interceptors.mutator("function", events=["tools/*"], phase="request", priority=1)
    async def function(invocation: Invocation) -> None:
        invocation.payload["arguments"]["trail"] += "function;"

    hosted, _ = server("mutators:" + appends("in-memory", 2))
    owned, _ = server("mutators:" + appends("session", 4))

    async def body(chain: Chain) -> None:
        chain.add_engine(engine("mutators:" + appends("engine", 0)))
        chain.add_functions(interceptors)
        await chain.add_server(hosted)
        await chain.add_server(running.url)
        before = copy.deepcopy(CALL)
        async with Client(owned) as client:
            await chain.add_server(client)
            decision = await chain.execute("tools/call", "request", CALL)
        assert decision.allowed
        assert decision.payload["arguments"]["trail"] == (
            "engine;function;in-memory;over-http;session;"
        )
        assert before == CALL

    try:
        run(body)
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("event", "phase", "names", "expected"),
    [
        ("tools/call", "request", None, ["all", "exact", "space"]),
        ("tools/list", "request", None, ["all", "space"]),
        ("toolsx/list", "request", None, ["all"]),
        ("tools/call", "response", None, []),
        ("tools/call", "request", ["space", "nobody"], ["space"]),
        ("tools/call", "request", [], []),
    ],
)
def test_event_phase_and_names_say_who_runs(
    event: str, phase: str, names: list[str] | None, expected: list[str]
) -> None:
    interceptors = Interceptors()
    for name, events in {"all": ["*"], "exact": ["tools/call"], "space": ["tools/*"]}.items():
        interceptors.validator(name, events=events, phase="request")(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute(event, phase, CALL, names=names)
        assert [outcome.interceptor for outcome in decision.outcomes] == expected

    run(body)


@pytest.mark.parametrize(
    ("direction", "status"),
    [
        (None, Status.VALIDATION_FAILED),
        (Direction.RECEIVING, Status.VALIDATION_FAILED),
        (Direction.SENDING, Status.SUCCESS),
    ],
)
def test_a_redactor_makes_safe_what_is_sent_and_not_what_is_received(
    direction: Direction | None, status: Status
) -> None:
    policies = """
validators:
  - name: guard
    match: {events: [tools/call], phase: request}
    rules: [{id: r, deny: "args.command.contains('pin')", message: a pin}]
mutators:
  - name: redactor
    match: {events: [tools/call], phase: request}
    redact: [{pattern: "pin", replace: "[p]"}]
"""
    hosted, _ = server(policies)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        decision = await chain.execute("tools/call", "request", call("pin"), direction=direction)
        assert decision.status is status
        expected = "[p]" if status is Status.SUCCESS else "pin"
        assert decision.payload["arguments"]["command"] == expected

    run(body)


def test_validators_run_at_once_and_all_of_them_answer() -> None:
    interceptors = Interceptors()
    arrived: list[str] = []
    together = anyio.Event()

    async def meet(name: str) -> str:
        arrived.append(name)
        if len(arrived) == 2:
            together.set()
        await together.wait()
        return f"{name} says no"

    for name in ("one", "two"):
        interceptors.validator(name, events=["*"], phase="both", timeout=20)(
            lambda invocation, name=name: meet(name)
        )

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("tools/call", "request", CALL)
        assert [finding.message for finding in decision.findings] == ["one says no", "two says no"]

    run(body)


def test_a_chain_that_is_out_of_time_cancels_what_it_waits_for() -> None:
    interceptors = Interceptors()
    cancelled: list[str] = []

    async def hang(name: str) -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(name)
            raise

    for name, mode, fail_open in (
        ("open", "enforce", True),
        ("audit", "audit", False),
    ):
        interceptors.validator(
            name, events=[f"x/{name}"], phase="request", mode=mode, fail_open=fail_open, timeout=60
        )(lambda invocation, name=name: hang(name))

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        late = await chain.execute("x/open", "request", {})
        assert late.status is Status.TIMEOUT
        assert late.to_json()["abortedAt"] == {
            "interceptor": "open",
            "reason": "the chain ran out of time",
            "type": "timeout",
        }
        assert (await chain.execute("x/audit", "request", {})).allowed
        assert cancelled == ["open", "audit"]

    run(body, timeout=0.05)


def test_an_interceptor_that_is_out_of_time_fails_by_its_own_choice() -> None:
    interceptors = Interceptors()
    for name, fail_open in (("open", True), ("closed", False)):
        interceptors.validator(
            name, events=[f"x/{name}"], phase="request", fail_open=fail_open, timeout=0.02
        )(lambda invocation: anyio.sleep_forever())

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        assert (await chain.execute("x/open", "request", {})).allowed
        closed = await chain.execute("x/closed", "request", {})
        assert closed.status is Status.TIMEOUT
        assert [failure.cause for failure in closed.failures] == [Cause.DEADLINE]

    run(body)


CONFIGURED = """
validators:
  - name: limit
    match: {events: [tools/call], phase: request}
    configSchema: {type: object, required: [most], properties: {most: {type: integer}}}
    rules: [{id: r, deny: "size(args.command) > config.most", message: too long}]
"""


@pytest.mark.parametrize("remote", [False, True])
def test_a_config_that_breaks_its_schema_is_sent_to_nobody(remote: bool) -> None:
    asked: list[str] = []

    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Outcome:
        asked.append(descriptor.name)
        return await proceed(invocation)

    async def body(chain: Chain) -> None:
        if remote:
            await chain.add_server(server(CONFIGURED)[0])
        else:
            chain.add_engine(engine(CONFIGURED))
        with pytest.raises(InvocationError) as caught:
            await chain.execute("tools/call", "request", CALL)
        assert "`/most`" in str(caught.value)
        assert asked == []
        other = {"limit": {"most": 1}}
        decision = await chain.execute("tools/call", "request", CALL, config=other)
        assert decision.status is Status.VALIDATION_FAILED

    run(body, config={"limit": {"most": "1"}}, around=around)


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize(
    ("declared", "overrides", "command", "status"),
    [
        ("", Overrides(mode="audit"), "rm", Status.SUCCESS),
        ("\n    mode: audit", Overrides(mode="enforce"), "rm", Status.VALIDATION_FAILED),
        ("\n    mode: audit", Overrides(), "rm", Status.SUCCESS),
        ("", Overrides(hooks=[(["tools/list"], "request")]), "rm", None),
        ("", Overrides(hooks=[]), "rm", Status.SUCCESS),
        ("", Overrides(fail_open=True), 7, Status.VALIDATION_FAILED),
        ("", Overrides(timeout=30.0), "rm", Status.VALIDATION_FAILED),
    ],
)
def test_overrides_count_wherever_the_interceptor_is(
    declared: str, overrides: Overrides, command: Any, status: Status | None, remote: bool
) -> None:
    policies = "validators:" + NO_RM.replace("    rules", "    rules").rstrip() + declared + "\n"

    async def body(chain: Chain) -> None:
        async def add() -> None:
            if remote:
                await chain.add_server(server(policies)[0], overrides={"no-rm": overrides})
            else:
                chain.add_engine(engine(policies), overrides={"no-rm": overrides})

        if status is None:
            with pytest.raises(OverrideError, match="only narrow"):
                await add()
            return
        await add()
        payload = {"name": "shell", "arguments": {"command": command}}
        names = [d.name for d in chain.descriptors if "catch-up" not in d.name]
        decision = await chain.execute("tools/call", "request", payload, names=names)
        expected = Status.SUCCESS if overrides.fail_open else status
        assert decision.status is expected

    run(body)


def test_an_override_of_nobody_is_refused_with_a_guess() -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(OverrideError, match="did you mean `no-rm`"):
            chain.add_engine(engine("validators:" + NO_RM), overrides={"no-rn": Overrides()})
        with pytest.raises(OverrideError, match="no interceptor `x`"):
            await chain.add_server(server("validators:" + NO_RM)[0], overrides={"x": Overrides()})
        assert chain.descriptors == ()

    run(body)


def test_a_priority_can_be_overridden_for_each_phase() -> None:
    interceptors = Interceptors()
    for name in ("a", "b"):
        interceptors.mutator(name, events=["*"], phase="both")(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors, overrides={"b": Overrides(priority={"request": -1})})
        order = {}
        for phase in ("request", "response"):
            outcomes = (await chain.execute("x", phase, {})).outcomes
            order[phase] = [outcome.interceptor for outcome in outcomes]
        assert order == {"request": ["b", "a"], "response": ["a", "b"]}

    run(body)


@pytest.mark.parametrize("remote", [False, True])
def test_a_mutator_that_is_made_to_audit_changes_nothing(remote: bool) -> None:
    policies = "mutators:" + appends("m")

    async def body(chain: Chain) -> None:
        overrides = {"m": Overrides(mode="audit")}
        if remote:
            await chain.add_server(server(policies)[0], overrides=overrides)
        else:
            chain.add_engine(engine(policies), overrides=overrides)
        decision = await chain.execute("tools/call", "request", CALL, names=["m"])
        assert decision.payload is CALL
        (result,) = decision.to_json()["results"]
        assert result["modified"] is False
        assert result["info"]["audit"]["modified"] is True

    run(body)


@pytest.mark.parametrize(
    ("protocol", "allowed"),
    [
        (None, True),
        ("2025-06-18", True),
        ("2025-11-25", True),
        ("2024-11-05", False),
        ("2026-07-28", False),
    ],
)
def test_an_interceptor_out_of_its_bounds_has_failed(protocol: str | None, allowed: bool) -> None:
    interceptors = Interceptors()
    bounds = {"minProtocol": "2025-03-26", "maxProtocol": "2025-11-25"}
    interceptors.validator("v", events=["*"], phase="both", compat=bounds)(lambda invocation: None)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {}, protocol=protocol)
        assert decision.allowed is allowed
        assert [type(outcome) for outcome in decision.outcomes] == [
            ValidationResult if allowed else Failure
        ]

    run(body)


def test_who_asks_reaches_every_host() -> None:
    policies = """
validators:
  - name: who
    match: {events: [tools/call], phase: request}
    rules:
      - id: r
        require: principal.id == 'u' && session == 's' && trace == 't' && has(context.timestamp)
        message: somebody else
"""
    seen: list[Any] = []
    interceptors = Interceptors()
    interceptors.validator("f", events=["*"], phase="both")(
        lambda invocation: seen.append(invocation.context)
    )

    async def body(chain: Chain) -> None:
        await chain.add_server(server(policies)[0])
        chain.add_functions(interceptors)
        context = {"principal": {"type": "user", "id": "u"}, "sessionId": "s", "traceId": "t"}
        assert (await chain.execute("tools/call", "request", CALL, context=context)).allowed
        assert not (await chain.execute("tools/call", "request", CALL)).allowed
        assert {**seen[0], "timestamp": None} == {**context, "timestamp": None}

    run(body)


def answers(outcome: Any) -> Callable[[Descriptor, Invocation, Proceed], Awaitable[Any]]:
    async def around(descriptor: Descriptor, invocation: Invocation, proceed: Proceed) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return await proceed(outcome(invocation)) if callable(outcome) else outcome

    return around


PASS = ValidationResult("no-rm", Phase.REQUEST, True)


@pytest.mark.parametrize(
    ("outcome", "command", "status"),
    [
        (lambda invocation: invocation, "rm", Status.VALIDATION_FAILED),
        (lambda i: Invocation(i.event, i.phase, call("rm")), "ls", Status.VALIDATION_FAILED),
        (PASS, "rm", Status.SUCCESS),
        (ValueError("secret"), "ls", Status.VALIDATION_FAILED),
        (None, "ls", Status.VALIDATION_FAILED),
        (
            MutationResult("no-rm", policyd.model.Phase.REQUEST, False, {}),
            "ls",
            Status.VALIDATION_FAILED,
        ),
    ],
    ids=["inspects", "changes", "answers", "raises", "says nothing", "answers in another kind"],
)
def test_a_hook_stands_around_each_interceptor(outcome: Any, command: str, status: Status) -> None:
    async def body(chain: Chain) -> None:
        chain.add_engine(engine("validators:" + NO_RM))
        decision = await chain.execute("tools/call", "request", call(command))
        assert decision.status is status
        assert "secret" not in str(decision.to_json())

    run(body, around=answers(outcome))


def test_a_list_is_read_again_once_an_answer_names_another_generation() -> None:
    hosted, policies = server("validators:" + NO_RM)
    more = NO_RM + NO_RM.replace("no-rm", "no-ls").replace("'rm'", "'ls'")

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        policies.install(snapshot("validators:" + more))
        # what was added is enforced at once: the server's catch-up interceptor runs it
        first = await chain.execute("tools/call", "request", call("ls"))
        second = await chain.execute("tools/call", "request", call("ls"))
        by = [
            [finding.interceptor.split("@")[0] for finding in d.findings] for d in (first, second)
        ]
        assert by == [["policyd/catch-up-validators"], ["no-ls"]]

    run(body)


def test_a_list_is_read_again_once_a_name_is_gone() -> None:
    hosted, policies = server("validators:" + NO_RM, Dialect.SEP)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        policies.install(snapshot("validators:" + NO_RM.replace("no-rm", "renamed")))
        assert not (await chain.execute("tools/call", "request", call("ls"))).allowed
        assert (await chain.execute("tools/call", "request", call("ls"))).allowed
        assert [descriptor.name for descriptor in chain.descriptors] == ["renamed"]

    run(body)


def test_a_list_is_read_again_after_a_time_and_kept_when_that_fails() -> None:
    entries: list[dict[str, Any]] = [
        {"name": "a", "type": "validation", "hooks": [{"events": ["x"], "phase": "request"}]}
    ]
    listing = {"interceptors": entries}
    hosted: Server[Any] = Server("others")

    async def list_(context: Any, params: Any) -> dict[str, Any]:
        if not listing:
            raise MCPError(-32603, "broken")
        return listing

    hosted.add_request_handler("interceptors/list", types.RequestParams, list_)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted, terms=Terms("others", refresh_every=0.0))
        entries.append({**entries[0], "name": "b"})
        await chain.execute("y", "request", {})
        names = [descriptor.name for descriptor in chain.descriptors]
        listing.clear()
        await chain.execute("y", "request", {})
        assert names == [descriptor.name for descriptor in chain.descriptors] == ["a", "b"]

    run(body)


def test_a_list_of_several_pages_is_read_as_a_whole() -> None:
    hosted: Server[Any] = Server("others")
    hook = [{"events": ["x"], "phase": "request"}]

    async def list_(context: Any, params: Any) -> dict[str, Any]:
        page = int((context.params or {}).get("cursor", 0))
        entry = {"name": f"v{page}", "type": "validation", "hooks": hook}
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"interceptors": [entry], **more}

    hosted.add_request_handler("interceptors/list", types.RequestParams, list_)

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        assert [descriptor.name for descriptor in chain.descriptors] == ["v0", "v1", "v2"]

    run(body)


def test_a_dead_server_is_a_failing_interceptor(serve: type[Any], tmp_path: Path) -> None:
    Path(tmp_path, "p.yaml").write_text(
        HEAD + "validators:" + NO_RM + NO_RM.replace("no-rm", "open") + "    failOpen: true\n"
    )
    running = serve([str(tmp_path), "--http", "127.0.0.1:0"])

    async def body(chain: Chain) -> None:
        await chain.add_server(running.url)
        assert (await chain.execute("tools/call", "request", call("ls"))).allowed
        await anyio.to_thread.run_sync(running.stop)
        closed = await chain.execute("tools/call", "request", call("ls"), names=["no-rm"])
        assert [failure.cause for failure in closed.failures] == [Cause.UNREACHABLE]
        assert not closed.allowed
        assert (await chain.execute("tools/call", "request", call("ls"), names=["open"])).allowed

    run(body)


@pytest.fixture(scope="module")
def examples() -> Engine:
    return policyd.load(Path(__file__).parents[1] / "policies")


PAYLOADS: list[tuple[str, str, Any]] = [
    ("tools/call", "request", call("ls")),
    ("tools/call", "request", call("rm -rf /")),
    ("tools/call", "request", {"name": "read_file", "arguments": {"path": "/etc/shadow"}}),
    ("tools/call", "request", {"method": "tools/call", "params": call("rm -rf /")}),
    ("tools/call", "request", None),
    ("tools/call", "response", {"content": [{"type": "text", "text": "mail a.b@example.com"}]}),
    ("tools/list", "response", {"tools": [{"name": "admin_x", "inputSchema": {}}]}),
    ("resources/read", "request", {"uri": "file:///etc/passwd"}),
    ("sampling/createMessage", "request", {"messages": [], "maxTokens": 10**9}),
    ("acme/unknown", "response", {"x": [1, 2.5, None, {"y": "z"}]}),
]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("event", "phase", "payload"), PAYLOADS)
def test_an_engine_decides_alike_directly_and_over_the_in_memory_transport(
    examples: Engine, event: str, phase: str, payload: Any, direction: Direction
) -> None:
    hosted = MCPServer("interceptors")
    add_interceptors(hosted, examples)

    def told(decision: Decision) -> Any:
        answer = decision.to_json()
        for result in answer["results"]:
            result.pop("durationMs")
            result.pop("info", None)
        answer["results"] = [r for r in answer["results"] if "catch-up" not in r["interceptor"]]
        return {**answer, "totalDurationMs": 0}

    invocation = Invocation(event, phase, payload, direction=direction)
    direct = told(examples.decide(invocation))

    async def body(chain: Chain) -> None:
        await chain.add_server(hosted)
        remote = told(await chain.execute(event, phase, payload, direction=direction))
        assert remote == direct

    async def local(chain: Chain) -> None:
        chain.add_engine(examples)
        assert told(await chain.execute(event, phase, payload, direction=direction)) == direct

    run(local)
    run(body)
