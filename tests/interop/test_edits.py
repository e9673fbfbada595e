"""What a chain that is attached makes of policies that are edited meanwhile.

Go and Python list once and never again: they go on calling what they know, and the catch-up
interceptors run what they do not. TypeScript lists at every execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.interop.conftest import Chain


def stopped_by(answer: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The status, and who stopped the chain for what reason; without the generation."""
    culprits = [(a["interceptor"].partition("@")[0], a["reason"]) for a in answer["aborts"]]
    return answer["status"], culprits


def newcomer(chain: Chain, name: str) -> str:
    """Who speaks for a policy that is not in the list that the chain read first."""
    lists_anew = chain.kind.program in ("v1", "v2")
    return name if lists_anew else "policyd/catch-up-validators"


def test_a_chain_sees_the_policies_that_it_was_attached_to(before: Chain) -> None:
    assert stopped_by(before.tool("shell", command="rm x")) == (
        "validation_failed",
        [("no-rm", "nothing is deleted")],
    )
    for answer in (
        before.tool("sql", query="DELETE FROM t"),
        before.tool("mail", to="anna"),
        before.tool("post", url="x"),
    ):
        assert stopped_by(answer) == ("success", [])


def test_a_policy_that_was_removed_denies_no_more(edited: Chain) -> None:
    answer = edited.tool("shell", command="rm x")
    assert stopped_by(answer) == ("success", [])
    assert answer["failures"] == []
    lists_anew = edited.kind.program in ("v1", "v2")
    assert ("no-rm" in answer["called"]) is not lists_anew


def test_a_policy_that_was_changed_is_what_it_is_now(edited: Chain) -> None:
    for query in ("DROP TABLE t", "DELETE FROM t"):
        assert stopped_by(edited.tool("sql", query=query)) == (
            "validation_failed",
            [("no-drop", "nothing is dropped or deleted")],
        )


def test_a_policy_that_was_added_is_enforced(edited: Chain) -> None:
    assert stopped_by(edited.tool("post", url="x")) == (
        "validation_failed",
        [(newcomer(edited, "no-post"), "nothing is posted")],
    )
    assert stopped_by(edited.tool("post")) == ("success", [])


def test_a_policy_that_was_only_audited_is_enforced(edited: Chain) -> None:
    assert stopped_by(edited.tool("mail", to="anna")) == (
        "validation_failed",
        [(newcomer(edited, "no-mail"), "nothing is mailed")],
    )


def test_a_mutator_that_was_added_changes_what_goes_on(edited: Chain) -> None:
    answer = edited.tool("note", text="ask employee-7")
    assert stopped_by(answer) == ("success", [])
    assert answer["finalPayload"] == {"name": "note", "arguments": {"text": "ask [employee]"}}
