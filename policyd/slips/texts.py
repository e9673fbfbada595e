"""Texts of a policy that are literal although they look as if they were more.

Knows messages, globs on the name of a tool, replacements and values of a patch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policyd.document import Text
from policyd.events import ALWAYS, REQUEST_NAMES
from policyd.expr.message import literal_parts
from policyd.expression import Flaw
from policyd.model import Kind
from policyd.pattern import Pattern, compile_pattern, matches_whole
from policyd.pattern_mistakes import as_pattern
from policyd.policy import Node, Policy, Rule

Slip = tuple[Text, Flaw]

_NAMES: Final = frozenset(
    {"config", "constants", "result", "variables", *ALWAYS}.union(*REQUEST_NAMES.values())
)


def text_slips(policy: Policy) -> Iterator[Slip]:
    """What in the texts of *policy* is probably not meant."""
    for glob in policy.hook.tools or ():
        yield from _glob(glob)
    for rule in policy.rules:
        if policy.kind is Kind.VALIDATION:
            yield from _messages(rule)
        elif rule.kind == "redact":
            yield from _redaction(rule)
        elif rule.kind == "patch":
            yield from _value(rule)


def _glob(node: Node) -> Iterator[Slip]:
    habit = as_pattern(node.value)
    if habit is not None:
        yield node.text, Flaw("pattern-as-glob", habit[0], 0, len(node.value), habit[1])


# Messages


def _messages(rule: Rule) -> Iterator[Slip]:
    for key in ("message", "hint"):
        node = rule.node.get(key)
        if node is not None:
            for start, literal in literal_parts(node.value):
                for flaw in _of_message(literal):
                    place = flaw.offset + start
                    yield node.text, Flaw(flaw.code, flaw.text, place, flaw.length, flaw.help)


def _of_message(text: str) -> Iterator[Flaw]:
    """Braces in the literal part *text* of a message."""
    stray = text.find("}}")
    if stray >= 0:
        help = "an expression is written `{{ ... }}`"
        yield Flaw("literal-braces", "`}}` closes nothing, and is printed", stray, 2, help)
    for offset, char in enumerate(text):
        inner = text[offset + 1 :].partition("}")[0].strip()
        if char == "{" and _root(inner) in _NAMES:
            start = offset - (text[:offset].endswith("$"))
            words = f"`{text[start : offset + 1]}` is printed as it is"
            yield Flaw("literal-braces", words, start, 1, f"write `{{{{ {inner} }}}}`")
        elif text.startswith("{%", offset):
            words, help = "`{%` is printed as it is", "a message knows `{{ ... }}` only"
            yield Flaw("literal-braces", words, offset, 2, help)


def _root(inner: str) -> str:
    """The first name of `args.path`, or nothing where there is more than a path."""
    name, _, rest = inner.partition(".")
    return name if all(char.isalnum() or char in "._" for char in rest) else ""


# Mutators


def _redaction(rule: Rule) -> Iterator[Slip]:
    pattern, replace = rule.node.get("pattern"), rule.node.get("replace")
    if pattern is not None:
        compiled = compile_pattern(pattern.value)
        assert isinstance(compiled, Pattern), "the rule has compiled it"
        if matches_whole(compiled) and rule.node.value.get("group", 0) == 0:
            text = "the pattern matches every text, so nothing of any text is left"
            help = "replace whole values by their `path`, or say what to look for"
            yield pattern.text, Flaw("matches-everything", text, 0, len(pattern.value), help)
    if replace is not None and isinstance(replace.value, str):
        for flaw in _of_replacement(replace.value, "detect" in rule.node.value):
            yield replace.text, flaw


def _of_replacement(text: str, names_detectors: bool) -> Iterator[Flaw]:
    for offset, char in enumerate(text):
        token = text[offset : offset + 2]
        if char in "\\$" and (token[1:].isdigit() or token == "\\g"):
            help = "`group: N` replaces that group alone and keeps the rest"
            words = f"`{token}` is put in as it is, not what a group matched"
            yield Flaw("literal-replacement", words, offset, 2, help)
        elif token == "{{":
            help = "write `{detector}`" if names_detectors else "a replacement knows no expressions"
            yield Flaw("literal-replacement", "`{{` is put in as it is", offset, 2, help)
            return
        elif char == "{" and "}" in text[offset:]:
            name = text[offset + 1 :].partition("}")[0]
            if name.isidentifier() and name != "detector":
                words = f"`{{{name}}}` is put in as it is"
                help = "the only placeholder is `{detector}`"
                yield Flaw("literal-replacement", words, offset, len(name) + 2, help)


def _value(rule: Rule) -> Iterator[Slip]:
    value = rule.node.get("value")
    if value is not None and isinstance(value.value, str) and "{{" in value.value:
        help = "write `value: {cel: ...}` for an expression"
        flaw = Flaw("literal-value", "`{{` is put in as it is", value.value.index("{{"), 2, help)
        yield value.text, flaw
