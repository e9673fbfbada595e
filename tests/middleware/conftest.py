"""Servers with tools, clients that answer them, and chains that see what passes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, FileUrl, TypeAdapter

import policyd
from policyd import Engine, Finding, Invocation
from policyd.chain import Chain
from policyd.functions import Interceptors

SECONDS = 30

POLICIES = """
policyd: v1
validators:
  - name: no-rm
    match: {events: [tools/call], phase: request}
    rules:
      - id: no-rm-rf
        deny: has(args.text) && args.text.contains("rm -rf")
        message: recursive delete is not allowed
        path: /arguments/text
        hint: delete one named file at a time
      - id: short
        require: "!has(args.text) || size(args.text) < 8"
        severity: warn
        message: the text is long
mutators:
  - name: mask
    match: {events: ["*"], phase: both}
    redact:
      - pattern: 'employee-\\d+'
        replace: "[employee]"
"""


class Answer(BaseModel):
    ok: bool


FORM: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def form(message: str) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    )


def add_answering(server: MCPServer) -> None:
    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    def fail() -> str:
        raise ToolError("ask employee-4")

    @server.tool()
    def refuse() -> str:
        raise MCPError(-32050, "not today", {"day": 1})


def add_asking(server: MCPServer) -> None:
    @server.tool()
    async def ask(context: Context) -> str:
        answered = await context.elicit("proceed, employee-7?", Answer)
        return answered.action

    @server.tool()
    async def sample(context: Context) -> str:
        text = types.TextContent(text="hi")
        answered = await context.session.create_message(
            [types.SamplingMessage(role="user", content=text)],
            max_tokens=5,
            related_request_id=context.request_id,
        )
        return str(answered.content.text) if isinstance(answered.content, type(text)) else ""

    @server.tool()
    async def ping(context: Context) -> str:
        await context.session.send_ping()
        return "pong"

    @server.tool()
    async def where(context: Context) -> str:
        return str((await context.session.list_roots()).roots[0].uri)

    @server.tool()
    async def refund(order: str, context: Context) -> str | types.InputRequiredResult:
        if context.input_responses is None:
            return types.InputRequiredResult(
                input_requests={"sure": form("refund, employee-7?")}, request_state="st:" + order
            )
        answered = context.input_responses["sure"]
        return f"{order}: {answered.action}" if isinstance(answered, types.ElicitResult) else "?"


def add_notifying(server: MCPServer) -> None:
    @server.tool()
    async def work(context: Context) -> str:
        for step in range(3):
            await context.report_progress(step, 3, f"step {step}")
        return "done"

    @server.tool()
    async def tell(context: Context) -> str:
        for text in ("one", "two employee-1", "three"):
            await context.session.send_log_message("info", text, related_request_id="0")
        return "told"


def build_tools() -> MCPServer:
    server = MCPServer("tools", log_level="CRITICAL")
    add_answering(server)
    add_asking(server)
    add_notifying(server)
    return server


Asked = list[str]
Conversation = Callable[[Client], Awaitable[None]]


def callbacks(asked: Asked) -> dict[str, Any]:
    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"ok": True})

    async def sampling(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        asked.append(str(params.max_tokens))
        text = types.TextContent(text="by employee-9")
        return types.CreateMessageResult(role="assistant", model="m", content=text)

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///employee-3"))])

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        asked.append(f"log {params.data}")

    return {
        "elicitation_callback": elicit,
        "sampling_callback": sampling,
        "list_roots_callback": roots,
        "logging_callback": log,
        "log_level": "info",
    }


class Talk:
    """Runs a conversation of a client in one era; `asked` is what its callbacks were asked."""

    def __init__(self, era: str) -> None:
        self.era = era
        self.asked: Asked = []

    @property
    def modern(self) -> bool:
        return self.era != "legacy"

    def client(self, target: Any) -> Client:
        return Client(target, mode=self.era, **callbacks(self.asked))

    def __call__(self, target: Any, conversation: Conversation) -> None:
        """*target*: a server, or a client that is not entered yet."""
        client = target if isinstance(target, Client) else self.client(target)

        async def connected() -> None:
            with anyio.fail_after(SECONDS):
                async with client:
                    await conversation(client)

        anyio.run(connected)

    @staticmethod
    async def text(client: Client, tool: str, **arguments: Any) -> str:
        """The text that a tool answers."""
        return Talk.read(await client.call_tool(tool, arguments))

    @staticmethod
    def read(result: types.CallToolResult) -> str:
        """The text in a result."""
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return content.text

    @staticmethod
    async def refusal(client: Client, tool: str, **arguments: Any) -> types.ErrorData:
        """The error that a call of a tool ends with."""
        with pytest.raises(MCPError) as caught:
            await client.call_tool(tool, arguments)
        return caught.value.error

    @staticmethod
    async def send(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of any method."""
        request = AnyRequest(method=method, params=params)
        result: dict[str, Any] = await client.session.send_request(request, RAW)
        return result


class AnyRequest(types.Request[dict[str, Any], str]):
    method: str
    params: dict[str, Any]


RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


def lowlevel(answer: Callable[[], Any]) -> Server[Any]:
    """A server with one method of its own, `x/y`."""
    server: Server[Any] = Server("low")

    async def handle(context: Any, params: types.RequestParams) -> Any:
        return answer()

    server.add_request_handler("x/y", types.RequestParams, handle)
    return server


@pytest.fixture(name="lowlevel")
def lowlevel_fixture() -> Callable[[Callable[[], Any]], Server[Any]]:
    return lowlevel


@pytest.fixture(params=["legacy", "auto"])
def talk(request: pytest.FixtureRequest) -> Talk:
    return Talk(request.param)


@pytest.fixture
def legacy() -> Talk:
    return Talk("legacy")


@pytest.fixture
def modern() -> Talk:
    return Talk("auto")


@pytest.fixture
def tools() -> MCPServer:
    return build_tools()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "main.yaml").write_text(POLICIES, encoding="utf-8")
    return policyd.load(tmp_path)


Judge = Callable[[Invocation], str | Finding | list[str | Finding] | None]


class Watch:
    """A chain with one validator for everything, and what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str | None]] = []
        self.invocations: list[Invocation] = []
        self.judge: Judge = lambda invocation: None
        self.interceptors = Interceptors()
        self.interceptors.validator("watch", events=["*"], phase="both")(self._watch)
        self.chain = Chain()
        self.chain.add_functions(self.interceptors)

    def _watch(self, invocation: Invocation) -> Any:
        direction = invocation.direction
        self.seen.append(
            (invocation.event, str(invocation.phase), None if direction is None else str(direction))
        )
        self.invocations.append(invocation)
        return self.judge(invocation)

    @property
    def contexts(self) -> list[dict[str, Any]]:
        """The contexts seen, without the timestamp that the chain adds."""
        contexts = [dict(invocation.context) for invocation in self.invocations]
        for context in contexts:
            context.pop("timestamp")
        return contexts

    def deny(self, event: str, phase: str, text: str = "denied") -> None:
        """Object to one event and phase from now on."""
        self.judge = lambda i: text if (i.event, i.phase) == (event, phase) else None


@pytest.fixture
def watch() -> Watch:
    return Watch()


def changing(event: str, phase: str, change: Callable[[Any], Any]) -> Chain:
    """A chain with one mutator."""
    interceptors = Interceptors()
    interceptors.mutator("change", events=[event], phase=phase)(lambda i: change(i.payload))
    chain = Chain()
    chain.add_functions(interceptors)
    return chain


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of an ASGI app behind a real socket, for as long as the block lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        # connections wait in the listener's queue until the server takes them
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        listener.close()


@pytest.fixture(name="listening")
def listening_fixture() -> Callable[[Any], AbstractContextManager[str]]:
    return listening


@pytest.fixture(name="changing")
def changing_fixture() -> Callable[[str, str, Callable[[Any], Any]], Chain]:
    return changing


SECRET = "employee-7"


def masked(value: Any) -> Any:
    """*value* without the secret, keys included."""
    if isinstance(value, str):
        return value.replace(SECRET, "[e]")
    if isinstance(value, list):
        return [masked(one) for one in value]
    if isinstance(value, dict):
        return {masked(key): masked(one) for key, one in value.items()}
    return value


@pytest.fixture
def mask() -> Chain:
    """A chain that takes the secret out of everything, both ways."""
    return changing("*", "both", masked)
