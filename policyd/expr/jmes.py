"""JMESPath: compiled once, and checked when it is compiled.

The library looks at functions and their arity only when it runs them; here its tree is
walked first.  It also lets a bare TypeError escape, which is caught here as well.
Source: jmespath.org specification; measured on jmespath 1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath import exceptions, functions
from jmespath.parser import ParsedResult

from policyd.diagnostics import did_you_mean
from policyd.errors import EvaluationError
from policyd.expression import Budget, Flaw

MAX_LENGTH = 2048
"""Code points of one expression: a chain of multi-selects doubles its result every ten."""

MAX_WIDTH = 256
"""The widths of all `[a, b]`, multiplied: so many times may the result outgrow the payload."""

_ORDERINGS = frozenset({"lt", "lte", "gt", "gte"})

_NOT_IN_PAYLOADS = {
    "args": "arguments",
    "constants": None,
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


@dataclass(frozen=True, slots=True)
class JmesProgram:
    """A compiled JMESPath expression; evaluates on the payload of the activation."""

    text: str
    _parsed: ParsedResult

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> Any:
        """The value for this activation.  Raises EvaluationError, and nothing else."""
        budget.spend(1)
        try:
            return self._parsed.search(activation["payload"])
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
