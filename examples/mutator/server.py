"""A tool server whose answers carry an audit trail.

A mutator writes into the `_meta` of each answer which answer of this process it is, and when
it was given.  Speaks MCP on stdin and stdout.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

from mcp.server.mcpserver import MCPServer

import policyd
from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_server

server = MCPServer("notes")
interceptors = Interceptors()
numbers = count(1)


@server.tool()
def note(text: str) -> str:
    """Take a note, and say it back."""
    return text


@interceptors.mutator("audit-trail", events=["tools/call"], phase="response", priority=1_000)
def audit_trail(invocation: policyd.Invocation) -> dict[str, Any]:
    """Add one entry to the trail of an answer; what others have written there stays."""
    answer: dict[str, Any] = invocation.payload
    meta = answer.get("_meta", {})
    entry = {"by": "notes", "number": next(numbers), "at": datetime.now(UTC).isoformat()}
    trail = [*meta.get("example.com/audit", []), entry]
    return {**answer, "_meta": {**meta, "example.com/audit": trail}}


def main() -> None:
    """Serve until stdin ends."""
    chain = Chain()
    chain.add_functions(interceptors)
    install_server(server, chain)
    server.run()


if __name__ == "__main__":
    main()
