from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from policyd.events import MCP_METHODS, names_in
from policyd.model import Phase
from policyd.types import (
    ANYTHING,
    OPEN_MAP,
    STRING,
    TIMESTAMP,
    ListOf,
    ObjectOf,
    Scalar,
    Type,
    member_names,
    member_of,
    moment,
    moment_types,
    options,
    owners_of,
    payload_type,
    type_at,
    with_arguments,
)

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / ".." / "shared" / "corpora" / "mcp-schema"
VERSIONS = ("2025-11-25", "2026-07-28")


@pytest.mark.skipif(not SCHEMAS.exists(), reason="the MCP schemas are not beside the repository")
def test_what_is_shipped_is_what_the_script_makes_of_the_schemas() -> None:
    script = ROOT / "scripts" / "generate_types.py"
    files = [SCHEMAS / f"{version}.json" for version in VERSIONS]
    made = subprocess.run([sys.executable, script, *files], capture_output=True, check=True)
    assert made.stdout == (ROOT / "policyd" / "types" / "mcp.json").read_bytes()


def member(type: Type | None, *path: str) -> Type | None:
    """The type at *path*; `*` is any element of a list."""
    for step in path:
        assert type is not None
        if step == "*":
            (type,) = [option.item for option in options(type) if isinstance(option, ListOf)]
        else:
            type = member_of(type, step)
    return type


@pytest.mark.parametrize(
    ("event", "phase", "path", "found"),
    [
        ("tools/call", "request", "name", STRING),
        ("tools/call", "request", "inputResponses", "a member of 2026-07-28"),
        ("tools/call", "request", "task", "a member of 2025-11-25"),
        ("tools/call", "request", "content", None),
        ("tools/call", "request", "_meta/anything", ANYTHING),
        ("tools/call", "response", "content/*/text", STRING),
        ("tools/call", "response", "content/*/resource/uri", STRING),
        ("tools/call", "response", "content/*/txt", None),
        ("tools/call", "response", "structuredContent", ANYTHING),
        ("tools/call", "response", "inputRequests", "of an interim result"),
        ("tools/call", "response", "task/taskId", STRING),
        ("tools/call", "response", "taskId", STRING),
        ("tools/call", "response", "name", None),
        ("tools/list", "response", "tools/*/inputSchema/anyOf", ANYTHING),
        (
            "tools/list",
            "response",
            "tools/*/inputSchema/type",
            Scalar("string", frozenset({"object"})),
        ),
        ("prompts/get", "request", "arguments/anything", STRING),
        ("resources/subscribe", "response", "anything", ANYTHING),
        ("tasks/get", "response", "anything", ANYTHING),
        ("tasks/get", "request", "_meta/anything", ANYTHING),
        (
            "sampling/createMessage",
            "request",
            "messages/*/role",
            Scalar("string", frozenset({"assistant", "user"})),
        ),
    ],
)
def test_a_payload_has_the_members_of_both_versions(
    event: str, phase: str, path: str, found: Type | str | None
) -> None:
    at = member(payload_type(event, phase), *path.split("/"))
    assert (at is not None) if isinstance(found, str) else at == found


def test_a_member_is_required_only_where_both_versions_require_it() -> None:
    results = options(payload_type("tools/call", "response"))
    (result,) = [r for r in results if isinstance(r, ObjectOf) and r.name == "CallToolResult"]
    assert result.members["content"].required
    assert not result.members["resultType"].required


@pytest.mark.parametrize(
    "event", [e for e in MCP_METHODS if e not in ("llm/completion", "tasks/update")]
)
def test_every_event_of_mcp_is_typed(event: str) -> None:
    assert payload_type(event, "request") != ANYTHING
    is_request = not event.startswith("notifications/")
    assert (payload_type(event, "response") != ANYTHING) is is_request


@pytest.mark.parametrize("event", ["vendor/thing", "*", "llm/completion", "tasks/update"])
def test_nothing_is_known_of_an_event_without_a_schema(event: str) -> None:
    assert payload_type(event, "request") == payload_type(event, "response") == ANYTHING


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("event", [*MCP_METHODS, "vendor/thing"])
def test_a_moment_knows_the_names_that_exist_in_it_and_no_others(event: str, phase: Phase) -> None:
    assert set(moment_types(event, phase)) == names_in(event, phase)


def test_the_names_stand_for_parts_of_the_payload() -> None:
    types = moment_types("tools/call", "request")
    payload = types["payload"]
    assert types["args"] == member_of(payload, "arguments")
    assert types["now"] == TIMESTAMP
    assert types["event"] == Scalar("string", frozenset({"tools/call"}))
    assert types["phase"] == Scalar("string", frozenset({"request"}))
    assert [types[name] for name in ("tool", "session", "trace")] == [STRING] * 3
    assert member_names(types["principal"]) == ("type", "id", "claims")
    assert member_of(types["principal"], "roles") is None
    assert member_of(types["context"], "vendor") == ANYTHING
    response = moment_types("tools/call", "response")
    assert response["result"] is response["payload"]
    assert moment_types("*", "request")["event"] == STRING


def test_a_moment_is_one_object_however_often_it_is_asked_for() -> None:
    assert moment("tools/call", "request") is moment("tools/call", "request")


def test_a_name_is_at_any_of_several_moments_what_it_may_be_at_each() -> None:
    here, there = moment("tools/call", "request"), moment("prompts/get", "request")
    assert type_at([here, there], "event") == Scalar(
        "string", frozenset({"tools/call", "prompts/get"})
    )
    assert type_at([here, there], "tool") == STRING
    assert type_at([here, there], "result") == ANYTHING
    assert type_at([here], "event") == here.types["event"]
    assert type_at([here], "result") == ANYTHING


def test_the_arguments_of_a_known_tool_are_the_arguments_and_those_of_the_payload() -> None:
    known = with_arguments(moment("tools/call", "request"), OPEN_MAP)
    assert known.types["args"] is OPEN_MAP
    assert member_of(known.types["payload"], "arguments") is OPEN_MAP
    assert member_of(known.types["payload"], "name") == STRING
    other = with_arguments(moment("vendor/thing", "request"), OPEN_MAP)
    assert other.types["payload"] == ANYTHING


def test_the_owners_of_a_member_are_the_events_that_name_it() -> None:
    assert owners_of("arguments", "request") == ("prompts/get", "tools/call")
    assert owners_of("nothing", "request") == ()
