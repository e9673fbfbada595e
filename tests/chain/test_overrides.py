"""What an invoker may say of an interceptor: its config, and overrides."""

from __future__ import annotations

from typing import Any

import pytest

from policyd.chain import Chain, OverrideError, Overrides, Proceed
from policyd.errors import InvocationError
from policyd.execution import Status
from policyd.functions import Interceptors
from policyd.model import (
    Descriptor,
    Invocation,
    Outcome,
)
from tests.chain.others import Others, marked, mutation, validation
from tests.chain.support import CALL, NO_RM, appends, engine, run, server

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


WIDER: list[tuple[list[str], str]] = [
    (["tools/list"], "request"),
    (["tools/call"], "response"),
    (["*"], "request"),
    (["tools/call", "tools/list"], "request"),
]


@pytest.mark.parametrize("hook", WIDER)
@pytest.mark.parametrize("host", ["engine", "functions", "server"])
def test_hooks_are_never_widened(hook: tuple[list[str], str], host: str) -> None:
    interceptors = Interceptors()
    interceptors.validator("no-rm", events=["tools/call"], phase="request")(lambda i: None)
    overrides = {"no-rm": Overrides(hooks=[hook])}

    async def add(chain: Chain) -> None:
        if host == "engine":
            chain.add_engine(engine("validators:" + NO_RM), overrides=overrides)
        elif host == "functions":
            chain.add_functions(interceptors, overrides=overrides)
        else:
            await chain.add_server(server("validators:" + NO_RM)[0], overrides=overrides)

    async def body(chain: Chain) -> None:
        with pytest.raises(OverrideError, match="an override can only narrow its hooks"):
            await add(chain)
        assert chain.descriptors == ()

    run(body)


@pytest.mark.parametrize(
    ("declared", "narrowed", "fits"),
    [
        ("*", "*", True),
        ("*", "tools/*", True),
        ("*", "tools/call", True),
        ("tools/*", "tools/*", True),
        ("tools/*", "tools/call", True),
        ("tools/*", "*", False),
        ("tools/*", "toolsx/call", False),
        ("tools/call", "tools/*", False),
    ],
)
def test_a_wildcard_holds_what_lies_within_it(declared: str, narrowed: str, fits: bool) -> None:
    interceptors = Interceptors()
    interceptors.validator("v", events=[declared], phase="both")(lambda invocation: "no")
    overrides = {"v": Overrides(hooks=[([narrowed], "request")])}

    async def body(chain: Chain) -> None:
        if not fits:
            with pytest.raises(OverrideError, match="only narrow"):
                chain.add_functions(interceptors, overrides=overrides)
            return
        chain.add_functions(interceptors, overrides=overrides)
        assert not (await chain.execute("tools/call", "request", {})).allowed
        assert (await chain.execute("tools/call", "response", {})).allowed

    run(body)


@pytest.mark.parametrize("priority", [-1, {"request": -1}, {"request": -1, "response": 9}], ids=str)
def test_a_priority_counts_for_a_mutator_elsewhere_and_for_no_validator(
    priority: int | dict[str, int],
) -> None:
    changes = Overrides(priority=priority)
    others = Others([mutation("a"), mutation("b"), validation("v"), validation("w")])
    others.answer = lambda p: {"valid": True} if p["name"] in "vw" else marked(p)

    async def body(chain: Chain) -> None:
        await chain.add_server(others.server, overrides={"b": changes, "w": changes})
        decision = await chain.execute("x", "request", {"trail": []})
        ran = [outcome.interceptor for outcome in decision.outcomes]
        assert (ran, decision.payload) == (["v", "w", "b", "a"], {"trail": ["b", "a"]})

    run(body)


def test_one_priority_may_stand_for_both_phases_and_hooks_may_lie_within_a_wildcard() -> None:
    interceptors = Interceptors()
    for name in ("a", "b"):
        interceptors.mutator(name, events=["tools/*"], phase="both")(lambda invocation: None)
    changes = Overrides(priority=-1, hooks=[(["tools/call", "tools/list"], "request")])

    async def body(chain: Chain) -> None:
        chain.add_functions(interceptors, overrides={"b": changes})
        asked = {}
        for event, phase in (("tools/call", "request"), ("tools/call", "response")):
            outcomes = (await chain.execute(event, phase, {})).outcomes
            asked[phase] = [outcome.interceptor for outcome in outcomes]
        assert asked == {"request": ["b", "a"], "response": ["a"]}

    run(body)


@pytest.mark.parametrize(
    ("slip", "text"),
    [
        ({"mode": "off"}, "`mode` is `enforce` or `audit`"),
        ({"fail_open": "false"}, "`fail_open` is True or False"),
        ({"timeout": 0}, "`timeout` is a number of seconds greater than 0"),
        ({"priority": {"requests": 1}}, "a phase is `request` or `response`"),
        ({"hooks": [(["x"], "both")]}, "a phase is `request` or `response`"),
        ({"hooks": [("x", "request")]}, "`hooks` is a list of pairs"),
    ],
)
def test_a_slip_in_an_override_is_not_overlooked(slip: Any, text: str) -> None:
    with pytest.raises(OverrideError, match=text):
        Overrides(**slip)
