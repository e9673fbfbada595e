"""A chain around a server, as a real client in either era sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from policyd import Engine, Invocation
from policyd.chain import Chain
from policyd.functions import Interceptors
from policyd.middleware import install_server

if TYPE_CHECKING:
    from tests.middleware.conftest import Talk, Watch

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

Changing = Callable[[str, str, Callable[[Any], Any]], Chain]

Low = Callable[[Callable[[], Any]], Server[Any]]

PRIVATE = "what is nobody else's business"

REQUEST = ("tools/call", "request", "receiving")
RESPONSE = ("tools/call", "response", "sending")


def test_one_line_puts_policies_around_a_server(
    talk: Talk, tools: MCPServer, engine: Engine
) -> None:
    install_server(tools, engine)

    async def conversation(client: Client) -> None:
        result = await client.call_tool("echo", {"text": "employee-12 left"})
        assert talk.read(result) == "[employee] left"
        assert result.structured_content == {"result": "[employee] left"}

    talk(tools, conversation)


def test_a_denied_tool_call_is_told_apart_from_a_missing_tool_and_says_what_to_do(
    talk: Talk, tools: MCPServer, engine: Engine
) -> None:
    install_server(tools, engine)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "echo", text="rm -rf /")
        assert error.code == -32602
        assert error.message == (
            "Interceptor validation failed: recursive delete is not allowed"
            " (delete one named file at a time)"
        )
        assert error.data == {
            "validationErrors": [
                {
                    "interceptor": "no-rm",
                    "severity": "error",
                    "message": "recursive delete is not allowed",
                    "path": "arguments.text",
                    "hint": "delete one named file at a time",
                },
                {"interceptor": "no-rm", "severity": "warn", "message": "the text is long"},
            ]
        }
        missing = await client.call_tool("missing", {})
        assert missing.is_error
        assert talk.read(missing) == "Unknown tool: missing"

    talk(tools, conversation)


def test_requests_are_received_and_results_sent(talk: Talk, tools: MCPServer, watch: Watch) -> None:
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        await client.call_tool("work", {})
        await client.send_ping() if not talk.modern else None
        await client.list_prompts()

    talk(tools, conversation)
    listed = [
        seen for seen in watch.seen if seen[0] not in ("notifications/progress", "tools/list")
    ]
    assert listed == [
        REQUEST,
        RESPONSE,
        ("prompts/list", "request", "receiving"),
        ("prompts/list", "response", "sending"),
    ]


class Told(types.Result):
    text: str


class Mapped(dict[str, Any]):
    """A dictionary that is more than one."""


@pytest.mark.parametrize("answer", [Told(text="a"), {"text": "a"}, Mapped(text="a")])
def test_what_another_middleware_answers_is_judged_however_it_is_made(
    talk: Talk, changing: Changing, answer: Any, lowlevel: Low
) -> None:
    server = lowlevel(dict)
    install_server(server, changing("x/y", "response", lambda p: {**p, "text": p["text"] + "b"}))

    async def short(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        return answer if ctx.method == "x/y" else await call_next(ctx)

    server.middleware.append(short)

    async def conversation(client: Client) -> None:
        assert (await talk.send(client, "x/y", {}))["text"] == "ab"

    talk(server, conversation)


def test_another_middleware_may_answer_nothing_or_an_error(
    talk: Talk, watch: Watch, lowlevel: Low
) -> None:
    server = lowlevel(dict)
    install_server(server, watch.chain)
    answers: list[Any] = [None, types.ErrorData(code=-32050, message="not today")]

    async def short(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "x/y":
            return await call_next(ctx)
        answered: HandlerResult = answers.pop(0)
        return answered

    server.middleware.append(short)

    async def conversation(client: Client) -> None:
        assert await talk.send(client, "x/y", {}) == {}
        with pytest.raises(MCPError) as caught:
            await talk.send(client, "x/y", {})
        assert (caught.value.code, caught.value.message) == (-32050, "not today")

    talk(server, conversation)
    assert [phase for _, phase, _ in watch.seen] == ["request", "response", "request"]


def test_a_lowlevel_server_and_a_method_of_its_own_are_judged(
    talk: Talk, watch: Watch, lowlevel: Low
) -> None:
    server = lowlevel(lambda: {"secret": [1, 1.0, None]})
    install_server(server, watch.chain)

    async def conversation(client: Client) -> None:
        result = await talk.send(client, "x/y", {})
        assert result["secret"] == [1, 1.0, None]

    talk(server, conversation)
    assert watch.seen == [("x/y", "request", "receiving"), ("x/y", "response", "sending")]


def test_changed_params_reach_the_handler_and_absent_ones_are_an_empty_object(
    talk: Talk, changing: Changing, lowlevel: Low
) -> None:
    server = lowlevel(dict)
    received: list[Any] = []

    async def inside(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "x/y":
            received.append((ctx.params, (ctx.meta or {}).get("note")))
        return await call_next(ctx)

    def change(payload: Any) -> Any:
        assert set(payload) <= {"_meta"}
        return {"a": 1, "_meta": {"note": "changed"}}

    install_server(server, changing("x/y", "request", change))
    server.middleware.append(inside)

    async def conversation(client: Client) -> None:
        await talk.send(client, "x/y", {})

    talk(server, conversation)
    ((params, note),) = received
    assert params["a"] == 1
    assert note == "changed"
    if talk.modern:
        assert "io.modelcontextprotocol/protocolVersion" in params["_meta"]


def test_a_result_made_anew_keeps_its_type_and_nothing_else(
    modern: Talk, tools: MCPServer, changing: Changing
) -> None:
    content = {"content": [{"type": "text", "text": "new"}], "structuredContent": {"result": "new"}}
    install_server(tools, changing("tools/call", "response", lambda payload: dict(content)))

    async def conversation(client: Client) -> None:
        result = await client.call_tool("echo", {"text": "old"})
        assert modern.read(result) == "new"
        assert result.meta is None
        assert result.result_type == "complete"

    modern(tools, conversation)


def test_error_results_of_tools_are_judged(talk: Talk, tools: MCPServer, engine: Engine) -> None:
    install_server(tools, engine)

    async def conversation(client: Client) -> None:
        result = await client.call_tool("fail", {})
        assert result.is_error
        assert talk.read(result) == "Error executing tool fail: ask [employee]"

    talk(tools, conversation)


def test_an_error_that_a_handler_raises_on_purpose_passes(
    talk: Talk, tools: MCPServer, engine: Engine
) -> None:
    install_server(tools, engine)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "refuse")
        assert (error.code, error.message, error.data) == (-32050, "not today", {"day": 1})

    talk(tools, conversation)


def test_the_text_of_a_crash_reaches_neither_peer_nor_log(
    talk: Talk, engine: Engine, caplog: pytest.LogCaptureFixture, lowlevel: Low
) -> None:
    def crash() -> None:
        raise ValueError(PRIVATE)

    server = lowlevel(crash)
    install_server(server, engine)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await talk.send(client, "x/y", {})
        assert (caught.value.code, caught.value.message) == (-32603, "Internal server error")

    talk(server, conversation)
    assert "ValueError" in caplog.text
    assert PRIVATE not in caplog.text


def test_a_chain_that_cannot_be_run_lets_nothing_through_and_says_nothing_of_why(
    talk: Talk, tools: MCPServer, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    def context(request: Any) -> dict[str, Any]:
        raise KeyError(PRIVATE)

    install_server(tools, engine, context=context)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "echo", text="hi")
        assert error.code == -32603
        assert error.message == "Interceptor execution failed"
        assert error.data == {"phase": "request", "reason": "the chain could not be run"}

    talk(tools, conversation)
    assert "KeyError" in caplog.text
    assert PRIVATE not in caplog.text


def test_why_an_interceptor_failed_is_logged_and_not_told(
    talk: Talk, tools: MCPServer, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(invocation: Invocation) -> None:
        raise ValueError(PRIVATE)

    watch.judge = crash
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "echo", text="hi")
        assert (error.code, error.message) == (-32603, "Interceptor execution failed")
        assert error.data == {
            "interceptor": "watch",
            "phase": "request",
            "reason": "the policy could not be evaluated",
        }

    talk(tools, conversation)
    assert "interceptor 'watch' failed: the function raised ValueError" in caplog.text
    assert PRIVATE not in caplog.text


def test_a_payload_that_is_no_object_goes_nowhere(talk: Talk, tools: MCPServer) -> None:
    async def around(descriptor: Any, invocation: Invocation, proceed: Any) -> Any:
        outcome = await proceed(invocation)
        return outcome._replace(modified=True, payload=["no", "object"])

    interceptors = Interceptors()
    interceptors.mutator("change", events=["tools/call"], phase="request")(lambda i: None)
    chain = Chain(around=around)
    chain.add_functions(interceptors)
    install_server(tools, chain)

    async def conversation(client: Client) -> None:
        error = await talk.refusal(client, "echo", text="hi")
        assert error.message == "Interceptor mutation failed"
        assert error.data["failedInterceptor"] == "change"

    talk(tools, conversation)


def test_a_notification_with_data_is_changed_or_dropped(
    talk: Talk,
    tools: MCPServer,
    watch: Watch,
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch.chain.add_engine(engine)
    watch.judge = lambda i: "no" if i.payload.get("data") == "three" else None
    install_server(tools, watch.chain)

    async def conversation(client: Client) -> None:
        assert await talk.text(client, "tell") == "told"

    with caplog.at_level(logging.WARNING, "policyd"):
        talk(tools, conversation)
    assert talk.asked == (["log one", "log two [employee]"])
    assert watch.seen.count(("notifications/message", "request", "sending")) == 3
    assert "dropped a 'notifications/message'" in caplog.text


def test_progress_is_changed_or_dropped(talk: Talk, tools: MCPServer, changing: Changing) -> None:
    def change(payload: Any) -> Any:
        if payload["progress"] == 1:
            raise ValueError
        return {**payload, "message": payload["message"].upper()}

    install_server(tools, changing("notifications/progress", "request", change))
    reports: list[tuple[float, float | None, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def conversation(client: Client) -> None:
        await client.call_tool("work", {}, progress_callback=told)

    talk(tools, conversation)
    assert reports == [(0, 3, "STEP 0"), (2, 3, "STEP 2")]


def test_two_chains_nest(legacy: Talk, tools: MCPServer) -> None:
    order: list[str] = []

    def named(name: str) -> Chain:
        interceptors = Interceptors()

        @interceptors.validator(name, events=["tools/call", "elicitation/create"], phase="both")
        def note(invocation: Invocation) -> None:
            order.append(f"{name} {invocation.event.split('/')[0]} {invocation.phase}")

        chain = Chain()
        chain.add_functions(interceptors)
        return chain

    install_server(tools, named("outer"))
    install_server(tools, named("inner"))

    async def conversation(client: Client) -> None:
        await client.call_tool("ask", {})
        await client.call_tool("ask", {})

    legacy(tools, conversation)
    once = [
        "outer tools request",
        "inner tools request",
        "inner elicitation request",
        "outer elicitation request",
        "outer elicitation response",
        "inner elicitation response",
        "inner tools response",
        "outer tools response",
    ]
    assert order == once + once
