"""`patch`: JSON Patch (RFC 6902), applied as a whole or not at all.

    patch:
      - {op: add, path: /arguments/dry_run, value: true}
      - {op: replace, path: /arguments/limit, value: {cel: "args.limit > 100 ? 100 : args.limit"}}

A computed value is computed from the payload as it came, before any operation.  An operation
that cannot be applied, a `test` that does not hold included, makes the policy fail, and
nothing of it is applied; `match.when` is the guard for what may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policyd.activation import Activation
from policyd.errors import EvaluationError
from policyd.expr.cel import Program
from policyd.expression import Budget, Expression
from policyd.model import Change
from policyd.patch import (
    Op,
    Operation,
    OperationFlaw,
    PatchError,
    apply_patch,
    parse_operation,
    same_json,
)
from policyd.pointer import PointerFlaw
from policyd.policy import Node, Rule
from policyd.rules.kinds import Step
from policyd.site import Site

_COMPUTED = "cel"


@dataclass(frozen=True, slots=True)
class Patch:
    """The step of `patch`.

    computed: what gives the value of an operation, by the index of the operation.
    changes: what is told where the payload is another one afterwards.
    """

    operations: tuple[Operation, ...]
    computed: Mapping[int, Expression]
    changes: tuple[Change, ...]

    def __call__(
        self, payload: Any, activation: Activation, budget: Budget
    ) -> tuple[Any, tuple[Change, ...]]:
        """Apply all operations in turn."""
        budget.spend(len(self.operations))
        values = {i: json_value(value(activation, budget)) for i, value in self.computed.items()}
        try:
            patched = apply_patch(payload, self.operations, values)
        except PatchError as error:
            raise EvaluationError(str(error)) from None
        return (payload, ()) if same_json(payload, patched) else (patched, self.changes)


def build(rules: tuple[Rule, ...], site: Site) -> Step | None:
    """A step that applies all operations in turn."""
    operations = [_operation(rule.node, site) for rule in rules]
    programs = {index: _program(rule.node, site) for index, rule in enumerate(rules)}
    ready = tuple(operation for operation in operations if operation is not None)
    if len(ready) < len(operations) or site.report.failed:
        return None
    computed = {index: program for index, program in programs.items() if program is not None}
    changes = tuple(
        Change(rule.id, rule.node.value["path"], operation.op.value)
        for rule, operation in zip(rules, ready, strict=True)
        if operation.op is not Op.TEST
    )
    return Patch(ready, computed, changes)


def _operation(node: Node, site: Site) -> Operation | None:
    parsed = parse_operation(node.value)
    if not isinstance(parsed, OperationFlaw):
        _check_members(node, parsed, site)
        return parsed
    member = node.get(parsed.member)
    if member is None:
        site.report.error("missing-field", node.span, parsed.text, parsed.help)
    elif parsed.offset is None:
        site.report.error("bad-operation", member.span, parsed.text, parsed.help)
    else:
        site.pointer_flaw(member.text, PointerFlaw(parsed.text, parsed.offset, parsed.help))
    return None


def _check_members(node: Node, operation: Operation, site: Site) -> None:
    """Report members that the operation does not have: they would be ignored in silence."""
    op = operation.op
    value = operation.value
    if op in (Op.ADD, Op.REPLACE) and not operation.path and not isinstance(value, dict):
        text = "the whole payload is an object, and so is what takes its place"
        site.report.error("bad-operation", node["value"].span, text)
    unused = []
    if op in (Op.REMOVE, Op.MOVE, Op.COPY):
        unused.append("value")
    if op not in (Op.MOVE, Op.COPY):
        unused.append("from")
    for name in unused:
        member = node.get(name)
        if member is not None:
            site.report.error("unused-field", member.key_span, f"`{op}` takes no `{name}`")


def _program(node: Node, site: Site) -> Program | None:
    code = computed_value(node)
    if code is None:
        return None
    if not isinstance(code.value, str):
        site.report.error("wrong-type", code.span, "`cel` must be a text")
        return None
    return site.program(code)


def computed_value(node: Node) -> Node | None:
    """The expression of an operation whose value is computed."""
    value = node.value.get("value")
    if not isinstance(value, dict) or set(value) != {_COMPUTED}:
        return None
    return node["value"][_COMPUTED]


def json_value(value: Any) -> Any:
    """A value that CEL computed, as a JSON value.

    Raises EvaluationError for what JSON has no form for: timestamps, durations, bytes, types,
    NaN, and maps with keys that are no strings.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: json_value(item) for key, item in value.items()}
    raise EvaluationError("the computed value has no form in JSON")
