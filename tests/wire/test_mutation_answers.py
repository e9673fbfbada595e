from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policyd.errors import Cause
from policyd.model import (
    Change,
    Descriptor,
    Failure,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
)
from policyd.wire import (
    RETIRED,
    outcome_from_json,
)
from policyd.wire.answers import REPORTED

PAYLOAD: dict[str, Any] = {"name": "echo", "arguments": {"note": "hello"}}
UPPER: dict[str, Any] = {"name": "echo", "arguments": {"note": "HELLO"}}
MUTATOR = Descriptor("m", Kind.MUTATION, ("tools/call",), (Phase.REQUEST,))
SHADOW = replace(MUTATOR, mode=Mode.AUDIT)
SAME = MutationResult("m", Phase.REQUEST, False, PAYLOAD)
REPLACED = (Change("", "", "replace"),)


def mutated(answer: object, descriptor: Descriptor = MUTATOR) -> Outcome:
    return outcome_from_json(answer, descriptor, Phase.REQUEST, PAYLOAD)


def failed(reason: str) -> Failure:
    return Failure("m", Kind.MUTATION, Phase.REQUEST, Cause.ERROR, reason)


def audit_of(**audit: object) -> dict[str, object]:
    return {"audit": audit}


@pytest.mark.parametrize(
    "answer",
    [
        {"modified": False},
        {"type": "mutation", "modified": False, "payload": UPPER},
        {"type": "mutation", "modified": False, "payload": None},
        {"mutation": {"modified": False}, "payload": PAYLOAD},
        {"modified": False, "mutation": {"modified": False}, "payload": {"x": float("nan")}},
    ],
)
def test_an_unmodified_payload_is_the_one_that_was_given(answer: object) -> None:
    outcome = mutated(answer)
    assert outcome == SAME
    assert isinstance(outcome, MutationResult)
    assert outcome.payload is PAYLOAD


@pytest.mark.parametrize(
    "answer",
    [
        {"modified": True, "payload": UPPER},
        {"type": "mutation", "mutation": {"modified": True}, "payload": UPPER},
        {"modified": True, "mutation": {"modified": True}, "payload": UPPER},
    ],
)
def test_a_modified_payload_is_read_in_every_spelling(answer: object) -> None:
    assert mutated(answer) == SAME._replace(modified=True, payload=UPPER, changes=REPLACED)


def test_a_payload_may_become_null() -> None:
    expected = SAME._replace(modified=True, payload=None, changes=REPLACED)
    assert mutated({"modified": True, "payload": None}) == expected


def deep(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def test_a_payload_may_be_as_deep_as_any_other() -> None:
    answer = {"modified": True, "payload": deep(128)}
    expected = SAME._replace(modified=True, payload=deep(128), changes=REPLACED)
    assert mutated(answer) == expected


NO_MODIFIED = "`modified` of the answer must be true or false"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([], "the answer is not an object"),
        ({"payload": UPPER}, NO_MODIFIED),
        ({"modified": None, "payload": UPPER}, NO_MODIFIED),
        ({"modified": 1, "payload": UPPER}, NO_MODIFIED),
        (
            {"modified": False, "mutation": {"modified": True}, "payload": UPPER},
            "`modified` of the answer is both true and false",
        ),
        ({"modified": True}, "the payload was modified and the answer has no `payload`"),
        (
            {"modified": True, "payload": {"x": float("inf")}},
            "`payload` holds a number that is not finite",
        ),
        (
            {"modified": True, "payload": deep(129)},
            "`payload` is nested more than 128 levels deep",
        ),
        ({"type": "validation", "modified": False}, "`type` of the answer is not `mutation`"),
        ({"modified": False, "mutation": []}, "`mutation` of the answer is not an object"),
    ],
)
def test_a_mutation_that_cannot_be_read_is_a_failure(answer: object, reason: str) -> None:
    assert mutated(answer) == failed(reason)


def change(**more: object) -> dict[str, object]:
    return {"rule": "r", "path": "/arguments/note", "op": "redact", **more}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (change(), Change("r", "/arguments/note", "redact")),
        (change(count=3, detector="email"), Change("r", "/arguments/note", "redact", "email", 3)),
        (change(detector=None, more=1), Change("r", "/arguments/note", "redact")),
        (change(count=0), REPLACED[0]),
        (change(count=True), REPLACED[0]),
        (change(count=None), REPLACED[0]),
        (change(count="3"), REPLACED[0]),
        (change(detector=0), REPLACED[0]),
        (change(rule=None), REPLACED[0]),
        (change(path="x" * 2001), REPLACED[0]),
        ({"rule": "r"}, REPLACED[0]),
        ("redact", REPLACED[0]),
    ],
)
def test_changes_are_read_in_our_own_shape_only(entry: object, expected: Change) -> None:
    info = {"changes": [entry]}
    outcome = mutated({"modified": True, "payload": UPPER, "info": info})
    assert outcome == SAME._replace(modified=True, payload=UPPER, changes=(expected,), info=info)


@pytest.mark.parametrize("listed", [None, [], {}, [change(), None]])
def test_a_list_of_changes_is_read_as_a_whole(listed: object) -> None:
    info = {"changes": listed}
    outcome = mutated({"modified": True, "payload": UPPER, "info": info})
    assert outcome == SAME._replace(modified=True, payload=UPPER, changes=REPLACED, info=info)


def test_a_thousand_changes_are_kept() -> None:
    info = {"changes": [change()] * 1001}
    outcome = mutated({"modified": True, "payload": UPPER, "info": info})
    assert isinstance(outcome, MutationResult)
    assert outcome.changes == (Change("r", "/arguments/note", "redact"),) * 1000


CHANGED = (Change("r", "/arguments/note", "redact"),)


@pytest.mark.parametrize(
    ("answer", "changes"),
    [
        ({"modified": False}, ()),
        ({"modified": True, "payload": UPPER}, REPLACED),
        ({"modified": True, "payload": UPPER, "info": {"changes": [change()]}}, CHANGED),
        ({"modified": False, "info": audit_of(modified=True, changes=[change()])}, CHANGED),
        ({"modified": False, "info": audit_of(modified=True)}, REPLACED),
        ({"modified": False, "info": audit_of(modified=False, changes=[])}, ()),
        ({"modified": False, "info": audit_of(modified="yes", changes=[change()])}, ()),
    ],
)
def test_an_audited_mutator_changes_nothing(
    answer: dict[str, Any], changes: tuple[Change, ...]
) -> None:
    expected = SAME._replace(changes=changes, audited=True, info=answer.get("info"))
    assert mutated(answer, SHADOW) == expected


def test_a_failure_of_an_audited_mutator_is_recorded() -> None:
    info = {**audit_of(modified=False, changes=[]), "failure": "out of steps"}
    expected = SAME._replace(audited=True, failure=REPORTED, cause=Cause.ERROR, info=info)
    assert mutated({"modified": False, "info": info}, SHADOW) == expected


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (
            audit_of(modified=True, changes=[change()]),
            "the server only audits and left the payload as it was",
        ),
        (
            {**audit_of(modified=False), "failure": "out of steps"},
            "the server only audits and could not judge the payload",
        ),
    ],
)
def test_an_audit_that_changed_nothing_is_a_failure_when_enforced(
    info: dict[str, object], reason: str
) -> None:
    assert mutated({"modified": False, "info": info}) == failed(reason)


@pytest.mark.parametrize(
    ("info", "skipped"), [({"retired": True}, RETIRED), ({"skipped": "not_hooked"}, "not_hooked")]
)
def test_a_mutator_may_say_that_it_was_skipped(info: dict[str, object], skipped: str) -> None:
    assert mutated({"modified": False, "info": info}) == SAME._replace(info=info, skipped=skipped)


def test_an_audit_that_would_change_nothing_can_be_enforced() -> None:
    info = audit_of(modified=False, changes=[])
    assert mutated({"modified": False, "info": info}) == SAME._replace(info=info)
