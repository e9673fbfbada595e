"""Why `universal` is the default: what each chain makes of exactly what the SEP says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.interop.conftest import Chain


def test_in_the_dialect_of_the_sep_a_go_chain_lets_every_denial_through(sep_chain: Chain) -> None:
    """One generation of it finds no hook and never calls; the other calls, and finds no verdict."""
    answer = sep_chain.tool("shell", command="rm -rf /")
    called = "no-rm" in answer["called"]
    reader = sep_chain.kind.decoder
    assert (answer["status"], called) == {
        "hook": ("success", False),
        "hooks": ("success", True),
        "": ("validation_failed", True),
    }[reader]
    assert bool(answer["findings"]) is (reader == "")


def test_in_the_dialect_of_the_sep_mutations_reach_whoever_calls(sep_chain: Chain) -> None:
    answer = sep_chain.execute({"text": "employee-7"}, phase="response")
    reached = sep_chain.kind.program != "go"  # the bare `*` of the SEP is no event to Go
    assert answer.get("finalPayload") == ({"text": "[employee]"} if reached else None)
