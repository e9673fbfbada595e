"""What the kinds of rules have in common: their types, and how a finding is put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policyd.activation import Activation
from policyd.expr.message import Template
from policyd.expression import Budget
from policyd.model import Change, Finding, Severity
from policyd.policy import Rule
from policyd.site import Site

Check = Callable[[Activation, Budget], tuple[Finding, ...]]
"""Findings for one payload; raises EvaluationError where it cannot tell."""

Step = Callable[[Any, Activation, Budget], tuple[Any, tuple[Change, ...]]]
"""A payload and what was changed in it; the very same object where nothing was.

Raises EvaluationError where it cannot be carried out.
"""


@dataclass(frozen=True, slots=True)
class FindingMaker:
    """Everything of a finding that is known before there is a payload."""

    interceptor: str
    rule: str
    severity: Severity
    message: Template
    hint: Template | None
    path: str | None

    def __call__(self, activation: Activation, budget: Budget, path: str | None = None) -> Finding:
        """The finding for this payload, at *path* where given."""
        return Finding(
            interceptor=self.interceptor,
            rule=self.rule,
            severity=self.severity,
            message=self.message(activation, budget),
            path=self.path if path is None else path,
            hint=None if self.hint is None else self.hint(activation, budget),
        )


def finding_maker(rule: Rule, site: Site) -> FindingMaker | None:
    """Compile message, hint and path of a rule; None after a diagnostic."""
    node = rule.node
    message = site.template(node["message"])
    hint_node, path_node = node.get("hint"), node.get("path")
    hint = site.template(hint_node)
    pointer = site.pointer(path_node)
    for name in () if rule.kind == "detect" else ("in", "except", "tools", "min"):
        if name in node.value:
            text = f"`{name}` goes with `detect` only"
            site.report.error("unused-field", node[name].key_span, text)
    broken = (hint_node is not None and hint is None) or (path_node is not None and pointer is None)
    if message is None or broken:
        return None
    return FindingMaker(
        interceptor=site.policy.name,
        rule=rule.id,
        severity=Severity(node.value.get("severity", "error")),
        message=message,
        hint=hint,
        path=node.value.get("path"),
    )
