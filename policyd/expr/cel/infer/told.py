"""What is said of an expression whose types do not fit, and what to write instead.

Knows how a part of an expression is written, and where in MCP a member does exist.  Judges
nothing: what is wrong is found in `visit`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final

from policyd.diagnostics import closest, did_you_mean
from policyd.expr.cel.infer.operators import without_values
from policyd.expr.cel.infer.world import World, place_of
from policyd.expr.cel.tree import Binary, Free, Index, Literal, Local, Node, Select
from policyd.expression import Flaw
from policyd.types import (
    Moment,
    ObjectOf,
    OptionalOf,
    Scalar,
    Type,
    member_names,
    options,
    overlap,
    owners_of,
    payload_type,
    spoken,
)

MAX_SHOWN: Final = 8
"""Names or values that advice lists."""

MAX_KINDS: Final = 3
"""Kinds of values that are named; of more it only says that they are others."""

_ROOTS: Final = (("payload",), ("result",))
_VALUES: Final = "its values here: "
_ENVELOPE: Final = {
    "params": "`payload` holds the params themselves",
    "result": "`payload` holds the result itself",
}
_OTHER_PHASE: Final = {"request": "response", "response": "request"}


def written(node: Node, text: str) -> str:
    """*node* as it stands in *text*, where it is a variable with fields; else an empty text."""
    if isinstance(node, Free):
        return node.key
    if isinstance(node, Local):
        return text[node.offset : node.offset + node.length]
    if isinstance(node, Select):
        above = written(node.operand, text)
        plain = node.field.replace("_", "a").isalnum()
        return above and (f"{above}.{node.field}" if plain else f"{above}['{node.field}']")
    if isinstance(node, Index) and isinstance(node.index, Literal):
        above = written(node.operand, text)
        return above and f"{above}[{node.index.value}]"
    return ""


def where(moments: Iterable[Moment]) -> str:
    """` in the request of ...` where it is one moment, else an empty text."""
    known = tuple(moments)
    return f" in the {known[0].phase} of `{known[0].event}`" if len(known) == 1 else ""


def no_field(node: Node, operand: Node, type: Type, world: World, text: str) -> Flaw:
    """The flaw of a selection by *node* from *operand*, whose *type* has no such member."""
    field: str = getattr(node, "field", "")
    subject = _quoted(operand, text)
    code = "no-such-field"
    if not any(isinstance(option, ObjectOf) for option in options(type)):
        told = f"{subject} is {spoken(type)}, which has no field `{field}`"
        return Flaw(
            code, told, node.offset, node.length, _advice_without_fields(type, text, operand)
        )
    inside = where(world.moments) if place_of(operand) in _ROOTS else ""
    told = f"{subject} has no field `{field}`{inside}"
    return Flaw(code, told, node.offset, node.length, _field_advice(field, operand, type, world))


def _quoted(node: Node, text: str) -> str:
    name = written(node, text)
    return f"`{name}`" if name else "this value"


def _advice_without_fields(type: Type, text: str, operand: Node) -> str | None:
    if "a list" not in spoken(type):
        return None
    name = written(operand, text) or "list"
    return f"ask its elements, as in `{name}.exists(x, ...)`, or one of them, as in `{name}[0]`"


def _field_advice(field: str, operand: Node, type: Type, world: World) -> str | None:
    names = member_names(type)
    place = place_of(operand)
    if place in _ROOTS:
        elsewhere = _envelope(field) or _in_other_phase(field, world.moments)
        if elsewhere is not None:
            return elsewhere
    guess = did_you_mean(field, names)
    if guess is not None:
        return guess
    if place in _ROOTS:
        owners = _elsewhere(field, world.moments)
        if owners is not None:
            return owners
    if place in _IDENTITIES:
        return f"what else there is stands in `{place[0]}.claims`"
    return f"known here: {_listed(names)}" if names else None


_IDENTITIES: Final = frozenset({("principal",), ("invoker",)})


def _envelope(field: str) -> str | None:
    return _ENVELOPE.get(field)


def _in_other_phase(field: str, moments: tuple[Moment, ...]) -> str | None:
    if len(moments) != 1:
        return None
    (here,) = moments
    other = _OTHER_PHASE[here.phase]
    if field not in member_names(payload_type(here.event, other)):
        return None
    return f"`{field}` exists in the {other} of `{here.event}`, and this is its {here.phase}"


def _elsewhere(field: str, moments: tuple[Moment, ...]) -> str | None:
    for phase in dict.fromkeys([*(m.phase for m in moments), "request", "response"]):
        owners = owners_of(field, phase)
        if owners:
            return f"`{field}` exists in the {phase} of {_listed(owners)}"
    return None


def _listed(words: Iterable[Any]) -> str:
    shown = [f"`{word}`" for word in words]
    more = ["..."] if len(shown) > MAX_SHOWN else []
    return ", ".join(shown[:MAX_SHOWN] + more)


def never_equal(node: Binary, left: tuple[Node, Type], right: tuple[Node, Type], text: str) -> Flaw:
    """The flaw of a comparison at *node* of two parts that no value can make equal."""
    subject, value = (right, left) if isinstance(left[0], Literal) else (left, right)
    at = value[0] if isinstance(value[0], Literal) else node
    name = _quoted(subject[0], text)
    if node.operator == "in" and subject is right:
        name = f"an element of {name.replace('this value', 'this list')}"
    if overlap(without_values(subject[1]), without_values(value[1])):
        told, help = _never_valued(name, subject[1], value)
    else:
        told = f"{name} is {spoken(subject[1])}, and never equal to {spoken(value[1])}"
        help = _requoted(subject[1], value)
    return Flaw("never-equal", told, at.offset, at.length, help)


def _never_valued(name: str, type: Type, value: tuple[Node, Type]) -> tuple[str, str | None]:
    """What is said of a part whose kind is right, but not its value."""
    wanted = _values(value[1])
    kinds = {option.name for option in options(value[1]) if isinstance(option, Scalar)}
    known = _values(type, kinds)
    if not known:
        return f"{name} is a whole number, and never equal to {_listed(wanted)}", None
    told = f"{name} is never {_listed(wanted)}"
    guess = closest(str(wanted[0]), map(str, known)) if len(wanted) == 1 < len(known) else None
    return told, f"did you mean `{guess}`?" if guess else _VALUES + _listed(known)


def together(flaws: Iterable[Flaw]) -> Flaw:
    """One flaw for the same one in several moments: the first, with the values of them all."""
    first, *others = flaws
    helps = dict.fromkeys(flaw.help for flaw in (first, *others))
    if len(helps) == 1 or not all(help and help.startswith(_VALUES) for help in helps):
        return first
    values = {word: None for help in helps for word in (help or "")[len(_VALUES) :].split(", ")}
    return replace(first, help=_VALUES + ", ".join(values))


def _values(type: Type, kinds: Collection[str] = ("string", "number")) -> list[Any]:
    """The values of *type* that are of *kinds*, sorted; none where they are not known."""
    found = [o for o in options(type) if isinstance(o, Scalar) and o.name in kinds]
    return sorted(frozenset().union(*(option.values or () for option in found)), key=str)


def _requoted(type: Type, value: tuple[Node, Type]) -> str | None:
    """Advice where a literal is of the wrong kind: the same, with or without quotes."""
    literal = value[0].value if isinstance(value[0], Literal) else None
    kinds = {option.name for option in options(type) if isinstance(option, Scalar)}
    if isinstance(literal, str) and "bool" in kinds and literal in ("true", "false"):
        return f"write `{literal}`, without quotes"
    if isinstance(literal, str) and "number" in kinds and _is_number(literal):
        return f"write `{literal}`, without quotes"
    if kinds in ({"ip"}, {"timestamp"}, {"duration"}) and isinstance(literal, str):
        return f"write `{kinds.pop()}('{literal}')`"
    if kinds == {"string"} and isinstance(literal, bool | int | float):
        shown = str(literal).lower() if isinstance(literal, bool) else literal
        return f"write `'{shown}'`, with quotes"
    return None


def _is_number(literal: str) -> bool:
    digits = literal.removeprefix("-").replace(".", "", 1)
    return digits.isascii() and digits.isdigit()


def misfit(node: Node, name: str, *types: Type, help: str | None = None) -> Flaw:
    """The flaw of an operator *name* at *node* that does not take values of *types*."""
    told = f"`{name}` does not take {' and '.join(spoken(without_values(t)) for t in types)}"
    return Flaw("type-mismatch", told, node.offset, node.length, help)


def wrong_argument(node: Node, name: str, wanted: Type, found: Type) -> Flaw:
    """The flaw of an argument at *node* of the function *name*."""
    told = f"`{name}` takes {spoken(wanted)} here, not {spoken(found)}"
    return Flaw("type-mismatch", told, node.offset, node.length)


def no_address(node: Node, name: str) -> Flaw:
    """The flaw of a value at *node* that was sent and is asked what only an address tells."""
    told = f"`{name}` takes an address, and what was sent is a text at most"
    return Flaw("type-mismatch", told, node.offset, node.length, f"write `ip(...).{name}()`")


def not_boolean(node: Node, type: Type, needed: str = "a condition is needed") -> Flaw:
    """The flaw of a part at *node* that cannot be a condition."""
    found = spoken(type) if len(options(type)) <= MAX_KINDS else "something else"
    told = f"{needed}, but this yields {found}"
    help = "compare it, as in `... == ...`"
    if all(isinstance(option, OptionalOf) for option in options(type)):
        help = "say what holds where there is no value, as in `... .orValue(false)`"
    return Flaw("cel-not-boolean", told, node.offset, node.length, help)


def no_loop(node: Node, macro: str, found: Type) -> Flaw:
    """The flaw of a macro at *node* over something that is no list and no map."""
    told = f"`{macro}` visits a list or a map, not {spoken(found)}"
    return Flaw("type-mismatch", told, node.offset, node.length)
