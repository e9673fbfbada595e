"""JMESPath: compiled once, and checked when it is compiled.

The library looks at functions and their arity only when it runs them; here its tree is
walked first.  It also lets a bare TypeError escape, which is caught here as well, and knows no
limit of steps or time, which its interpreter is given here.
Source: jmespath.org specification; measured on jmespath 1.1.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath import exceptions, functions, visitor
from jmespath.parser import ParsedResult

from policyd.diagnostics import did_you_mean
from policyd.errors import Cause, EvaluationError
from policyd.expression import Budget, Flaw

MAX_LENGTH = 2048
"""Code points of one expression: a chain of multi-selects doubles its result every ten."""

MAX_DEPTH = 100
"""How deep an expression nests; the library recurses."""

MAX_WIDTH = 256
"""The widths of all `[a, b]`, multiplied: so many times may the result outgrow the payload."""

MAX_SIZE = 1 << 19
"""Elements, and eighths of characters, of what may become one text."""

_ORDERINGS = frozenset({"lt", "lte", "gt", "gte"})

_NOT_IN_PAYLOADS = {
    "args": "arguments",
    "constants": None,
    "invoker": None,
    "now": None,
    "payload": "@",
    "principal": None,
    "prompt": "name",
    "session": None,
    "tool": "name",
    "trace": None,
    "variables": None,
}
"""Names of CEL that no payload of MCP has as a member, each with what JMESPath has for it."""

_RIGHT_SIDES = frozenset(
    {"subexpression", "index_expression", "projection", "value_projection", "flatten", "pipe"}
    | {"filter_projection"}
)
"""Nodes of which only the first child is evaluated on the payload itself."""

_FUNCTIONS: Mapping[str, Any] = functions.Functions.FUNCTION_TABLE

_SIZE_PER_STEP = 8
_SIZE_PER_SECOND = 3_000_000
"""Elements that the slowest of the library's functions takes a second for; measured for `sort`."""
_FREE_SIZE = 1_000
_VISITS = 32
"""Visits that are paid for at once: a tenth of a millisecond."""
_TEXTS = frozenset({"join", "to_string"})


class _Calls(functions.Functions):
    """The library's functions; each is paid for by the size of what it is given, and then begun.

    Nothing can interrupt one: it is refused where it would end after the deadline.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        """What the visitor calls."""
        arguments = list(resolved_args)
        size = sum(map(_size, arguments))
        if function_name in _TEXTS:
            size = self._whole_size(arguments)
            if size > MAX_SIZE:
                raise EvaluationError(
                    f"the text that `{function_name}()` makes is too large", Cause.BUDGET
                )
        self._budget.spend(1 + size // _SIZE_PER_STEP)
        if size > _FREE_SIZE and time.monotonic() + size / _SIZE_PER_SECOND > self._budget.deadline:
            raise EvaluationError("the deadline would pass before this is done", Cause.DEADLINE)
        return super().call_function(function_name, arguments)

    def _whole_size(self, value: Any) -> int:
        """The size of *value* and of all that is in it."""
        waiting, size = [value], 0
        while waiting:
            value = waiting.pop()
            size += 1 + _size(value)
            if isinstance(value, (list, dict)):
                self._budget.spend(1)
                waiting += value if isinstance(value, list) else value.values()
        return size


def _size(value: Any) -> int:
    """The elements of a list or map; an eighth of the characters of a text."""
    if isinstance(value, str):
        return len(value) // 8
    return len(value) if isinstance(value, (list, dict)) else 0


class _Visitor(visitor.TreeInterpreter):
    """The library's interpreter; every part of the expression costs a step for each visit."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(visitor.Options(custom_functions=_Calls(budget)))
        self._budget = budget
        self._unpaid = 0

    def visit(self, node: Any, *arguments: Any, **named: Any) -> Any:
        """Evaluate one part, on one value."""
        self._unpaid += 1
        if self._unpaid == _VISITS:
            self._budget.spend(_VISITS)
            self._unpaid = 0
        return super().visit(node, *arguments, **named)

    def visit_flatten(self, node: Any, value: Any) -> Any:
        """`[]`: lists in a list become one, which has a limit."""
        outer = self.visit(node["children"][0], value)
        if not isinstance(outer, list):
            return None
        flat: list[Any] = []
        for item in outer:
            inner = item if isinstance(item, list) else [item]
            self._budget.spend(1 + len(inner))
            flat += inner
        return flat


@dataclass(frozen=True, slots=True)
class JmesProgram:
    """A compiled JMESPath expression; evaluates on the payload of the activation."""

    text: str
    _parsed: ParsedResult

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> Any:
        """The value for this activation.  Raises EvaluationError, and nothing else."""
        budget.spend(1)
        try:
            return _Visitor(budget).visit(self._parsed.parsed, activation["payload"])
        except exceptions.JMESPathTypeError as error:
            reason = f"`{error.function_name}()` met a value of the wrong type"
            raise EvaluationError(reason) from None
        except (exceptions.JMESPathError, TypeError, ValueError, AttributeError, OverflowError):
            reason = "a comparison or function met a value of the wrong type"
            raise EvaluationError(reason) from None
        except (RecursionError, MemoryError):
            raise EvaluationError("the payload is too large for the expression") from None


def compile_jmespath(text: str) -> JmesProgram | tuple[Flaw, ...]:
    """Compile an expression, or say what is wrong in it."""
    if len(text) > MAX_LENGTH:
        message = f"the expression is longer than {MAX_LENGTH} characters"
        return (Flaw("jmespath-too-long", message, MAX_LENGTH, 1),)
    literals = tuple(_literal_flaws(text))
    if literals:
        return literals
    try:
        parsed = jmespath.compile(text)
    except exceptions.JMESPathError as error:
        return (_syntax_flaw(text, error),)
    except (ValueError, TypeError, RecursionError):
        return (Flaw("jmespath-syntax", "the expression cannot be read", 0, len(text)),)
    tree: Any = parsed.parsed
    if _depth(tree) > MAX_DEPTH:
        message = f"an expression nests at most {MAX_DEPTH} deep"
        return (Flaw("jmespath-too-deep", message, 0, len(text)),)
    flaws = tuple(_check(text, tree))
    return flaws or JmesProgram(text, parsed)


def _syntax_flaw(text: str, error: exceptions.JMESPathError) -> Flaw:
    if isinstance(error, exceptions.LexerError):
        offset = error.lexer_position
    elif isinstance(error, exceptions.ParseError):
        offset = error.lex_position
    else:
        return Flaw("jmespath-syntax", "the expression is empty", 0, max(1, len(text)))
    offset = max(0, min(offset, len(text) - 1))
    if isinstance(error, exceptions.IncompleteExpressionError):
        return Flaw("jmespath-syntax", "the expression ends too early", len(text) - 1)
    found = text[offset]
    return Flaw("jmespath-syntax", f"unexpected `{found}`", offset, 1, _syntax_help(text, offset))


def _syntax_help(text: str, offset: int) -> str | None:
    if text[offset].isdigit():
        digits = text[offset:].split()[0].rstrip(")]},")
        return f"a literal stands in backticks: `` `{digits}` ``"
    before = text[:offset].rstrip()
    if text[offset] == "-" and before and (before[-1].isalnum() or before[-1] == "_"):
        return 'a name with a dash stands in double quotes: `"a-b"`'
    if text[offset] == "=" and not text.startswith("==", offset):
        return "a comparison is written `==`"
    return None


def _check(text: str, tree: dict[str, Any]) -> Iterator[Flaw]:
    width = 1
    for node in _nodes(tree):
        kind = node["type"]
        if kind == "function_expression":
            yield from _check_call(text, node)
        elif kind == "comparator":
            yield from _check_comparison(text, node)
        elif kind in ("multi_select_list", "multi_select_dict"):
            width *= max(1, len(node["children"]))
        elif kind == "not_expression" and node["children"][0].get("value") in _ORDERINGS:
            message = "`!` before an ordering is true for everything that is no number"
            help = "turn the comparison round: `a <= b` instead of `!(a > b)`"
            yield Flaw("jmespath-negated-ordering", message, max(0, text.find("!")), 1, help)
    yield from _check_roots(text, tree)
    if width > MAX_WIDTH:
        message = f"lists and mappings of more than {MAX_WIDTH} values in all are built"
        yield Flaw("jmespath-too-large", message, 0, len(text))


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in node.get("children", ()) if isinstance(child, dict)]


def _depth(tree: dict[str, Any]) -> int:
    level, depth = [tree], 0
    while level:
        depth += 1
        below = (child for node in level for child in node.get("children", ()))
        level = [child for child in below if isinstance(child, dict)]
    return depth


def _check_roots(text: str, tree: dict[str, Any]) -> Iterator[Flaw]:
    """Report names of CEL where the payload is meant: they would be null, and never fire."""
    pending = [tree]
    while pending:
        node = pending.pop()
        children = [child for child in node.get("children", ()) if isinstance(child, dict)]
        pending += children[:1] if node["type"] in _RIGHT_SIDES else children
        name = node.get("value")
        if node["type"] == "field" and name in _NOT_IN_PAYLOADS:
            instead = _NOT_IN_PAYLOADS[name]
            help = f"write `{instead}`" if instead else "use CEL where you need it"
            message = f"JMESPath sees the payload only, which has no `{name}`"
            offset = max(0, text.find(name))
            yield Flaw("jmespath-unknown-name", message, offset, len(name), help)


def _check_call(text: str, node: dict[str, Any]) -> Iterator[Flaw]:
    name, given = node["value"], len(node["children"])
    offset = max(0, text.find(f"{name}("))
    if name not in _FUNCTIONS:
        help = did_you_mean(name, _FUNCTIONS)
        message = f"unknown function `{name}`"
        yield Flaw("jmespath-unknown-function", message, offset, len(name), help)
        return
    signature = _FUNCTIONS[name]["signature"]
    variadic = bool(signature) and bool(signature[-1].get("variadic"))
    wanted = len(signature)
    if given < wanted or (given > wanted and not variadic):
        count = f"at least {wanted}" if variadic else str(wanted)
        message = f"`{name}()` takes {count} arguments, not {given}"
        yield Flaw("jmespath-arity", message, offset, len(name))


def _check_comparison(text: str, node: dict[str, Any]) -> Iterator[Flaw]:
    for child in node["children"]:
        quoted = f'"{child["value"]}"' if child["type"] == "field" else ""
        offset = text.find(quoted) if quoted else -1
        # `"..."` is a field name here; only a lone one beside a comparator is suspicious
        if offset >= 0 and not _is_dotted(text, offset):
            message = f"`{quoted}` is the field of that name, not a text"
            help = f"a text stands in single quotes: `'{child['value']}'`"
            yield Flaw("jmespath-quoted-field", message, offset, len(quoted), help)


def _is_dotted(text: str, offset: int) -> bool:
    return text[:offset].rstrip().endswith(".")


_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`((?:\\`|[^`])*)`')


def _literal_flaws(text: str) -> Iterator[Flaw]:
    """Literals in backticks that are not JSON: the library would take them as texts."""
    for match in _QUOTED.finditer(text):
        literal = match[1]
        if literal is None:
            continue
        try:
            json.loads(literal.replace("\\`", "`"))
        except ValueError:
            message = "the literal in backticks is not JSON"
            help = "a text stands in single quotes: `'...'`"
            yield Flaw("jmespath-literal", message, match.start(), len(match[0]), help)
