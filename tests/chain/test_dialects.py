"""What other SDKs' servers list and answer, run by our chain."""

from __future__ import annotations

from typing import Any

import pytest

from policyd.chain import Chain, OverrideError, Overrides, ServerError
from policyd.errors import Cause
from policyd.execution import Status
from policyd.model import Failure, MutationResult, ValidationResult
from tests.chain.others import HOOKS, Others, marked, mutation, validation
from tests.chain.support import run

PAYLOAD: dict[str, Any] = {"trail": []}


def go_validation(valid: bool) -> dict[str, Any]:
    """What the Go SDK answers: the verdict is nested, and the flat members are not there."""
    told = [{"path": "params.name", "message": "no", "severity": "error"}]
    verdict = {"valid": valid, **({} if valid else {"severity": "error", "messages": told})}
    return {"type": "validation", "validation": verdict, "durationMs": 3}


def go_mutation(params: dict[str, Any], modified: bool) -> dict[str, Any]:
    payload = marked(params)["payload"] if modified else None
    return {"type": "mutation", "mutation": {"modified": modified}, "payload": payload}


OLD_GO: list[dict[str, Any]] = [
    {
        "name": name,
        "type": kind,
        "hook": {"events": ["x"], "phase": "both"},
        "mode": "enforce",
        "failOpen": False,
        "priorityHint": {"request": 5, "response": -5},
    }
    for name, kind in (("v", "validation"), ("m", "mutation"), ("idle", "mutation"))
]


@pytest.mark.parametrize("phase", ["request", "response"])
@pytest.mark.parametrize("valid", [True, False])
def test_a_server_of_the_go_sdk_is_understood(phase: str, valid: bool) -> None:
    def answer(params: dict[str, Any]) -> dict[str, Any]:
        if params["name"] == "v":
            return go_validation(valid)
        return go_mutation(params, params["name"] == "m")

    others = Others(OLD_GO, answer)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", phase, PAYLOAD)
        assert decision.allowed is valid
        assert decision.payload == ({"trail": ["m"]} if valid else PAYLOAD)
        assert [finding.message for finding in decision.findings] == ([] if valid else ["no"])

    run(body)


@pytest.mark.parametrize(
    ("hooks", "hooked"),
    [
        ({"hooks": [{"events": ["x"], "phase": "both"}]}, {"request x", "response x"}),
        (
            {"hooks": [{"events": ["*/response"], "phase": "both"}]},
            {"response x", "response y/a", "response z"},
        ),
        ({"hooks": [], "hook": {"events": ["x"], "phase": "response"}}, {"response x"}),
        ({"hooks": HOOKS, "hook": {"events": ["y"], "phase": "both"}}, {"request x"}),
        ({"hooks": None, "events": ["x"], "phase": "request"}, {"request x"}),
        (
            {"hooks": [*HOOKS, {"events": ["y/*"], "phase": "response"}]},
            {"request x", "response y/a"},
        ),
    ],
    ids=["both", "phase in the event", "legacy", "newest first", "flat", "each phase its own"],
)
def test_hooks_in_every_spelling_say_where_an_interceptor_runs(
    hooks: dict[str, Any], hooked: set[str]
) -> None:
    others = Others([validation("v", **hooks)])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        for phase in ("request", "response"):
            for event in ("x", "y/a", "z"):
                await chain.execute(event, phase, {})
        assert {f"{asked['phase']} {asked['event']}" for asked in others.asked} == hooked
        assert len(others.asked) == len(hooked)

    run(body)


def test_a_server_of_the_sep_s_shape_has_a_priority_for_each_phase() -> None:
    both = [{"events": ["x"], "phase": phase} for phase in ("request", "response")]
    listed = [
        mutation("a", hooks=both, priorityHint={"request": 1, "response": -1}),
        mutation("b", hooks=both),
        mutation("c", hooks=both, priorityHint=-(2**31)),
    ]

    async def body(chain: Chain) -> None:
        await chain.add_server(Others(listed, marked).server)
        sent = await chain.execute("x", "request", PAYLOAD)
        answered = await chain.execute("x", "response", PAYLOAD)
        assert sent.payload == {"trail": ["c", "b", "a"]}
        assert answered.payload == {"trail": ["c", "a", "b"]}

    run(body)


def test_an_override_counts_in_each_phase_of_an_interceptor_that_is_listed_once() -> None:
    hooks = [{"events": ["x"], "phase": "request"}, {"events": ["y"], "phase": "response"}]
    others = Others([mutation("m", hooks=hooks)], marked)
    other = Others([mutation("n", hooks=hooks)], marked)

    async def body(chain: Chain) -> None:
        narrowed = Overrides(hooks=[(["y"], "response")], priority={"response": 9})
        await chain.add_server(others.server, overrides={"m": narrowed})
        await chain.add_server(other.server)
        assert (await chain.execute("x", "request", PAYLOAD)).payload == {"trail": ["n"]}
        assert (await chain.execute("y", "response", PAYLOAD)).payload == {"trail": ["n", "m"]}
        widened = {"m": Overrides(hooks=[(["x"], "response")])}
        with pytest.raises(OverrideError, match="only narrow"):
            await chain.add_server(others.server, overrides=widened)

    run(body)


def test_what_is_not_run_is_left_out_and_the_rest_runs() -> None:
    others = Others([{"name": "s", "type": "sink", "hooks": HOOKS}, validation("v")])

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", {})
        assert [outcome.interceptor for outcome in decision.outcomes] == ["v"]

    run(body)


TWICE: list[list[dict[str, Any]]] = [
    [validation("v"), validation("v")],
    [validation("v"), mutation("v")],
    [validation("v"), {"name": "v", "type": "sink", "hooks": HOOKS}],
]


@pytest.mark.parametrize("listing", TWICE)
def test_a_name_that_is_listed_twice_is_refused(listing: list[dict[str, Any]]) -> None:
    async def body(chain: Chain) -> None:
        with pytest.raises(ServerError, match="the name of an earlier entry"):
            await chain.add_server(Others(listing).server)
        assert chain.descriptors == ()

    run(body)


class Paged(Others):
    """Lists two pages."""

    async def list_(self, context: Any, params: Any) -> dict[str, Any]:
        if (context.params or {}).get("cursor") == "more":
            return {"interceptors": self.listing[1:], "nextCursor": ""}
        return {"interceptors": self.listing[:1], "nextCursor": "more"}


def test_what_stands_on_the_second_page_runs_as_well() -> None:
    paged = Paged([mutation("a"), mutation("b")], marked)
    twice = Paged([mutation("a"), mutation("a")], marked)

    async def body(chain: Chain) -> None:
        await chain.add_server(paged.server)
        assert (await chain.execute("x", "request", PAYLOAD)).payload == {"trail": ["a", "b"]}
        with pytest.raises(ServerError, match="the name of an earlier entry"):
            await chain.add_server(twice.server)

    run(body)


ERROR: dict[str, Any] = {"message": "m", "severity": "error"}

ANSWERS: list[tuple[dict[str, Any], bool]] = [
    ({"valid": True}, True),
    ({"type": "validation", "valid": True, "validation": {"valid": True}}, True),
    ({"valid": False, "severity": "warn", "messages": [{**ERROR, "severity": "warn"}]}, True),
    ({"valid": False}, False),
    ({"valid": False, "severity": "error"}, False),
    ({"valid": False, "messages": [ERROR]}, False),
    ({"valid": False, "severity": "info", "messages": [ERROR]}, False),
    ({"valid": True, "validation": {"valid": False, "severity": "error"}}, False),
    ({"valid": False, "severity": "grave"}, False),
]


@pytest.mark.parametrize(("answer", "allowed"), ANSWERS)
def test_whatever_way_a_server_denies_it_is_heard(answer: dict[str, Any], allowed: bool) -> None:
    async def body(chain: Chain) -> None:
        await chain.add_server(Others([validation("v")], lambda params: answer).server)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.status is (Status.SUCCESS if allowed else Status.VALIDATION_FAILED)
        (outcome,) = decision.outcomes
        assert isinstance(outcome, ValidationResult)
        assert outcome.valid is allowed

    run(body)


NO_ANSWERS: list[dict[str, Any]] = [
    {},
    {"valid": "yes"},
    {"valid": None},
    {"type": "mutation", "valid": True},
    {"validation": {"valid": True}, "valid": 1},
]


@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_an_answer_that_says_neither_is_a_failure(answer: dict[str, Any]) -> None:
    async def body(chain: Chain) -> None:
        await chain.add_server(Others([validation("v")], lambda params: answer).server)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert [failure.cause for failure in decision.failures] == [Cause.ERROR]
        assert not decision.allowed

    run(body)


@pytest.mark.parametrize(
    ("answer", "payload"),
    [
        ({"modified": True, "payload": {"new": 1}}, {"new": 1}),
        ({"modified": True, "payload": None}, None),
        ({"modified": False, "payload": {"new": 1}}, PAYLOAD),
        ({"modified": False}, PAYLOAD),
        ({"modified": True}, "failure"),
        ({"payload": {"new": 1}}, "failure"),
        ({"modified": False, "payload": {}, "mutation": {"modified": True}}, "failure"),
    ],
)
def test_a_payload_elsewhere_counts_where_it_is_said_to_be_modified(
    answer: dict[str, Any], payload: Any
) -> None:
    async def body(chain: Chain) -> None:
        await chain.add_server(Others([mutation("m")], lambda params: answer).server)
        decision = await chain.execute("x", "request", PAYLOAD)
        (outcome,) = decision.outcomes
        if payload == "failure":
            assert isinstance(outcome, Failure)
            assert decision.status is Status.MUTATION_FAILED
            assert decision.payload is PAYLOAD
        else:
            assert isinstance(outcome, MutationResult)
            assert decision.payload == payload
            assert (decision.payload is PAYLOAD) is (payload is PAYLOAD)

    run(body)
