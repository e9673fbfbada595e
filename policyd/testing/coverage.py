"""What cases reach in policies: rules that fire and that do not, and both ways of each branch.

Knows what a branch of an expression is.  Prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policyd.diagnostics import Span
from policyd.document import Path
from policyd.expr.cel.parts import Written, parts
from policyd.expr.cel.tree import And, Conditional, Literal, Loop, Node, Or
from policyd.observation import Seen, Watched, watch_policies
from policyd.policy import Policy, place_of
from policyd.source import Bundle
from policyd.testing.cases import CaseFile
from policyd.testing.watch import fired, watch_cases


@dataclass(slots=True)
class RuleCount:
    """In how many cases a rule fired, and in how many it did not."""

    policy: str
    rule: str
    span: Span
    fired: int = 0
    silent: int = 0

    @property
    def covered(self) -> bool:
        """True when it fired in a case and did not in another."""
        return self.fired > 0 and self.silent > 0


@dataclass(slots=True)
class Branch:
    """A part of an expression on which the rest depends, and how often it was true and false.

    what: the part, as written.
    of: the operator or macro that it decides: `&&`, `||`, `?:`, `exists`, ...
    """

    policy: str
    span: Span
    what: str
    of: str
    true: int = 0
    false: int = 0

    @property
    def covered(self) -> bool:
        """True when it was both."""
        return self.true > 0 and self.false > 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """What cases reach: every rule and every branch of the policies, in the order of files."""

    rules: tuple[RuleCount, ...]
    branches: tuple[Branch, ...]


_Key = tuple[str, Path, int]
"""The name of a policy, where an expression stands in its document, and the offset of a part."""


def cover(bundle: Bundle, case_files: Iterable[CaseFile]) -> Coverage:
    """What the cases reach in the policies of a bundle that compiles."""
    watched = watch_policies(bundle)
    rules = {
        (each.policy.name, rule.id): RuleCount(each.policy.name, rule.id, place_of(rule))
        for each in watched
        for rule in each.policy.rules
    }
    branches = {key: branch for each in watched for key, branch in _branches(each)}
    for case_file in case_files:
        for run in watch_cases(case_file):
            for policy, seen in run.seen:
                _count_rules(policy, seen, rules)
                _count_branches(policy, seen, branches)
    found = sorted(branches.values(), key=lambda branch: branch.span)
    return Coverage(tuple(rules.values()), tuple(found))


def _count_rules(policy: Policy, seen: Seen, rules: Mapping[tuple[str, str], RuleCount]) -> None:
    for rule in policy.rules:
        count = rules.get((policy.name, rule.id))
        outcome = fired(policy, rule, seen)
        if count is not None and outcome is not None:
            count.fired += outcome
            count.silent += not outcome


def _count_branches(policy: Policy, seen: Seen, branches: Mapping[_Key, Branch]) -> None:
    for path, evaluations in seen.expressions.items():
        roots = [each.visit for each in evaluations if each.visit is not None]
        for visit in (visit for root in roots for visit in root.walk()):
            branch = branches.get((policy.name, path, visit.node.offset))
            if branch is not None:
                branch.true += visit.value is True
                branch.false += visit.value is False


def _branches(watched: Watched) -> Iterator[tuple[_Key, Branch]]:
    policy = watched.policy
    places = [policy.hook.when, *[rule.node.get("where") for rule in policy.rules]]
    conditions = {node.path: str(node.path[-1]) for node in places if node is not None}
    for node, program in watched.programs:
        written = Written(program.text)
        found = list(_below(program.checked.root))
        if node.path in conditions:
            found.append((program.checked.root, conditions[node.path]))
        for part, of in found:
            start, end = written.stretches[part.offset]
            span = node.text.at(start, end - start)
            branch = Branch(policy.name, span, written.text[start:end], of)
            yield (policy.name, node.path, part.offset), branch


def _below(node: Node) -> Iterator[tuple[Node, str]]:
    """Each part of an expression that something depends on, and what does."""
    deciding: tuple[Node, ...] = ()
    of = ""
    if isinstance(node, (And, Or)):
        deciding, of = node.operands, "&&" if isinstance(node, And) else "||"
    elif isinstance(node, Conditional):
        deciding, of = (node.condition,), "?:"
    elif isinstance(node, Loop) and node.test is not None:
        deciding, of = (node.test,), node.macro
    yield from ((part, of) for part in deciding if not isinstance(part, Literal))
    for part in parts(node):
        yield from _below(part)
