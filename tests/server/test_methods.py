from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from anyio import to_thread

from policyd.compiler import compile_bundle
from policyd.engine import INLINE_SIZE, Engine
from policyd.errors import InvocationError
from policyd.server import methods as methods_module
from policyd.server.judgement import Judgement
from policyd.server.methods import THREADS, Methods
from policyd.snapshot import Snapshot
from policyd.source import make_bundle
from policyd.wire import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    from policyd.model import Invocation

UNIVERSAL = Dialect.UNIVERSAL

RM = """
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules: [{id: r, deny: "args.command == 'rm'", message: no rm}]
"""
SQL = """
  - name: no-sql
    match: {events: [tools/call], phase: request}
    rules: [{id: s, deny: "args.command == 'sql'", message: no sql, severity: %s}]
"""
FRAGILE = """
  - name: fragile
    failOpen: %s
    match: {events: [tools/call], phase: request}
    rules: [{id: f, deny: "args.missing == 1", message: never}]
"""
MASK = """
  - name: mask
    priority: 50
    match: {events: [tools/call], phase: both}
    redact: [{pattern: 'secret-\\d+', replace: "[gone]"}]
"""


def snapshot(*validators: str, mutators: tuple[str, ...] = ()) -> Snapshot:
    text = "policyd: v1\n"
    text += "validators:\n" + "".join(validators) if validators else ""
    text += "mutators:\n" + "".join(mutators) if mutators else ""
    compilation = compile_bundle(make_bundle({"p.yaml": text}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot


class Server:
    """The methods over an engine, called as a transport does."""

    def __init__(self, first: Snapshot, dialect: Dialect = UNIVERSAL) -> None:
        self.engine = Engine(first)
        self.methods = Methods(self.engine, dialect)

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return anyio.run(self.methods.table()[method], params)

    def entries(self, **params: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("interceptors/list", params)["interceptors"]
        return found

    def names(self, **params: Any) -> list[str]:
        return [entry["name"] for entry in self.entries(**params)]

    def invoke(self, name: str, command: str = "ls", **changed: Any) -> dict[str, Any]:
        params = {
            "name": name,
            "event": "tools/call",
            "phase": "request",
            "payload": {"name": "shell", "arguments": {"command": command}},
            **changed,
        }
        return self.call("interceptor/invoke", params)

    def refusal(self, name: str, command: str = "ls", **changed: Any) -> InvocationError:
        with pytest.raises(InvocationError) as caught:
            self.invoke(name, command, **changed)
        return caught.value


def test_the_list_is_in_order_and_ends_with_the_catch_up_interceptors() -> None:
    server = Server(snapshot(RM, mutators=(MASK,)))
    generation = server.engine.current.generation
    assert server.names() == [
        "no-rm",
        "mask",
        f"policyd/catch-up-validators@{generation}",
        f"policyd/catch-up-mutators@{generation}",
    ]


def test_the_sep_dialect_lists_policies_only() -> None:
    assert Server(snapshot(RM, mutators=(MASK,)), Dialect.SEP).entries() == [
        {
            "name": "no-rm",
            "type": "validation",
            "hooks": [{"events": ["tools/call"], "phase": "request"}],
        },
        {
            "name": "mask",
            "type": "mutation",
            "hooks": [
                {"events": ["tools/call"], "phase": "request"},
                {"events": ["tools/call"], "phase": "response"},
            ],
            "priorityHint": 50,
        },
    ]


def test_the_filter_of_a_list_knows_wildcards() -> None:
    star = RM.replace("no-rm", "all").replace("[tools/call]", '["*"]')
    star = star.replace("args.command == 'rm'", "event == 'tools/list'")
    tools = star.replace("all", "tools").replace('"*"', "tools/*")
    server = Server(snapshot(RM, star, tools), Dialect.SEP)
    assert server.names(event="tools/call") == ["no-rm", "all", "tools"]
    assert server.names(event="tools/list") == ["all", "tools"]
    assert server.names(event="acme/do") == ["all"]
    assert server.names(event="") == ["no-rm", "all", "tools"]


def test_the_capability_follows_the_snapshot_in_force() -> None:
    server = Server(snapshot(RM))
    assert server.methods.capability() == {"supportedEvents": ["tools/call"]}
    server.engine.install(snapshot(RM.replace("tools/call", "prompts/get")))
    assert server.methods.capability() == {"supportedEvents": ["prompts/get"]}


def test_an_invocation_is_answered_by_one_generation_that_is_named() -> None:
    server = Server(snapshot(RM))
    result = server.invoke("no-rm", "rm")
    assert (result["valid"], result["messages"][0]["message"]) == (False, "no rm")
    assert result["info"]["policy"]["generation"] == server.engine.current.generation
    assert server.call("interceptors/invoke", {**CALL, "name": "no-rm"})["valid"] is True


CALL: dict[str, Any] = {
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"command": "ls"}},
}


def test_a_name_that_never_was_is_an_error() -> None:
    error = Server(snapshot(RM)).refusal("nobody")
    assert (error.code, error.data) == (-32602, {"interceptor": "nobody"})


def test_what_is_not_hooked_passes_and_says_so() -> None:
    result = Server(snapshot(RM)).invoke("no-rm", "rm", phase="response")
    assert (result["valid"], result["info"]["skipped"]) == (True, "not_hooked")


def test_a_config_that_breaks_its_schema_is_an_error() -> None:
    policy = RM.replace("no-rm", "limited").replace(
        "rules:", "configSchema: {type: object, properties: {n: {type: integer}}}\n    rules:"
    )
    error = Server(snapshot(policy)).refusal("limited", config={"n": "x"})
    assert (error.code, error.data["interceptor"]) == (-32602, "limited")


def test_a_crash_of_ours_is_an_error_that_says_nothing_and_logs_no_payload(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(self: Snapshot, name: str, invocation: Any, ends: float | None) -> None:
        raise ValueError(invocation.payload)

    monkeypatch.setattr(Snapshot, "invoke", crash)
    error = Server(snapshot(RM)).refusal("no-rm", "hunter2")
    assert (error.code, error.message) == (-32603, "Interceptor execution failed")
    assert error.data == {"interceptor": "no-rm", "reason": "internal error"}
    assert error.__cause__ is error.__context__ is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "ValueError" in record.getMessage()
    assert "in crash" in record.getMessage()
    assert "hunter2" not in caplog.text


def test_a_crash_without_a_name_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods_module, "list_params_from_json", lambda params: 1 / 0)
    with pytest.raises(InvocationError) as caught:
        Server(snapshot(RM)).call("interceptors/list", {"name": 7})
    assert caught.value.data == {"reason": "internal error"}


def test_failures_are_logged_with_their_place(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(snapshot(FRAGILE % "false"))
    assert server.refusal("fragile").data["reason"] == "the policy could not be evaluated"
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "`fragile` could not be evaluated: p.yaml:7:27: rule `f`: "
    )


def test_audited_failures_are_logged_as_well(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(snapshot(FRAGILE.replace("failOpen: %s", "mode: audit")))
    result = server.invoke("fragile")
    assert result["valid"] is True
    assert result["info"]["failure"] == "the policy could not be evaluated"
    assert len(caplog.records) == 1


ENDLESS = """
  - name: endless
    timeout: 300ms
    match: {events: [tools/call], phase: request}
    rules:
      - id: r
        deny: args.l.exists(a, args.l.exists(b, args.l.exists(c, a + b + c < 0)))
        message: m
"""


ENDLESS_CALL = {
    "name": "endless",
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "shell", "arguments": {"l": list(range(1_000)), "command": "ls"}},
}


@pytest.mark.parametrize("old", [False, True])
def test_a_small_payload_that_takes_long_does_not_hold_the_others_up(old: bool) -> None:
    server = Server(snapshot(RM))
    name = server.names()[-2] if old else "endless"
    server.engine.install(snapshot(RM, ENDLESS))
    slow = {**ENDLESS_CALL, "name": name}
    invoke = server.methods.table()["interceptor/invoke"]
    turns = 0

    async def body() -> None:
        nonlocal turns
        async with anyio.create_task_group() as group:

            async def refused() -> None:
                with pytest.raises(InvocationError) as caught:
                    await invoke(slow)
                assert caught.value.code == -32000
                group.cancel_scope.cancel()

            group.start_soon(refused)
            while True:
                turns += 1
                await anyio.sleep(0.001)

    anyio.run(body)
    assert turns > 5  # two if the event loop were held until the deadline


def test_a_call_that_nobody_waits_for_is_judged_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(snapshot(ENDLESS.replace("300ms", "20s")))
    begun, done = threading.Event(), threading.Event()
    invoke = Snapshot.invoke

    def watched(self: Snapshot, name: str, invocation: Invocation, ends: float | None) -> Any:
        if invocation.watch is not None:
            begun.set()
        try:
            return invoke(self, name, invocation, ends)
        finally:
            if invocation.watch is not None:
                done.set()

    async def body() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(server.methods.table()["interceptor/invoke"], ENDLESS_CALL)
            await to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()

    monkeypatch.setattr(Snapshot, "invoke", watched)
    anyio.run(body)
    assert done.wait(10)


def test_a_call_for_which_there_is_no_thread_in_time_is_late() -> None:
    server = Server(snapshot(RM))

    async def body() -> None:
        for _ in range(THREADS):
            server.methods._threads.acquire_on_behalf_of_nowait(object())
        payload = {"name": "shell", "arguments": {"command": "x" * INLINE_SIZE}}
        call = {**CALL, "name": "no-rm", "payload": payload, "timeoutMs": 20}
        with pytest.raises(InvocationError) as caught:
            await server.methods.table()["interceptor/invoke"](call)
        data = {"interceptor": "no-rm", "phase": "request", "timeoutMs": 20}
        assert (caught.value.code, caught.value.data) == (-32000, data)

    anyio.run(body)


def test_who_watches_is_told_of_every_judgement() -> None:
    told: list[Judgement] = []
    methods = Methods(Engine(snapshot(RM)), UNIVERSAL, observers=[told.append])
    invoke = methods.table()["interceptor/invoke"]
    for command in ("ls", "rm"):
        payload = {"name": "shell", "arguments": {"command": command}}
        anyio.run(invoke, {**CALL, "name": "no-rm", "payload": payload})
    assert [judgement.call.name for judgement in told] == ["no-rm", "no-rm"]
    assert [judgement.ran == (judgement.said,) for judgement in told] == [True, True]
    assert [bool(getattr(judgement.said, "findings", ())) for judgement in told] == [False, True]


@pytest.mark.parametrize("size", [0, INLINE_SIZE])
def test_large_payloads_are_judged_in_a_thread(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    run_sync: Callable[..., Any] = to_thread.run_sync

    async def watched(judge: Any, **options: Any) -> Any:
        threads.append(options["limiter"])
        return await run_sync(judge, **options)

    monkeypatch.setattr(to_thread, "run_sync", watched)
    assert Server(snapshot(RM)).invoke("no-rm", "x" * size)["valid"] is True
    assert len(threads) == (1 if size else 0)


# Chains that list once: names that are gone, policies that are new


def test_a_retired_validator_passes_and_says_so() -> None:
    server = Server(snapshot(RM, SQL % "error"))
    server.entries()
    server.engine.install(snapshot(RM))
    result = server.invoke("no-sql", "sql")
    assert (result["type"], result["valid"]) == ("validation", True)
    generation = server.engine.current.generation
    assert result["info"] == {"policy": {"generation": generation}, "retired": True}


def test_a_retired_mutator_echoes_the_payload_and_says_so() -> None:
    server = Server(snapshot(RM, mutators=(MASK,)))
    server.entries()
    server.engine.install(snapshot(RM))
    result = server.invoke("mask", "secret-1")
    assert (result["type"], result["modified"]) == ("mutation", False)
    assert result["payload"] == {"name": "shell", "arguments": {"command": "secret-1"}}
    assert result["info"]["retired"] is True


def test_a_name_is_not_retired_unless_it_was_listed() -> None:
    server = Server(snapshot(RM, SQL % "error"))
    server.engine.install(snapshot(RM))
    assert server.refusal("no-sql").code == -32602


def test_a_name_that_comes_back_is_evaluated_again() -> None:
    server = Server(snapshot(RM, SQL % "error"))
    server.entries()
    server.engine.install(snapshot(RM))
    server.engine.install(snapshot(SQL % "error"))
    assert server.invoke("no-sql", "sql")["valid"] is False


def test_without_catch_up_a_name_that_is_gone_stays_an_error() -> None:
    server = Server(snapshot(RM, SQL % "error"), Dialect.SEP)
    server.entries()
    server.engine.install(snapshot(RM))
    assert server.refusal("no-sql").code == -32602
    assert server.refusal("policyd/catch-up-validators@x").code == -32602


def test_a_policy_that_is_new_is_enforced_by_the_catch_up_of_an_old_list() -> None:
    server = Server(snapshot(RM))
    catch_up = server.names()[-2]
    assert server.invoke(catch_up, "rm")["valid"] is True  # the chain calls no-rm itself
    server.engine.install(snapshot(RM, SQL % "error"))
    assert server.invoke(catch_up, "rm")["valid"] is True
    result = server.invoke(catch_up, "sql")
    assert (result["interceptor"], result["valid"]) == (catch_up, False)
    assert result["messages"] == [{"message": "no sql", "severity": "error"}]
    assert result["info"]["policy"] == {
        "generation": server.engine.current.generation,
        "rules": ["s"],
    }


def test_a_new_list_brings_a_catch_up_that_leaves_the_policy_alone() -> None:
    server = Server(snapshot(RM))
    server.entries()
    server.engine.install(snapshot(RM, SQL % "error"))
    assert server.invoke(server.names()[-2], "sql")["valid"] is True


def test_a_policy_that_gained_a_hook_is_caught_up_there() -> None:
    server = Server(snapshot(RM))
    catch_up = server.names()[-2]
    widened = RM.replace("phase: request", "phase: both").replace(
        "args.command == 'rm'", "size(payload) > 0"
    )
    server.engine.install(snapshot(widened))
    assert server.invoke(catch_up)["valid"] is True
    assert server.invoke(catch_up, phase="response")["valid"] is False


def test_the_same_files_after_a_restart_are_not_run_twice() -> None:
    catch_up = Server(snapshot(RM)).names()[-2]
    restarted = Server(snapshot(RM))
    assert restarted.invoke(catch_up, "rm")["valid"] is True  # the chain calls no-rm itself
    restarted.engine.install(snapshot(RM, SQL % "error"))
    assert restarted.invoke(catch_up, "sql")["valid"] is False


def test_the_catch_up_fails_open_only_where_every_policy_does() -> None:
    open_ = RM.replace("match:", "failOpen: true\n    match:")
    for validators, expected in (((open_,), True), ((open_, SQL % "warn"), False)):
        entries = Server(snapshot(*validators)).entries()[-2:]
        assert [entry.get("failOpen", False) for entry in entries] == [expected, expected]


def test_everything_runs_for_a_generation_that_is_unknown() -> None:
    server = Server(snapshot(RM, SQL % "warn", mutators=(MASK,)))
    validators = "policyd/catch-up-validators@another"
    assert server.invoke(validators, "rm")["valid"] is False
    warned = server.invoke(validators, "sql")
    assert (warned["valid"], warned["severity"]) == (True, "warn")
    assert server.invoke(validators, "ls")["valid"] is True


def test_a_mutator_that_is_new_is_applied_by_the_catch_up() -> None:
    server = Server(snapshot(RM))
    catch_up = server.names()[-1]
    server.engine.install(snapshot(RM, mutators=(MASK,)))
    envelope = {"method": "tools/call", "params": {"name": "x", "arguments": {"t": "secret-1"}}}
    result = server.invoke(catch_up, payload=envelope)
    assert result["payload"] == {
        "method": "tools/call",
        "params": {"name": "x", "arguments": {"t": "[gone]"}},
    }
    assert (result["type"], result["modified"]) == ("mutation", True)
    assert [change["path"] for change in result["info"]["changes"]] == ["/arguments/t"]
    untouched = server.invoke(catch_up, "fine")
    assert (untouched["modified"], "changes" in untouched["info"]) == (False, False)


def test_a_new_policy_that_cannot_be_evaluated_fails_the_catch_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(snapshot(RM))
    catch_up = server.names()[-2]
    server.engine.install(snapshot(RM, FRAGILE % "false"))
    error = server.refusal(catch_up)
    assert (error.code, error.data["interceptor"]) == (-32603, catch_up)
    assert caplog.records[0].getMessage().startswith("`fragile` could not be evaluated")
    server.engine.install(snapshot(RM, FRAGILE % "true"))
    assert server.invoke(catch_up)["valid"] is True
