"""Faults put into a policy on purpose: what its cases have to notice.

Knows the slips that people make when they change a policy file, and compiles the policy with each.
Knows no case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from policyd.activation import Activation
from policyd.compiler import compile_policy
from policyd.diagnostics import Report, Span
from policyd.document import Path
from policyd.expr.cel.faults import faults_of
from policyd.expression import Budget
from policyd.interceptor import Interceptor, Mutator, PlacedStep, Validator
from policyd.model import Change, Kind
from policyd.policy import Node, Policy, Rule, parse_policies, place_of
from policyd.rules.patch import computed_value

MAX_FAULTS = 60
"""Faults that are tried in one expression."""

_LOWER = {"error": "warn", "warn": "info"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    rule: the id of the rule that is at fault, None where the policy as a whole is.
    span: what is at fault.
    change: what was done, in words for the author of the policy.
    compile: the interceptors with the fault; none where it would not load.
    """

    rule: str | None
    span: Span
    change: str
    compile: Callable[[], tuple[Interceptor, ...]]


def faults_in(policy: Policy) -> tuple[tuple[Fault, ...], int]:
    """Every fault that is tried in a policy that compiles, and how many more there are."""
    subject = _Subject(policy, compile_policy(policy, Report()))
    faults = [*_in_match(subject), *_in_constants(subject)]
    untried = 0
    for node, rule, condition in _expressions(policy):
        found = list(_in_expression(subject, node, rule, condition))
        faults += found[:MAX_FAULTS]
        untried += max(0, len(found) - MAX_FAULTS)
    for index, owner in enumerate(policy.rules):
        faults += _in_rule(subject, index, owner)
    return tuple(sorted(faults, key=lambda fault: fault.span)), untried


_GONE = object()
"""Stands for the value of a member that is taken out."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """The policy that gets faults, and its interceptors without any."""

    policy: Policy
    sound: tuple[Interceptor, ...]

    def edit(self, rule: str | None, node: Node, span: Span, change: str, value: Any) -> Fault:
        """The fault of another *value* at *node*."""
        return Fault(rule, span, change, lambda: self._edited(node.path, value))

    def without(self, index: int, change: str) -> Fault:
        """The fault of a rule that is not there."""
        rule = self.policy.rules[index]
        is_check = self.policy.kind is Kind.VALIDATION
        take_out = self._without_check if is_check else self._without_step
        return Fault(rule.id, place_of(rule), change, lambda: take_out(index))

    def _edited(self, path: Path, value: Any) -> tuple[Interceptor, ...]:
        document = self.policy.node.document
        report = Report()
        parsed = parse_policies(replace(document, data=_with(document.data, path, value)), report)
        own = self.policy
        faulty = [
            replace(each, tools=own.tools, detectors=own.detectors)
            for each in parsed
            if each.node.path == own.node.path
        ]
        if self.policy.kind is Kind.MUTATION:
            return tuple([one for each in faulty for one in compile_policy(each, report)])
        for index, rule in enumerate(self.policy.rules):
            if path[: len(rule.node.path)] == rule.node.path:
                alone = [replace(each, rules=(each.rules[index],)) for each in faulty]
                made = [one for each in alone for one in compile_policy(each, report)]
                return self._with_check(index, made)
        return tuple([one for each in faulty for one in compile_policy(each, report)])

    def _with_check(self, index: int, made: list[Interceptor]) -> tuple[Interceptor, ...]:
        """The sound policy with one rule replaced: to compile the others again takes longer."""
        return tuple(
            [
                replace(
                    sound, checks=(*sound.checks[:index], *one.checks, *sound.checks[index + 1 :])
                )
                for sound, one in zip(self.sound, made, strict=False)
                if isinstance(sound, Validator) and isinstance(one, Validator)
            ]
        )

    def _without_check(self, index: int) -> tuple[Interceptor, ...]:
        return tuple(
            [
                replace(one, checks=(*one.checks[:index], *one.checks[index + 1 :]))
                for one in self.sound
                if isinstance(one, Validator)
            ]
        )

    def _without_step(self, index: int) -> tuple[Interceptor, ...]:
        rest = self.policy.rules[:index] + self.policy.rules[index + 1 :]
        if rest:
            return compile_policy(replace(self.policy, rules=rest), Report())
        made = [one for one in self.sound if isinstance(one, Mutator)]
        return tuple([replace(one, placed=PlacedStep(one.where, _nothing)) for one in made])


def _nothing(
    payload: Any, _activation: Activation, _budget: Budget
) -> tuple[Any, tuple[Change, ...]]:
    return payload, ()


def _with(data: Any, path: Path, value: Any) -> Any:
    """A copy of *data* with *value* at *path*; what is not on the way is shared."""
    step, *rest = path
    copy = data.copy()
    if rest:
        copy[step] = _with(data[step], tuple(rest), value)
    elif value is _GONE:
        del copy[step]
    else:
        copy[step] = value
    return copy


def _in_match(subject: _Subject) -> Iterator[Fault]:
    tools, when = subject.policy.hook.tools, subject.policy.hook.when
    if tools is not None and "*" not in tools.value:
        yield subject.edit(None, tools, tools.span, "`tools` is widened to `*`", ["*"])
    if when is not None:
        yield subject.edit(None, when, when.key_span, "`when` is dropped", _GONE)


def _in_constants(subject: _Subject) -> Iterator[Fault]:
    constants = Node(subject.policy.node.document, ()).get("constants")
    texts = "\n".join(_texts(subject.policy.node.value))
    for node in constants or ():
        name = str(node.path[-1])
        used = re.search(rf"\bconstants\.{re.escape(name)}\b", texts)
        if used and isinstance(node.value, list) and len(node.value) > 1:
            change = f"`constants.{name}` is cut to its first element"
            yield subject.edit(None, node, node.key_span, change, node.value[:1])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)


def _expressions(policy: Policy) -> Iterator[tuple[Node, str | None, bool]]:
    """Every CEL expression but those in messages; whose it is, and whether it is a condition."""
    places: list[tuple[Node | None, str | None, bool]] = [(policy.hook.when, None, True)]
    places += [(node, None, False) for node in policy.node.get("variables") or ()]
    for rule in policy.rules:
        if rule.kind in ("deny", "require"):
            places.append((rule.node[rule.kind], rule.id, True))
        elif rule.kind == "drop":
            places.append((rule.node["where"], rule.id, True))
        elif rule.kind == "patch":
            places.append((computed_value(rule.node), rule.id, False))
    for node, owner, condition in places:
        if node is not None and isinstance(node.value, str):
            yield node, owner, condition


def _in_expression(
    subject: _Subject, node: Node, rule: str | None, condition: bool
) -> Iterator[Fault]:
    for fault in faults_of(str(node.text), condition=condition):
        span = node.text.at(fault.offset, fault.length)
        yield subject.edit(rule, node, span, fault.change, fault.text)


def _in_rule(subject: _Subject, index: int, rule: Rule) -> Iterator[Fault]:
    node = rule.node
    is_check = subject.policy.kind is Kind.VALIDATION
    yield subject.without(index, f"the {'rule' if is_check else 'step'} is taken out")
    severity = node.value.get("severity", "error")
    if is_check and severity in _LOWER:
        place = node.get("severity")
        span = place_of(rule) if place is None else place.span
        change = f"the severity is lowered from `{severity}` to `{_LOWER[severity]}`"
        yield subject.edit(rule.id, node["severity"], span, change, _LOWER[severity])
    detect = node.get("detect")
    for entry in detect if detect is not None and len(detect.value) > 1 else ():
        change = f"the detector `{entry.value}` is taken out"
        yield subject.edit(rule.id, entry, entry.span, change, _GONE)
