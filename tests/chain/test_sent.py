"""What goes to an interceptor beside the payload: its config, and who asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyd.chain import Chain
from policyd.errors import InvocationError
from policyd.functions import Interceptors
from policyd.model import Invocation
from tests.chain.others import Others, validation
from tests.chain.support import CALL, engine, run

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"most": {"type": "integer"}}}

GOOD = {"v": {"most": 1}}

BAD = {"v": {"most": "1"}}


def configured(asked: list[Any]) -> Interceptors:
    interceptors = Interceptors()

    @interceptors.validator("v", events=["x"], phase="request", config_schema=SCHEMA)
    def v(invocation: Invocation) -> None:
        asked.append(invocation.config.get("v"))

    return interceptors


@pytest.mark.parametrize("remote", [False, True])
def test_a_config_that_breaks_its_schema_is_refused_before_anybody_is_asked(remote: bool) -> None:
    asked: list[Any] = []
    others = Others([validation("v", configSchema=SCHEMA), validation("w")])

    async def body(chain: Chain) -> None:
        if remote:
            await chain.add_server(others.server)
        else:
            chain.add_functions(configured(asked))
        with pytest.raises(InvocationError) as caught:
            await chain.execute("x", "request", {}, config=BAD)
        assert (caught.value.code, caught.value.data["interceptor"]) == (-32602, "v")
        assert (others.asked, asked) == ([], [])
        # one that is not asked is not judged either
        assert (await chain.execute("y", "request", {}, config=BAD)).allowed

    run(body)


def test_an_interceptor_is_sent_its_own_config_and_an_execution_s_in_place_of_the_chain_s() -> None:
    listed = [validation("v", configSchema=SCHEMA), validation("w"), validation("none")]
    others = Others(listed)
    asked: list[Any] = []

    async def sent(chain: Chain, config: dict[str, Any] | None) -> dict[str, Any]:
        others.asked.clear()
        asked.clear()
        assert (await chain.execute("x", "request", {}, config=config)).allowed
        return {p["name"]: p["config"] for p in others.asked if "config" in p} | {"here": asked[0]}

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        chain.add_functions(configured(asked))
        assert await sent(chain, None) == {"v": {"most": 1}, "w": {"any": []}, "here": {"most": 1}}
        assert await sent(chain, {"v": {"most": 2}}) == {"v": {"most": 2}, "here": {"most": 2}}
        assert await sent(chain, {}) == {"here": None}

    run(body, config={**GOOD, "w": {"any": []}, "nobody": {"x": 1}})


@pytest.mark.parametrize("schema", [{"type": "no type"}, {"$ref": "#/nowhere"}, {"pattern": "("}])
def test_a_schema_that_cannot_be_read_here_is_left_to_its_server(schema: dict[str, Any]) -> None:
    others = Others([validation("v", configSchema=schema)])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        assert (await chain.execute("x", "request", {}, config=BAD)).allowed
        assert [params["config"] for params in others.asked] == [BAD["v"]]

    run(body)


CONTEXT: dict[str, Any] = {
    "principal": {"type": "user", "id": "u-1", "claims": {"roles": ["admin"]}},
    "traceId": "t-1",
    "spanId": "s-1",
    "sessionId": "session-1",
    "timestamp": "2026-03-01T12:00:00Z",
}

WHO = """
validators:
  - name: p
    match: {events: [tools/call], phase: request}
    rules:
      - id: r
        require: >-
          principal == {'type': 'user', 'id': 'u-1', 'claims': {'roles': ['admin']}}
          && trace == 't-1' && session == 'session-1' && context.spanId == 's-1'
          && context.timestamp == '2026-03-01T12:00:00Z'
          && now == timestamp('2026-03-01T12:00:00Z')
        message: somebody else
"""


def test_who_asks_reaches_policies_functions_and_servers_as_given() -> None:
    others = Others([validation("v", hooks=[{"events": ["*"], "phase": "request"}])])
    interceptors = Interceptors()
    seen: list[Invocation] = []
    interceptors.validator("f", events=["*"], phase="request")(seen.append)

    async def body(chain: Chain) -> None:
        chain.add_engine(engine(WHO))
        assert (await chain.execute("tools/call", "request", CALL, context=CONTEXT)).allowed
        assert not (await chain.execute("tools/call", "request", CALL)).allowed
        await chain.add_server(others.server)
        chain.add_functions(interceptors)
        assert (await chain.execute("tools/call", "request", CALL, context=CONTEXT)).allowed
        assert others.asked[0]["context"] == CONTEXT
        assert (seen[0].context, seen[0].config) == (CONTEXT, {})
        assert (seen[0].event, seen[0].phase, seen[0].payload) == ("tools/call", "request", CALL)

    run(body)


def test_an_execution_without_a_timestamp_has_that_of_its_moment() -> None:
    others = Others([validation("v")])
    interceptors = Interceptors()
    seen: list[Invocation] = []
    interceptors.validator("f", events=["x"], phase="request")(seen.append)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        chain.add_functions(interceptors)
        await chain.execute("x", "request", {})
        told = others.asked[0]["context"]
        assert told == seen[0].context
        assert told.keys() == {"timestamp"}
        moment = datetime.fromisoformat(told["timestamp"])
        assert abs(datetime.now(UTC) - moment) < timedelta(minutes=1)
        assert seen[0].now == moment

    run(body)


def test_what_a_function_does_to_the_context_stays_with_it() -> None:
    interceptors = Interceptors()
    seen: list[Any] = []

    @interceptors.validator("a", events=["x"], phase="request")
    def a(invocation: Invocation) -> None:
        invocation.context["principal"]["type"] = "service"
        invocation.config["a"]["list"].append(1)
        invocation.payload["list"].append(1)

    @interceptors.validator("b", events=["x"], phase="request")
    def b(invocation: Invocation) -> None:
        seen.append((invocation.context["principal"], invocation.config, invocation.payload))

    context = {"principal": {"type": "anonymous"}}
    config: dict[str, Any] = {"a": {"list": []}}
    payload: dict[str, Any] = {"list": []}

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", payload, context=context, config=config)
        assert (decision.allowed, decision.failures) == (True, ())
        assert seen == [({"type": "anonymous"}, {}, {"list": []})]
        assert (context, config, payload) == (
            {"principal": {"type": "anonymous"}},
            {"a": {"list": []}},
            {"list": []},
        )

    run(body)


def test_a_server_is_sent_the_bare_payload_of_an_envelope() -> None:
    others = Others([validation("v")])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        sent = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": [1.0, None, 10**20]}}
        decision = await chain.execute("x", "request", sent)
        assert decision.payload is sent
        assert others.asked == [
            {
                "name": "v",
                "event": "x",
                "phase": "request",
                "payload": {"a": [1.0, None, 10**20]},
                "context": {"timestamp": others.asked[0]["context"]["timestamp"]},
                "_meta": others.asked[0].get("_meta"),
            }
        ]

    run(body)
