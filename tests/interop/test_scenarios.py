"""What every chain makes of what policyd answers, in one table of sentences.

The chains differ in what they look at; that they come to the same end is what the universal
dialect is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.interop.conftest import Chain


def stopped_by(answer: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The status, and who stopped the chain for what reason."""
    return answer["status"], [(a["interceptor"], a["reason"]) for a in answer["aborts"]]


DENIED = "recursive delete is not allowed for shell (delete one named file at a time)"


def test_the_era_is_the_one_that_was_asked_for(chain: Chain) -> None:
    era = {"legacy": "2025-11-25", "auto": "2026-07-28"}[chain.kind.era]
    told = chain.attached.get("protocol", "2025-11-25")  # v1 knows no other and does not tell
    assert told == era


def test_what_no_policy_minds_goes_on_as_it_came(chain: Chain) -> None:
    payload = {"name": "shell", "arguments": {"command": "ls", "n": 1.5, "deep": [None, {}]}}
    answer = chain.execute(payload)
    assert stopped_by(answer) == ("success", [])
    assert (answer["finalPayload"], answer["findings"], answer["failures"]) == (payload, [], [])


def test_a_denial_stops_the_chain_and_brings_message_path_and_hint(chain: Chain) -> None:
    answer = chain.tool("shell", command="rm -rf /")
    assert stopped_by(answer) == ("validation_failed", [("no-rm", DENIED)])
    denial = {"path": "arguments.command", "message": DENIED, "severity": "error"}
    assert answer["findings"] == [{"interceptor": "no-rm", **denial}]


def test_the_error_is_the_reason_also_where_a_warning_came_first(chain: Chain) -> None:
    answer = chain.tool("shell", command="find . -name x | rm -rf /")
    assert stopped_by(answer) == ("validation_failed", [("no-rm", DENIED)])
    assert [found["severity"] for found in answer["findings"]] == ["error", "warn"]


def test_a_warning_is_told_and_stops_nothing(chain: Chain) -> None:
    answer = chain.tool("shell", command="echo a rather long command")
    assert stopped_by(answer) == ("success", [])
    warning = {"message": "the command is long", "severity": "warn"}
    assert answer["findings"] == [{"interceptor": "no-rm", **warning}]


def test_what_a_mutator_made_is_what_goes_on(chain: Chain) -> None:
    answer = chain.execute({"name": "mail", "arguments": {"to": ["employee-7"], "n": 1}})
    assert stopped_by(answer) == ("success", [])
    assert answer["finalPayload"] == {"name": "mail", "arguments": {"to": ["[employee]"], "n": 1}}


@pytest.mark.parametrize("event", ["tools/call", "prompts/get", "resources/read"])
def test_a_response_is_redacted_at_every_event_that_a_wildcard_stands_for(
    chain: Chain, event: str
) -> None:
    result = {"content": [{"type": "text", "text": "ask employee-7"}], "isError": False}
    answer = chain.execute(result, event=event, phase="response")
    assert stopped_by(answer) == ("success", [])
    redacted = [{"type": "text", "text": "ask [employee]"}]
    assert answer["finalPayload"] == {"content": redacted, "isError": False}


@pytest.mark.parametrize("arguments", [{"code": "x", "missing": 0}, {"code": "x"}, {}])
def test_an_audit_never_blocks_and_never_changes(chain: Chain, arguments: dict[str, Any]) -> None:
    payload = {"name": "watched", "arguments": arguments}
    answer = chain.execute(payload)
    assert stopped_by(answer) == ("success", [])
    assert answer["finalPayload"] == payload
    assert {"watched", "rename"} <= set(answer["called"])


@pytest.mark.parametrize("tool", ["closed", "broken"])
def test_what_cannot_be_evaluated_denies_and_does_not_say_why(chain: Chain, tool: str) -> None:
    answer = chain.tool(tool, note="for nobody")
    status, aborts = stopped_by(answer)
    assert status == ("mutation_failed" if tool == "broken" else "validation_failed")
    assert [interceptor for interceptor, _ in aborts] == [tool]
    (failure,) = answer["failures"]
    assert (failure["interceptor"], failure["code"]) == (tool, -32603)
    assert failure["data"] == {
        "interceptor": tool,
        "phase": "request",
        "reason": "the policy could not be evaluated",
    }
    assert "for nobody" not in str(answer["failures"]) + str(answer["aborts"])


def test_what_cannot_be_evaluated_lets_through_where_it_fails_open(chain: Chain) -> None:
    answer = chain.tool("open")
    assert stopped_by(answer) == ("success", [])
    assert [(f["interceptor"], f["code"]) for f in answer["failures"]] == [("open", -32603)]


def test_a_policy_that_takes_too_long_denies(chain: Chain) -> None:
    answer = chain.tool("slow", l=list(range(60)))
    status, aborts = stopped_by(answer)
    assert (status, [interceptor for interceptor, _ in aborts]) == ("validation_failed", ["slow"])
    (failure,) = answer["failures"]
    assert failure["code"] == -32000
    assert failure["data"] == {"interceptor": "slow", "phase": "request", "timeoutMs": 20}


@pytest.mark.parametrize(
    ("kind", "status"), [("user", "success"), ("service", "validation_failed")]
)
def test_who_asks_reaches_the_policies(chain: Chain, kind: str, status: str) -> None:
    context = {"principal": {"type": kind, "id": "anna", "claims": {"team": "a"}}}
    payload = {"name": "publish", "arguments": {}}
    assert chain.execute(payload, context=context)["status"] == status


def test_each_chain_keeps_its_own_order(chain: Chain) -> None:
    """Go and Python judge a request before it is changed, TypeScript what it was changed to."""
    changed_first = chain.kind.program in ("v1", "v2")
    answer = chain.tool("push", force=True)
    if changed_first:
        assert stopped_by(answer) == ("success", [])
        assert answer["finalPayload"] == {"name": "push", "arguments": {}}
    else:
        assert stopped_by(answer) == ("validation_failed", [("not-forced", "never by force")])


def test_go_does_not_know_a_wildcard_at_an_event_that_mcp_does_not_define(chain: Chain) -> None:
    answer = chain.execute({"text": "employee-7"}, event="acme/ask")
    text = "employee-7" if chain.kind.program == "go" else "[employee]"
    assert answer.get("finalPayload", {"text": "employee-7"}) == {"text": text}
