"""The tools that the scenarios of the MCP conformance suite call, and the questions they ask.

Names, schemas and the default values in them are fixed by the suite; the texts are our own.
Knows what a tool does in both protocol eras, not how it is reached.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import anyio
import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

Context: TypeAlias = ServerRequestContext[dict[str, Any], Any]
Schema: TypeAlias = dict[str, Any]
Questions: TypeAlias = dict[str, mcp.InputRequest]
Answer: TypeAlias = mcp.CallToolResult | mcp.InputRequiredResult
Run: TypeAlias = Callable[[Context, mcp.CallToolRequestParams], Awaitable[Answer]]

PAUSE = 0.05
"""Seconds between two notifications of one call."""

# nobody looks at more than the first bytes
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
WAV = base64.b64encode(b"RIFF\x04\0\0\0WAVE").decode()

STRING: Schema = {"type": "string"}
NOTHING: Schema = {"type": "object"}

TOOLS: list[mcp.Tool] = []
RUNS: dict[str, Run] = {}
LISTENERS = InMemorySubscriptionBus()


def text(words: str) -> mcp.TextContent:
    """A text, as content."""
    return mcp.TextContent(type="text", text=words)


def image() -> mcp.ImageContent:
    """A picture, as content."""
    return mcp.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, words: str = "a resource in a message") -> mcp.EmbeddedResource:
    """A text resource, as content."""
    resource = mcp.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    return mcp.EmbeddedResource(type="resource", resource=resource)


def said(words: str) -> mcp.CallToolResult:
    """A result of one text."""
    return mcp.CallToolResult(content=[text(words)])


def object_of(**properties: Schema) -> Schema:
    """The schema of an object that must have all of *properties*."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def form(message: str, **properties: Schema) -> mcp.ElicitRequest:
    """A request to fill in a form."""
    schema = object_of(**properties)
    params = mcp.ElicitRequestFormParams(message=message, requested_schema=schema)
    return mcp.ElicitRequest(params=params)


def prompt(words: str) -> mcp.CreateMessageRequest:
    """A request to let the client's model say something."""
    messages = [mcp.SamplingMessage(role="user", content=text(words))]
    params = mcp.CreateMessageRequestParams(messages=messages, max_tokens=50)
    return mcp.CreateMessageRequest(params=params)


def question(
    rounds: Iterable[Questions], context: Context, params: mcp.InputResponseRequestParams
) -> mcp.InputRequiredResult | None:
    """What is to be asked in the first round that has no answers yet; None after the last.

    The state is the number of that round.  What the client cannot answer is not asked.
    """
    begin = int(params.request_state or 0)
    answers = params.input_responses or {}
    for number, questions in list(enumerate(rounds))[begin:]:
        able = _answerable(questions, context.session.client_capabilities)
        if not able.keys() <= answers.keys():
            return mcp.InputRequiredResult(input_requests=able, request_state=str(number))
    return None


def _answerable(questions: Questions, client: mcp.ClientCapabilities | None) -> Questions:
    declared = client or mcp.ClientCapabilities()
    capability = {
        "elicitation/create": declared.elicitation,
        "roots/list": declared.roots,
        "sampling/createMessage": declared.sampling,
    }
    return {
        key: request for key, request in questions.items() if capability[request.method] is not None
    }


def add(name: str, run: Run, schema: Schema = NOTHING) -> None:
    """Serve *run* as the tool *name*."""
    TOOLS.append(mcp.Tool(name=name, description=f"Made for `{name}`.", input_schema=schema))
    RUNS[name] = run


def tool(run: Run) -> Run:
    """Serve the decorated function under its own name."""
    add(run.__name__, run)
    return run


def says(name: str, *content: mcp.ContentBlock, schema: Schema = NOTHING) -> None:
    """Serve a tool that always answers the same."""

    async def say(context: Context, params: mcp.CallToolRequestParams) -> Answer:
        return mcp.CallToolResult(content=list(content))

    add(name, say, schema)


def asks(name: str, *rounds: Questions) -> None:
    """Serve a tool that asks round by round, in its results (2026-07-28)."""

    async def inquire(context: Context, params: mcp.CallToolRequestParams) -> Answer:
        return question(rounds, context, params) or said("state-ok: all is answered")

    add(name, inquire)


def calls_back(
    name: str,
    request: Callable[[dict[str, Any]], mcp.CreateMessageRequest | mcp.ElicitRequest],
    schema: Schema = NOTHING,
) -> None:
    """Serve a tool that asks while it runs, by a request of its own (2025-11-25 and older)."""

    async def call(context: Context, params: mcp.CallToolRequestParams) -> Answer:
        asked = request(params.arguments or {})
        kind = mcp.ElicitResult if isinstance(asked, mcp.ElicitRequest) else mcp.CreateMessageResult
        related = ServerMessageMetadata(related_request_id=context.request_id)
        answer = await context.session.send_request(asked, kind, metadata=related)
        return said(answer.model_dump_json())

    add(name, call, schema)


async def log(context: Context, words: str) -> None:
    """Send a log message on the stream of the call."""
    await context.session.send_log_message("info", words, related_request_id=context.request_id)


# first of all, because a scenario calls the first tool that is listed without arguments
says("test_simple_text", text("This is a simple text response for testing."))
says("test_image_content", image())
says("test_audio_content", mcp.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))
says("test_embedded_resource", embedded("test://embedded-resource"))
says(
    "test_multiple_content_types",
    text("a text, a picture, a resource"),
    image(),
    embedded("test://mixed-content-resource"),
)
says(
    "test_mirrored_argument",
    text("the header said the same"),
    schema={"type": "object", "properties": {"region": {**STRING, "x-mcp-header": "Region"}}},
)
says(
    "json_schema_2020_12_tool",
    text("the schema is what counts"),
    schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", **object_of(city=STRING)}},
        "properties": {
            "address": {"$ref": "#/$defs/address"},
            "phone": STRING,
            "email": STRING,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"required": ["phone"]},
        "then": {"required": ["address"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)


@tool
async def test_error_handling(context: Context, params: mcp.CallToolRequestParams) -> Answer:
    """A tool that fails."""
    return mcp.CallToolResult(content=[text("it failed, as it should")], is_error=True)


@tool
async def test_tool_with_logging(context: Context, params: mcp.CallToolRequestParams) -> Answer:
    """A tool that logs three times."""
    for words in ("started", "still at it", "ended"):
        await log(context, words)
        await anyio.sleep(PAUSE)
    return said("three messages were logged")


add("test_logging_tool", test_tool_with_logging)


@tool
async def test_tool_with_progress(context: Context, params: mcp.CallToolRequestParams) -> Answer:
    """A tool that tells how far it is."""
    for percent in (0, 50, 100):
        await context.session.report_progress(percent, 100)
        await anyio.sleep(PAUSE)
    return said("it got to 100")


@tool
async def test_reconnection(context: Context, params: mcp.CallToolRequestParams) -> Answer:
    """A tool that closes its stream and goes on, so that the client has to come back for it."""
    await log(context, "before")
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await anyio.sleep(4 * PAUSE)
    await log(context, "after")
    return said("the stream was closed in between")


@tool
async def test_missing_capability(context: Context, params: mcp.CallToolRequestParams) -> Answer:
    """A tool that needs a client with a model."""
    wanted = mcp.ClientCapabilities(sampling=mcp.SamplingCapability())
    if not context.session.check_client_capability(wanted):
        raise MCPError(
            mcp.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "the client has no model to ask",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return said("the client has a model")


def announces(name: str, event: ServerEvent) -> None:
    """Serve a tool that tells every listener of *event*."""

    async def announce(context: Context, params: mcp.CallToolRequestParams) -> Answer:
        await LISTENERS.publish(event)
        return said("every listener was told")

    add(name, announce)


announces("test_trigger_tool_change", ToolsListChanged())
announces("test_trigger_prompt_change", PromptsListChanged())

calls_back("test_sampling", lambda arguments: prompt(arguments["prompt"]), object_of(prompt=STRING))
calls_back(
    "test_elicitation",
    lambda arguments: form(arguments["message"], username=STRING, email=STRING),
    object_of(message=STRING),
)
calls_back(
    "test_elicitation_sep1034_defaults",
    lambda arguments: form(
        "each field has a default",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    ),
)


def titled(*names: str) -> list[Schema]:
    """A choice between *names*, each with a title."""
    return [{"const": name, "title": name.title()} for name in names]


calls_back(
    "test_elicitation_sep1330_enums",
    lambda arguments: form(
        "each way to write a choice",
        untitledSingle={"type": "string", "enum": ["red", "green"]},
        titledSingle={"type": "string", "oneOf": titled("red", "green")},
        legacyEnum={"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": ["red", "green"]}},
        titledMulti={"type": "array", "items": {"anyOf": titled("red", "green")}},
    ),
)

NAME = form("What is your name?", name=STRING)
CONFIRM = form("Please confirm", ok={"type": "boolean"})
ROOTS = mcp.ListRootsRequest()

asks("test_input_required_result_elicitation", {"user_name": NAME})
asks("test_input_required_result_sampling", {"capital_question": prompt("the capital of France")})
asks("test_input_required_result_list_roots", {"client_roots": ROOTS})
asks("test_input_required_result_request_state", {"confirm": CONFIRM})
asks("test_input_required_result_tampered_state", {"confirm": CONFIRM})
asks("test_input_required_result_capabilities", {"ask": NAME, "sample": prompt("a greeting")})
asks(
    "test_input_required_result_multiple_inputs",
    {"user_name": NAME, "greeting": prompt("a greeting"), "client_roots": ROOTS},
)
asks(
    "test_input_required_result_multi_round",
    {"step1": NAME},
    {"step2": form("What is your favorite color?", color=STRING)},
)
asks("test_streaming_elicitation", {"user_name": NAME})
