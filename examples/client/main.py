"""A client whose calls are checked and redacted before they leave.

Takes the command that starts a server with a tool `note`, such as
`python examples/mutator/server.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

import policyd
from policyd.middleware import install_client

POLICIES = Path(__file__).parent / "policies"


async def converse(command: list[str]) -> None:
    """Take a note that is redacted, and try one that is refused."""
    client = Client(StdioServerParameters(command=command[0], args=command[1:]))
    install_client(client, policyd.load(POLICIES))
    async with client:
        answer = await client.call_tool("note", {"text": "ask alice@example.com about it"})
        for content in answer.content:
            if isinstance(content, TextContent):
                print("the server got:", content.text)
        try:
            await client.call_tool("note", {"text": "password: tiger"})
        except MCPError as error:
            print("refused:", error.message)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: main.py COMMAND [ARGUMENT]...")
    anyio.run(converse, sys.argv[1:])
