"""The examples do what their README says, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

EXAMPLES = Path(__file__).parents[1] / "examples"

SECONDS = 30

Conversation = Callable[[Client], Awaitable[None]]


def converse(example: str, conversation: Conversation, **env: str) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(EXAMPLES / example / "server.py")],
        env={**os.environ, **env},
    )

    async def connected() -> None:
        with anyio.fail_after(SECONDS):
            async with Client(server) as client:
                await conversation(client)

    anyio.run(connected)


async def refusal(client: Client, tool: str, **arguments: str) -> str:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(tool, arguments)
    return caught.value.message


async def answer(client: Client, tool: str, **arguments: str) -> Any:
    return (await client.call_tool(tool, arguments)).model_dump(by_alias=True, mode="json")


def test_the_validator_refuses_by_policy_and_by_who_asks() -> None:
    async def conversation(client: Client) -> None:
        ran = await answer(client, "shell", command="ls")
        assert ran["structuredContent"] == {"result": "ran ls"}
        assert await refusal(client, "shell", command="rm -rf /") == (
            "Interceptor validation failed: recursive delete is not allowed"
            " (delete one named file at a time)"
        )
        assert await refusal(client, "deploy", target="live") == (
            "Interceptor validation failed: only operators may deploy (ask an operator to do it)"
        )

    converse("validator", conversation, WORKSHOP_GROUPS="readers")


def test_the_validator_lets_operators_deploy() -> None:
    async def conversation(client: Client) -> None:
        deployed = await answer(client, "deploy", target="live")
        assert deployed["structuredContent"] == {"result": "deployed to live"}

    converse("validator", conversation, WORKSHOP_GROUPS="readers operators")


def test_the_mutator_leaves_a_trail_and_nothing_else() -> None:
    async def conversation(client: Client) -> None:
        for number in (1, 2):
            noted = await answer(client, "note", text="milk")
            assert noted["structuredContent"] == {"result": "milk"}
            (entry,) = noted["_meta"]["example.com/audit"]
            assert entry == {"by": "notes", "number": number, "at": entry["at"]}

    converse("mutator", conversation)


def test_the_client_prints_what_its_readme_shows() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    command, shown = text.split("```console\n$ python ")[1].split("```")[0].split("\n", 1)
    # the server is started by the client with the SDK's short environment
    arguments = [sys.executable if word == "python" else word for word in command.split()]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, shown), done.stderr
