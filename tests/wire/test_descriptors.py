from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policyd.errors import InvocationError
from policyd.events import INTERCEPTED_EVENTS
from policyd.model import Descriptor, Kind, Mode, Phase
from policyd.wire import Dialect, descriptor_to_json, list_params_from_json, supported_events

BOTH = (Phase.REQUEST, Phase.RESPONSE)
PLAIN = Descriptor("no-rm", Kind.VALIDATION, ("tools/call",), (Phase.REQUEST,))
FULL = Descriptor(
    name="redact",
    kind=Kind.MUTATION,
    events=("tools/call", "resources/read"),
    phases=BOTH,
    version="1.2.0",
    description="No secrets.",
    mode=Mode.AUDIT,
    priority=-50000,
    config_schema={"type": "object"},
    compat={"minProtocol": "2025-06-18", "maxProtocol": "2026-07-28"},
)


def test_a_plain_descriptor_says_no_defaults() -> None:
    assert descriptor_to_json(PLAIN, Dialect.SEP) == {
        "name": "no-rm",
        "type": "validation",
        "hooks": [{"events": ["tools/call"], "phase": "request"}],
    }


def test_the_universal_dialect_adds_the_legacy_hook() -> None:
    assert descriptor_to_json(PLAIN, Dialect.UNIVERSAL) == {
        "name": "no-rm",
        "type": "validation",
        "hooks": [{"events": ["tools/call"], "phase": "request"}],
        "hook": {"events": ["tools/call"], "phase": "request"},
    }


def test_a_full_descriptor_in_the_universal_dialect() -> None:
    events = ["tools/call", "resources/read"]
    assert list(descriptor_to_json(FULL, Dialect.UNIVERSAL).items()) == [
        ("name", "redact"),
        ("version", "1.2.0"),
        ("description", "No secrets."),
        ("type", "mutation"),
        (
            "hooks",
            [
                {"events": events, "phase": "request"},
                {"events": events, "phase": "response"},
            ],
        ),
        ("hook", {"events": events, "phase": "both"}),
        ("mode", "audit"),
        ("failOpen", True),
        ("priorityHint", -50000),
        ("compat", {"minProtocol": "2025-06-18", "maxProtocol": "2026-07-28"}),
        ("configSchema", {"type": "object"}),
    ]


def test_the_sep_dialect_shows_fail_open_as_loaded() -> None:
    assert "failOpen" not in descriptor_to_json(FULL, Dialect.SEP)
    assert descriptor_to_json(replace(PLAIN, fail_open=True), Dialect.SEP)["failOpen"] is True


def test_a_validator_has_no_priority() -> None:
    entry = descriptor_to_json(replace(PLAIN, priority=5), Dialect.UNIVERSAL)
    assert "priorityHint" not in entry


def test_compat_always_names_the_oldest_protocol() -> None:
    entry = descriptor_to_json(replace(PLAIN, compat={"maxProtocol": "x"}), Dialect.SEP)
    assert entry["compat"] == {"minProtocol": "2024-11-05", "maxProtocol": "x"}


@pytest.mark.parametrize(
    ("events", "dialect", "shown"),
    [
        (("*",), Dialect.SEP, ["*"]),
        (("*",), Dialect.UNIVERSAL, ["*", *INTERCEPTED_EVENTS]),
        (("tools/*",), Dialect.SEP, ["tools/call", "tools/list"]),
        (
            ("tools/*", "tools/call", "ping"),
            Dialect.UNIVERSAL,
            ["tools/call", "tools/list", "ping"],
        ),
        (("acme/*",), Dialect.UNIVERSAL, ["acme/*"]),
        (("*", "acme/do"), Dialect.SEP, ["*", "acme/do"]),
    ],
)
def test_wildcards_are_spelt_out_for_chains_that_know_none(
    events: tuple[str, ...], dialect: Dialect, shown: list[str]
) -> None:
    entry = descriptor_to_json(replace(PLAIN, events=events), dialect)
    assert entry["hooks"] == [{"events": shown, "phase": "request"}]


def test_supported_events_are_the_sorted_union() -> None:
    descriptors = (replace(PLAIN, events=("tools/*", "acme/do")), FULL)
    expected = ["acme/do", "resources/read", "tools/call", "tools/list"]
    assert supported_events(descriptors, Dialect.UNIVERSAL) == expected
    assert supported_events((), Dialect.UNIVERSAL) == []


@pytest.mark.parametrize(
    ("params", "event"),
    [
        (None, None),
        ({}, None),
        ({"event": None}, None),
        ({"event": ""}, None),
        ({"event": "tools/call", "cursor": 7}, "tools/call"),
    ],
)
def test_the_filter_of_a_list_is_optional(params: Any, event: str | None) -> None:
    assert list_params_from_json(params) == event


def test_a_filter_that_is_no_string_is_refused() -> None:
    with pytest.raises(InvocationError) as caught:
        list_params_from_json({"event": ["tools/call"]})
    assert caught.value.code == -32602
    assert caught.value.data == {"reason": "`event` must be a string"}
