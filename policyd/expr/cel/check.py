"""From what is written to what it refers to: names, functions, macros.

Knows the scope of an expression and the function library; finds every flaw, not only the first,
and says what was probably meant.  The tree that comes out holds no name that is not known to
exist and no call that cannot be made.  Evaluates nothing but a function's own check of its
literal arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from policyd.diagnostics import did_you_mean
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expr.cel.macros import (
    LOOPS,
    OPTIONALS,
    RESERVED,
    take_bind,
    take_has,
    take_loop,
    take_optional_map,
    take_or,
)
from policyd.expr.cel.suggest import calls_written, function_help, is_like_macro, name_help
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Bind,
    Call,
    Conditional,
    Entry,
    Free,
    Has,
    Index,
    ListLiteral,
    Literal,
    Local,
    Loop,
    MapLiteral,
    Name,
    Negate,
    Node,
    Not,
    OptionalIndex,
    OptionalMap,
    OptionalOr,
    OptionalSelect,
    Or,
    Select,
    literal_values,
)
from policyd.expr.cel.values import TYPES
from policyd.expression import Flaw, Scope

_TABLES: Final = ("constants", "variables")
_Bound = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Checked:
    """A tree that refers only to what exists.

    free: the keys of the activation that it reads.
    slots: how many loop variables it has.
    """

    root: Node
    free: frozenset[str]
    slots: int


def check(root: Node, text: str, scope: Scope) -> Checked | tuple[Flaw, ...]:
    """The tree of *text* with all names resolved in *scope*, or its flaws in order of place."""
    checker = _Checker(text, scope)
    resolved = checker.visit(root, {})
    if checker.flaws:
        return tuple(sorted(checker.flaws, key=lambda flaw: (flaw.offset, flaw.code)))
    return Checked(resolved, frozenset(checker.free), checker.slots)


class _Checker:
    """One pass over one tree.  A method that finds a flaw returns the node as it was written."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.flaws: list[Flaw] = []
        self.free: set[str] = set()
        self.slots = 0
        self._text = text
        self._scope = scope

    def visit(self, node: Node, bound: _Bound) -> Node:
        """*node* with its names resolved; *bound* are the loop variables around it."""
        if isinstance(node, Literal):
            return node
        resolved: Node = _VISITS[type(node)](self, node, bound)
        return resolved

    def name(self, node: Name, bound: _Bound) -> Node:
        """A name that stands alone."""
        if not node.absolute and node.name in bound:
            return Local(node.offset, node.length, bound[node.name])
        if node.name in self._scope.names and node.name not in _TABLES:
            return self._read(node, node.name)
        if node.name == "constants":
            return Literal(node.offset, node.length, dict(self._scope.constants))
        if node.name in TYPES:
            return Literal(node.offset, node.length, TYPES[node.name])
        return self._unknown_name(node, bound)

    def _unknown_name(self, node: Name, bound: _Bound) -> Node:
        name = node.name
        if name == "variables":
            text, help = "`variables` is no value of its own", "write `variables.NAME`"
        elif name in RESERVED:
            text, help = f"`{name}` is a reserved word", None
        elif name in self._scope.absent:
            text, help = f"`{name}` does not exist here: {self._scope.absent[name]}", None
        else:
            text = f"unknown name `{name}`"
            help = name_help(node, self._text, self._scope, () if node.absolute else bound)
        code = "cel-syntax" if name in RESERVED else "cel-unknown-name"
        return self._flaw(code, text, node, help)

    def _read(self, node: Node, key: str) -> Node:
        self.free.add(key)
        return Free(node.offset, node.length, key)

    def _table(self, node: Node, bound: _Bound) -> str | None:
        """`constants` or `variables` where *node* is that name, and no loop variable has it."""
        if isinstance(node, Name) and node.name in _TABLES:
            return node.name if node.absolute or node.name not in bound else None
        return None

    def _entry(self, table: str, node: Node, name: str) -> Node:
        """`constants.name` or `variables.name`."""
        if table == "variables":
            if name in self._scope.variables:
                return self._read(node, f"variables.{name}")
            help = self._scope.absent.get(f"variables.{name}")
            help = help or did_you_mean(name, self._scope.variables)
            return self._flaw("cel-unknown-variable", f"unknown variable `{name}`", node, help)
        if name in self._scope.constants:
            return Literal(node.offset, node.length, self._scope.constants[name])
        help = did_you_mean(name, self._scope.constants)
        return self._flaw("cel-unknown-constant", f"unknown constant `{name}`", node, help)

    def select(self, node: Select, bound: _Bound) -> Node:
        """`a.b`: an entry of a table, the long name of a type, or a field."""
        if table := self._table(node.operand, bound):
            return self._entry(table, node, node.field)
        dotted = self._dotted(node, bound)
        if dotted in TYPES:
            return Literal(node.offset, node.length, TYPES[dotted])
        return Select(node.offset, node.length, self.visit(node.operand, bound), node.field)

    def _dotted(self, node: Node | None, bound: _Bound) -> str:
        """`a.b.c` as text where *node* is a chain of names that starts with no variable."""
        fields = []
        while isinstance(node, Select):
            fields.append(node.field)
            node = node.operand
        if not isinstance(node, Name) or node.name in self._scope.names:
            return ""
        if node.name in bound and not node.absolute:
            return ""
        return ".".join([node.name, *reversed(fields)])

    def index(self, node: Index, bound: _Bound) -> Node:
        """`a[b]`; with a literal key it is a selection, so that an error may name the key."""
        key = node.index
        if isinstance(key, Literal) and isinstance(key.value, str):
            return self.select(Select(key.offset, key.length, node.operand, key.value), bound)
        operand = self.visit(node.operand, bound)
        return Index(node.offset, node.length, operand, self.visit(key, bound))

    def optional_select(self, node: OptionalSelect, bound: _Bound) -> Node:
        """`a.?b`."""
        operand = self.visit(node.operand, bound)
        return OptionalSelect(node.offset, node.length, operand, node.field)

    def optional_index(self, node: OptionalIndex, bound: _Bound) -> Node:
        """`a[?b]`; with a literal key it is a selection."""
        key = node.index
        if isinstance(key, Literal) and isinstance(key.value, str):
            field = OptionalSelect(key.offset, key.length, node.operand, key.value)
            return self.optional_select(field, bound)
        operand = self.visit(node.operand, bound)
        return OptionalIndex(node.offset, node.length, operand, self.visit(key, bound))

    def entry(self, node: Entry, bound: _Bound) -> Node:
        """`?a` in a list or a map."""
        return Entry(node.offset, node.length, self.visit(node.optional, bound))

    def call(self, node: Call, bound: _Bound) -> Node:
        """A call of a macro, a namespaced function, a method or a function."""
        macro = _MACROS.get(node.name)
        if macro is not None:
            resolved: Node = macro(self, node, bound)
            return resolved
        space = self._dotted(node.receiver, bound)
        if (space, node.name) == ("cel", "bind"):
            return self._bind(node, bound)
        if space == "cel" or any(name.startswith(f"{space}.") for name in FUNCTIONS):
            name, receiver = f"{space}.{node.name}", None
        else:
            name, receiver = node.name, node.receiver
        written = node.arguments if receiver is None else (receiver, *node.arguments)
        function = FUNCTIONS.get(name)
        if function is None:
            # what stands in a misspelt macro has names that only the macro would make known
            receivers = written[: receiver is not None]
            for argument in receivers if is_like_macro(name) else written:
                self.visit(argument, bound)
            text = f"unknown function `{name}`"
            return self._flaw("cel-unknown-function", text, node, function_help(name))
        arguments = tuple([self.visit(argument, bound) for argument in written])
        arity = function.function_arity if receiver is None else function.method_arity
        if len(arguments) not in arity:
            text, help = calls_written(function, len(arguments), receiver is not None)
            return self._flaw("cel-arity", text, node, help)
        self._literals(function, arguments)
        return Apply(node.offset, node.length, function, arguments)

    def _literals(self, function: Function, arguments: tuple[Node, ...]) -> None:
        """Let *function* judge its literal arguments, and point at the one that is to blame."""
        values = literal_values(arguments)
        text = function.literal(values) if function.literal is not None else None
        if function.literal is None or text is None:
            return
        known = [place for place, value in enumerate(values) if value is not NOT_LITERAL]
        guilty = known[-1]
        for place in known:
            alone = tuple(v if i == place else NOT_LITERAL for i, v in enumerate(values))
            if function.literal(alone) is not None:
                guilty = place
        takes_pattern = function.name == "matches" or function.name.startswith("regex.")
        code = "bad-pattern" if takes_pattern else "cel-bad-argument"
        self._flaw(code, text, arguments[guilty])

    def _has(self, node: Call, bound: _Bound) -> Node:
        selection = take_has(node, self._text)
        if isinstance(selection, Flaw):
            self.flaws.append(selection)
            return node
        table = self._table(selection.operand, bound)
        if table is not None:
            known = getattr(self._scope, table)
            return Literal(node.offset, node.length, selection.field in known)
        operand = self.visit(selection.operand, bound)
        return Has(selection.offset, selection.length, operand, selection.field)

    def _variables(
        self, variables: tuple[Name, ...], bound: _Bound
    ) -> tuple[_Bound, tuple[int, ...]]:
        """The names known inside of a macro with these variables, and their slots."""
        first = self.slots
        self.slots += len(variables)
        slots = tuple(range(first, self.slots))
        names = [variable.name for variable in variables]
        return {**bound, **dict(zip(names, slots, strict=True))}, slots

    def _loop(self, node: Call, bound: _Bound) -> Node:
        call = take_loop(node)
        if isinstance(call, Flaw):
            return self._misused(node, bound, call)
        source = self.visit(call.source, bound)
        inner, slots = self._variables(call.variables, bound)
        test = None if call.test is None else self.visit(call.test, inner)
        result = None if call.result is None else self.visit(call.result, inner)
        return Loop(node.offset, node.length, call.macro, source, slots, test, result)

    def _misused(self, node: Call, bound: _Bound, flaw: Flaw) -> Node:
        """A call of a macro that is not one; what it is called on is looked at all the same."""
        if node.receiver is not None:
            self.visit(node.receiver, bound)
        self.flaws.append(flaw)
        return node

    def _bind(self, node: Call, bound: _Bound) -> Node:
        call = take_bind(node)
        if isinstance(call, Flaw):
            self.flaws.append(call)
            return node
        value = self.visit(call.value, bound)
        inner, (slot,) = self._variables((call.variable,), bound)
        return Bind(node.offset, node.length, slot, value, self.visit(call.body, inner))

    def _optional_map(self, node: Call, bound: _Bound) -> Node:
        call = take_optional_map(node)
        if isinstance(call, Flaw):
            return self._misused(node, bound, call)
        source = self.visit(call.value, bound)
        inner, (slot,) = self._variables((call.variable,), bound)
        result, flat = self.visit(call.body, inner), node.name == "optFlatMap"
        return OptionalMap(node.offset, node.length, source, slot, result, flat)

    def _or(self, node: Call, bound: _Bound) -> Node:
        call = take_or(node)
        if isinstance(call, Flaw):
            return self._misused(node, bound, call)
        operand, otherwise = [self.visit(part, bound) for part in call]
        return OptionalOr(node.offset, node.length, operand, otherwise, node.name == "orValue")

    def invert(self, node: Not, bound: _Bound) -> Node:
        """`!a`."""
        return Not(node.offset, node.length, self.visit(node.operand, bound))

    def negate(self, node: Negate, bound: _Bound) -> Node:
        """`-a`."""
        return Negate(node.offset, node.length, self.visit(node.operand, bound))

    def logic(self, node: And | Or, bound: _Bound) -> Node:
        """`a && b` and `a || b`."""
        operands = tuple([self.visit(operand, bound) for operand in node.operands])
        return type(node)(node.offset, node.length, operands)

    def conditional(self, node: Conditional, bound: _Bound) -> Node:
        """`a ? b : c`."""
        condition = self.visit(node.condition, bound)
        then = self.visit(node.then, bound)
        otherwise = self.visit(node.otherwise, bound)
        return Conditional(node.offset, node.length, condition, then, otherwise)

    def binary(self, node: Binary, bound: _Bound) -> Node:
        """`a + b` and its like."""
        left = self.visit(node.left, bound)
        right = self.visit(node.right, bound)
        return Binary(node.offset, node.length, node.operator, left, right)

    def list_literal(self, node: ListLiteral, bound: _Bound) -> Node:
        """`[a, b]`."""
        items = tuple([self.visit(item, bound) for item in node.items])
        return ListLiteral(node.offset, node.length, items)

    def map_literal(self, node: MapLiteral, bound: _Bound) -> Node:
        """`{a: b}`."""
        entries = tuple(
            [(self.visit(key, bound), self.visit(value, bound)) for key, value in node.entries]
        )
        return MapLiteral(node.offset, node.length, entries)

    def _flaw(self, code: str, text: str, node: Node, help: str | None = None) -> Node:
        self.flaws.append(Flaw(code, text, node.offset, node.length, help))
        return node


_VISITS: Final[dict[type[Node], Any]] = {
    Name: _Checker.name,
    Select: _Checker.select,
    Index: _Checker.index,
    OptionalSelect: _Checker.optional_select,
    OptionalIndex: _Checker.optional_index,
    Entry: _Checker.entry,
    Call: _Checker.call,
    Not: _Checker.invert,
    Negate: _Checker.negate,
    And: _Checker.logic,
    Or: _Checker.logic,
    Conditional: _Checker.conditional,
    Binary: _Checker.binary,
    ListLiteral: _Checker.list_literal,
    MapLiteral: _Checker.map_literal,
}

_MACROS: Final[dict[str, Any]] = {
    **dict.fromkeys(LOOPS, _Checker._loop),
    **dict.fromkeys(OPTIONALS, _Checker._or),
    **dict.fromkeys(("optMap", "optFlatMap"), _Checker._optional_map),
    "has": _Checker._has,
}
