from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause
from policyd.execution import (
    Status,
    Verdict,
    cut_by_chain,
    direction_of,
    ordered,
    run_chain,
)
from policyd.model import (
    Descriptor,
    Direction,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)

REQUEST = Phase.REQUEST


@dataclass(frozen=True, slots=True)
class Hooked:
    """The least that a chain can run."""

    descriptor: Descriptor


@dataclass(frozen=True, slots=True)
class Call:
    descriptor: Descriptor
    payload: Any


ANSWERS = Callable[[Call], Outcome]


def validator(name: str, **more: Any) -> Descriptor:
    return Descriptor(name, Kind.VALIDATION, ("tools/call",), (REQUEST,), **more)


def mutator(name: str, **more: Any) -> Descriptor:
    return Descriptor(name, Kind.MUTATION, ("tools/call",), (REQUEST,), **more)


def passes(name: str) -> ValidationResult:
    return ValidationResult(name, REQUEST, True)


def denies(name: str) -> ValidationResult:
    finding = Finding(name, "rule", Severity.ERROR, "no")
    return ValidationResult(name, REQUEST, False, (finding,))


def fails(descriptor: Descriptor, cause: Cause = Cause.ERROR) -> Failure:
    return Failure(descriptor.name, descriptor.kind, REQUEST, cause, "broken")


def drive(
    validators: list[Descriptor],
    mutators: list[Descriptor],
    direction: Direction,
    answer: ANSWERS,
    payload: Any = "p",
) -> tuple[Verdict, list[tuple[str, ...]]]:
    """Run a chain; also tell which interceptors were called together, and with what."""
    batches: list[tuple[str, ...]] = []
    chain = run_chain(
        [Hooked(one) for one in validators], [Hooked(one) for one in mutators], direction, payload
    )
    try:
        batch, current = next(chain)
        while True:
            calls = [Call(hooked.descriptor, current) for hooked in batch]
            batches.append(tuple(f"{c.descriptor.name}({c.payload})" for c in calls))
            batch, current = chain.send([answer(call) for call in calls])
    except StopIteration as stop:
        return stop.value, batches


def appends(call: Call) -> Outcome:
    """Validators pass, each mutator appends its name to the payload."""
    name = call.descriptor.name
    if call.descriptor.kind is Kind.VALIDATION:
        return passes(name)
    return MutationResult(name, REQUEST, True, call.payload + name)


def test_receiving_validates_what_came_and_then_mutates() -> None:
    verdict, batches = drive(
        [validator("v"), validator("w")],
        [mutator("a"), mutator("b")],
        Direction.RECEIVING,
        appends,
    )
    assert batches == [("v(p)", "w(p)"), ("a(p)",), ("b(pa)",)]
    assert (verdict.status, verdict.payload) == (Status.SUCCESS, "pab")


def test_sending_mutates_and_then_validates_what_goes() -> None:
    verdict, batches = drive([validator("v")], [mutator("a")], Direction.SENDING, appends)
    assert batches == [("a(p)",), ("v(pa)",)]
    assert (verdict.status, verdict.payload) == (Status.SUCCESS, "pa")


def test_a_chain_without_interceptors_calls_nobody() -> None:
    assert drive([], [], Direction.SENDING, appends) == (Verdict(Status.SUCCESS, "p", ()), [])


def test_every_validator_answers_even_when_the_first_objects() -> None:
    answers = {"v": denies("v"), "w": passes("w"), "x": denies("x")}
    verdict, batches = drive(
        [validator(name) for name in answers],
        [mutator("a")],
        Direction.RECEIVING,
        lambda call: answers[call.descriptor.name],
    )
    assert batches == [("v(p)", "w(p)", "x(p)")]
    assert verdict == Verdict(Status.VALIDATION_FAILED, "p", tuple(answers.values()), answers["v"])


def test_mutations_count_all_or_none() -> None:
    broken = mutator("b")
    verdict, _ = drive(
        [],
        [mutator("a"), broken],
        Direction.SENDING,
        lambda call: fails(broken) if call.descriptor is broken else appends(call),
    )
    assert (verdict.status, verdict.payload) == (Status.MUTATION_FAILED, "p")


def test_a_denial_after_mutation_gives_the_payload_back_as_it_came() -> None:
    verdict, _ = drive(
        [validator("v")],
        [mutator("a")],
        Direction.SENDING,
        lambda call: denies("v") if call.descriptor.name == "v" else appends(call),
    )
    assert (verdict.status, verdict.payload) == (Status.VALIDATION_FAILED, "p")


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("fail_open", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_fail_open_and_mode_decide_what_a_failure_means(
    kind: Kind, cause: Cause, fail_open: bool, mode: Mode
) -> None:
    broken = Descriptor("b", kind, ("*",), (REQUEST,), mode=mode, fail_open=fail_open)
    validators = [broken] if kind is Kind.VALIDATION else []
    mutators = [broken] if kind is Kind.MUTATION else []
    verdict, _ = drive(validators, mutators, Direction.SENDING, lambda _: fails(broken, cause))
    if mode is Mode.AUDIT or (fail_open and cause is not Cause.CHAIN_DEADLINE):
        expected = Status.SUCCESS
    elif cause in (Cause.DEADLINE, Cause.CHAIN_DEADLINE):
        expected = Status.TIMEOUT
    else:
        expected = Status(f"{kind.value}_failed")
    assert verdict.status is expected


def test_an_audit_validator_never_stops_a_chain() -> None:
    audit = validator("v", mode=Mode.AUDIT)
    verdict, _ = drive([audit], [], Direction.RECEIVING, lambda _: denies("v"))
    assert verdict.status is Status.SUCCESS


def test_what_an_auditing_mutator_made_is_not_kept() -> None:
    audit = mutator("a", mode=Mode.AUDIT)
    verdict, batches = drive([], [audit, mutator("b")], Direction.SENDING, appends)
    assert batches == [("a(p)",), ("b(p)",)]
    assert (verdict.status, verdict.payload) == (Status.SUCCESS, "pb")


def test_the_first_failure_is_to_blame_where_no_verdict_is() -> None:
    first, second = validator("a"), validator("b")
    verdict, _ = drive(
        [first, second], [], Direction.RECEIVING, lambda call: fails(call.descriptor)
    )
    assert verdict.culprit == fails(first)


@pytest.mark.parametrize("cause", Cause)
def test_only_an_own_deadline_is_laid_to_the_chain(cause: Cause) -> None:
    expected = Cause.CHAIN_DEADLINE if cause is Cause.DEADLINE else cause
    assert cut_by_chain(fails(validator("a"), cause)) == fails(validator("a"), expected)
    assert cut_by_chain(passes("a")) == passes("a")


def test_a_verdict_explains_a_stop_before_a_failure_does() -> None:
    broken = validator("a")
    verdict, _ = drive(
        [broken, validator("v")],
        [],
        Direction.RECEIVING,
        lambda call: fails(broken) if call.descriptor is broken else denies("v"),
    )
    assert verdict.culprit == denies("v")


@given(st.lists(st.tuples(st.integers(-3, 3), st.text(max_size=3)), unique_by=lambda x: x[1]))
def test_mutators_run_by_priority_and_then_by_name(entries: list[tuple[int, str]]) -> None:
    descriptors = [mutator(name, priority=priority) for priority, name in entries]
    in_order = [
        (d.descriptor.priority, d.descriptor.name)
        for d in ordered(map(Hooked, descriptors), Kind.MUTATION)
    ]
    assert in_order == sorted(entries)


def test_validators_keep_the_order_in_which_they_are_listed() -> None:
    descriptors = [validator("z", priority=5), mutator("m"), validator("a")]
    assert [d.descriptor.name for d in ordered(map(Hooked, descriptors), Kind.VALIDATION)] == [
        "z",
        "a",
    ]


@pytest.mark.parametrize(
    ("phase", "given", "expected"),
    [
        ("request", None, Direction.RECEIVING),
        ("response", None, Direction.SENDING),
        ("request", Direction.SENDING, Direction.SENDING),
        (Phase.RESPONSE, Direction.RECEIVING, Direction.RECEIVING),
    ],
)
def test_the_direction_follows_the_phase_unless_given(
    phase: str, given: Direction | None, expected: Direction
) -> None:
    assert direction_of(Invocation("tools/call", phase, None, direction=given)) is expected
