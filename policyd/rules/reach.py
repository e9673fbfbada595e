"""`in`, `except` and `tools`: where, and on which payloads, an entry that searches applies.

    in: [/structuredContent, /content/*/text]   # only there
    except: [/content/0, {cel: 'principal.id == "auditor"'}]
    tools: ["read_*"]                           # in the request of tools/call

A pointer stands for all that is below it, with `*` and `**` as in a `path`.  Where the condition
of an `except` is true, the entry does nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policyd.activation import Activation
from policyd.expression import Budget, Expression
from policyd.model import Phase
from policyd.pattern import compile_glob
from policyd.pointer import PointerFlaw, PointerPattern, parse_pattern
from policyd.policy import Node
from policyd.redaction import Scope
from policyd.site import Site, holds


@dataclass(frozen=True, slots=True)
class Reach:
    """Where an entry applies.

    scope: the parts of a payload; tools: those it is for, None for all; exempt: conditions.
    """

    scope: Scope
    tools: tuple[Callable[[str], bool], ...] | None
    exempt: tuple[Expression, ...]

    def covers(self, activation: Activation, budget: Budget) -> bool:
        """True when the entry applies to this payload.  Raises EvaluationError."""
        if self.tools is not None:
            tool = activation["tool"]
            if not any(admits(tool) for admits in self.tools):
                return False
        return not any(holds(condition, activation, budget) for condition in self.exempt)


def build_reach(node: Node, site: Site) -> Reach | None:
    """The reach of an entry; None after a diagnostic."""
    failed = len(site.report.diagnostics)
    within = _patterns(node.get("in"), site)
    tools = _tools(node.get("tools"), site)
    without: list[PointerPattern] = []
    exempt: list[Expression] = []
    for entry in node.get("except") or ():
        if isinstance(entry.value, str):
            without += _pattern(entry, site)
        else:
            condition = site.condition(entry["cel"])
            exempt += [] if condition is None else [condition]
    if len(site.report.diagnostics) > failed:
        return None
    return Reach(Scope(tuple(within), tuple(without)), tools, tuple(exempt))


def _patterns(node: Node | None, site: Site) -> list[PointerPattern]:
    return [pattern for entry in node or () for pattern in _pattern(entry, site)]


def _pattern(node: Node, site: Site) -> list[PointerPattern]:
    parsed = parse_pattern(node.text)
    if isinstance(parsed, PointerFlaw):
        site.pointer_flaw(node.text, parsed)
        return []
    return [parsed]


def _tools(node: Node | None, site: Site) -> tuple[Callable[[str], bool], ...] | None:
    if node is None:
        return None
    if site.policy.hook.moments != (("tools/call", Phase.REQUEST),):
        text = "`tools` needs the request phase of `tools/call` alone: nothing else names a tool"
        site.report.error("tools-without-name", node.key_span, text)
    return tuple(compile_glob(glob) for glob in node.value)
