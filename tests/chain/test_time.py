"""Running at once, and running out of time."""

from __future__ import annotations

import anyio

from policyd.chain import Chain
from policyd.errors import Cause
from policyd.execution import Status
from policyd.functions import Interceptors
from tests.chain.support import CALL, run


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
