"""The fast path: a checked tree becomes one Python function.

INVARIANT: what the function returns is what the exact path would return.  It may raise anything
at any time, and then the exact path decides; so each part is the shortest Python that is either
right or raises.  For instance `a['b']` raises for everything but a map with that key, and so
stands for a selection, while `a[0]` would take a character out of a text and cannot stand for
an index.

Python's own `ast` nodes are made, never source text, so nothing in a policy becomes code.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict

from policyd.errors import EvaluationError
from policyd.expr.cel import operators, values
from policyd.expr.cel.check import literal_values
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.interpret import OPERATIONS
from policyd.expr.cel.kinds import Kind, kind_of
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Conditional,
    Free,
    Has,
    Index,
    ListLiteral,
    Literal,
    Local,
    Loop,
    MapLiteral,
    Negate,
    Node,
    Not,
    Or,
    Select,
    walk,
)
from policyd.expression import Budget

Fast = Callable[[Mapping[str, Any], Budget], Any]


class _Place(TypedDict):
    lineno: int
    col_offset: int


_PLACE: Final[_Place] = {"lineno": 1, "col_offset": 0}
_LOAD: Final = ast.Load()
_STORE: Final = ast.Store()
_ORDER: Final[dict[str, ast.cmpop]] = {
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_PLAIN: Final = frozenset({int, float, str, bytes, bool, type(None)})
"""The types whose values may stand in code as they are."""


MAX_LOOPS: Final = 10
"""Loops within loops that are left to Python; the exact path has no such limit.

Python 3.13 crashes in its own compiler from some thirty comprehensions within one another.
"""


def generate(root: Node, *, boolean: bool) -> Fast | None:
    """The function for *root*, or None where Python cannot compile what is nested so deep.

    With *boolean* the function returns a bool or raises.
    """
    generator = _Generator(root)
    try:
        body = generator.condition(root) if boolean else generator.visit(root)
        return generator.function(body)
    except (RecursionError, MemoryError, SyntaxError):
        return None


class _Generator:
    """Makes one function.  Most methods return the Python expression for one part."""

    def __init__(self, root: Node) -> None:
        self._globals: dict[str, Any] = {"__builtins__": {}}
        self._names: dict[int, str] = {}
        self._loops = 0
        reads = Counter(node.key for node, _ in walk(root) if isinstance(node, Free))
        # a value read once is read in its place, where `&&` may skip it; `variables.*` always,
        # because reading one computes it
        self._hoisted = {
            key: f"free_{place}"
            for place, (key, count) in enumerate(reads.items())
            if count > 1 and not key.startswith("variables.")
        }

    def function(self, body: ast.expr) -> Fast:
        """The Python function that returns *body*."""
        module = ast.parse("def fast(activation, budget): ...")
        definition = module.body[0]
        assert isinstance(definition, ast.FunctionDef)
        definition.body = [
            ast.Assign([ast.Name(name, _STORE, **_PLACE)], _read(key), **_PLACE)
            for key, name in self._hoisted.items()
        ]
        definition.body.append(ast.Return(body, **_PLACE))
        exec(compile(module, "<cel>", "exec"), self._globals)
        fast: Fast = self._globals.pop("fast")
        return fast

    def visit(self, node: Node) -> ast.expr:
        """Any part."""
        expression: ast.expr = _RULES[type(node)](self, node)
        return expression

    def condition(self, node: Node) -> ast.expr:
        """A part that must yield a bool."""
        if kind_of(node) is Kind.BOOL:
            return self.visit(node)
        return self._call(operators.truth, self.visit(node))

    def _global(self, value: Any) -> ast.expr:
        """*value* under a name of its own; it is kept alive, so its id stays its own."""
        name = self._names.setdefault(id(value), f"global_{len(self._names)}")
        self._globals[name] = value
        return _name(name)

    def _call(self, function: Callable[..., Any], *arguments: ast.expr) -> ast.expr:
        return ast.Call(self._global(function), list(arguments), [], **_PLACE)

    def constant(self, value: Any) -> ast.expr:
        """A value that is known."""
        if type(value) in _PLAIN:
            return ast.Constant(value, **_PLACE)
        return self._global(value)

    def literal(self, node: Literal) -> ast.expr:
        """A literal."""
        return self.constant(node.value)

    def free(self, node: Free) -> ast.expr:
        """A value of the activation."""
        name = self._hoisted.get(node.key)
        return _read(node.key) if name is None else _name(name)

    def local(self, node: Local) -> ast.expr:
        """A loop variable."""
        return _name(f"local_{node.slot}")

    def select(self, node: Select) -> ast.expr:
        """`a['b']`: nothing but a map takes a text between brackets."""
        operand, field = self.visit(node.operand), _text(node.field)
        if kind_of(node.operand) in (Kind.UNKNOWN, Kind.MAP):
            return ast.Subscript(operand, field, _LOAD, **_PLACE)
        return self._call(operators.select, operand, field)  # Python warns of `1['b']`

    def has(self, node: Has) -> ast.expr:
        """`dict.__contains__(a, 'b')` raises for everything but a map."""
        return self._call(dict.__contains__, self.visit(node.operand), _text(node.field))

    def index(self, node: Index) -> ast.expr:
        """`a[b]`."""
        return self._call(operators.index, self.visit(node.operand), self.visit(node.index))

    def invert(self, node: Not) -> ast.expr:
        """`not a`."""
        return ast.UnaryOp(ast.Not(), self.condition(node.operand), **_PLACE)

    def negate(self, node: Negate) -> ast.expr:
        """`-a`, with its limits."""
        return self._call(operators.negate, self.visit(node.operand))

    def conjunction(self, node: And) -> ast.expr:
        """`a and b`."""
        return ast.BoolOp(ast.And(), [self.condition(n) for n in node.operands], **_PLACE)

    def disjunction(self, node: Or) -> ast.expr:
        """`a or b`."""
        return ast.BoolOp(ast.Or(), [self.condition(n) for n in node.operands], **_PLACE)

    def conditional(self, node: Conditional) -> ast.expr:
        """`b if a else c`."""
        condition = self.condition(node.condition)
        return ast.IfExp(condition, self.visit(node.then), self.visit(node.otherwise), **_PLACE)

    def list_literal(self, node: ListLiteral) -> ast.expr:
        """`[a, b]`."""
        return ast.List([self.visit(item) for item in node.items], _LOAD, **_PLACE)

    def map_literal(self, node: MapLiteral) -> ast.expr:
        """`{'a': b}` where all keys are known texts, else by the exact rules for keys."""
        keys = [key.value for key, _ in node.entries if isinstance(key, Literal)]
        texts = {key for key in keys if type(key) is str}
        if len(texts) == len(node.entries):
            made = [self.visit(value) for _, value in node.entries]
            return ast.Dict([self.constant(key) for key in keys], made, **_PLACE)
        entries = [_tuple(self.visit(key), self.visit(value)) for key, value in node.entries]
        return self._call(operators.make_map, _tuple(*entries))

    def binary(self, node: Binary) -> ast.expr:
        """`a + b` and its like."""
        if node.operator in ("==", "!="):
            return self._equality(node)
        if node.operator in _ORDER:
            return self._order(node)
        if node.operator == "in":
            return self._membership(node)
        left, right = self.visit(node.left), self.visit(node.right)
        if node.operator == "+":
            return self._call(operators.add, left, right, _name("budget"))
        return self._call(OPERATIONS[node.operator], left, right)

    def _equality(self, node: Binary) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        negated = node.operator == "!="
        for literal, operand in ((node.right, left), (node.left, right)):
            known = isinstance(operand, ast.Constant)  # Python warns of `1 is None`
            if isinstance(literal, Literal) and _is_singleton(literal.value) and not known:
                compare: ast.cmpop = ast.IsNot() if negated else ast.Is()
                return _compare(operand, compare, self.constant(literal.value))
        if _is_plain_equality(node.left, node.right):
            return _compare(left, ast.NotEq() if negated else ast.Eq(), right)
        equal = self._call(values.equal, left, right, _name("budget"))
        return ast.UnaryOp(ast.Not(), equal, **_PLACE) if negated else equal

    def _order(self, node: Binary) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        kinds = (kind_of(node.left), kind_of(node.right))
        if Kind.NUMBER in kinds:
            if kinds[0] is not Kind.NUMBER:
                left = self._call(operators.number, left)
            elif kinds[1] is not Kind.NUMBER:
                right = self._call(operators.number, right)
        elif Kind.STRING not in kinds and Kind.TIME not in kinds:
            return self._call(OPERATIONS[node.operator], left, right)
        # Python compares a text or a time only with its like
        return _compare(left, _ORDER[node.operator], right)

    def _membership(self, node: Binary) -> ast.expr:
        element = self.visit(node.left)
        members = _members(node.right)
        if members is not None and all(map(_is_plain_member, members)):
            return _compare(element, ast.In(), self._global(frozenset(members)))
        return self._call(operators.contains, element, self.visit(node.right), _name("budget"))

    def apply(self, node: Apply) -> ast.expr:
        """A call of a function, or what stands for it."""
        known = literal_values(node.arguments)
        name = node.function.name
        if name == "size":
            return self._call(len, self.visit(node.arguments[0]))
        if name in _AFFIXES and type(known[1]) is str:
            method = ast.Attribute(self.visit(node.arguments[0]), _AFFIXES[name], _LOAD, **_PLACE)
            return ast.Call(method, [self.constant(known[1])], [], **_PLACE)
        return self._folded(node, known) or self._applied(node, known)

    def _folded(self, node: Apply, known: tuple[Any, ...]) -> ast.expr | None:
        """The value of a call whose arguments are all known."""
        if NOT_LITERAL in known or node.function.budgeted:
            return None
        try:
            value = node.function.call(*known)
        except EvaluationError:
            return None
        # a list or a map is made anew each time, so that nobody shares it
        return None if type(value) in (list, dict) else self.constant(value)

    def _applied(self, node: Apply, known: tuple[Any, ...]) -> ast.expr:
        function = node.function
        call, arguments = function.call, node.arguments
        special = function.specialise(known) if function.specialise is not None else None
        if special is not None:
            call = special
            arguments = tuple(
                argument
                for argument, value in zip(arguments, known, strict=True)
                if value is NOT_LITERAL
            )
        made = [self.visit(argument) for argument in arguments]
        if function.budgeted:
            made.insert(0, _name("budget"))
        return self._call(call, *made)

    def loop(self, node: Loop) -> ast.expr:
        """A comprehension, or `any` and its like over one."""
        self._loops += 1
        if self._loops > MAX_LOOPS:
            raise RecursionError
        made = self._loop(node)
        self._loops -= 1
        return made

    def _loop(self, node: Loop) -> ast.expr:
        tests = [] if node.test is None else [self.condition(node.test)]
        if node.macro == "map":
            assert node.result is not None, "map has a result"
            return ast.ListComp(self.visit(node.result), [self._visits(node, tests)], **_PLACE)
        if node.macro == "filter":
            item = _name(f"local_{node.slots[0]}")
            return ast.ListComp(item, [self._visits(node, tests)], **_PLACE)
        found = ast.GeneratorExp(tests[0], [self._visits(node, [])], **_PLACE)
        if node.macro == "exists_one":
            return _compare(self._call(sum, found), ast.Eq(), ast.Constant(1, **_PLACE))
        return self._call(all if node.macro == "all" else any, found)

    def _visits(self, node: Loop, tests: list[ast.expr]) -> ast.comprehension:
        targets = [ast.Name(f"local_{slot}", _STORE, **_PLACE) for slot in node.slots]
        source = self.visit(node.source)
        if len(targets) == 1:
            visited = self._call(operators.elements, source, _name("budget"))
            return ast.comprehension(targets[0], visited, tests, 0)
        visited = self._call(operators.pairs, source, _name("budget"))
        pair = ast.Tuple(list[ast.expr](targets), _STORE, **_PLACE)
        return ast.comprehension(pair, visited, tests, 0)


_AFFIXES: Final = {"startsWith": "startswith", "endsWith": "endswith"}

_RULES: Final[dict[type[Node], Any]] = {
    Literal: _Generator.literal,
    Free: _Generator.free,
    Local: _Generator.local,
    Select: _Generator.select,
    Has: _Generator.has,
    Index: _Generator.index,
    Apply: _Generator.apply,
    Not: _Generator.invert,
    Negate: _Generator.negate,
    Binary: _Generator.binary,
    Conditional: _Generator.conditional,
    And: _Generator.conjunction,
    Or: _Generator.disjunction,
    ListLiteral: _Generator.list_literal,
    MapLiteral: _Generator.map_literal,
    Loop: _Generator.loop,
}


def _name(name: str) -> ast.expr:
    return ast.Name(name, _LOAD, **_PLACE)


def _text(text: str) -> ast.expr:
    return ast.Constant(text, **_PLACE)


def _read(key: str) -> ast.expr:
    return ast.Subscript(_name("activation"), _text(key), _LOAD, **_PLACE)


def _tuple(*items: ast.expr) -> ast.expr:
    return ast.Tuple(list(items), _LOAD, **_PLACE)


def _compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [operator], [right], **_PLACE)


def _is_singleton(value: Any) -> bool:
    return value is None or value is True or value is False


def _is_plain_equality(left: Node, right: Node) -> bool:
    """True where Python's `==` is CEL's: it differs for `1 == true` and inside of lists."""
    kinds = (kind_of(left), kind_of(right))
    if Kind.STRING in kinds or kinds == (Kind.NUMBER, Kind.NUMBER):
        return True
    return any(
        isinstance(node, Literal)
        and type(node.value) in values.NUMBERS
        and node.value not in (0, 1)
        for node in (left, right)
    )


def _members(node: Node) -> list[Any] | None:
    """The elements of a list that is known."""
    if isinstance(node, Literal) and type(node.value) is list:
        return node.value
    if isinstance(node, ListLiteral) and NOT_LITERAL not in literal_values(node.items):
        return list(literal_values(node.items))
    return None


def _is_plain_member(value: Any) -> bool:
    """True where a set finds *value* as CEL does; `0` and `1` are no bools to CEL."""
    kind = type(value)
    return kind is str or value is None or (kind in (int, float) and value not in (0, 1))
