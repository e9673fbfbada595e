"""Both generations of the Node SDK's client, member by member, over each transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policyd.server.protocol import VERSION
from policyd.wire import EXTENSION

if TYPE_CHECKING:
    from tests.interop.conftest import Chain

PROTOCOLS = {
    ("v1", "legacy"): None,  # it does not tell
    ("v2", "legacy"): "2025-11-25",
    ("v2", "auto"): "2026-07-28",
}


def invoke(node: Chain, **changed: Any) -> Any:
    """The answer to a denied call, or to what *changed* makes of it."""
    payload = {"name": "shell", "arguments": {"command": "rm -rf /"}}
    asked = {"name": "no-rm", "event": "tools/call", "phase": "request", "payload": payload}
    answer = node.ask("interceptor/invoke", **{**asked, **changed})
    return answer.get("result") or answer["refusal"]


def test_a_node_client_sees_what_the_server_is_and_what_it_serves(node: Chain) -> None:
    seen = node.attached
    assert seen.get("protocol") == PROTOCOLS[node.kind.program, node.kind.era]
    assert (seen["server"]["name"], seen["server"]["version"]) == ("policyd", VERSION)
    for place in ("extensions", "experimental"):
        assert "tools/call" in seen["capabilities"][place][EXTENSION]["supportedEvents"]
    listed = node.ask("interceptors/list")["result"]["interceptors"]
    assert listed[0]["hooks"] == [{"events": ["tools/call"], "phase": "request"}]


def test_a_node_client_is_given_results_and_errors(node: Chain) -> None:
    denied = invoke(node, timeoutMs=500)
    assert (denied["valid"], denied["severity"]) == (False, "error")
    assert denied["messages"][0]["path"] == "arguments.command"
    allowed = {"name": "shell", "arguments": {"command": "ls"}}
    assert invoke(node, payload=allowed)["valid"] is True
    masked = invoke(node, name="mask", payload={"name": "employee-7", "n": 1.5})
    assert masked["payload"] == {"name": "[employee]", "n": 1.5}
    unknown = invoke(node, name="nobody")
    assert (unknown["code"], unknown["data"]) == (-32602, {"interceptor": "nobody"})
    fragile = invoke(node, name="closed", payload={"name": "closed"})
    assert (fragile["code"], fragile["data"]) == (
        -32603,
        {
            "interceptor": "closed",
            "phase": "request",
            "reason": "the policy could not be evaluated",
        },
    )
    assert invoke(node, phase="both")["data"] == {
        "interceptor": "no-rm",
        "reason": "`phase` must be `request` or `response`",
    }
