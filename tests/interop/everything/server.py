"""An MCP server that has what the MCP conformance suite asks a server for.

    python -m tests.interop.everything.server [--port N] [--governed]

Prints its address, serves until it is interrupted, and then prints what the chain of
`--governed` was asked: a list of [event, phase, direction].  Prompts, resources and the
transport are here, the tools in `tools.py`; policies only come in with `--governed`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import mcp_types as mcp
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from tests.interop.everything.tools import (
    LISTENERS,
    PNG,
    RUNS,
    STRING,
    TOOLS,
    Context,
    Questions,
    embedded,
    form,
    image,
    question,
    text,
)

Arguments: TypeAlias = dict[str, str]
Messages: TypeAlias = Callable[[Arguments], list[mcp.ContentBlock]]

NAME = "everything"
TEMPLATE = "test://template/{id}/data"
TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "somebody watches this",
}
PICTURE = "test://static-binary"

PROMPTS: dict[str, tuple[tuple[str, ...], Messages]] = {
    "test_simple_prompt": ((), lambda given: [text("This is a simple prompt for testing.")]),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: [text(f"one is {given['arg1']}, the other {given['arg2']}")],
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: [embedded(given["resourceUri"]), text("what is in it?")],
    ),
    "test_prompt_with_image": ((), lambda given: [image(), text("what is on it?")]),
    "test_input_required_result_prompt": ((), lambda given: [text("now it is clear")]),
}
"""Arguments and messages of each prompt."""

CONTEXT: tuple[Questions, ...] = ({"user_context": form("In which context?", context=STRING)},)
"""What the last of them asks before it answers."""


async def list_tools(
    context: Context, params: mcp.PaginatedRequestParams | None
) -> mcp.ListToolsResult:
    """Every tool, always in the same order."""
    return mcp.ListToolsResult(tools=TOOLS)


async def call_tool(
    context: Context, params: mcp.CallToolRequestParams
) -> mcp.CallToolResult | mcp.InputRequiredResult:
    """What the tool says."""
    run = RUNS.get(params.name)
    if run is None:
        raise MCPError(mcp.INVALID_PARAMS, "there is no such tool")
    return await run(context, params)


async def list_prompts(
    context: Context, params: mcp.PaginatedRequestParams | None
) -> mcp.ListPromptsResult:
    """Every prompt."""
    prompts = [
        mcp.Prompt(
            name=name,
            description=f"Made for `{name}`.",
            arguments=[mcp.PromptArgument(name=argument, required=True) for argument in arguments],
        )
        for name, (arguments, _) in PROMPTS.items()
    ]
    return mcp.ListPromptsResult(prompts=prompts)


async def get_prompt(
    context: Context, params: mcp.GetPromptRequestParams
) -> mcp.GetPromptResult | mcp.InputRequiredResult:
    """The messages of a prompt, or what must be known before."""
    arguments, messages = PROMPTS.get(params.name, ((), None))
    given = params.arguments or {}
    if messages is None or not given.keys() >= set(arguments):
        raise MCPError(mcp.INVALID_PARAMS, "there is no such prompt, or it lacks arguments")
    if params.name == "test_input_required_result_prompt":
        open_question = question(CONTEXT, context, params)
        if open_question is not None:
            return open_question
    said = [mcp.PromptMessage(role="user", content=content) for content in messages(given)]
    return mcp.GetPromptResult(messages=said)


async def list_resources(
    context: Context, params: mcp.PaginatedRequestParams | None
) -> mcp.ListResourcesResult:
    """Every resource with an address of its own."""
    resources = [
        mcp.Resource(uri=uri, name=uri.removeprefix("test://"), description="Made for a scenario.")
        for uri in (*TEXTS, PICTURE)
    ]
    return mcp.ListResourcesResult(resources=resources)


async def list_templates(
    context: Context, params: mcp.PaginatedRequestParams | None
) -> mcp.ListResourceTemplatesResult:
    """The one template."""
    template = mcp.ResourceTemplate(uri_template=TEMPLATE, name="data", mime_type="text/plain")
    return mcp.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    context: Context, params: mcp.ReadResourceRequestParams
) -> mcp.ReadResourceResult:
    """What is at an address."""
    uri = str(params.uri)
    if uri == PICTURE:
        picture = mcp.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        return mcp.ReadResourceResult(contents=[picture])
    words = TEXTS.get(uri)
    before, after = TEMPLATE.split("{id}")
    if uri.startswith(before) and uri.endswith(after):
        words = f"the data of {uri.removeprefix(before).removesuffix(after)}"
    if words is None:
        raise MCPError(mcp.INVALID_PARAMS, "there is nothing at this address", {"uri": uri})
    content = mcp.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    return mcp.ReadResourceResult(contents=[content])


async def complete(context: Context, params: mcp.CompleteRequestParams) -> mcp.CompleteResult:
    """Words that begin as the argument does."""
    words = [word for word in ("paris", "park") if word.startswith(params.argument.value)]
    return mcp.CompleteResult(completion=mcp.Completion(values=words, total=len(words)))


async def accept(context: Context, params: mcp.RequestParams) -> mcp.EmptyResult:
    """Nothing, which is the answer to what is only acknowledged."""
    return mcp.EmptyResult()


class History(EventStore):
    """Every message that was sent, so that a client that comes back gets what it missed."""

    def __init__(self) -> None:
        self._events: list[tuple[str, mcp.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: mcp.JSONRPCMessage | None) -> str:
        """Keep a message; its number is its place."""
        self._events.append((stream_id, message))
        return str(len(self._events) - 1)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send again what came after *last_event_id* on its stream."""
        last = int(last_event_id)
        if last >= len(self._events):
            return None
        stream = self._events[last][0]
        for number, (of, message) in list(enumerate(self._events))[last + 1 :]:
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def make_server() -> Server[dict[str, Any]]:
    """The whole server, without a transport."""
    server: Server[dict[str, Any]] = Server(
        NAME,
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(LISTENERS),
        on_completion=complete,
    )
    server.add_request_handler("logging/setLevel", mcp.SetLevelRequestParams, accept)
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    return server


def write(line: str) -> None:
    """Tell whoever started this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--governed", action="store_true")
    options = parser.parse_args()
    server = make_server()
    asked: set[tuple[str, str, str]] = set()
    if options.governed:
        from policyd.middleware import install_server
        from tests.interop.everything.unchanging import make_chain

        install_server(server, make_chain(asked))
    app = server.streamable_http_app(event_store=History(), retry_interval=100)
    # h11, because httptools leaves white space around the values of headers
    config = uvicorn.Config(app, http="h11", log_level="warning", timeout_graceful_shutdown=1)
    with socket.create_server(("127.0.0.1", options.port)) as listening:
        write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listening])
    write(json.dumps(sorted(asked)))


if __name__ == "__main__":
    main()
