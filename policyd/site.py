"""Where a rule stands while it is compiled: its scope, and where its mistakes are reported.

Turns text of a policy file into expressions, messages and pointers, and flaws of such text
into diagnostics at their own line and column.  Knows no kind of rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from policyd.diagnostics import Report, did_you_mean
from policyd.document import Text
from policyd.errors import EvaluationError
from policyd.events import ALWAYS, REQUEST_NAMES, names_in
from policyd.expr.cel import Program, Result, compile_cel, given_by
from policyd.expr.jmes import compile_jmespath
from policyd.expr.message import Template, compile_template
from policyd.expr.shape import Shape, compile_shape
from policyd.expression import Budget, Expression, Flaw, Scope
from policyd.model import Phase
from policyd.pointer import Pointer, PointerFlaw, parse_pointer
from policyd.policy import Node, Policy, only_one
from policyd.types import (
    ListOf,
    Moment,
    Type,
    join,
    member_of,
    moment,
    options,
    type_at,
    type_of_schema,
    with_arguments,
)

_T = TypeVar("_T")

_NOT_IN_RESPONSE = {
    "tool": "a response does not say which tool was called",
    "prompt": "a response does not say which prompt was asked for",
    "args": "a response does not carry the arguments of its request",
    "uri": "a response does not say which resource was asked for",
}


@dataclass(frozen=True, slots=True)
class Site:
    """One policy under compilation."""

    policy: Policy
    scope: Scope
    report: Report

    def with_item(self, pointer: Pointer | None) -> Site:
        """The same site where `item` is an element of the list at *pointer*."""
        names = self.scope.names | {"item"}
        if pointer is None:
            return Site(self.policy, replace(self.scope, names=names), self.report)
        types = {**self.scope.types, "item": element_at(self.scope.moments, pointer)}
        return Site(self.policy, replace(self.scope, names=names, types=types), self.report)

    def where(self, condition: Expression | None) -> Site:
        """The same site where *condition* holds."""
        if not isinstance(condition, Program):
            return self
        return Site(self.policy, given_by(condition, self.scope), self.report)

    def condition(self, node: Node) -> Expression | None:
        """Compile an expression that must yield a boolean: CEL, or `{jmespath: ...}`."""
        if isinstance(node.value, dict):
            text = node["jmespath"].text
            return self._settled(text, compile_jmespath(text))
        return self._settled(node.text, compile_cel(node.text, self.scope, Result.BOOL))

    def program(self, node: Node) -> Program | None:
        """Compile a CEL expression of any type."""
        return self._settled(node.text, compile_cel(node.text, self.scope, Result.ANY))

    def template(self, node: Node | None) -> Template | None:
        """Compile a message, if there is one."""
        if node is None:
            return None
        return self._settled(node.text, compile_template(node.text, self.scope))

    def shape(self, node: Node) -> Shape | None:
        """Compile a JSON Schema; what is wrong in it is reported at its own place."""
        compiled = compile_shape(node.value)
        if isinstance(compiled, Shape):
            return compiled
        for flaw in compiled:
            path = (*node.path, *flaw.path)
            document = node.document
            span = document.key_span(path) if flaw.at_key else document.span(path)
            self.report.error("bad-schema", span, flaw.text, flaw.help)
        return None

    def pointer(self, node: Node | None) -> Pointer | None:
        """Parse a JSON Pointer, if there is one."""
        if node is None:
            return None
        parsed = parse_pointer(node.text)
        if isinstance(parsed, PointerFlaw):
            self.pointer_flaw(node.text, parsed)
            return None
        return parsed

    def pointer_flaw(self, text: Text, flaw: PointerFlaw) -> None:
        """Report what is wrong in a pointer: the whole of it, or what is wrong inside."""
        length = 1 if flaw.offset else len(text)
        self.flaws(text, (Flaw("bad-pointer", flaw.text, flaw.offset, length, flaw.help),))

    def detectors(self, node: Node) -> tuple[str, ...] | None:
        """The names of detectors and groups in a list; None after a diagnostic."""
        catalog = self.policy.detectors
        known = (*catalog.detectors, *catalog.groups)
        unknown = [entry for entry in node if entry.value not in known]
        for entry in unknown:
            groups = ", ".join(f"`{group}`" for group in catalog.groups)
            help = did_you_mean(entry.value, known) or f"groups of detectors: {groups}"
            text = f"unknown detector `{entry.value}`"
            self.report.error("unknown-detector", entry.span, text, help)
        return None if unknown else tuple(node.value)

    def only_one(self, node: Node, kinds: tuple[str, ...], what: str) -> str | None:
        """The one member of *node* that is among *kinds*; None after a diagnostic."""
        return only_one(node, kinds, what, self.report)

    def flaws(self, text: Text, flaws: Iterable[Flaw]) -> None:
        """Report flaws of *text* at their own places in the file."""
        for flaw in flaws:
            span = text.at(flaw.offset, flaw.length)
            self.report.error(flaw.code, span, flaw.text, flaw.help)

    def _settled(self, text: Text, compiled: _T | tuple[Flaw, ...]) -> _T | None:
        if isinstance(compiled, tuple):
            self.flaws(text, compiled)
            return None
        return compiled


def holds(condition: Expression, activation: Mapping[str, Any], budget: Budget) -> bool:
    """The truth of a condition.  Raises EvaluationError for anything but a boolean."""
    value = condition(activation, budget)
    if value is True or value is False:
        return value
    raise EvaluationError("the expression gave no boolean")


_BELOW = "a variable sees those written above it"


def open_site(policy: Policy, report: Report) -> tuple[Site, Mapping[str, Expression]]:
    """A site for *policy*, and its compiled variables under their activation keys.

    A variable may use those written above it.
    """
    names = _common_names(policy)
    moments = _moments(policy)
    scope = Scope(
        names=names,
        absent=_absent_names(policy),
        constants=policy.constants,
        types=_types(policy, names, moments),
        moments=moments,
        tools=policy.tools,
    )
    written = tuple(policy.node.get("variables") or ())
    below = {f"variables.{node.path[-1]}": _BELOW for node in written}
    variables: dict[str, Expression] = {}
    for node in written:
        name = str(node.path[-1])
        # a variable is evaluated where a rule asks for it
        alone = replace(scope, guarded=True, absent={**scope.absent, **below})
        program = Site(policy, alone, report).program(node)
        types = scope.types
        if program is not None:
            variables[f"variables.{name}"] = program
            types = {**types, f"variables.{name}": program.type}
        scope = replace(scope, variables=scope.variables | {name}, types=types)
    return Site(policy, scope, report), variables


def _moments(policy: Policy) -> tuple[tuple[Moment, ...], ...]:
    """Each named event and phase alone, and together those that wildcards cover."""
    hook = policy.hook
    if hook.tools is not None and hook.tools.value and policy.tools.keys() >= set(hook.tools.value):
        # `tools` goes with the request of `tools/call` alone
        arguments = join(policy.tools[tool] for tool in hook.tools.value)
        return ((with_arguments(moment("tools/call", "request"), arguments),),)
    named = [
        (moment(event, phase),)
        for event in hook.events
        if "*" not in event
        for phase in hook.phases
    ]
    if len(named) == len(hook.events) * len(hook.phases):
        return tuple(named)
    alone = {only for (only,) in named}
    covered = [m for m in (moment(event, phase) for event, phase in hook.moments) if m not in alone]
    return (*named, tuple(covered)) if covered else tuple(named)


def _types(
    policy: Policy, names: Iterable[str], moments: tuple[tuple[Moment, ...], ...]
) -> dict[str, Type]:
    """What each name is in any of *moments*, and what the policy itself says of a name."""
    together = tuple(one for group in moments for one in group)
    types = {name: type_at(together, name) for name in names if name in together[0].types}
    config = policy.node.get("configSchema")
    if config is not None:
        types["config"] = type_of_schema(config.value)
    return types


def element_at(moments: Iterable[Iterable[Moment]], pointer: Pointer) -> Type:
    """What an element is of the list at *pointer* in the payload of any of *moments*."""
    found = [type_at((one,), "payload") for group in moments for one in group]
    tokens: tuple[str | int, ...] = (*pointer, 0)
    for token in tokens:
        found = [part for type in found for part in _below(type, token)]
    return join(found)


def _below(type: Type, token: str | int) -> list[Type]:
    lists = [option.item for option in options(type) if isinstance(option, ListOf)]
    if lists and str(token).isdecimal():
        return lists
    member = member_of(type, str(token))
    return [] if member is None else [member]


def _common_names(policy: Policy) -> frozenset[str]:
    """Names that exist in every event and phase that the policy matches."""
    names = frozenset.intersection(*(names_in(e, p) for e, p in policy.hook.moments))
    return names | {"config"} if policy.node.get("configSchema") else names


def _absent_names(policy: Policy) -> dict[str, str]:
    """Why a name that exists elsewhere does not exist here."""
    absent = {"item": "only `where` of a `drop` has an `item`"}
    if not policy.node.get("configSchema"):
        absent["config"] = "the policy has no `configSchema`"
    everywhere = set().union(*REQUEST_NAMES.values(), ALWAYS, {"result"})
    for name in sorted(everywhere):
        for event, phase in policy.hook.moments:
            if name not in names_in(event, phase):
                absent[name] = _why_absent(name, event, phase)
                break
    return absent


def _why_absent(name: str, event: str, phase: Phase) -> str:
    if name == "result":
        return "a request has no result yet"
    if phase is Phase.RESPONSE:
        return _NOT_IN_RESPONSE[name]
    owners = " and ".join(f"`{owner}`" for owner, names in REQUEST_NAMES.items() if name in names)
    where = "an event that MCP does not define" if event == "*" else f"`{event}`"
    return f"{where} has none, only {owners}"
