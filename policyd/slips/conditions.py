"""Conditions that probably do not say what is meant.

Knows which way a part of a condition turns the whole, and so whether a doubt in it lets a payload
through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from policyd.expr.cel.parts import parts
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Conditional,
    Free,
    ListLiteral,
    Literal,
    Loop,
    Node,
    Not,
    Or,
)
from policyd.expression import Flaw
from policyd.pattern import Pattern, compile_pattern, matches_always
from policyd.pattern_mistakes import as_glob, as_pattern


class Purpose(Enum):
    """What the truth of an expression means.

    DENY: a finding.  REQUIRE: no finding.  NARROW: what the policy is for, or what is dropped.
    VALUE: nothing of its own.
    """

    DENY = "deny"
    REQUIRE = "require"
    NARROW = "narrow"
    VALUE = "value"


_PROOFS: Final = frozenset({"path.within", "path.outside", "sql.readOnly"})
_NAMES: Final = frozenset({"tool", "prompt", "event"})
_PARTS_OF_NAMES: Final = frozenset({"startsWith", "endsWith", "contains"})


def condition_slips(root: Node, purpose: Purpose) -> Iterator[Flaw]:
    """What in the checked tree *root* is probably not meant."""
    for node, truth in _with_truth(root):
        if isinstance(node, Apply):
            yield from _call(node, truth, purpose)
        elif isinstance(node, Binary):
            yield from _comparison(node)


def _with_truth(root: Node) -> Iterator[tuple[Node, bool | None]]:
    """Each part, with the truth of it that makes *root* more likely true; None where neither."""
    pending: list[tuple[Node, bool | None]] = [(root, True)]
    while pending:
        node, truth = pending.pop()
        yield node, truth
        pending += ((part, _passed_on(node, part, truth)) for part in parts(node))


def _passed_on(node: Node, part: Node, truth: bool | None) -> bool | None:
    if isinstance(node, And | Or):
        return truth
    if isinstance(node, Not):
        return None if truth is None else not truth
    is_branch = isinstance(node, Conditional) and part is not node.condition
    is_test = isinstance(node, Loop) and node.macro in ("all", "exists") and part is node.test
    return truth if is_branch or is_test else None


def _call(node: Apply, truth: bool | None, purpose: Purpose) -> Iterator[Flaw]:
    name = node.function.name
    if name in _PROOFS and truth is not None and _passes(truth, purpose):
        text = f"`{name}` is false for what is doubtful, and here that lets it through"
        yield Flaw("doubt-passes", text, node.offset, node.length, _PROOF_HELP[name])
    literal = node.arguments[1] if len(node.arguments) > 1 else None
    if not isinstance(literal, Literal) or type(literal.value) is not str:
        return
    if name == "matches":
        yield from _pattern(literal, truth, purpose)
    elif name == "glob":
        yield from _flaws("pattern-as-glob", as_pattern(literal.value), literal)
    elif name in _PARTS_OF_NAMES and "*" in literal.value:
        yield from _star(node.arguments[0], literal)


_PROOF_HELP: Final = {
    "path.within": "write `!path.outside(...)`, which is true for what is doubtful",
    "path.outside": "write `!path.within(...)`, which is true for what is doubtful",
    "sql.readOnly": "ask for what may pass: `require: sql.readOnly(...)`",
}


def _passes(truth: bool, purpose: Purpose) -> bool:
    """Whether the payload passes where a part that should be *truth* is not."""
    return {
        Purpose.DENY: truth,
        Purpose.REQUIRE: not truth,
        Purpose.NARROW: truth,
        Purpose.VALUE: False,
    }[purpose]


def _pattern(literal: Literal, truth: bool | None, purpose: Purpose) -> Iterator[Flaw]:
    written = literal.value
    pattern = compile_pattern(written)
    assert isinstance(pattern, Pattern), "the checker has compiled it"
    habit = as_glob(written)
    if habit is not None:
        yield from _flaws("glob-as-pattern", habit, literal)
    elif matches_always(pattern):
        text = f"`{written}` matches every text, so this is always true"
        help = "leave it out, or use `+` instead of `*`"
        yield Flaw("matches-everything", text, literal.offset, literal.length, help)
    elif _allows(truth, purpose) and pattern.edgeless and not written.startswith(".*"):
        text = "the pattern may match anywhere in the text, so what surrounds it is allowed too"
        help = "anchor it with `^` and `$`, or begin it with `.*` to say so"
        yield Flaw("unanchored-pattern", text, literal.offset, literal.length, help)


def _allows(truth: bool | None, purpose: Purpose) -> bool:
    """Whether a match is what lets the payload through."""
    return (truth, purpose) in ((True, Purpose.REQUIRE), (False, Purpose.DENY))


def _comparison(node: Binary) -> Iterator[Flaw]:
    if node.operator in _ORDER:
        yield from _order(node)
    if node.operator not in ("==", "!=", "in"):
        return
    for one, other in ((node.left, node.right), (node.right, node.left)):
        for text in other.items if isinstance(other, ListLiteral) else (other,):
            if isinstance(text, Literal) and "*" in _joined(text.value):
                yield from _star(one, text)


_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def _order(node: Binary) -> Iterator[Flaw]:
    """A number in quotes is ordered among texts only: `"10"` is before `"5"`."""
    for literal in (node.left, node.right):
        value = literal.value if isinstance(literal, Literal) else None
        if type(value) is str and _NUMBER.fullmatch(value):
            text = "a number in quotes is a text, and no number is before or after a text"
            yield Flaw("number-as-text", text, literal.offset, literal.length, f"write `{value}`")


def _joined(value: Any) -> str:
    """The texts in the value of a literal, which may be a constant with several."""
    values = value if type(value) is list else [value]
    return "".join(text for text in values if type(text) is str)


def _star(place: Node, literal: Literal) -> Iterator[Flaw]:
    if isinstance(place, Free) and place.key in _NAMES:
        text = "`*` is a character here, which no name has"
        help = f"write `glob({place.key}, ...)`"
        yield Flaw("glob-as-text", text, literal.offset, literal.length, help)


def _flaws(code: str, habit: tuple[str, str] | None, literal: Literal) -> Iterator[Flaw]:
    if habit is not None:
        text, help = habit
        yield Flaw(code, text, literal.offset, literal.length, help)
