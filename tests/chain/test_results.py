"""What a chain tells of an execution: the SEP's ChainExecutionResult."""

from __future__ import annotations

from typing import Any

import pytest

from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.model import Finding, Invocation, Severity
from tests.chain.others import Others, crash, denied, mutation, validation
from tests.chain.support import NO_RM, appends, call, engine, run

PAYLOAD: dict[str, Any] = {"a": 1}


def without_times(told: dict[str, Any]) -> dict[str, Any]:
    """*told* with every duration checked and set to 0."""
    for holder, member in (
        (told, "totalDurationMs"),
        *((r, "durationMs") for r in told["results"]),
    ):
        assert type(holder[member]) is int
        assert holder[member] >= 0
        holder[member] = 0
    return told


def result(kind: str, name: str, **members: Any) -> dict[str, Any]:
    head = {"type": kind, "interceptor": name, "phase": "request", "durationMs": 0}
    return {**head, **members}


INFO = {"engine": "theirs", "score": 0.5}

SUGGESTIONS = [{"path": "a.b", "value": 2}]

WARNING = {"path": "a.b[0]", "message": "careful", "severity": "warn"}

CHANGES = [{"rule": "", "path": "", "op": "replace", "count": 1}]

LISTED = [validation("v"), mutation("m")]


def answer(params: dict[str, Any]) -> dict[str, Any]:
    """A warning with what the SEP lets a server add; or a new payload."""
    if params["name"] == "v":
        verdict = {"valid": True, "severity": "warn", "messages": [WARNING]}
        return {**verdict, "suggestions": SUGGESTIONS, "info": INFO}
    return {"modified": True, "payload": {"a": 2}, "info": INFO}


@pytest.mark.parametrize(
    ("sent", "path", "final"),
    [
        (PAYLOAD, "a.b[0]", {"a": 2}),
        ({"method": "x", "params": PAYLOAD}, "params.a.b[0]", {"method": "x", "params": {"a": 2}}),
    ],
    ids=["bare", "envelope"],
)
def test_a_success_tells_all_results_and_the_final_payload(
    sent: dict[str, Any], path: str, final: dict[str, Any]
) -> None:
    async def body(chain: Chain) -> None:
        await chain.add_server(Others(LISTED, answer).server)
        decision = await chain.execute("x", "request", sent)
        assert without_times(decision.to_json()) == {
            "status": "success",
            "event": "x",
            "phase": "request",
            "allowed": True,
            "results": [
                result(
                    "validation",
                    "v",
                    valid=True,
                    severity="warn",
                    messages=[{**WARNING, "path": path}],
                    suggestions=[{"path": path.removesuffix("[0]"), "value": 2}],
                    info=INFO,
                ),
                result("mutation", "m", modified=True, info={**INFO, "changes": CHANGES}),
            ],
            "finalPayload": final,
            "validationSummary": {"errors": 0, "warnings": 1, "infos": 0},
            "totalDurationMs": 0,
        }

    run(body)


def findings(*severities: str) -> list[Finding]:
    """Findings in the order of *severities*, each at a place of its own."""
    return [
        Finding("", "", Severity(severity), severity, f"/at/{index}")
        for index, severity in enumerate(severities)
    ]


def test_a_denial_tells_every_finding_and_who_stopped_the_message() -> None:
    interceptors = Interceptors()
    interceptors.validator("f", events=["x"], phase="request")(
        lambda invocation: findings("info", "warn", "error", "info")
    )
    interceptors.validator("quiet", events=["x"], phase="request", mode="audit")(
        lambda invocation: findings("error")
    )
    others = Others([validation("v"), mutation("m")], denied)

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        await chain.add_server(others.server)
        told = without_times((await chain.execute("x", "request", PAYLOAD)).to_json())
        messages = [
            {"path": "at[2]", "message": "error", "severity": "error"},
            {"path": "at[1]", "message": "warn", "severity": "warn"},
            {"path": "at[0]", "message": "info", "severity": "info"},
            {"path": "at[3]", "message": "info", "severity": "info"},
        ]
        no = {"severity": "error", "messages": [{"message": "no, says v", "severity": "error"}]}
        silent = {"path": "at[0]", "message": "error", "severity": "error"}
        audit = {"valid": False, "severity": "error", "messages": [silent]}
        assert told == {
            "status": "validation_failed",
            "event": "x",
            "phase": "request",
            "allowed": False,
            "results": [
                result(
                    "validation", "f", valid=False, severity="error", messages=messages, info={}
                ),
                result("validation", "quiet", valid=True, info={"audit": audit}),
                result("validation", "v", valid=False, **no, info={}),
            ],
            "validationSummary": {"errors": 2, "warnings": 1, "infos": 2},
            "abortedAt": {"interceptor": "f", "reason": "error", "type": "validation"},
            "totalDurationMs": 0,
        }

    run(body)


def test_a_mutator_that_fails_is_told_without_a_payload() -> None:
    def answer(params: dict[str, Any]) -> dict[str, Any]:
        if params["name"] == "b":
            return crash(params)
        return {"modified": True, "payload": {"half": "done"}}

    async def body(chain: Chain) -> None:
        await chain.add_server(Others([mutation("a"), mutation("b")], answer).server)
        told = without_times((await chain.execute("x", "request", PAYLOAD)).to_json())
        error = {"code": -32603, "message": "Interceptor execution failed"}
        assert told == {
            "status": "mutation_failed",
            "event": "x",
            "phase": "request",
            "allowed": False,
            "results": [
                result("mutation", "a", modified=True, info={"changes": CHANGES}),
                result("mutation", "b", error=error),
            ],
            "validationSummary": {"errors": 0, "warnings": 0, "infos": 0},
            "abortedAt": {
                "interceptor": "b",
                "reason": "the policy could not be evaluated",
                "type": "mutation",
            },
            "totalDurationMs": 0,
        }

    run(body)


def test_a_timeout_is_told_as_one() -> None:
    interceptors = Interceptors()

    async def body(chain: Chain) -> None:
        interceptors.validator("v", events=["x"], phase="request")(lambda invocation: None)
        chain.add_functions(interceptors)
        told = without_times((await chain.execute("x", "request", PAYLOAD, timeout=0.0)).to_json())
        error = {"code": -32000, "message": "Interceptor execution timeout"}
        assert told == {
            "status": "timeout",
            "event": "x",
            "phase": "request",
            "allowed": False,
            "results": [result("validation", "v", error=error)],
            "validationSummary": {"errors": 0, "warnings": 0, "infos": 0},
            "abortedAt": {
                "interceptor": "v",
                "reason": "the chain ran out of time",
                "type": "timeout",
            },
            "totalDurationMs": 0,
        }

    run(body)


def test_the_generation_of_every_host_that_has_one_is_told() -> None:
    policies = engine("validators:" + NO_RM + "mutators:" + appends("m"))

    async def body(chain: Chain) -> None:
        chain.add_engine(policies)
        generation = policies.current.generation
        told = (await chain.execute("tools/call", "request", call("ls"))).to_json()
        assert told["generation"] == generation
        chain.add_functions(Interceptors())
        await chain.add_server(Others([validation("v")]).server)
        chain.add_engine(policies)
        told = (await chain.execute("tools/call", "request", call("ls"))).to_json()
        assert told["generation"] == f"{generation}+{generation}"

    run(body)


def test_what_an_interceptor_could_do_instead_stands_behind_its_message() -> None:
    interceptors = Interceptors()

    @interceptors.validator("v", events=["x"], phase="request")
    def v(invocation: Invocation) -> Finding:
        return Finding("", "r", Severity.ERROR, "too long", path="/a", hint="at most 3")

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors)
        told = (await chain.execute("x", "request", PAYLOAD)).to_json()
        assert told["abortedAt"]["reason"] == "too long (at most 3)"
        assert told["results"][0]["messages"] == [
            {"path": "a", "message": "too long (at most 3)", "severity": "error"}
        ]

    run(body)
