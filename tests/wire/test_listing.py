from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from policyd.model import Descriptor, Kind, Mode, Phase
from policyd.wire import (
    GENERATION,
    Listing,
    WireError,
    descriptor_from_json,
    listing_from_json,
)

REQUEST, RESPONSE = (Phase.REQUEST,), (Phase.RESPONSE,)
BOTH = (Phase.REQUEST, Phase.RESPONSE)
CALL = {"events": ["tools/call"], "phase": "request"}
LEAST: dict[str, Any] = {"name": "v", "type": "validation", "hooks": [CALL]}
PLAIN = Descriptor("v", Kind.VALIDATION, ("tools/call",), REQUEST)
MUTATOR: dict[str, Any] = {
    "name": "m",
    "type": "mutation",
    "hooks": [CALL, {"events": ["tools/call"], "phase": "response"}],
}


def hook(phase: object, *events: object) -> dict[str, object]:
    return {"events": list(events), "phase": phase}


def hooked(**members: object) -> dict[str, object]:
    return {"name": "v", "type": "validation", **members}


def test_the_least_that_is_a_descriptor() -> None:
    assert descriptor_from_json(LEAST) == (PLAIN,)


def test_every_member_is_read_and_unknown_ones_are_ignored() -> None:
    entry = {
        **MUTATOR,
        "version": "1.2.0",
        "description": "No secrets.",
        "mode": "audit",
        "failOpen": True,
        "priorityHint": -50000,
        "compat": {"minProtocol": "2025-06-18", "maxProtocol": "2026-07-28"},
        "configSchema": {"type": "object"},
        "timeoutMs": 50,
        "signature": {"algorithm": "ed25519"},
    }
    assert descriptor_from_json(entry) == (
        Descriptor(
            name="m",
            kind=Kind.MUTATION,
            events=("tools/call",),
            phases=BOTH,
            version="1.2.0",
            description="No secrets.",
            mode=Mode.AUDIT,
            fail_open=True,
            priority=-50000,
            config_schema={"type": "object"},
            compat={"minProtocol": "2025-06-18", "maxProtocol": "2026-07-28"},
        ),
    )


@pytest.mark.parametrize(
    "hooks",
    [
        {"hooks": [hook("request", "a/b"), hook("response", "a/b")]},
        {"hooks": [hook("both", "a/b")]},
        {"hook": hook("both", "a/b")},
        {"hooks": [], "hook": hook("both", "a/b")},
        {"hooks": None, "hook": hook("both", "a/b")},
        {"hooks": [hook("both", "a/b")], "hook": hook("request", "c/d")},
        {"hooks": [hook("both", "a/b")], "hook": "ignored"},
        {"events": ["a/b"], "phase": "both"},
        {"hook": None, "events": ["a/b"], "phase": "both"},
        {"hooks": [hook("response", "a/b"), hook("request", "a/b"), hook("both", "a/b")]},
    ],
)
def test_every_draft_has_its_own_spelling_of_hooks(hooks: Mapping[str, object]) -> None:
    expected = Descriptor("v", Kind.VALIDATION, ("a/b",), BOTH)
    assert descriptor_from_json(hooked(**hooks)) == (expected,)


@pytest.mark.parametrize(
    ("hooks", "targets"),
    [
        ([hook("both", "*/request")], [(("*",), REQUEST)]),
        ([hook("request", "*/response")], [(("*",), RESPONSE)]),
        ([hook("both", "*/request", "*/response")], [(("*",), BOTH)]),
        (
            [hook("both", "a/b", "*/request")],
            [(("a/b", "*"), REQUEST), (("a/b",), RESPONSE)],
        ),
        ([hook("both", "*", "tools/*")], [(("*", "tools/*"), BOTH)]),
        ([hook("request", "a/b"), hook("request", "c/d", "a/b")], [(("a/b", "c/d"), REQUEST)]),
        ([hook("request", "a/b", "c/d"), hook("response", "c/d", "a/b")], [(("a/b", "c/d"), BOTH)]),
        (
            [hook("response", "c/d"), hook("request", "a/b")],
            [(("a/b",), REQUEST), (("c/d",), RESPONSE)],
        ),
    ],
)
def test_phases_with_other_events_are_descriptors_of_their_own(
    hooks: object, targets: list[tuple[tuple[str, ...], tuple[Phase, ...]]]
) -> None:
    found = descriptor_from_json(hooked(hooks=hooks))
    assert found == tuple(
        Descriptor("v", Kind.VALIDATION, events, phases) for events, phases in targets
    )


@pytest.mark.parametrize("mode", [None, "", "enforce", "active", "Audit", "observe", 7, ["audit"]])
def test_only_the_word_audit_audits(mode: object) -> None:
    assert descriptor_from_json({**LEAST, "mode": mode}) == (PLAIN,)


@pytest.mark.parametrize("fail_open", [None, False, "true", 1, "", []])
def test_only_true_fails_open(fail_open: object) -> None:
    assert descriptor_from_json({**LEAST, "failOpen": fail_open}) == (PLAIN,)


@pytest.mark.parametrize(
    ("hint", "priority"),
    [
        (None, 0),
        (-50000, -50000),
        (10.0, 10),
        (-1.5, -1),
        (2**31, 2**31 - 1),
        (-(10**400), -(2**31)),
        (float("inf"), 2**31 - 1),
        (float("nan"), 0),
        (True, 0),
        ("-50000", 0),
        ({"request": 7, "response": 7.0}, 7),
        ({}, 0),
    ],
)
def test_a_priority_is_an_int32(hint: object, priority: int) -> None:
    expected = Descriptor("m", Kind.MUTATION, ("tools/call",), BOTH, priority=priority)
    assert descriptor_from_json({**MUTATOR, "priorityHint": hint}) == (expected,)


@pytest.mark.parametrize(
    ("hint", "priorities"),
    [
        ({"request": -50000, "response": 50000}, (-50000, 50000)),
        ({"response": 2**40}, (0, 2**31 - 1)),
        ({"request": 1, "response": "2"}, (1, 0)),
    ],
)
def test_phases_with_other_priorities_are_descriptors_of_their_own(
    hint: object, priorities: tuple[int, int]
) -> None:
    assert descriptor_from_json({**MUTATOR, "priorityHint": hint}) == tuple(
        Descriptor("m", Kind.MUTATION, ("tools/call",), (phase,), priority=priority)
        for phase, priority in zip(Phase, priorities, strict=True)
    )


def test_a_validator_has_no_priority() -> None:
    entry = {**MUTATOR, "type": "validation", "priorityHint": {"request": 1, "response": 2}}
    assert descriptor_from_json(entry) == (Descriptor("m", Kind.VALIDATION, ("tools/call",), BOTH),)


@pytest.mark.parametrize(
    "odd",
    [
        {"version": 3, "description": None},
        {"configSchema": True},
        {"configSchema": "{}"},
        {"compat": "2025-06-18"},
        {"compat": {}},
        {"compat": {"minProtocol": None}},
        {"compat": {"minProtocol": "2025-06-18", "maxProtocol": 7}},
    ],
)
def test_what_is_odd_and_optional_counts_as_absent(odd: Mapping[str, object]) -> None:
    assert descriptor_from_json({**LEAST, **odd}) == (PLAIN,)


@pytest.mark.parametrize("kind", ["sink", "observability", "Validation", "future"])
def test_a_type_that_is_not_run_gives_no_descriptor(kind: str) -> None:
    assert descriptor_from_json({"name": "s", "type": kind}) == ()


NO_NAME = "`name` must be a string of 1 to 1024 characters"
NO_TYPE = "`type` must be a string that is not empty"
NO_PHASE = "`phase` of a hook must be `request` or `response`"
NO_EVENTS = "`events` of a hook must be a list that is not empty"
NO_EVENT = "an event must be a string that is not empty"
ODD_EVENT = "an event has a wildcard other than `*` and `namespace/*`"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (None, "it must be an object"),
        (["v"], "it must be an object"),
        ({**LEAST, "name": None}, NO_NAME),
        ({**LEAST, "name": ""}, NO_NAME),
        ({**LEAST, "name": "v" * 1025}, NO_NAME),
        ({"hooks": [CALL]}, NO_NAME),
        ({"name": "v", "hooks": [CALL]}, NO_TYPE),
        ({**LEAST, "type": ""}, NO_TYPE),
        ({**LEAST, "type": ["validation"]}, NO_TYPE),
        (hooked(), "it has no `hooks`"),
        (hooked(hooks=[]), "it has no `hooks`"),
        (hooked(hooks=[], hook=None), "it has no `hooks`"),
        (hooked(hooks=CALL), "`hooks` must be a list"),
        (hooked(hooks="", hook=CALL), "`hooks` must be a list"),
        (hooked(hooks=[CALL, None]), "a hook must be an object"),
        (hooked(hook="tools/call"), "a hook must be an object"),
        (hooked(hook=[CALL]), "a hook must be an object"),
        (hooked(hooks=[hook("", "a/b")]), NO_PHASE),
        (hooked(hooks=[hook("Request", "a/b")]), NO_PHASE),
        (hooked(hooks=[hook(["request"], "a/b")]), NO_PHASE),
        (hooked(hooks=[{"events": ["a/b"]}]), NO_PHASE),
        (hooked(events=["a/b"]), NO_PHASE),
        (hooked(hooks=[hook("request")]), NO_EVENTS),
        (hooked(hooks=[CALL, hook("response")]), NO_EVENTS),
        (hooked(hooks=[{"events": "a/b", "phase": "request"}]), NO_EVENTS),
        (hooked(hooks=[{"events": None, "phase": "request"}]), NO_EVENTS),
        (hooked(events=None, phase="request"), NO_EVENTS),
        (hooked(hooks=[hook("request", "a/b", 7)]), NO_EVENT),
        (hooked(hooks=[hook("request", "")]), NO_EVENT),
        (hooked(hooks=[hook("request", "*/list")]), ODD_EVENT),
        (hooked(hooks=[hook("request", "tool*")]), ODD_EVENT),
        (hooked(hooks=[hook("request", "*/*")]), ODD_EVENT),
    ],
)
def test_an_entry_that_would_be_left_out_by_a_slip_is_refused(entry: object, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        descriptor_from_json(entry)
    assert (caught.value.reason, str(caught.value)) == (reason, reason)


def test_the_longest_name_is_read() -> None:
    name = "v" * 1024
    assert descriptor_from_json({**LEAST, "name": name}) == (replace(PLAIN, name=name),)


def test_a_list_is_read_as_a_whole() -> None:
    result = {
        "interceptors": [
            {**MUTATOR, "priorityHint": {"request": 1, "response": 2}},
            {"name": "s", "type": "sink", "hooks": [CALL]},
            LEAST,
        ],
        "_meta": {GENERATION: "9f3a", "other": 1},
    }
    mutator = Descriptor("m", Kind.MUTATION, ("tools/call",), REQUEST, priority=1)
    assert listing_from_json(result) == Listing(
        descriptors=(mutator, replace(mutator, phases=RESPONSE, priority=2), PLAIN),
        skipped=("s",),
        generation="9f3a",
    )


@pytest.mark.parametrize("meta", [None, "9f3a", {}, {GENERATION: 7}, {GENERATION: None}])
def test_a_server_need_not_name_a_generation(meta: object) -> None:
    assert listing_from_json({"interceptors": [], "_meta": meta}) == Listing(())


def test_null_is_how_go_spells_an_empty_list() -> None:
    assert listing_from_json({"interceptors": None}) == Listing(())


@pytest.mark.parametrize(("cursor", "expected"), [(None, None), ("", None), ("p2", "p2")])
def test_a_list_may_go_on(cursor: object, expected: str | None) -> None:
    result = {"interceptors": [LEAST], "nextCursor": cursor}
    assert listing_from_json(result) == Listing((PLAIN,), next_cursor=expected)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "the answer has no `interceptors`"),
        ([LEAST], "the answer has no `interceptors`"),
        ({}, "the answer has no `interceptors`"),
        ({"interceptors": {"v": LEAST}}, "`interceptors` must be a list"),
        ({"interceptors": ""}, "`interceptors` must be a list"),
        ({"interceptors": [{}] * 10_001}, "`interceptors` has more than 10000 entries"),
        ({"interceptors": [LEAST], "nextCursor": 2}, "`nextCursor` must be a string"),
        ({"interceptors": [LEAST, {"name": 7}]}, f"`interceptors[1]`: {NO_NAME}"),
        (
            {"interceptors": [LEAST, {**MUTATOR, "name": "v"}]},
            "`interceptors[1]` has the name of an earlier entry",
        ),
        (
            {"interceptors": [{"name": "v", "type": "sink"}, LEAST]},
            "`interceptors[1]` has the name of an earlier entry",
        ),
    ],
)
def test_a_list_that_is_in_part_unreadable_is_refused(result: object, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        listing_from_json(result)
    assert caught.value.reason == reason


def test_the_longest_list_is_read() -> None:
    entries = [{**LEAST, "name": f"v{number}"} for number in range(10_000)]
    assert len(listing_from_json({"interceptors": entries}).descriptors) == 10_000
