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
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel import operators, optional, python, shortcuts, values
from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.interpret import OPERATIONS
from policyd.expr.cel.kinds import Kind, kind_of
from policyd.expr.cel.python import LOAD, PLACE, STORE
from policyd.expr.cel.tree import (
    And,
    Apply,
    Binary,
    Bind,
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
    walk,
)
from policyd.expression import Budget

Fast = Callable[[Mapping[str, Any], Budget], Any]

_AFFIXES: Final = {"startsWith": "startswith", "endsWith": "endswith"}
_BUDGET: Final = python.name("budget")
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
            ast.Assign([ast.Name(name, STORE, **PLACE)], python.read(key), **PLACE)
            for key, name in self._hoisted.items()
        ]
        definition.body.append(ast.Return(body, **PLACE))
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
        return python.name(name)

    def _call(self, function: Callable[..., Any], *arguments: ast.expr) -> ast.expr:
        return ast.Call(self._global(function), list(arguments), [], **PLACE)

    def constant(self, value: Any) -> ast.expr:
        """A value that is known."""
        if type(value) in _PLAIN:
            return ast.Constant(value, **PLACE)
        return self._global(value)

    def literal(self, node: Literal) -> ast.expr:
        """A literal."""
        return self.constant(node.value)

    def free(self, node: Free) -> ast.expr:
        """A value of the activation."""
        name = self._hoisted.get(node.key)
        return python.read(node.key) if name is None else python.name(name)

    def local(self, node: Local) -> ast.expr:
        """A loop variable."""
        return python.name(f"local_{node.slot}")

    def select(self, node: Select) -> ast.expr:
        """`a['b']`: nothing but a map takes a text between brackets, and so no optional."""
        operand, field = self.visit(node.operand), python.text(node.field)
        if kind_of(node.operand) in (Kind.UNKNOWN, Kind.MAP):
            return ast.Subscript(operand, field, LOAD, **PLACE)
        return self._call(operators.select, operand, field)  # Python warns of `1['b']`

    def has(self, node: Has) -> ast.expr:
        """`dict.__contains__(a, 'b')` raises for everything but a map."""
        chained = kind_of(node.operand) is Kind.OPTIONAL
        test: Callable[..., bool] = operators.has_field if chained else dict.__contains__
        return self._call(test, self.visit(node.operand), python.text(node.field))

    def index(self, node: Index) -> ast.expr:
        """`a[b]`."""
        return self._call(operators.index, self.visit(node.operand), self.visit(node.index))

    def invert(self, node: Not) -> ast.expr:
        """`not a`."""
        return ast.UnaryOp(ast.Not(), self.condition(node.operand), **PLACE)

    def negate(self, node: Negate) -> ast.expr:
        """`-a`, with its limits."""
        return self._call(operators.negate, self.visit(node.operand))

    def conjunction(self, node: And) -> ast.expr:
        """`a and b`."""
        return ast.BoolOp(ast.And(), [self.condition(n) for n in node.operands], **PLACE)

    def disjunction(self, node: Or) -> ast.expr:
        """`a or b`."""
        return ast.BoolOp(ast.Or(), [self.condition(n) for n in node.operands], **PLACE)

    def conditional(self, node: Conditional) -> ast.expr:
        """`b if a else c`."""
        condition = self.condition(node.condition)
        return ast.IfExp(condition, self.visit(node.then), self.visit(node.otherwise), **PLACE)

    def list_literal(self, node: ListLiteral) -> ast.expr:
        """`[a, b]`, with `*present(c)` for an optional entry."""
        return ast.List([self._item(item) for item in node.items], LOAD, **PLACE)

    def _item(self, item: Node) -> ast.expr:
        if isinstance(item, Entry):
            return python.spread(self._call(optional.present, self.visit(item.optional)))
        return self.visit(item)

    def map_literal(self, node: MapLiteral) -> ast.expr:
        """`{'a': b}` where all keys are known texts, else by the exact rules for keys."""
        keys = [key.value for key, _ in node.entries if isinstance(key, Literal)]
        texts = {key for key in keys if type(key) is str}
        maybe = any(isinstance(value, Entry) for _, value in node.entries)
        if len(texts) == len(node.entries) and not maybe:
            made = [self.visit(value) for _, value in node.entries]
            return ast.Dict([self.constant(key) for key in keys], made, **PLACE)
        entries = [self._entry(key, value) for key, value in node.entries]
        return self._call(operators.make_map, python.made_tuple(*entries))

    def _entry(self, key: Node, value: Node) -> ast.expr:
        if isinstance(value, Entry):
            held = self._call(optional.present_entry, self.visit(key), self.visit(value.optional))
            return python.spread(held)
        return python.made_tuple(self.visit(key), self.visit(value))

    def binary(self, node: Binary) -> ast.expr:
        """`a + b` and its like."""
        if node.operator in ("==", "!="):
            return self._equality(node)
        if node.operator in python.ORDER:
            return self._order(node)
        if node.operator == "in":
            return self._membership(node)
        left, right = self.visit(node.left), self.visit(node.right)
        if node.operator == "+":
            return self._call(operators.add, left, right, _BUDGET)
        return self._call(OPERATIONS[node.operator], left, right)

    def _equality(self, node: Binary) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        negated = node.operator == "!="
        for literal, operand in ((node.right, left), (node.left, right)):
            known = isinstance(operand, ast.Constant)  # Python warns of `1 is None`
            if isinstance(literal, Literal) and shortcuts.is_singleton(literal.value) and not known:
                compare: ast.cmpop = ast.IsNot() if negated else ast.Is()
                return python.compare(operand, compare, self.constant(literal.value))
        if shortcuts.is_plain_equality(node.left, node.right):
            return python.compare(left, ast.NotEq() if negated else ast.Eq(), right)
        equal = self._call(values.equal, left, right, _BUDGET)
        return ast.UnaryOp(ast.Not(), equal, **PLACE) if negated else equal

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
        return python.compare(left, python.ORDER[node.operator], right)

    def _membership(self, node: Binary) -> ast.expr:
        element = self.visit(node.left)
        known = shortcuts.members(node.right)
        if known is not None and all(map(shortcuts.is_plain_member, known)):
            return python.compare(element, ast.In(), self._global(frozenset(known)))
        return self._call(operators.contains, element, self.visit(node.right), _BUDGET)

    def apply(self, node: Apply) -> ast.expr:
        """A call of a function, or what stands for it."""
        known = literal_values(node.arguments)
        name = node.function.name
        if name == "size":
            return self._call(len, self.visit(node.arguments[0]))
        if name in _AFFIXES and type(known[1]) is str:
            method = ast.Attribute(self.visit(node.arguments[0]), _AFFIXES[name], LOAD, **PLACE)
            return ast.Call(method, [self.constant(known[1])], [], **PLACE)
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
            made.insert(0, _BUDGET)
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
        if node.macro in _QUANTIFIERS:
            found = ast.GeneratorExp(tests[0], [self._visits(node, [])], **PLACE)
            if node.macro == "exists_one":
                return python.compare(self._call(sum, found), ast.Eq(), self.constant(1))
            return self._call(_QUANTIFIERS[node.macro], found)
        visits = [self._visits(node, tests)]
        result = python.name(f"local_{node.slots[0]}")
        if node.result is not None:
            result = self.visit(node.result)
        if node.macro == "transformMap":
            return ast.DictComp(python.name(f"local_{node.slots[0]}"), result, visits, **PLACE)
        made = ast.ListComp(result, visits, **PLACE)
        if node.macro == "transformMapEntry":
            return self._call(operators.merge_maps, made, _BUDGET)
        if node.macro == "sortBy":
            key = python.function(result, f"local_{node.slots[0]}")
            return self._call(operators.sort_by, self.visit(node.source), key, _BUDGET)
        return made

    def _visits(self, node: Loop, tests: list[ast.expr]) -> ast.comprehension:
        targets = [ast.Name(f"local_{slot}", STORE, **PLACE) for slot in node.slots]
        visit = operators.elements if len(targets) == 1 else operators.pairs
        if node.macro not in _QUANTIFIERS:
            visit = operators.few_elements if len(targets) == 1 else operators.few_pairs
        visited = self._call(visit, self.visit(node.source), _BUDGET)
        if len(targets) == 1:
            return ast.comprehension(targets[0], visited, tests, 0)
        pair = ast.Tuple(list[ast.expr](targets), STORE, **PLACE)
        return ast.comprehension(pair, visited, tests, 0)

    def bind(self, node: Bind) -> ast.expr:
        """`(lambda local_1: body)(value)`."""
        body = python.function(self.visit(node.body), f"local_{node.slot}")
        return ast.Call(body, [self.visit(node.value)], [], **PLACE)

    def optional_select(self, node: OptionalSelect) -> ast.expr:
        """`a.?b`."""
        return self._call(
            operators.optional_select, self.visit(node.operand), python.text(node.field)
        )

    def optional_index(self, node: OptionalIndex) -> ast.expr:
        """`a[?b]`."""
        return self._call(
            operators.optional_index, self.visit(node.operand), self.visit(node.index)
        )

    def optional_map(self, node: OptionalMap) -> ast.expr:
        """`a.optMap(x, b)`."""
        change = optional.flat_mapped if node.flat else optional.mapped
        result = python.function(self.visit(node.result), f"local_{node.slot}")
        return self._call(change, self.visit(node.source), result)

    def optional_or(self, node: OptionalOr) -> ast.expr:
        """`a.or(b)`."""
        choose = optional.or_value if node.unwrapped else optional.or_optional
        otherwise = python.function(self.visit(node.otherwise))
        return self._call(choose, self.visit(node.operand), otherwise)


_QUANTIFIERS: Final[dict[str, Callable[..., Any]]] = {"all": all, "exists": any, "exists_one": sum}

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
    Bind: _Generator.bind,
    OptionalSelect: _Generator.optional_select,
    OptionalIndex: _Generator.optional_index,
    OptionalMap: _Generator.optional_map,
    OptionalOr: _Generator.optional_or,
}
