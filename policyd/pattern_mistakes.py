"""What is wrong in a regular expression, in our words and with a place.

Knows the spelling of patterns, the words in which RE2 reports a mistake, and what people write
who know another dialect.  Compiles nothing: `pattern` does, one finer row below.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyd.expression import Flaw


def spot(text: str) -> Flaw | None:
    """A mistake that RE2 would let pass, or None."""
    return _bad_character(text) or _bad_token(text)


def explain(text: str, error: str) -> Flaw:
    """The mistake in *text* that RE2 reports as *error*, which reads `what: fragment`."""
    what, _, fragment = error.partition(": ")
    if what in ("missing )", "unexpected )"):
        return _bad_parenthesis(text)
    offset = _offset(text, what, fragment)
    for kind, heads, words, advice in _MISTAKES:
        if kind == what and fragment.startswith(heads):
            shown = _shown(text, offset, fragment)
            return _flaw(words.format(shown), offset, len(shown), _help(advice, text, offset))
    length = len(fragment) if fragment else len(text) - offset
    words, help = _ERRORS.get(what, ("the pattern is not valid", None))
    return _flaw(words.format(fragment), offset, length, help)


def as_glob(pattern: str) -> tuple[str, str] | None:
    """What is odd, and what to write, where *pattern* compiles but looks like another dialect.

    A glob such as `fs_*`, or the slashes of `/^rm/i`.
    """
    if len(pattern) > 2 and pattern[0] == "/" and _SLASHED.intersection(_ends(pattern)):
        help = "leave them out, and write flags as in `(?i)rm`"
        return "the slashes around the pattern are part of it", help
    at = pattern.find("*")
    if at > 0 and _is_word(pattern[at - 1]) and _GLOB_CHARS.issuperset(pattern):
        help = "write `.*` for any text, or use `glob(...)`"
        return f"`*` repeats `{pattern[at - 1]}`, it does not stand for any text", help
    return None


def as_pattern(glob: str) -> tuple[str, str] | None:
    """What is odd, and what to write, where *glob* looks like a regular expression."""
    if glob[:1] == "^" or glob[-1:] == "$":
        mark = glob[0] if glob[:1] == "^" else "$"
        return f"`{mark}` is a character in a glob", "leave it out: a glob is about the whole text"
    for offset, char in enumerate(glob):
        behind = glob[offset + 1 :]
        if char == "." and behind[:1] == "*" and not glob[:offset][-1:].isalnum():
            return "`.` is a character in a glob", "`*` alone stands for any text"
        if (char == "[" and "]" in behind) or (char == "(" and ")" in behind):
            return f"`{char}` is a character in a glob", "only `*` and `?` are special"
        if char == "{" and "," in behind.partition("}")[0]:
            return "`{` is a character in a glob", "write one glob for each alternative"
    return None


_SLASHED = frozenset({"^", "$/", "/i", "/g", "/m", "/s", "/gi", "/ig"})
_GLOB_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/*")


def _ends(pattern: str) -> set[str]:
    """The character behind the first, and the last two and three."""
    return {pattern[1], pattern[-2:], pattern[-3:]}


def _is_word(char: str) -> bool:
    return char.isalnum() or char in "_-/"


def _flaw(text: str, offset: int, length: int, help: str | None = None) -> Flaw:
    return Flaw("bad-pattern", text, offset, max(length, 1), help)


_CONTROL_ESCAPES = {"\a": r"\a", "\b": r"\b", "\v": r"\v", "\f": r"\f", "\x1b": r"\e"}


def _bad_character(text: str) -> Flaw | None:
    for offset, char in enumerate(text):
        if "\ud800" <= char <= "\udfff":
            return _flaw("half of a surrogate pair in the pattern", offset, 1)
        if (char < " " and char not in "\t\r\n") or "\x7f" <= char <= "\x9f":
            written = _CONTROL_ESCAPES.get(char, f"\\x{ord(char):02x}")
            help = f"put the pattern in single quotes, where `{written}` stays as written"
            return _flaw(f"control character U+{ord(char):04X} in the pattern", offset, 1, help)
    if text.endswith("\n"):
        help = "begin the block with `|-` instead of `|`, or write `\\n`"
        return _flaw("the pattern ends with a line break", len(text) - 1, 1, help)
    return None


def _bad_token(text: str) -> Flaw | None:
    """`\\C`, the one thing that RE2 accepts and that would cut characters in two."""
    for offset, token in _tokens(text):
        if token == r"\C":
            return _flaw(r"`\C` is not supported", offset, 2, "write `(?s:.)`")
    return None


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """The pattern in pieces: escapes, whole character classes, `(?` heads, single characters."""
    at = 0
    while at < len(text):
        end = at + _token_length(text, at)
        yield at, text[at:end]
        at = end


def _token_length(text: str, at: int) -> int:
    if text.startswith(r"\Q", at):
        close = text.find(r"\E", at)
        return (len(text) if close < 0 else close + 2) - at
    if text[at] == "\\":
        return 2
    if text[at] == "[":
        return _class_length(text, at)
    if text.startswith("(?", at):
        return 2
    return 1


def _class_length(text: str, at: int) -> int:
    end = at + 1
    if text.startswith("^", end):
        end += 1
    if text.startswith("]", end):
        end += 1
    while end < len(text) and text[end] != "]":
        named = text.find(":]", end) if text.startswith("[:", end) else -1
        end = named + 2 if named >= 0 else end + (2 if text[end] == "\\" else 1)
    return end + 1 - at


def _shown(text: str, offset: int, fragment: str) -> str:
    """RE2 cuts `(?P=` short; show what makes it recognisable."""
    return text[offset : offset + 4] if fragment == "(?P" else fragment


def _help(help: str, text: str, offset: int) -> str:
    """Fill the digits of a `\\uXXXX` into the help that shows how to write it."""
    digits = text[offset + 2 : offset + 6]
    is_hex = len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits)
    return help.format(digits.lower().lstrip("0") or "0" if is_hex else "e9")


def _offset(text: str, what: str, fragment: str) -> int:
    """Where *fragment* stands as a piece of its own; RE2 gives no offset."""
    previous = "("
    for offset, token in _tokens(text):
        misplaced = previous in ("(", "(?", "|") or what != _NO_ARGUMENT
        if fragment and misplaced and text.startswith(fragment, offset):
            return offset
        previous = token
    return len(text) - 1 if what == _BACKSLASH else max(text.find(fragment), 0)


def _bad_parenthesis(text: str) -> Flaw:
    opened: list[int] = []
    for offset, token in _tokens(text):
        if token in ("(", "(?"):
            opened.append(offset)
        elif token == ")" and opened:
            opened.pop()
        elif token == ")":
            return _flaw("this `)` closes nothing", offset, 1, r"write `\)` for the character")
    return _flaw("this `(` is never closed", opened[-1], 1, r"write `\(` for the character")


_NO_ARGUMENT = "no argument for repetition operator"
_BACKSLASH = "trailing \\"
_ESCAPE = "invalid escape sequence"
_OPERATOR = "invalid perl operator"
_LOOK = "test the two conditions separately"
_POSSESSIVE = "leave it out: a pattern here never backtracks"
_ERRORS = {
    _ESCAPE: ("unknown escape `{}`", r"write `\\` for a backslash"),
    _OPERATOR: ("unknown group `{}`", "write `(?:` for a group that captures nothing"),
    "missing ]": ("this `[` is never closed", r"write `\[` for the character"),
    _BACKSLASH: ("the pattern ends with a backslash", r"write `\\` for the character"),
    "invalid character class range": ("unknown character class or range `{}`", None),
    _NO_ARGUMENT: (
        "`{}` repeats nothing",
        "write `.*` for any text, or a backslash before it for the character",
    ),
    "invalid repetition size": (
        "bad repetition `{}`",
        "at most 1000 repetitions, the lower number first; nested counts multiply",
    ),
    "bad repetition operator": ("`{}` repeats a repetition", "keep one of the two operators"),
    "pattern too large - compile failed": (
        "the pattern is too large",
        "use smaller repetition counts, or several patterns",
    ),
    "invalid named capture group": ("bad name of a group `{}`", "write `(?P<name>...)`"),
}
"""RE2's words, ours, and the help that fits every case."""

_MISTAKES: tuple[tuple[str, str | tuple[str, ...], str, str], ...] = (
    (_OPERATOR, ("(?=", "(?!"), "look-ahead `{}` is not supported", _LOOK),
    (_OPERATOR, ("(?<=", "(?<!"), "look-behind `{}` is not supported", _LOOK),
    (_OPERATOR, "(?>", "atomic group `{}` is not supported", "write `(?:`"),
    (_OPERATOR, "(?P", "`{}` is not supported", "repeat the expression itself"),
    (_OPERATOR, "(?#", "comment `{}` is not supported", "put the comment beside the pattern"),
    (
        _OPERATOR,
        ("(?x", "(?u", "(?a", "(?L"),
        "flag `{}` is not supported",
        "use the flags i, m, s and U only",
    ),
    (
        _ESCAPE,
        tuple(f"\\{digit}" for digit in "123456789"),
        "back-reference `{}` is not supported",
        "repeat the expression itself",
    ),
    (_ESCAPE, r"\k", "back-reference `{}` is not supported", "repeat the expression itself"),
    (_ESCAPE, r"\Z", "`{}` is not supported", r"write `\z`"),
    (_ESCAPE, (r"\u", r"\U"), "`{}` is not supported", r"write `\x{{{}}}`"),
    (_ESCAPE, r"\h", "`{}` is not supported", r"write `[ \t]`"),
    (_ESCAPE, r"\R", "`{}` is not supported", r"write `\r?\n`"),
    (_ESCAPE, r"\e", "`{}` is not supported", r"write `\x1b`"),
    ("bad repetition operator", "++", "possessive `{}` is not supported", _POSSESSIVE),
    ("bad repetition operator", "*+", "possessive `{}` is not supported", _POSSESSIVE),
    ("bad repetition operator", "?+", "possessive `{}` is not supported", _POSSESSIVE),
)
"""Mistakes that come from other dialects: RE2's words, how the fragment begins, ours, the help."""
