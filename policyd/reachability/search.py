"""Whether conditions can hold together.

The search goes through the alternatives of a formula and stops at the first in which nothing
contradicts.  What takes too many alternatives is possible: "cannot tell" is never a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from policyd.expr.cel.tree import Binary, Free, Literal, Loop, Node, Select
from policyd.expr.cel.values import UINT_MAX, UInt
from policyd.reachability.domain import ANYTHING, Domain, Scalar, scalar
from policyd.reachability.facts import Claim, Fact, Facts, Origin, Subject, sides_of
from policyd.reachability.fold import Broken, Writer
from policyd.reachability.formula import All, Either, Formula, first_alternative, formula

MAX_EFFORT: Final = 4_000
"""Steps of one search; one is about a fact that is added, or a value that is tried on it."""

MAX_CHOICES: Final = 32
"""Sets of alternatives that a search combines; it takes further ones for possible."""

_MAX_MEMBERS: Final = 32
"""Values of one subject that are tried one by one."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of a value before any condition; *fact* says where from."""

    domain: Domain
    fact: Fact


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why an alternative is ruled out: *fact* cannot be where *other* is.

    alone: *fact* cannot be at all.  Where it can, and *other* is None, it takes several others.
    """

    fact: Fact
    other: Fact | None = None
    alone: bool = False


@dataclass(slots=True)
class _Known:
    """What follows from the facts of one alternative."""

    domains: dict[Subject, Domain]
    facts: list[Fact]
    sources: dict[Subject, list[Fact]]
    nodes: dict[Subject, Node]

    def copy(self) -> _Known:
        sources = {subject: list(facts) for subject, facts in self.sources.items()}
        return _Known(dict(self.domains), list(self.facts), sources, dict(self.nodes))


class _GaveUp(Exception):
    """The search would take too long."""


class Effort:
    """What a search may still do, together with those that it starts."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def spend(self, steps: int) -> None:
        """Take *steps*.  Raises where none are left."""
        self._steps -= steps
        if self._steps < 0:
            raise _GaveUp


class Search:
    """Looks for contradictions in conditions that were written out.

    conflicts: what the last search found, one for each alternative that it ruled out.
    """

    def __init__(self, facts: Facts, writer: Writer, given: Iterable[Given] = ()) -> None:
        self.conflicts: list[Conflict] = []
        self._identity = facts.identity
        self._writer = writer
        self._facts = facts
        self._given = {self._identity.of(each.fact.node): each for each in given}
        self._counted = [s for s, each in self._given.items() if each.domain.values is not None]
        self._effort = Effort(0)
        self._empty_loops: dict[int, bool] = {}

    def possible(self, formulas: Sequence[Formula], effort: Effort | None = None) -> bool:
        """False when *formulas* surely never hold together."""
        self.conflicts = []
        self._effort = effort or Effort(MAX_EFFORT)
        try:
            # most conditions are possible, which is seen in a fraction of the time
            if self._unrelated(first_alternative(formulas)):
                return True
            domains = {subject: each.domain for subject, each in self._given.items()}
            sources = {subject: [each.fact] for subject, each in self._given.items()}
            nodes = {subject: each.fact.node for subject, each in self._given.items()}
            return self._holds(list(formulas), _Known(domains, [], sources, nodes))
        except _GaveUp:
            return True

    def _unrelated(self, facts: Sequence[Fact]) -> bool:
        """True when surely *facts* hold together.

        Each is possible, no two say something of one value, and none reads what another, or
        what is given, says the value of.
        """
        claimed: dict[Subject, Domain] = {}
        counted = dict.fromkeys(self._counted)
        for fact in facts:
            said = self._facts.said(fact.node, fact.wanted)
            if not said.possible or self._never(fact.node, fact.wanted):
                return False
            for subject, domain in said.claims:
                if claimed.setdefault(subject, domain) is not domain:
                    return False
            counted.update(dict.fromkeys(said.counted, fact))
        if any(
            subject in claimed and each.domain.meet(claimed[subject]).empty
            for subject, each in self._given.items()
        ):
            return False
        return not any(
            counted[subject] is not fact
            for fact in facts
            for subject in counted.keys() & self._identity.within(fact.node)
        )

    def _holds(self, formulas: list[Formula], known: _Known) -> bool:
        """True where no contradiction was found in *formulas* and what is known already."""
        choices: list[Either] = []
        queue = list(reversed(formulas))
        while queue:
            part = queue.pop()
            if isinstance(part, All):
                queue += reversed(part.parts)
            elif isinstance(part, Either):
                choices.append(part)
            elif not self._learn(part, known):
                return False
        if not choices:
            return self._survives(known)
        # to leave some out loses contradictions and invents none
        first, *rest = sorted(choices, key=lambda choice: len(choice.options))[:MAX_CHOICES]
        for option in first.options:
            self._effort.spend(1 + len(known.domains) // 8)
            if self._holds([option, *rest], known.copy()):
                return True
        return False

    # One fact

    def _learn(self, fact: Fact, known: _Known) -> bool:
        """Add *fact* to what is known; False where it contradicts."""
        node = fact.node
        if self._never(node, fact.wanted):
            self.conflicts.append(Conflict(fact, alone=True))
            return False
        self._effort.spend(1)
        known.facts.append(fact)
        for subject, domain in self._claims(node, fact.wanted, known):
            before = known.domains.get(subject, ANYTHING)
            after = before.meet(domain)
            if after is not before and after.empty:
                self._clash(fact, subject, domain, known)
                return False
            known.domains[subject] = after
            known.sources.setdefault(subject, []).append(fact)
        return True

    def _claims(self, node: Node, wanted: bool, known: _Known) -> Iterable[Claim]:
        """The claims of a fact, once something is known of each subject in it."""
        for part in sides_of(node):
            subject = self._identity.of(part)
            if subject not in known.nodes:
                known.nodes[subject] = part
                given = known.domains.get(subject, ANYTHING)
                known.domains[subject] = given.meet(self._facts.initial(part))
        return self._facts.said(node, wanted).claims

    def _never(self, node: Node, wanted: bool) -> bool:
        """True when the outcome *wanted* of *node* is impossible by itself."""
        if isinstance(node, Broken):
            return True
        if isinstance(node, Literal):
            return node.value is not wanted
        if not isinstance(node, Loop) or node.test is None:
            return False
        # `exists` is true only where its test is true once, `all` false where it is false once
        if node.macro not in ("all", "exists") or wanted is not (node.macro == "exists"):
            return False
        key = self._identity.of(node)
        if key not in self._empty_loops:
            inner = Search(self._facts, self._writer)
            inner._empty_loops = self._empty_loops
            test = [formula(node.test, wanted, Origin(""))]
            self._empty_loops[key] = not inner.possible(test, self._effort)
        return self._empty_loops[key]

    def _clash(self, fact: Fact, subject: Subject, domain: Domain, known: _Known) -> None:
        """Remember what contradicts *fact*, which says *domain* of *subject*."""
        node = known.nodes.get(subject)
        initial = ANYTHING if node is None else self._facts.initial(node)
        if initial.meet(domain).empty:
            self.conflicts.append(Conflict(fact, alone=True))
            return
        for source in known.sources.get(subject, ()):
            if self._said(source, subject).meet(domain).meet(initial).empty:
                self.conflicts.append(Conflict(fact, source))
                return
        self.conflicts.append(Conflict(fact))

    def _said(self, fact: Fact, subject: Subject) -> Domain:
        """What *fact* says of *subject*."""
        given = self._given.get(subject)
        if given is not None and given.fact is fact:
            return given.domain
        said = ANYTHING
        for about, domain in self._facts.said(fact.node, fact.wanted).claims:
            if about == subject:
                said = said.meet(domain)
        return said

    # Values that are known

    def _survives(self, known: _Known) -> bool:
        """False when the facts are wrong for every value that is left of some subject."""
        choices = self._choices(known)
        sure = {s: values[0] for s, values in choices.items() if len(values) == 1}
        if not choices:
            return True
        facts = [(fact, self._identity.within(fact.node)) for fact in known.facts]
        affected = [fact for fact, parts in facts if _tells(fact.node) and parts & sure.keys()]
        if not self._try(sure, affected, known):
            return False
        for subject, values in choices.items():
            if len(values) == 1:
                continue
            affected = [fact for fact, parts in facts if _tells(fact.node) and subject in parts]
            if affected and not any(
                self._try({**sure, subject: value}, affected, known) for value in values
            ):
                return False
        return True

    def _choices(self, known: _Known) -> dict[int, list[Literal]]:
        """The literals that each subject may be, where they are few."""
        found: dict[int, list[Literal]] = {}
        for subject, node in known.nodes.items():
            members = None if isinstance(node, Literal) else known.domains[subject].members()
            if members is not None and len(members) <= _MAX_MEMBERS:
                found[subject] = [
                    Literal(node.offset, node.length, spelt)
                    for member in members
                    for spelt in _spellings(member)
                ]
        return found

    def _try(self, values: Mapping[int, Literal], facts: Iterable[Fact], known: _Known) -> bool:
        """False when with *values* some fact has another outcome than it should have."""
        for fact in facts:
            for inner in self._put_in(values, fact.node):
                self._effort.spend(4)
                written = self._writer.put_in(fact.node, inner)
                if written is not fact.node and self._never(written, fact.wanted):
                    used = inner.keys() & self._identity.within(fact.node)
                    sources = [s for v in used for s in known.sources.get(v, ()) if s is not fact]
                    other = sources[0] if len(sources) == 1 else None
                    self.conflicts.append(Conflict(fact, other))
                    return False
        return True

    def _put_in(self, values: Mapping[int, Literal], node: Node) -> Iterator[dict[int, Literal]]:
        """The values that may be put in a fact about *node*, never for the whole of it.

        First also for what it compares; then, where that is computed, for its parts alone.
        """
        own, *sides = [self._identity.of(side) for side in sides_of(node)]
        inner = {subject: value for subject, value in values.items() if subject != own}
        yield inner
        if any(side in inner for side in sides) and _computes(node):
            yield {subject: value for subject, value in inner.items() if subject not in sides}


def _computes(node: Node) -> bool:
    return any(not isinstance(side, Select | Free | Literal) for side in sides_of(node)[1:])


def _tells(node: Node) -> bool:
    """True for facts that say more than what a domain knows: more than `name == literal`."""
    return not (
        isinstance(node, Binary)
        and isinstance(node.right, Literal)
        and isinstance(node.left, Select | Free)
        and node.operator != "in"
        and scalar(node.right.value) is not None
    )


def _spellings(member: Scalar) -> list[Any]:
    """The values that are equal to *member*, which functions may tell apart."""
    kind, value = member
    if kind != "number":
        return [value]
    if isinstance(value, float) and not value.is_integer():
        return [float(value)]
    whole = int(value)
    found: list[Any] = [whole]
    if abs(whole) < 2**1023 and float(whole) == whole:
        found += [float(whole), *([-0.0] if whole == 0 else [])]
    if 0 <= whole <= UINT_MAX:
        found.append(UInt(whole))
    return found
