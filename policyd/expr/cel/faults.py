"""Faults put into an expression on purpose: what a suite of cases has to notice.

Knows the slips that people make when they change a condition, as a list of changed texts.  Knows
neither who runs them nor whether the changed text still compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policyd.expr.cel.parts import Written, parts
from policyd.expr.cel.tree import (
    And,
    Binary,
    Conditional,
    ListLiteral,
    Node,
    Not,
    Or,
)

_OPPOSITES: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

_SHOWN = 60
"""Code points of a part that are quoted."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One fault.

    offset, length: the part that is at fault, in the text as it was.
    change: what was done, in words for the author of the policy.
    text: the whole expression with the fault.
    """

    offset: int
    length: int
    change: str
    text: str


def faults_of(text: str, *, condition: bool) -> tuple[Edit, ...]:
    """Every fault that *text*, which is an expression of CEL, can have.

    *condition* says that it yields a bool, so that it can be turned round as a whole.
    """
    written = Written(text)
    found = list(_below(written.tree, written))
    if condition and not isinstance(written.tree, (And, Or, Not, Binary)):
        start, end = written.stretches[written.tree.offset]
        found.append(Edit(start, end - start, "the condition is negated", f"!({text})"))
    return tuple(found)


def _below(node: Node, written: Written) -> Iterator[Edit]:
    rule = _RULES.get(type(node))
    if rule is not None:
        yield from rule(node, written)
    for part in parts(node):
        yield from _below(part, written)


def _put(node: Node, new: str, written: Written) -> str:
    """The whole text with *new* in place of a part."""
    start, end = written.stretches[node.offset]
    return written.text[:start] + new + written.text[end:]


def _comparison(node: Binary, written: Written) -> Iterator[Edit]:
    if node.operator == "in":
        new = f"(!({written.of(node)}))"
        text = _put(node, new, written)
        yield Edit(node.offset, node.length, "`in` is negated", text)
    elif node.operator in _OPPOSITES:
        opposite = _OPPOSITES[node.operator]
        end = node.offset + node.length
        text = written.text[: node.offset] + opposite + written.text[end:]
        yield Edit(node.offset, node.length, f"`{node.operator}` becomes `{opposite}`", text)


def _logic(node: And | Or, written: Written) -> Iterator[Edit]:
    operator = "&&" if isinstance(node, And) else "||"
    for dropped in node.operands:
        rest = [written.bracketed(other) for other in node.operands if other is not dropped]
        new = f" {operator} ".join(rest)
        start, end = written.stretches[dropped.offset]
        change = f"`{_short(written.of(dropped))}` is dropped from `{operator}`"
        yield Edit(start, end - start, change, _put(node, new, written))


def _negation(node: Not, written: Written) -> Iterator[Edit]:
    text = _put(node, written.bracketed(node.operand), written)
    yield Edit(node.offset, node.length, "`!` is dropped", text)


def _choice(node: Conditional, written: Written) -> Iterator[Edit]:
    for chosen, when in ((node.then, "true"), (node.otherwise, "false")):
        text = _put(node, f"({written.of(chosen)})", written)
        change = f"`{_short(written.of(node.condition))}` counts as {when}"
        yield Edit(node.offset, node.length, change, text)


def _list(node: ListLiteral, written: Written) -> Iterator[Edit]:
    if len(node.items) > 1:
        text = _put(node, f"[{written.bracketed(node.items[0])}]", written)
        start, end = written.stretches[node.offset]
        yield Edit(start, end - start, "the list is cut to its first element", text)


_RULES: Final[dict[type[Node], Callable[[Any, Written], Iterator[Edit]]]] = {
    Binary: _comparison,
    And: _logic,
    Or: _logic,
    Not: _negation,
    Conditional: _choice,
    ListLiteral: _list,
}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
