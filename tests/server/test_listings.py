from __future__ import annotations

from dataclasses import replace

import pytest

from policyd.model import Descriptor, Kind, Mode, Phase
from policyd.server import listings
from policyd.server.listings import Listings, catch_up_descriptors, parse_catch_up

REQUEST, RESPONSE = Phase.REQUEST, Phase.RESPONSE
RM = Descriptor("no-rm", Kind.VALIDATION, ("tools/call",), (REQUEST,))
SQL = Descriptor("no-sql", Kind.VALIDATION, ("tools/*",), (REQUEST,))
MASK = Descriptor("mask", Kind.MUTATION, ("*",), (REQUEST, RESPONSE))
CALL = ("tools/call", "request")


def test_the_catch_up_interceptors_are_found_by_their_names() -> None:
    validators, mutators = catch_up_descriptors("9f3a", ())
    assert parse_catch_up(validators.name) == (Kind.VALIDATION, "9f3a")
    assert parse_catch_up(mutators.name) == (Kind.MUTATION, "9f3a")
    assert [validators.kind, mutators.kind] == [Kind.VALIDATION, Kind.MUTATION]
    assert parse_catch_up("no-rm") is None


def test_only_what_was_not_listed_is_unknown() -> None:
    known = Listings()
    known.record("a", (RM, MASK))
    current = (RM, SQL, MASK)
    assert known.unknown_to("a", Kind.VALIDATION, current, CALL) == {"no-sql"}
    assert known.unknown_to("a", Kind.MUTATION, current, CALL) == frozenset()
    assert known.unknown_to("a", Kind.VALIDATION, current, ("ping", "request")) == frozenset()


def test_everything_that_matches_is_unknown_to_an_unknown_generation() -> None:
    current = (RM, SQL, MASK)
    assert Listings().unknown_to("b", Kind.VALIDATION, current, CALL) == {"no-rm", "no-sql"}
    assert Listings().unknown_to("b", Kind.MUTATION, current, CALL) == {"mask"}


def test_a_policy_that_gained_a_hook_is_unknown_there() -> None:
    known = Listings()
    known.record("a", (RM,))
    widened = replace(RM, phases=(REQUEST, RESPONSE))
    assert known.unknown_to("a", Kind.VALIDATION, (widened,), CALL) == frozenset()
    hook = ("tools/call", "response")
    assert known.unknown_to("a", Kind.VALIDATION, (widened,), hook) == {"no-rm"}


def test_a_name_is_remembered_with_the_kind_it_was_last_listed_with() -> None:
    known = Listings()
    assert known.kind_of("no-rm") is None
    known.record("a", (RM,))
    known.record("b", (replace(RM, kind=Kind.MUTATION),))
    known.record("a", (RM,))  # known already
    assert known.kind_of("no-rm") is Kind.MUTATION


def test_memory_is_bounded_and_drops_what_was_listed_longest_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listings, "MAX_GENERATIONS", 2)
    monkeypatch.setattr(listings, "MAX_NAMES", 2)
    known = Listings()
    known.record("a", (RM,))
    known.record("b", (SQL,))
    known.record("a", (RM,))
    known.record("c", (MASK,))
    assert known.unknown_to("a", Kind.VALIDATION, (RM,), CALL) == frozenset()
    assert known.unknown_to("b", Kind.VALIDATION, (SQL,), CALL) == {"no-sql"}
    assert [known.kind_of(d.name) for d in (RM, SQL, MASK)] == [
        None,
        Kind.VALIDATION,
        Kind.MUTATION,
    ]


@pytest.mark.parametrize(
    ("then", "now", "unknown"),
    [
        (replace(RM, mode=Mode.AUDIT), RM, {"no-rm"}),
        (replace(RM, fail_open=True), RM, {"no-rm"}),
        (RM, replace(RM, mode=Mode.AUDIT), frozenset()),
        (RM, replace(RM, fail_open=True), frozenset()),
    ],
)
def test_a_policy_that_became_stricter_is_unknown_to_who_knows_it_as_it_was(
    then: Descriptor, now: Descriptor, unknown: frozenset[str]
) -> None:
    known = Listings()
    known.record("a", (then,))
    assert known.unknown_to("a", Kind.VALIDATION, (now,), CALL) == unknown
