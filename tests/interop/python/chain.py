"""An interceptor chain as the Python interceptors SDK runs it.

Our own restatement of what its models accept and what it makes of the answers: that package
is not published.  Knows no transport; whoever runs it says how a method is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

Ask = Callable[..., Awaitable[dict[str, Any]]]
"""Asks a method with params for its result."""

Phase = Literal["request", "response"]
Severity = Literal["info", "warn", "error"]


class Wire(BaseModel):
    """What is optional may be missing, never null; what is unknown is ignored."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class Hook(Wire):
    events: list[str]
    phase: Phase


class Priorities(Wire):
    request: int = 0
    response: int = 0


class Compat(Wire):
    min_protocol: str


class Descriptor(Wire):
    name: str
    type: str
    hooks: list[Hook]
    mode: Literal["active", "audit"] = "active"
    fail_open: bool = False
    priority_hint: int | Priorities = 0
    compat: Compat = Compat.model_validate({"minProtocol": "2024-11-05"})
    config_schema: dict[str, Any] = {}

    def runs(self, event: str, phase: Phase) -> bool:
        return self.type in ("validation", "mutation") and self.matches(event, phase)

    def matches(self, event: str, phase: Phase) -> bool:
        return any(h.phase == phase and {event, "*"} & set(h.events) for h in self.hooks)

    def priority(self, phase: Phase) -> int:
        hint = self.priority_hint
        return hint if isinstance(hint, int) else int(getattr(hint, phase))


class Listing(Wire):
    interceptors: list[Descriptor]


class Message(Wire):
    message: str
    severity: Severity
    path: str | None = None


class Result(Wire):
    type: str
    phase: Phase = "request"
    duration_ms: float | None = None
    info: dict[str, Any] | None = None


class Validation(Result):
    type: Literal["validation"]
    valid: bool
    severity: Severity | None = None
    messages: list[Message] | None = None

    @property
    def blocks(self) -> bool:
        """By the severity on top, else by the messages, else to be on the safe side."""
        if self.valid:
            return False
        if self.severity is not None:
            return self.severity == "error"
        return not self.messages or any(m.severity == "error" for m in self.messages)

    @property
    def outcome(self) -> str:
        return "blocks" if self.blocks else "passes"

    @property
    def reason(self) -> str:
        return self.messages[0].message if self.messages else ""


class Mutation(Result):
    type: Literal["mutation"]
    modified: bool
    payload: Any = None

    @property
    def outcome(self) -> str:
        return "replaces" if self.modified else "passes"


RESULT: TypeAdapter[Validation | Mutation] = TypeAdapter(Validation | Mutation)


class Execution:
    """One execution under way: receiving, so requests are judged and then changed."""

    def __init__(self, ask: Ask, entries: list[Descriptor], asked: dict[str, Any]) -> None:
        self._ask = ask
        self._entries = entries
        self._asked = asked
        self.done: dict[str, Any] = {
            "status": "success",
            "aborts": [],
            "findings": [],
            "failures": [],
            "called": [],
        }

    async def run(self) -> dict[str, Any]:
        steps = [self._validate, self._mutate]
        if self._asked["phase"] == "response":
            steps.reverse()
        for step in steps:
            if self.done["status"] == "success":
                await step()
        if self.done["status"] == "success":
            self.done["finalPayload"] = self._asked["payload"]
        return self.done

    def _matching(self, kind: str) -> list[Descriptor]:
        event, phase = self._asked["event"], self._asked["phase"]
        found = [e for e in self._entries if e.type == kind and e.matches(event, phase)]
        self.done["called"] += [entry.name for entry in found]
        return found

    async def _invoke(self, entry: Descriptor) -> Validation | Mutation | None:
        """The answer of one interceptor; None when it failed, which is recorded."""
        try:
            answer = await self._ask("interceptor/invoke", name=entry.name, **self._asked)
            return RESULT.validate_python(answer)
        except MCPError as error:
            told = {"code": error.code, "message": error.message, "data": error.data}
        except ValidationError as error:
            told = {"code": 0, "message": str(error)}
        self.done["failures"].append({"interceptor": entry.name, **told})
        if entry.mode != "audit" and not entry.fail_open:
            self._abort(entry, str(told["message"]))
        return None

    def _abort(self, entry: Descriptor, reason: str) -> None:
        """The first one is named."""
        self.done["status"] = f"{entry.type}_failed"
        if not self.done["aborts"]:
            culprit = {"interceptor": entry.name, "reason": reason, "type": entry.type}
            self.done["aborts"].append(culprit)

    async def _validate(self) -> None:
        validators = self._matching("validation")
        answers: dict[str, Validation | Mutation | None] = {}

        async def judge(entry: Descriptor) -> None:
            answers[entry.name] = await self._invoke(entry)

        async with anyio.create_task_group() as tasks:
            for entry in validators:
                tasks.start_soon(judge, entry)
        for entry in validators:
            answer = answers[entry.name]
            if not isinstance(answer, Validation):
                continue
            for message in answer.messages or []:
                told = message.model_dump(exclude_none=True)
                self.done["findings"].append({"interceptor": entry.name, **told})
            if answer.blocks and entry.mode != "audit":
                self._abort(entry, answer.reason)

    async def _mutate(self) -> None:
        phase = self._asked["phase"]
        before = self._asked["payload"]
        mutators = self._matching("mutation")
        for entry in sorted(mutators, key=lambda e: (e.priority(phase), e.name)):
            answer = await self._invoke(entry)
            if self.done["status"] != "success":
                self._asked["payload"] = before  # all of it or none
                return
            if isinstance(answer, Mutation) and answer.modified and entry.mode != "audit":
                self._asked["payload"] = answer.payload
