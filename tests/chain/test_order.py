"""In which order interceptors run, and that mutations count all or none."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import pytest

from policyd.chain import Chain, Overrides
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import Direction, Invocation, MutationResult
from tests.chain.others import Others, denied, marked, mutation, valid, validation
from tests.chain.support import CALL, appends, engine, run, server

PAYLOAD: dict[str, Any] = {"trail": []}


def recorders(seen: list[tuple[str, list[str]]]) -> Interceptors:
    """A validator and a mutator that record the trail that they see; the mutator adds to it."""
    interceptors = Interceptors()

    @interceptors.validator("v", events=["x"], phase="both")
    def v(invocation: Invocation) -> None:
        seen.append(("v", invocation.payload["trail"]))

    @interceptors.mutator("m", events=["x"], phase="both")
    def m(invocation: Invocation) -> dict[str, Any]:
        seen.append(("m", invocation.payload["trail"]))
        return {"trail": [*invocation.payload["trail"], "m"]}

    return interceptors


RECEIVING: list[tuple[str, list[str]]] = [("v", []), ("m", [])]
SENDING: list[tuple[str, list[str]]] = [("m", []), ("v", ["m"])]


@pytest.mark.parametrize(
    ("phase", "direction", "expected"),
    [
        ("request", None, RECEIVING),
        ("response", None, SENDING),
        ("request", Direction.RECEIVING, RECEIVING),
        ("request", Direction.SENDING, SENDING),
        ("response", Direction.RECEIVING, RECEIVING),
        ("response", Direction.SENDING, SENDING),
    ],
)
def test_received_is_validated_and_then_mutated_and_sent_the_other_way_round(
    phase: str, direction: Direction | None, expected: list[tuple[str, list[str]]]
) -> None:
    seen: list[tuple[str, list[str]]] = []

    async def body(chain: Chain) -> None:
        chain.add_functions(recorders(seen))
        decision = await chain.execute("x", phase, PAYLOAD, direction=direction)
        assert seen == expected
        assert decision.payload == {"trail": ["m"]}

    run(body)


def trail(mutators: list[tuple[str, int]], kind: str) -> Any:
    """A host of *kind* whose mutators append their names, with these priorities."""
    if kind == "functions":
        interceptors = Interceptors()
        for name, priority in mutators:

            def mark(invocation: Invocation, name: str = name) -> None:
                invocation.payload["arguments"]["trail"] += f"{name};"

            interceptors.mutator(name, events=["tools/*"], phase="request", priority=priority)(mark)
        return interceptors
    policies = "mutators:" + "".join(appends(*mutator) for mutator in mutators)
    return engine(policies) if kind == "engine" else server(policies)[0]


@pytest.mark.parametrize("kinds", list(itertools.permutations(["engine", "functions", "server"])))
def test_mutators_run_by_priority_and_then_by_name_whoever_hosts_them(
    kinds: tuple[str, ...],
) -> None:
    hosted = [
        [("c", 0), ("late", 7)],
        [("a", 0), ("early", -(2**31))],
        [("b", 0), ("B", 0), ("last", 2**31 - 1)],
    ]

    async def body(chain: Chain) -> None:
        for kind, mutators in zip(kinds, hosted, strict=True):
            host = trail(mutators, kind)
            if kind == "engine":
                chain.add_engine(host)
            elif kind == "functions":
                chain.add_functions(host)
            else:
                await chain.add_server(host)
        decision = await chain.execute("tools/call", "request", CALL)
        assert decision.payload["arguments"]["trail"] == "early;B;a;b;c;late;last;"

    run(body)


def test_a_mutator_that_fails_undoes_those_before_and_keeps_those_after_from_running() -> None:
    others = Others([mutation("a"), mutation("b"), mutation("c")])
    others.answer = lambda p: {"type": "mutation"} if p["name"] == "b" else marked(p)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.status is Status.MUTATION_FAILED
        assert decision.payload is PAYLOAD
        assert "finalPayload" not in decision.to_json()
        # what came before it was shown what the first one made
        assert [(p["name"], p["payload"]["trail"]) for p in others.asked] == [
            ("a", []),
            ("b", ["a"]),
        ]

    run(body)


def test_a_denial_of_what_is_sent_undoes_the_mutations() -> None:
    others = Others([mutation("m"), validation("v")])
    others.answer = lambda p: denied(p) if p["name"] == "v" else marked(p)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", PAYLOAD, direction=Direction.SENDING)
        assert decision.status is Status.VALIDATION_FAILED
        assert decision.payload is PAYLOAD
        assert others.asked[-1]["payload"] == {"trail": ["m"]}

    run(body)


@pytest.mark.parametrize("declared", [{}, {"mode": "audit"}], ids=["by override", "declared"])
def test_what_an_auditing_mutator_elsewhere_makes_is_a_shadow(declared: dict[str, Any]) -> None:
    others = Others([mutation("a", **declared), mutation("b")], marked)
    overrides = {} if declared else {"a": Overrides(mode="audit")}

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, overrides=overrides)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.payload == {"trail": ["b"]}
        shadow = decision.outcomes[0]
        assert isinstance(shadow, MutationResult)
        assert (shadow.audited, shadow.modified, shadow.payload) == (True, False, PAYLOAD)
        assert shadow.changes != ()
        assert others.asked[1]["payload"] == PAYLOAD

    run(body)


def test_a_function_that_is_made_to_audit_changes_nothing_and_denies_nothing() -> None:
    interceptors = Interceptors()
    interceptors.mutator("m", events=["x"], phase="request")(lambda invocation: {"other": 1})
    interceptors.validator("v", events=["x"], phase="request")(lambda invocation: "no")
    audit = Overrides(mode="audit")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors, overrides={"m": audit, "v": audit})
        decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.allowed
        assert decision.payload is PAYLOAD
        assert [finding.message for finding in decision.audited] == ["no"]
        assert decision.findings == ()

    run(body)


def test_an_auditing_validator_elsewhere_denies_nothing_and_counts_once_it_is_enforced() -> None:
    others = Others([validation("v", mode="audit")], denied)
    enforced = Others([validation("v", mode="audit")], denied)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert decision.allowed
        assert [finding.message for finding in decision.audited] == ["no, says v"]
        await chain.add_server(enforced.server, overrides={"v": Overrides(mode="enforce")})
        assert (await chain.execute("x", "request", PAYLOAD)).status is Status.VALIDATION_FAILED

    run(body)


def test_validators_of_all_hosts_run_at_once_and_all_of_them_are_heard() -> None:
    arrived: list[str] = []
    together = anyio.Event()

    async def meet(name: str) -> None:
        arrived.append(name)
        if len(arrived) == 3:
            together.set()
        with anyio.fail_after(5):
            await together.wait()

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        await meet(params["name"])
        return denied(params) if params["name"] == "first" else valid(params)

    interceptors = Interceptors()

    @interceptors.validator("third", events=["x"], phase="request", timeout=5)
    async def third(invocation: Invocation) -> str:
        await meet("third")
        return "no, says third"

    async def body(chain: Chain) -> None:
        await chain.add_server(Others([validation("first")], answer).server)
        await chain.add_server(Others([validation("second")], answer).server)
        chain.add_functions(interceptors)
        decision = await chain.execute("x", "request", PAYLOAD)
        assert [outcome.interceptor for outcome in decision.outcomes] == [
            "first",
            "second",
            "third",
        ]
        assert [finding.message for finding in decision.findings] == [
            "no, says first",
            "no, says third",
        ]
        assert decision.verdict.culprit is decision.outcomes[0]

    run(body)
