"""One text: what is found in it, however it is written there, and the text without it.

Knows encodings and JSON within the text, and how several redactions of one text come
together.  Knows no document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from policyd.expression import Budget
from policyd.redaction.embedded import Embedded, Token, embedded_json
from policyd.redaction.finding import Stretch, TextRedaction, merged, strongest
from policyd.redaction.hidden import MAX_DEPTH, folds, may_hide, runs
from policyd.redaction.names import KeyNames
from policyd.redaction.strategy import (
    Default,
    Remove,
    Value,
    empty_like,
    name_shape,
    redact_value,
    token_shape,
)

CHARS_PER_STEP: Final = 64
"""Characters that are searched in about the time of one step of a budget (measured)."""

Active = Sequence[tuple[int, TextRedaction]]
"""The redactions that are asked about a text, each with its rank."""


class Rewritten(NamedTuple):
    """What a text or number has become.

    counts: how often each rule with each detector replaced something in it.
    owner: the strongest of what was found.
    """

    value: Any
    counts: Mapping[tuple[str, str | None], int]
    owner: Stretch


@dataclass(frozen=True, slots=True)
class _Edit:
    """A stretch of a text, and what takes its place."""

    start: int
    end: int
    text: str
    rewritten: Rewritten


def with_key(key: str | int | None, text: str) -> str:
    """A text as it is searched: behind its key, which often says what it is."""
    return f"{key}: {text}" if isinstance(key, str) else text


def is_encoded(text: str) -> bool:
    """False when a search of *text* as it stands finds all that is in it; quick to tell."""
    return ("\\" in text and ("{" in text or "[" in text or '"' in text)) or may_hide(text)


def decoded_texts(
    key: str | int | None, text: str, budget: Budget, depth: int = 0
) -> Iterator[tuple[str | int | None, str]]:
    """The texts that *text* holds in some encoding, those within them included.

    Each comes with the key that it stands under.  Raises EvaluationError.
    """
    if depth == MAX_DEPTH or not is_encoded(text):
        return
    inner = [(key, fold.text) for fold in folds(text)]
    inner += [(None, run.text) for run in runs(text)]
    if "\\" in text:
        inner += [
            (token.key, str(token.value))
            for embedded in embedded_json(text)
            for token in embedded.tokens
            # of any other, the text as it stands says the same
            if token.escaped
        ]
    for inner_key, inner_text in inner:
        budget.spend(1 + len(inner_text) // CHARS_PER_STEP)
        yield inner_key, inner_text
        yield from decoded_texts(inner_key, inner_text, budget, depth + 1)


class Rewriter:
    """Rewrites the texts of one document."""

    def __init__(
        self, redactions: Sequence[TextRedaction], names: KeyNames, budget: Budget
    ) -> None:
        self._redactions = redactions
        shapes = [name_shape(each.replace, each.names) for each in redactions]
        self._shapes = {shape for shape in shapes if shape is not None}
        self._tokens = {token_shape(each.names) for each in redactions}
        # whether a strategy made it: the same texts come again and again
        self._known: dict[str, bool] = {}
        self._names = names
        self._budget = budget

    def rewrite(
        self, text: str, key: str | None, active: Active, depth: int = 0
    ) -> Rewritten | None:
        """What becomes of a text that stands under *key*; None where nothing is found."""
        stretches = self._flat(text, key, active, depth)
        edits: list[_Edit] = []
        if depth < MAX_DEPTH and (stretches or "\\" in text):
            for embedded in embedded_json(text):
                inside = [s for s in stretches if _meet(s, embedded.start, embedded.end)]
                # what reaches out of the JSON takes what it covers with it
                if all(embedded.start <= s.start and s.end <= embedded.end for s in inside):
                    stretches = [s for s in stretches if s not in inside]
                    edits += self._in_json(text, embedded, inside, active, depth)
        return self._applied(text, stretches, edits)

    def rewrite_leaf(
        self, value: str | int, key: str | int | None, active: Active
    ) -> Rewritten | None:
        """What becomes of a text or a whole number; None where nothing is found."""
        own = key if isinstance(key, str) else None
        if isinstance(value, str):
            return self.rewrite(value, own, active)
        return self.rewrite_number(value, own, active)

    def rewrite_key(self, text: str, active: Active) -> Rewritten | None:
        """What becomes of a key: another text, whatever the strategy."""
        stretches = self._flat(text, None, active, 0) + self._escaped(text, active, 1)
        return self._spliced(text, stretches, []) if stretches else None

    def rewrite_number(
        self, number: int, key: str | None, active: Active, known: Sequence[Stretch] = ()
    ) -> Rewritten | None:
        """What becomes of a whole number, as the text that it is written as.

        *known* is what has been found in it already.
        """
        stretches = [*known, *self._raw(str(number), key, active)]
        if not stretches:
            return None
        owner = strongest(stretches)
        redaction = self._redactions[owner.rank]
        if isinstance(redaction.replace, Remove):
            new = empty_like(number)
        else:
            new = redact_value(number, redaction.replace, owner.detector, retype=redaction.retype)
        return Rewritten(new, {(redaction.rule, owner.detector): 1}, owner)

    # what is found

    def _raw(self, text: str, key: str | None, active: Active) -> list[Stretch]:
        """What is found in *text* as it stands."""
        found: list[Stretch] = []
        ahead_of = "" if key is None else with_key(key, "")
        searched, behind_key = self._unnamed(text), self._unnamed(ahead_of + text)
        for rank, redaction in active:
            ahead, whole = (ahead_of, behind_key) if redaction.keys else ("", searched)
            for start, end, detector in redaction.finder.find(whole, self._budget):
                start, end = max(start - len(ahead), 0), end - len(ahead)
                if start < end:
                    found.append(Stretch(start, end, rank, detector, text[start:end]))
        if not found:
            return found
        made = [place for shape in self._tokens for place in shape.iter_spans(text)]
        return [stretch for stretch in found if not self._is_placeholder(stretch, made)]

    def _unnamed(self, text: str) -> str:
        """*text* with NUL for the names in placeholders, which are context for nothing."""
        for shape in self._shapes:
            for start, end in shape.spans(text, 1):
                text = text[:start] + "\0" * (end - start) + text[end:]
        return text

    def _is_placeholder(self, stretch: Stretch, made: Sequence[tuple[int, int]]) -> bool:
        """True for what lies within a hash or token, or is what one of the strategies made."""
        if made and any(start <= stretch.start and stretch.end <= end for start, end in made):
            return True
        secret = stretch.secret
        if secret not in self._known:
            self._known[secret] = any(shape.fullmatch(secret) for shape in self._shapes) or any(
                redaction.replace.made(secret) for redaction in self._redactions
            )
        return self._known[secret]

    def _flat(self, text: str, key: str | None, active: Active, depth: int) -> list[Stretch]:
        """What is found in *text* and in what it encodes, JSON aside."""
        self._budget.spend(1 + len(text) // CHARS_PER_STEP)
        found = self._raw(text, key, active)
        if depth == MAX_DEPTH or not may_hide(text):
            return found
        for fold in folds(text):
            inside = self._flat(fold.text, key, active, depth + 1)
            inside += self._escaped(fold.text, active, depth + 1)
            found += [s.at(*fold.original(s.start, s.end)) for s in inside]
        for run in runs(text):
            inner = self.rewrite(run.text, None, active, depth + 1)
            if inner is not None:
                found.append(inner.owner.at(run.start, run.end))
        return found

    def _escaped(self, text: str, active: Active, depth: int) -> list[Stretch]:
        """What is found in strings of JSON that are written with escapes, each as a whole.

        For where the JSON is not rewritten inside: in keys, and where an encoding hides it.
        """
        found: list[Stretch] = []
        for embedded in embedded_json(text) if "\\" in text else ():
            for token in embedded.tokens:
                written = text[token.start : token.end]
                inner = self._token(token, written, [], active, depth) if token.escaped else None
                if inner is not None:
                    found.append(inner.owner.at(token.start, token.end))
        return found

    # JSON within the text

    def _in_json(
        self,
        text: str,
        embedded: Embedded,
        stretches: Sequence[Stretch],
        active: Active,
        depth: int,
    ) -> Iterator[_Edit]:
        keys = {str(token.value) for token in embedded.tokens if token.is_key}
        names: dict[str, str] = {}
        for token in embedded.tokens:
            own = [s for s in stretches if _meet(s, token.start, token.end)]
            # a pattern that reaches over quotes and commas means no single value
            own = [
                s.at(max(s.start, token.start), min(s.end, token.end))
                for s in own
                if s.detector is not None or (token.start <= s.start and s.end <= token.end)
            ]
            written = text[token.start : token.end]
            rewritten = self._token(token, written, own, active, depth + 1)
            if rewritten is None:
                continue
            if token.is_key:
                rewritten = rewritten._replace(value=self._name(token, rewritten, keys, names))
            yield _edit(token, written, rewritten)

    def _token(
        self, token: Token, written: str, own: list[Stretch], active: Active, depth: int
    ) -> Rewritten | None:
        if isinstance(token.value, int):
            return self.rewrite_number(token.value, token.key, active, own)
        if token.is_key:
            return self.rewrite_key(token.value, [(n, r) for n, r in active if r.keys])
        rewritten = self.rewrite(token.value, token.key, active, depth)
        if rewritten is not None or not own:
            return rewritten
        # found only with what stands beside it
        if token.value == written:
            here = [s.at(s.start - token.start, s.end - token.start) for s in own]
        else:
            here = [strongest(own).at(0, len(token.value))]
        return self._applied(token.value, here, [])

    def _name(
        self, token: Token, rewritten: Rewritten, keys: set[str], names: dict[str, str]
    ) -> str:
        key = str(token.value)
        if key not in names:
            names[key] = self._names.name(rewritten.value, key, keys, self._budget)
        return names[key]

    # what becomes of it

    def _applied(
        self, text: str, stretches: Sequence[Stretch], edits: Sequence[_Edit]
    ) -> Rewritten | None:
        if not stretches and not edits:
            return None
        for stretch in stretches:
            redaction = self._redactions[stretch.rank]
            if isinstance(redaction.replace, (Value, Default)):
                new = redact_value(text, redaction.replace, stretch.detector)
                return Rewritten(new, {(redaction.rule, stretch.detector): 1}, stretch)
        return self._spliced(text, stretches, edits)

    def _spliced(
        self, text: str, stretches: Sequence[Stretch], edits: Sequence[_Edit]
    ) -> Rewritten:
        counts: Counter[tuple[str, str | None]] = Counter()
        owners = [edit.rewritten.owner for edit in edits]
        parts = [(edit.start, edit.end, edit.text) for edit in edits]
        for edit in edits:
            counts.update(edit.rewritten.counts)
        for owner in merged(text, stretches):
            self._budget.spend(1)
            redaction = self._redactions[owner.rank]
            counts[redaction.rule, owner.detector] += 1
            owners.append(owner)
            new = redaction.replace.of(owner.secret, owner.detector)
            parts.append((owner.start, owner.end, new))
        return Rewritten(_joined(text, sorted(parts)), counts, strongest(owners))


def _meet(stretch: Stretch, start: int, end: int) -> bool:
    return stretch.start < end and start < stretch.end


def _edit(token: Token, written: str, rewritten: Rewritten) -> _Edit:
    new = _json(rewritten.value, written)
    if isinstance(token.value, int):
        return _Edit(token.start, token.end, new, rewritten)
    if isinstance(rewritten.value, str):
        return _Edit(token.start, token.end, new[1:-1], rewritten)
    # with its quotes
    return _Edit(token.start - 1, token.end + 1, new, rewritten)


def _json(value: Any, written: str) -> str:
    """The JSON text of a value that takes the place of *written*, in ASCII where that is."""
    text = json.dumps(value, ensure_ascii=written.isascii())
    # half of a surrogate pair can be spelled in JSON only, and not in UTF-8
    return text if text.isascii() or text.isprintable() else json.dumps(value)


def _joined(text: str, parts: Sequence[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, new in parts:
        pieces += (text[at:start], new)
        at = end
    return "".join((*pieces, text[at:]))
