from __future__ import annotations

import copy
from typing import Any

import anyio
import pytest

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.errors import InvocationError
from policyd.execution import Status
from policyd.model import Invocation
from policyd.server.bundle import Exposure
from policyd.server.methods import Methods
from policyd.snapshot import Snapshot
from policyd.source import make_bundle
from policyd.wire import Dialect

POLICIES = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules: [{id: rm, deny: "args.command == 'rm'", message: no rm}]
  - name: watched
    mode: audit
    match: {events: [tools/call], phase: request}
    rules: [{id: any, deny: "args.command == 'ls'", message: watched}]
  - name: open
    failOpen: true
    match: {events: [tools/call], phase: request}
    rules: [{id: broken, deny: "args.open == 1", message: never}]
  - name: quiet
    mode: audit
    match: {events: [tools/call], phase: request}
    rules: [{id: broken, deny: "args.quiet == 1", message: never}]
  - name: closed
    match: {events: [tools/call], phase: request, when: args.command == 'closed'}
    rules: [{id: broken, deny: "args.closed == 1", message: never}]
  - name: slow
    timeout: 30ms
    match: {events: [tools/call], phase: request, when: has(args.l)}
    rules:
      - id: triples
        deny: args.l.exists(a, args.l.exists(b, args.l.exists(c, a + b + c < 0)))
        message: never
  - name: limited
    match: {events: [tools/call], phase: request, when: has(args.n)}
    configSchema: {properties: {limit: {type: integer, default: 10}}}
    rules: [{id: limit, deny: args.n > config.limit, message: too many}]
  - name: responses
    match: {events: [tools/call], phase: response}
    rules: [{id: empty, deny: size(result.content) == 0, message: nothing came}]
mutators:
  - name: second
    priority: 2
    match: {events: [tools/call], phase: request, when: has(args.list)}
    patch: [{op: add, path: /arguments/list/-, value: second}]
  - name: first
    priority: 1
    match: {events: [tools/call], phase: request, when: has(args.list)}
    patch: [{op: add, path: /arguments/list/-, value: first}]
  - name: shadow
    mode: audit
    match: {events: [tools/call], phase: request}
    patch: [{op: add, path: /arguments/shadow, value: true}]
"""


def snapshot(text: str = POLICIES) -> Snapshot:
    compilation = compile_bundle(make_bundle({"p.yaml": text}))
    assert compilation.snapshot is not None, compilation.diagnostics
    return compilation.snapshot


class Server:
    """The methods over policies that are exposed as a bundle."""

    def __init__(self, text: str = POLICIES, dialect: Dialect = Dialect.UNIVERSAL) -> None:
        self.engine = Engine(snapshot(text))
        self.methods = Methods(self.engine, dialect, Exposure.BUNDLE)

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return anyio.run(self.methods.table()[method], params)

    def invoke(self, name: str, arguments: dict[str, Any], **changed: Any) -> dict[str, Any]:
        payload = {"name": "shell", "arguments": arguments}
        params = {"name": name, "event": "tools/call", "phase": "request", "payload": payload}
        return self.call("interceptor/invoke", {**params, **changed})

    def refusal(self, arguments: dict[str, Any], **changed: Any) -> tuple[int, dict[str, Any]]:
        with pytest.raises(InvocationError) as caught:
            self.invoke("policyd/validators", arguments, **changed)
        return caught.value.code, caught.value.data


@pytest.mark.parametrize("dialect", Dialect)
def test_two_interceptors_stand_for_all(dialect: Dialect) -> None:
    server = Server(dialect=dialect)
    listed = server.call("interceptors/list")["interceptors"]
    assert [(entry["name"], entry["type"]) for entry in listed] == [
        ("policyd/validators", "validation"),
        ("policyd/mutators", "mutation"),
    ]
    for entry in listed:
        assert {hook["phase"] for hook in entry["hooks"]} == {"request", "response"}
        assert all("*" in hook["events"] for hook in entry["hooks"])
        assert "failOpen" not in entry
    assert list(listed[0]["configSchema"]["properties"]) == ["limited"]
    assert "configSchema" not in listed[1]
    assert "*" in server.methods.capability()["supportedEvents"]


def test_it_fails_open_where_all_policies_do() -> None:
    text = POLICIES.replace("    match:", "    failOpen: true\n    match:")
    text = text.replace("    failOpen: true\n    failOpen: true\n", "    failOpen: true\n")
    listed = Server(text).call("interceptors/list")["interceptors"]
    assert [entry["failOpen"] for entry in listed] == [True, True]


def test_an_objection_is_told_with_what_every_policy_came_to() -> None:
    result = Server().invoke("policyd/validators", {"command": "rm"})
    assert (result["interceptor"], result["valid"]) == ("policyd/validators", False)
    assert result["messages"] == [{"message": "no rm", "severity": "error"}]
    assert result["info"]["policy"]["rules"] == ["rm"]
    assert result["info"]["policies"] == [
        {"name": "no-rm", "valid": False, "rules": ["rm"]},
        {"name": "watched", "valid": True, "mode": "audit"},
        {"name": "open", "failure": "the policy could not be evaluated"},
        {
            "name": "quiet",
            "valid": True,
            "mode": "audit",
            "failure": "the policy could not be evaluated",
        },
        {"name": "closed", "valid": True},
        {"name": "slow", "valid": True},
        {"name": "limited", "valid": True},
    ]


def test_what_is_audited_or_fails_open_stops_nothing() -> None:
    result = Server().invoke("policyd/validators", {"command": "ls"})
    assert (result["valid"], "messages" in result) == (True, False)
    told = {policy["name"]: policy for policy in result["info"]["policies"]}
    assert told["watched"] == {"name": "watched", "valid": True, "mode": "audit", "rules": ["any"]}
    assert told["open"]["failure"] == "the policy could not be evaluated"


def test_a_failure_names_the_policy() -> None:
    code, data = Server().refusal({"command": "closed"})
    assert code == -32603
    assert (data["interceptor"], data["policy"]) == ("policyd/validators", "closed")


def test_a_policy_that_runs_out_of_time_is_the_timeout_of_the_sep() -> None:
    code, data = Server().refusal({"command": "x", "l": list(range(200))})
    assert (code, data["policy"]) == (-32000, "slow")
    assert data["timeoutMs"] in range(20, 200)


def test_mutators_run_in_their_order_and_shadows_change_nothing() -> None:
    result = Server().invoke("policyd/mutators", {"list": []})
    assert result["payload"]["arguments"] == {"list": ["first", "second"]}
    assert result["info"]["policies"] == [
        {"name": "shadow", "modified": False, "mode": "audit", "rules": ["patch[0]"]},
        {"name": "first", "modified": True, "rules": ["patch[0]"]},
        {"name": "second", "modified": True, "rules": ["patch[0]"]},
    ]


@pytest.mark.parametrize(("config", "valid"), [({}, False), ({"limited": {"limit": 20}}, True)])
def test_the_config_of_a_policy_stands_under_its_name(config: Any, valid: bool) -> None:
    arguments = {"command": "x", "n": 15}
    result = Server().invoke("policyd/validators", arguments, config=config)
    assert result["valid"] is valid


@pytest.mark.parametrize("config", [{"limited": {"limit": "20"}}, {"limited": 7}])
def test_a_config_that_is_none_is_refused(config: Any) -> None:
    code, data = Server().refusal({"command": "x", "n": 15}, config=config)
    assert code == -32602
    assert "`limited`" in data["reason"]


def test_a_policy_that_a_reload_brings_is_enforced_without_a_new_list() -> None:
    server = Server()
    server.engine.install(snapshot(POLICIES.replace("== 'rm'", "== 'mv'")))
    assert server.invoke("policyd/validators", {"command": "rm"})["valid"] is True
    assert server.invoke("policyd/validators", {"command": "mv"})["valid"] is False


def test_without_policies_for_the_event_it_passes() -> None:
    result = Server().invoke("policyd/validators", {}, event="ping")
    assert (result["valid"], "policies" in result["info"]) == (True, False)


@pytest.mark.parametrize(
    "arguments",
    [{"command": "ls"}, {"command": "rm"}, {"command": "closed"}, {"command": "ls", "list": []}],
)
def test_the_two_come_to_what_the_engine_comes_to(arguments: dict[str, Any]) -> None:
    server, before = Server(), copy.deepcopy(arguments)
    payload = {"name": "shell", "arguments": arguments}
    decision = server.engine.decide(Invocation("tools/call", "request", payload))
    try:
        allowed = server.invoke("policyd/validators", arguments)["valid"]
    except InvocationError:
        allowed = False
    assert allowed is (decision.status is Status.SUCCESS)
    if allowed:
        changed = server.invoke("policyd/mutators", arguments)["payload"]
        assert changed == decision.payload
    assert arguments == before
