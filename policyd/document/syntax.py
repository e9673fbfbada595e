"""What a YAML syntax error means to whoever wrote the file.

Knows libyaml's messages and the mistakes that people who write policies make; turns the one
into the other.  Knows neither events nor data.  Measured on libyaml 0.2.5; a message that
is not known here becomes a plain "not valid YAML".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policyd.document.scalars import shown

SINGLE_QUOTES = "put the whole text in single quotes"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the parser says, and where, in lines and columns from 0.

    `opened` is where the thing began that the parser was reading.
    """

    lines: Sequence[str]
    problem: str
    line: int
    column: int
    opened: tuple[int, int]

    @property
    def before(self) -> str:
        """The line up to the place of the problem."""
        return self.lines[self.line][: self.column]

    @property
    def after(self) -> str:
        """The line from the place of the problem on."""
        return self.lines[self.line][self.column :]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What to tell people.  The place counts from 0."""

    text: str
    help: str
    line: int
    column: int
    length: int = 1
    code: str = "yaml-syntax"


def explain(trouble: Trouble) -> Explanation:
    """The mistake behind a syntax error."""
    for words, explanation in _EXPLANATIONS:
        if words in trouble.problem:
            return explanation(trouble)
    return _here(trouble, "this is not valid YAML", "quote the text, or check the indentation")


def tag_help(tag: str) -> tuple[str, str]:
    """What to say of *tag*, which begins with `!`: most are expressions that negate."""
    return (
        f"{shown(tag)} starts a YAML tag, and tags are not allowed",
        f"for text or an expression that begins with `!`, {SINGLE_QUOTES}",
    )


def _here(trouble: Trouble, text: str, help: str, length: int = 1) -> Explanation:
    return Explanation(text, help, trouble.line, trouble.column, length)


def _opened(trouble: Trouble, text: str, help: str, code: str = "yaml-syntax") -> Explanation:
    return Explanation(text, help, *trouble.opened, code=code)


def _tag(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    tag = trouble.lines[line][column:].split(" ")[0]
    return Explanation(*tag_help(tag), line, column, len(tag), "yaml-tag")


def _anchor(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    tag = re.search(r"(?:^|[\s,\[{])(![^\s,]*)\s+$", trouble.lines[line][:column])
    if tag is not None:
        length = len(tag[1])
        return Explanation(*tag_help(tag[1]), line, tag.start(1), length, "yaml-tag")
    text = "`&` starts a YAML anchor, and anchors are not allowed"
    return _opened(trouble, text, f"for text that begins with `&`, {SINGLE_QUOTES}", "yaml-anchor")


def _alias(trouble: Trouble) -> Explanation:
    text = "`*` starts a YAML alias, and aliases are not allowed"
    return _opened(trouble, text, 'quote text that begins with `*`, as in `"*"`', "yaml-alias")


def _directive(trouble: Trouble) -> Explanation:
    text = f"{shown(trouble.lines[trouble.opened[0]])} is not allowed: `%` starts a directive"
    help = f"remove the line; for text that begins with `%`, {SINGLE_QUOTES}"
    return _opened(trouble, text, help, "yaml-directive")


def _tab(trouble: Trouble) -> Explanation:
    return _here(trouble, "a tab cannot be used as indentation", "indent with spaces")


def _character(trouble: Trouble) -> Explanation:
    char = trouble.after[:1]
    if char == "\t":
        return _tab(trouble)
    name = "a backtick" if char == "`" else f"`{char}`"
    return _here(trouble, f"unquoted text cannot begin with {name}", SINGLE_QUOTES)


def _colon(trouble: Trouble) -> Explanation:
    if re.match(r"\s*(?:[-?]\s+)*\S.*?:\s", trouble.before):
        return _here(trouble, "`: ` is not allowed inside a plain scalar", SINGLE_QUOTES)
    above = trouble.lines[trouble.line - 1].strip() if trouble.line else ""
    key = re.match(r"[\w-]+:(?=\S)", above)
    if key is not None:
        help = f"write a space after `{key[0]}` on line {trouble.line}"
    else:
        help = "check the indentation of this line, and whether the line above needs quotes"
    return _here(trouble, "a key is not allowed here", help)


def _colon_in_brackets(trouble: Trouble) -> Explanation:
    help = f"write a space behind it, or {SINGLE_QUOTES}"
    return _here(trouble, "`:` is not allowed here", help)


def _escape(trouble: Trouble) -> Explanation:
    column = trouble.column
    if not trouble.after.startswith("\\"):
        column = max(trouble.before.rfind("\\"), 0)
    escape = re.match(r"\\(?:x.{0,2}|u.{0,4}|U.{0,8}|.?)", trouble.lines[trouble.line][column:])
    found = escape[0] if escape is not None else "\\"
    help = "in single quotes a backslash is only a backslash"
    if found[1:2] in ("x", "u", "U"):
        help = "write the character itself, or use single quotes for a backslash"
    text = f"`{found}` is not a YAML escape"
    return Explanation(text, help, trouble.line, column, len(found))


def _quote(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    quote = trouble.lines[line][column : column + 1]
    help = f"close it with `{quote}`; in text that begins with a quote, quote the whole text"
    return _opened(trouble, f"this `{quote}` is never closed", help)


def _bracket(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    bracket = trouble.lines[line][column : column + 1]
    closing = "]" if bracket == "[" else "}"
    if trouble.line != line:
        text = f"this `{bracket}` is not closed before line {trouble.line + 1}"
        help = f"close it with `{closing}`; {SINGLE_QUOTES} if it is text"
        return _opened(trouble, text, help)
    if trouble.after.startswith(":"):
        return _here(trouble, "`: ` is not allowed inside a plain scalar", SINGLE_QUOTES)
    text = f"`,` or `{closing}` is missing here"
    return _here(trouble, text, f"quote the whole text if the `{bracket}` belongs to it")


def _no_colon(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    words = trouble.lines[line][column:].strip()
    if re.match(r"-\w", words):
        help = "write a space after the `-` of a list item"
    else:
        help = "write `key: value`; text that goes on from the line above is indented more"
    text = f"`: ` is missing after {shown(words)}"
    return Explanation(text, help, line, column, max(1, len(words)))


def _block_header(trouble: Trouble) -> Explanation:
    line, column = trouble.opened
    style = trouble.lines[line][column : column + 1]
    text = f"only an indentation from 1 to 9, `+` or `-` may follow `{style}` on its line"
    return _here(trouble, text, "begin the text on the next line, or quote it")


def _dash(trouble: Trouble) -> Explanation:
    help = "begin the list on the next line, or quote text that begins with `- `"
    return _here(trouble, "a list cannot begin on the line of its key", help)


def _question(trouble: Trouble) -> Explanation:
    return _here(trouble, "`? ` is not allowed here", SINGLE_QUOTES)


def _no_content(trouble: Trouble) -> Explanation:
    if not trouble.after:
        text = "a value is missing at the end of the file"
        return _here(trouble, text, "close every bracket and quote")
    return _here(trouble, f"`{trouble.after[0]}` is not expected here", SINGLE_QUOTES)


def _too_deep(trouble: Trouble) -> Explanation:
    text, help = "the values are nested too deeply", "write flatter data"
    return Explanation(text, help, trouble.line, trouble.column, code="too-deep")


_VALUE = re.compile(r"\s*(?:-\s+)*(?:[\w./$-]+\s*:\s+)?")
"""What stands before a value on its line: indentation, list items, a key."""


def _misplaced(trouble: Trouble) -> Explanation:
    value = _VALUE.sub("", trouble.before, count=1)
    lead, above = value[:1], trouble.lines[trouble.line - 1] if trouble.line else ""
    if trouble.after[:1] in ("]", "}"):
        return _here(trouble, f"`{trouble.after[0]}` closes nothing", SINGLE_QUOTES)
    if trouble.after.startswith(":"):
        return _here(trouble, "the key is missing before this `:`", SINGLE_QUOTES)
    if lead in ("'", '"'):
        text = f"text goes on behind the closing `{lead}`"
        return _here(trouble, text, f"{SINGLE_QUOTES}, and write each `'` in it twice")
    if lead in ("[", "{"):
        text = "text goes on behind the closing bracket"
        return _here(trouble, text, SINGLE_QUOTES)
    if trouble.after.startswith("- "):
        text = "a list item is not allowed here"
        return _here(trouble, text, "indent the items of a list alike, below their key")
    if " #" in above and not value:
        text = "this line does not go on from the line above, which ends with a comment"
        return _here(trouble, text, "` #` starts a comment: quote the whole text")
    text = "this line does not fit what stands above it"
    return _here(trouble, text, f"line {trouble.opened[0] + 1} begins what it would belong to")


_EXPLANATIONS: tuple[tuple[str, Callable[[Trouble], Explanation]], ...] = (
    ("a tag", _tag),
    ("undefined tag handle", _tag),
    ("an alias", _alias),
    ("an anchor", _anchor),
    ("directive", _directive),
    ("incompatible YAML document", _directive),
    ("a tab character", _tab),
    ("cannot start any token", _character),
    ("mapping values are not allowed", _colon),
    ("unexpected ':'", _colon_in_brackets),
    ("unknown escape", _escape),
    ("hexdecimal", _escape),
    ("Unicode character escape", _escape),
    ("unexpected end of stream", _quote),
    ("unexpected document indicator", _quote),
    ("expected ',' or", _bracket),
    ("could not find expected ':'", _no_colon),
    ("a block scalar", _block_header),
    ("sequence entries are not allowed", _dash),
    ("mapping keys are not allowed", _question),
    ("node content", _no_content),
    ("nesting depth", _too_deep),
    ("did not find expected key", _misplaced),
    ("expected '-' indicator", _misplaced),
    ("<document start>", _misplaced),
)
"""Words of libyaml and what they come from; the first that occur decide."""
