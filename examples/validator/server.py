"""A tool server that refuses dangerous calls.

Two validators judge each call: the policies beside this file, and a function that needs to
know who asks.  Speaks MCP on stdin and stdout.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

import policyd
from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_server, server_context

POLICIES = Path(__file__).parent / "policies"

server = MCPServer("workshop")
interceptors = Interceptors()


@server.tool()
def shell(command: str) -> str:
    """Pretend to run a command."""
    return f"ran {command}"


@server.tool()
def deploy(target: str) -> str:
    """Pretend to deploy."""
    return f"deployed to {target}"


@interceptors.validator("only-operators-deploy", events=["tools/call"], phase="request")
def only_operators_deploy(invocation: policyd.Invocation) -> policyd.Finding | None:
    """Let nobody deploy but members of the group `operators`."""
    principal = invocation.context.get("principal", {})
    if invocation.payload.get("name") != "deploy":
        return None
    if "operators" in principal.get("claims", {}).get("groups", []):
        return None
    return policyd.Finding(
        interceptor="only-operators-deploy",
        rule="operators",
        severity=policyd.Severity.ERROR,
        message="only operators may deploy",
        path="/name",
        hint="ask an operator to do it",
    )


def who_asks(request: Any) -> dict[str, Any]:
    """The user that started this process; over HTTP the default knows the access token."""
    groups = os.environ.get("WORKSHOP_GROUPS", "").split()
    user = {"type": "user", "id": os.environ.get("USER", ""), "claims": {"groups": groups}}
    return {**server_context(request), "principal": user}


def main() -> None:
    """Serve until stdin ends."""
    chain = Chain()
    chain.add_engine(policyd.load(POLICIES))
    chain.add_functions(interceptors)
    install_server(server, chain, context=who_asks)
    server.run()


if __name__ == "__main__":
    main()
