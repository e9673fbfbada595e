"""What it means that an interceptor could not do its work, wherever it runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from policyd.chain import Chain, Overrides, ServerError, Terms
from policyd.errors import Cause, InvocationError
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import Invocation, MutationResult, Outcome, ValidationResult
from tests.chain.others import Others, crash, garbage, mutation, validation
from tests.chain.support import HEAD, NO_RM, call, engine, run

PAYLOAD: dict[str, Any] = {"note": "quite private"}

BROKEN = """
{kind}s:
  - name: b
    match: {{events: [x], phase: request}}
    mode: {mode}
    failOpen: {fail_open}
    {rules}
"""

RULES = {
    "validator": "rules: [{id: r, deny: payload.nothing == 1, message: m}]",
    "mutator": "patch: [{op: remove, path: /nothing}]",
}


async def add_broken(chain: Chain, host: str, kind: str, mode: str, fail_open: bool) -> None:
    """Add an interceptor `b` of *kind* that cannot do its work."""
    if host == "engine":
        told = str(fail_open).lower()
        policies = BROKEN.format(kind=kind, mode=mode, fail_open=told, rules=RULES[kind])
        chain.add_engine(engine(policies))
        return
    if host == "functions":
        interceptors = Interceptors()
        register = interceptors.validator if kind == "validator" else interceptors.mutator

        @register("b", events=["x"], phase="request", mode=mode, fail_open=fail_open)
        def broken(invocation: Invocation) -> None:
            raise ValueError(str(invocation.payload))

        chain.add_functions(interceptors)
        return
    entry = validation("b") if kind == "validator" else mutation("b")
    entry |= {"mode": mode, "failOpen": fail_open}
    await chain.add_server(Others([entry], crash if host == "error" else garbage).server)


@pytest.mark.parametrize("fail_open", [False, True])
@pytest.mark.parametrize("mode", ["enforce", "audit"])
@pytest.mark.parametrize("kind", ["validator", "mutator"])
@pytest.mark.parametrize("host", ["engine", "functions", "error", "garbage"])
def test_who_cannot_do_its_work_stops_the_message_unless_it_fails_open_or_audits(
    host: str, kind: str, mode: str, fail_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(chain: Chain) -> None:
        await add_broken(chain, host, kind, mode, fail_open)
        decision = await chain.execute("x", "request", PAYLOAD)
        failed = Status.VALIDATION_FAILED if kind == "validator" else Status.MUTATION_FAILED
        proceeds = fail_open or mode == "audit"
        assert decision.status is (Status.SUCCESS if proceeds else failed)
        assert decision.payload is PAYLOAD
        (outcome,) = decision.outcomes
        assert could_not(outcome)
        told = decision.to_json()
        assert ("abortedAt" in told) is not proceeds
        told.pop("finalPayload", None)
        assert "private" not in str(told)

    with caplog.at_level(logging.DEBUG, "policyd"):
        run(body)
    assert "private" not in caplog.text


def could_not(outcome: Outcome) -> bool:
    """Whether *outcome* says that the interceptor failed, and does not pose as a pass."""
    if isinstance(outcome, (ValidationResult, MutationResult)):
        return outcome.audited and outcome.cause is Cause.ERROR and outcome.failure is not None
    return outcome.cause is Cause.ERROR


@pytest.mark.parametrize("fail_open", [False, True])
def test_an_override_says_what_a_failure_elsewhere_means(fail_open: bool) -> None:
    others = Others([validation("b", failOpen=not fail_open)], crash)

    async def body(chain: Chain) -> None:
        overrides = {"b": Overrides(fail_open=fail_open)}
        await chain.add_server(others.server, overrides=overrides)
        assert (await chain.execute("x", "request", PAYLOAD)).allowed is fail_open

    run(body)


def test_failing_open_is_about_failures_and_not_about_denials() -> None:
    interceptors = Interceptors()
    interceptors.validator("v", events=["x"], phase="request", fail_open=True)(lambda i: "no")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        assert (await chain.execute("x", "request", {})).status is Status.VALIDATION_FAILED

    run(body)


def test_a_failure_does_not_keep_the_other_validators_from_objecting() -> None:
    interceptors = Interceptors()
    interceptors.validator("b", events=["x"], phase="request")(lambda invocation: 1 / 0)
    interceptors.validator("v", events=["x"], phase="request")(lambda invocation: "no")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", {})
        assert [failure.interceptor for failure in decision.failures] == ["b"]
        aborted = {"interceptor": "v", "reason": "no", "type": "validation"}
        assert decision.to_json()["abortedAt"] == aborted

    run(body)


NOT_JSON: list[dict[str, Any]] = [
    {"payload": {"a": (1, 2)}},
    {"context": {"principal": {"claims": {"since": object()}}}},
    {"config": {"v": {"most": {1, 2}}}},
    {"config": {"v": 5}},
    {"phase": "both"},
]


@pytest.mark.parametrize("given", NOT_JSON)
def test_what_cannot_be_sent_is_its_caller_s_mistake_and_is_sent_to_nobody(
    given: dict[str, Any],
) -> None:
    others = Others([validation("v"), validation("w")])
    arguments: dict[str, Any] = {"phase": "request", "payload": {}, **given}

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        with pytest.raises(InvocationError) as caught:
            await chain.execute("x", **arguments)
        assert caught.value.code == -32602
        assert others.asked == []

    run(body)


def test_a_server_that_is_gone_fails_and_serves_again_once_it_is_back(
    serve: type[Any], tmp_path: Path
) -> None:
    Path(tmp_path, "p.yaml").write_text(HEAD + "validators:" + NO_RM)
    running = serve([str(tmp_path), "--http", "127.0.0.1:0"])
    address = running.url.removeprefix("http://").removesuffix("/mcp")
    local = Interceptors()
    local.validator("here", events=["*"], phase="both")(lambda invocation: "no, says here")

    async def body(chain: Chain) -> None:
        await chain.add_server(running.url, terms=Terms("gone", refresh_every=0.0))
        await anyio.to_thread.run_sync(running.stop)
        with anyio.fail_after(5):  # not a hang
            decision = await chain.execute("tools/call", "request", call("ls"))
        assert not decision.allowed
        assert {failure.cause for failure in decision.failures} == {Cause.UNREACHABLE}
        chain.add_functions(local)
        said = await chain.execute("tools/call", "request", call("ls"))
        assert [finding.message for finding in said.findings] == ["no, says here"]
        again = await anyio.to_thread.run_sync(serve, [str(tmp_path), "--http", address])
        try:
            back = await chain.execute("tools/call", "request", call("ls"), names=["no-rm"])
            assert (back.allowed, back.failures) == (True, ())
            denied = await chain.execute("tools/call", "request", call("rm"), names=["no-rm"])
            assert [finding.message for finding in denied.findings] == ["not this"]
        finally:
            await anyio.to_thread.run_sync(again.stop)

    run(body)


def test_a_server_that_is_not_there_cannot_be_added() -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(ServerError) as caught:
            await chain.add_server("http://127.0.0.1:9/mcp")
        assert str(caught.value) == (
            "the interceptors of `http://127.0.0.1:9` cannot be listed: no connection to the server"
        )
        assert chain.descriptors == ()
        assert (await chain.execute("x", "request", {})).outcomes == ()

    run(body)


def test_a_closed_chain_lets_nothing_through_unjudged() -> None:
    others = Others([validation("elsewhere")])
    policies = engine("validators:" + NO_RM)

    async def body(chain: Chain) -> None:
        chain.add_engine(policies)
        await chain.add_server(others.server)
        assert (await chain.execute("x", "request", {})).allowed
        await chain.aclose()
        await chain.aclose()
        assert not (await chain.execute("tools/call", "request", call("rm"))).allowed
        closed = await chain.execute("x", "request", {})
        assert [failure.cause for failure in closed.failures] == [Cause.UNREACHABLE]
        assert not closed.allowed

    run(body)
