"""Scopes and flaws for tests of types."""

from __future__ import annotations

from collections.abc import Sequence

from policyd.events import names_in
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Flaw, Scope
from policyd.types import (
    Moment,
    type_of_schema,
)

CONFIG = type_of_schema(
    {
        "properties": {
            "limit": {"type": "integer"},
            "exact": {"type": "boolean"},
            "mode": {"enum": ["strict", "loose", None]},
            "level": {"enum": [1, 2, 3]},
        }
    }
)
TOOLS = {
    "read": type_of_schema(
        {"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    ),
    "write": type_of_schema({"properties": {"path": {"type": "string"}, "content": {}}}),
}

CALL = "tools/call"


def scope(groups: Sequence[Sequence[Moment]]) -> Scope:
    """The scope of a policy; each group holds moments of which nobody knows which it will be."""
    moments = [one for group in groups for one in group]
    names = frozenset.intersection(*(names_in(m.event, m.phase) for m in moments))
    return Scope(
        names=names | {"config"},
        constants={"shells": ["bash", "sh"], "limits": {"small": 10}},
        types={"config": CONFIG, "variables.many": type_of_schema({"type": "array"})},
        variables=frozenset({"many", "unknown"}),
        moments=tuple(tuple(group) for group in groups),
        tools=TOOLS,
    )


def flaws(marked: str, *groups: Sequence[Moment], result: Result = Result.BOOL) -> list[Flaw]:
    text = marked.replace("⟦", "").replace("⟧", "")
    compiled = compile_cel(text, scope(groups), result)
    return [] if isinstance(compiled, Program) else list(compiled)


def refuse(marked: str, *groups: Sequence[Moment]) -> tuple[str, str, str | None]:
    """Code, text and help of the only flaw of the expression, which stands between the marks."""
    (found,) = flaws(marked, *groups)
    before, word, _ = marked.replace("⟧", "⟦").split("⟦")
    assert (found.offset, found.length) == (len(before), len(word)), found
    return found.code, found.text, found.help


KNOWN = "known here: `_meta`, `arguments`, `inputResponses`, `name`, `requestState`, `task`"
