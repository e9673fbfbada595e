"""From the text of an expression to its tree.

Knows cel-python's grammar (`cel.lark`, read as a file beside that package, which is not
imported: that would take 170 ms and change the recursion limit) and lark, which turns it into
an LALR parser; how a phrase becomes a node; and what was probably meant where the grammar does
not go on.  Knows no name and no function: those are for `check`.
"""

from __future__ import annotations

import importlib.util
import itertools
from functools import cache
from pathlib import Path
from typing import Any, Final

import lark

from policyd.expr.cel.lex import (
    BYTES,
    FIELD,
    LITERALS,
    MAX_DEPTH,
    NAME,
    SPLIT,
    STRING,
    Lexer,
    Word,
)
from policyd.expr.cel.tree import (
    And,
    Binary,
    Call,
    Conditional,
    Entry,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Name,
    Negate,
    Node,
    Not,
    OptionalIndex,
    OptionalSelect,
    Or,
    Select,
    walk,
)
from policyd.expression import Flaw

_NEWER: Final = """
%extend member  : member_field | member_optional | member_optional_index
member_field    : member "." FIELD
member_optional : member "." "?" (IDENT | FIELD)
member_optional_index : member "[" "?" expr "]"
%override list_lit : "[" [items] "]"
items           : item ("," item)*
item            : expr | "?" expr
%override mapinits : entry ("," entry)*
entry           : ["?"] expr ":" expr
FIELD           : /`[^`]*`/
"""
"""What CEL has now and cel-python's grammar has not: optionals, and fields between backticks."""


def parse(text: str) -> Node | tuple[Flaw, ...]:
    """The tree of *text*, or what is wrong with it.

    Takes time linear in the text and does not recurse, whatever the text.
    """
    lexer = Lexer(text)
    lexer.run()
    if lexer.flaws:
        return tuple(lexer.flaws)
    try:
        root = _tree(lexer.words)
    except lark.UnexpectedToken as error:
        return (_unexpected(lexer.words, error.token),)
    except _Refused as refused:
        return (refused.flaw,)
    for node, depth in walk(root):
        if depth > MAX_DEPTH:
            text = f"an expression nests at most {MAX_DEPTH} deep"
            return (Flaw("cel-too-deep", text, node.offset, node.length, SPLIT),)
    return root


def _tree(words: list[Word]) -> Node:
    parser, names = _parser()
    state: Any = parser.parse_interactive()  # of a token it reads nothing but the type
    for word in words:
        word.type = names.get(word.type, word.type)
        state.feed_token(word)
    root: Node = state.feed_token(Word("$END", "", 0))
    return root


@cache
def _parser() -> tuple[lark.Lark, dict[str, str]]:
    """The parser, and the grammar's names of operators and brackets.

    Measured: about 200 ms, once in a process, nearly all of it for lark's LALR tables.
    """
    package = importlib.util.find_spec("celpy")
    assert package is not None, "cel-python is a dependency"
    assert package.origin is not None, "cel-python is a package"
    grammar = Path(package.origin).with_name("cel.lark").read_text("utf-8")
    parser = lark.Lark(
        grammar + _NEWER,
        parser="lalr",
        lexer="basic",  # the cheapest to build; it never runs, words come from `lex`
        start="expr",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=_Builder(),
    )
    names = {
        terminal.pattern.value: terminal.name
        for terminal in parser.terminals
        if terminal.pattern.type == "str"
    }
    return parser, names


_Parts = list[Any]
"""What lark hands over for one phrase: its words, and what its inner phrases became."""


class _Refused(Exception):
    """A phrase of the grammar that is not part of our language."""

    def __init__(self, flaw: Flaw) -> None:
        self.flaw = flaw
        super().__init__(flaw)


def _first(self: object, parts: _Parts) -> Any:
    return parts[0]


def _operation(self: object, parts: _Parts) -> Any:
    """A phrase with an operator on its left: `[[left, word], right]`, or only one part."""
    if len(parts) == 1:
        return parts[0]
    (left, word), right = parts
    return Binary(word.offset, len(word.text), word.text, left, right)


def _started(self: object, parts: _Parts) -> _Parts:
    """The left half of an operation, `[left, word]`."""
    return parts


class _Builder:
    """One method for each phrase of the grammar, named after it."""

    primary = member = unary_not = unary_neg = _first
    relation = addition = multiplication = _operation
    relation_lt = relation_le = relation_gt = relation_ge = _started
    relation_eq = relation_ne = relation_in = _started
    addition_add = addition_sub = _started
    multiplication_mul = multiplication_div = multiplication_mod = _started

    def expr(self, parts: _Parts) -> Node:
        if len(parts) == 1:
            return _node(parts[0])
        condition, word, then, _, otherwise = parts
        return Conditional(word.offset, 1, condition, then, otherwise)

    def conditionalor(self, parts: _Parts) -> Node:
        if len(parts) == 1:
            return _node(parts[0])
        left, word, right = parts
        if isinstance(left, Or):
            return Or(left.offset, 2, (*left.operands, right))
        return Or(word.offset, 2, (left, right))

    def conditionaland(self, parts: _Parts) -> Node:
        if len(parts) == 1:
            return _node(parts[0])
        left, word, right = parts
        if isinstance(left, And):
            return And(left.offset, 2, (*left.operands, right))
        return And(word.offset, 2, (left, right))

    def unary(self, parts: _Parts) -> Node:
        if len(parts) == 1:
            return _node(parts[0])
        word, operand = parts
        kind = Not if word.text == "!" else Negate
        return kind(word.offset, 1, operand)

    def member_dot(self, parts: _Parts) -> Node:
        operand, _, word = parts
        return Select(word.offset, len(word.text), operand, word.text)

    def member_field(self, parts: _Parts) -> Node:
        operand, _, word = parts
        return Select(word.offset, len(word.text), operand, word.value)

    def member_optional(self, parts: _Parts) -> Node:
        word = parts[3]
        field = word.value if word.type == FIELD else word.text
        return OptionalSelect(word.offset, len(word.text), parts[0], field)

    def member_optional_index(self, parts: _Parts) -> Node:
        return OptionalIndex(parts[1].offset, 1, parts[0], parts[3])

    def member_dot_arg(self, parts: _Parts) -> Node:
        word = parts[2]
        return Call(word.offset, len(word.text), word.text, parts[0], _arguments(parts))

    def member_index(self, parts: _Parts) -> Node:
        operand, word, index, _ = parts
        return Index(word.offset, 1, operand, index)

    def member_object(self, parts: _Parts) -> Node:
        help = "a map is written {'key': value}, without a name before it"
        word = parts[1]
        raise _Refused(Flaw("cel-syntax", "messages cannot be made here", word.offset, 1, help))

    def dot_ident_arg(self, parts: _Parts) -> Node:
        return Call(parts[1].offset, len(parts[1].text), parts[1].text, None, _arguments(parts))

    def ident_arg(self, parts: _Parts) -> Node:
        return Call(parts[0].offset, len(parts[0].text), parts[0].text, None, _arguments(parts))

    def dot_ident(self, parts: _Parts) -> Node:
        return Name(parts[1].offset, len(parts[1].text), parts[1].text, absolute=True)

    def ident(self, parts: _Parts) -> Node:
        return Name(parts[0].offset, len(parts[0].text), parts[0].text)

    def paren_expr(self, parts: _Parts) -> Node:
        return _node(parts[1])

    def list_lit(self, parts: _Parts) -> Node:
        items = parts[1] if len(parts) == 3 else ()
        return ListLiteral(parts[0].offset, 1, items)

    def map_lit(self, parts: _Parts) -> Node:
        entries = parts[1] if len(parts) == 3 else ()
        return MapLiteral(parts[0].offset, 1, entries)

    def exprlist(self, parts: _Parts) -> tuple[Node, ...]:
        return tuple(parts[::2])

    def items(self, parts: _Parts) -> tuple[Node, ...]:
        return tuple(parts[::2])

    def item(self, parts: _Parts) -> Node:
        if len(parts) == 1:
            return _node(parts[0])
        return Entry(parts[0].offset, 1, parts[1])

    def mapinits(self, parts: _Parts) -> tuple[tuple[Node, Node], ...]:
        return tuple(parts[::2])

    def entry(self, parts: _Parts) -> tuple[Node, Node]:
        key, _, value = parts[-3:]
        return (key, Entry(parts[0].offset, 1, value)) if len(parts) == 4 else (key, value)

    def fieldinits(self, parts: _Parts) -> None:
        """Of messages, which are refused."""

    def literal(self, parts: _Parts) -> Node:
        word = parts[0]
        return Literal(word.offset, len(word.text), word.value)


def _node(part: Any) -> Node:
    assert isinstance(part, Node)
    return part


def _arguments(parts: _Parts) -> tuple[Node, ...]:
    """The arguments of a call, whose last word is the closing bracket."""
    found = parts[-2]
    return found if isinstance(found, tuple) else ()


def _unexpected(words: list[Word], word: Word) -> Flaw:
    """The flaw for the first word that no phrase goes on with."""
    if not words:
        return Flaw("cel-syntax", "the expression is empty", 0, 0)
    place = next((i for i, other in enumerate(words) if other is word), len(words))
    before = words[place - 1] if place else None
    help: str | None
    slip = _operator_slip(before, word)
    if slip is not None:
        word, help = slip
        text = f"`{word.text}` is not an operator"
    elif place == len(words):
        word = words[-1]
        help = _OPTIONAL if _is_turned(words) else _ending_help(word)
        text = f"the expression ends after `{_shown(word)}`"
    else:
        text, help = f"`{_shown(word)}` is not expected here", _phrase_help(before, word)
        if word.text == "," and _is_round_list(words[:place]):
            help = "a list is written `[a, b]`"
        if before is not None and not _is_operand(word):
            text += f", after `{_shown(before)}`"
    return Flaw("cel-syntax", text, word.offset, len(word.text), help)


def _operator_slip(before: Word | None, word: Word) -> tuple[Word, str] | None:
    """The word that stands for an operator in other languages, and advice."""
    if before is not None and before.text in ("not", "NOT") and _is_operand(word):
        return before, "write `!`"
    if before is not None and before.text == "if" and _is_operand(word):
        return before, _CHOICE
    if word.text in ("not", "NOT"):
        return word, "write `!(a in b)`"
    operator = _WORDS_FOR_OPERATORS.get(word.text)
    return None if operator is None else (word, f"write `{operator}`")


_WORDS_FOR_OPERATORS = {"and": "&&", "AND": "&&", "or": "||", "OR": "||", "is": "=="}
_WORDS_FOR_METHODS = frozenset({"contains", "startsWith", "endsWith", "matches"})
_CHOICE = "a choice is written `condition ? value : other value`"
_OPTIONAL = "a field that may be missing is written `a.?b`"


def _is_turned(words: list[Word]) -> bool:
    """True where `?.` stands, which other languages have for `.?`."""
    pairs = itertools.pairwise(words)
    return any(
        one.text == "?" and two.text == "." and one.offset + 1 == two.offset for one, two in pairs
    )


def _is_round_list(before: list[Word]) -> bool:
    """True where the last bracket that is open is a round one, and belongs to no call."""
    depth = 0
    for place in range(len(before) - 1, -1, -1):
        text = before[place].text
        depth += (text in ")]}") - (text in "([{")
        if depth < 0:
            called = place > 0 and before[place - 1].type in (NAME, FIELD)
            return text == "(" and not called
    return False


def _ending_help(last: Word) -> str:
    if last.text == "?" or _is_operand(last):
        return _CHOICE
    return f"add what follows `{last.text}`, or remove it"


_PAIRS = {
    ("<", ">"): "write `!=`",
    ("?", "?"): "write `a.?b.orValue(other value)`",
    ("(", "?"): "`?` stands before an element of a list or a map, not before an argument",
    (",", "?"): "`?` stands before an element of a list or a map, not before an argument",
}


def _phrase_help(before: Word | None, word: Word) -> str | None:
    if word.type == FIELD and (before is None or before.text != "."):
        return "a field between backticks stands after a dot, as in a.`b-c`"
    if before is None:
        return None
    if before.text == "." and word.text in ("in", "true", "false", "null"):
        return f"write `['{word.text}']` for this key"
    slip = _PAIRS.get((before.text, word.text))
    if slip is not None:
        return slip
    if word.text in _WORDS_FOR_METHODS:
        return f"write `value.{word.text}(...)`"
    if word.text == "(" and before.type in (NAME, FIELD):
        return "a method is not optional; write `a.?b.optMap(x, x.method())`"
    if before.type in _TEXTS and _is_operand(word):
        return "a quote inside of a string is written with a backslash, or an operator is missing"
    if _is_operand(before) and _is_operand(word):
        return "an operator is missing before it"
    return None


_TEXTS = frozenset({STRING, BYTES})


def _is_operand(word: Word) -> bool:
    return word.type in LITERALS or word.type in (NAME, FIELD)


def _shown(word: Word) -> str:
    """The word as a message shows it: short, and one line of a string of several."""
    if word.type == FIELD:
        return word.value  # type: ignore[no-any-return]
    line = word.text.splitlines()[0]
    return line if len(line) <= 24 and line == word.text else f"{line[:24]}..."
