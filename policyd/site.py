"""Where a rule stands while it is compiled: its scope, and where its mistakes are reported.

Turns text of a policy file into expressions, messages and pointers, and flaws of such text
into diagnostics at their own line and column.  Knows no kind of rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from policyd.detectors import DETECTORS, GROUPS
from policyd.diagnostics import Report, did_you_mean
from policyd.document import Text
from policyd.errors import EvaluationError
from policyd.events import ALWAYS, REQUEST_NAMES, names_in
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expr.jmes import compile_jmespath
from policyd.expr.message import Template, compile_template
from policyd.expr.shape import Shape, compile_shape
from policyd.expression import Budget, Expression, Flaw, Scope
from policyd.model import Phase
from policyd.pointer import Pointer, PointerFlaw, parse_pointer
from policyd.policy import Node, Policy, only_one

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

    def with_names(self, *names: str) -> Site:
        """The same site with more names in scope."""
        scope = replace(self.scope, names=self.scope.names | set(names))
        return Site(self.policy, scope, self.report)

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
        known = (*DETECTORS, *GROUPS)
        unknown = [entry for entry in node if entry.value not in known]
        for entry in unknown:
            groups = ", ".join(f"`{group}`" for group in GROUPS)
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


def open_site(policy: Policy, report: Report) -> tuple[Site, Mapping[str, Expression]]:
    """A site for *policy*, and its compiled variables under their activation keys.

    A variable may use those written above it.
    """
    scope = Scope(
        names=_common_names(policy),
        absent=_absent_names(policy),
        constants=policy.constants,
    )
    variables: dict[str, Expression] = {}
    for node in policy.node.get("variables") or ():
        name = str(node.path[-1])
        program = Site(policy, scope, report).program(node)
        if program is not None:
            variables[f"variables.{name}"] = program
        scope = replace(scope, variables=scope.variables | {name})
    return Site(policy, scope, report), variables


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
