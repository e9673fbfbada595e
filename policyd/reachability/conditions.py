"""What can never be, or always is, among the conditions of one policy.

Knows what each condition of a policy is for, and so which of its outcomes makes a rule or a whole
policy superfluous.  A rule that could fire is never refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from policyd.diagnostics import Level, Report
from policyd.document import Text
from policyd.expr.cel import Program
from policyd.expr.cel.tree import Free, Literal, Not
from policyd.expr.cel.tree import Node as Tree
from policyd.expression import Expression
from policyd.policy import Node, Policy
from policyd.reachability.domain import Domain, matching, one_of
from policyd.reachability.facts import Fact, Facts, Origin
from policyd.reachability.fold import Writer
from policyd.reachability.formula import Either, Formula, formula
from policyd.reachability.identity import Identity
from policyd.reachability.search import Conflict, Given, Search
from policyd.reachability.words import excerpt, place, why

_MAX_PARTS: Final = 32
"""Alternatives of one condition that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a policy.

    word: the YAML word that it stands under: `deny`, `require`, `when`, `where`.
    fires_on: the outcome for which something happens.
    text: as written, with its places.
    tree: what it says, written out.
    """

    word: str
    fires_on: bool
    text: Text
    tree: Tree


class Conditions:
    """The conditions of one policy, and what is wrong with them."""

    def __init__(self, policy: Policy, variables: Mapping[str, Expression], report: Report) -> None:
        self._report = report
        self._identity = Identity()
        self._writer = Writer(self._identity)
        for key, variable in variables.items():
            assert isinstance(variable, Program), "variables are CEL"
            self._writer.define(key, variable.checked.root)
        facts = Facts(self._identity)
        self._alone = Search(facts, self._writer)
        self._here = Search(facts, self._writer, _given(policy))
        self._guard: tuple[Formula, ...] = ()

    def take(
        self, word: str, fires_on: bool, node: Node, expression: Expression | None
    ) -> Condition | None:
        """The condition at *node*; None for one in a language that nothing is known of."""
        if not isinstance(expression, Program):
            return None
        tree = self._writer.write_out(expression.checked.root)
        return Condition(word, fires_on, node.text, tree)

    def identity(self, condition: Condition) -> tuple[int, bool]:
        """The same for two conditions that fire in the same cases."""
        tree, fires_on = condition.tree, condition.fires_on
        while isinstance(tree, Not):
            tree, fires_on = tree.operand, not fires_on
        return self._identity.of(tree), fires_on

    def guard(self, condition: Condition) -> None:
        """Judge `when`, which from now on holds wherever a rule is evaluated."""
        holds = _outcome(condition, True)
        if not self._here.possible([holds]):
            effect = "so the policy never runs"
            self._never(condition, "never-runs", effect, self._here.conflicts)
            return
        self._guard = (holds,)
        if not self._alone.possible([_outcome(condition, False)]):
            text = "`when` is always true, so it says nothing"
            self._tell(Level.WARNING, "always-runs", condition, text, self._alone.conflicts)

    def rule(self, condition: Condition) -> None:
        """Judge the condition of a rule."""
        fires = _outcome(condition, condition.fires_on)
        options = fires.options if isinstance(fires, Either) else (fires,)
        dead = self._impossible(options[:_MAX_PARTS])
        if len(dead) == len(options):
            conflicts = list(chain.from_iterable(dead))
            self._never(condition, "never-fires", "so the rule does nothing", conflicts)
        elif type(condition.tree) is Literal and excerpt(condition.text, condition.tree) in _SAID:
            pass  # `deny: 'true'` says what it means
        elif not self._alone.possible([_outcome(condition, not condition.fires_on)]):
            always = "true" if condition.fires_on else "false"
            text = f"`{condition.word}` is always {always}, so the rule finds something every time"
            if condition.word == "where":
                text = "`where` is always true, so every element is dropped"
            self._tell(Level.WARNING, "always-fires", condition, text, self._alone.conflicts)
        else:
            self._dead_parts(condition, dead)

    def _impossible(self, options: Iterable[Formula]) -> list[list[Conflict]]:
        """For each of *options* that is impossible here, why."""
        return [
            self._here.conflicts
            for option in options
            if not self._here.possible([*self._guard, option])
        ]

    def _never(
        self, condition: Condition, code: str, effect: str, conflicts: Sequence[Conflict]
    ) -> None:
        """Report a condition that never has the outcome for which something happens."""
        either = [_outcome(condition, wanted) for wanted in (True, False)]
        if not any(self._alone.possible([outcome]) for outcome in either):
            text = f"`{condition.word}` can never be evaluated, so the policy always fails"
            self._tell(Level.ERROR, "never-evaluates", condition, text, self._alone.conflicts)
            return
        never = "true" if condition.fires_on else "false"
        text = f"`{condition.word}` can never be {never}, {effect}"
        level = Level.WARNING if _on_purpose(conflicts) else Level.ERROR
        self._tell(level, code, condition, text, conflicts)

    def _dead_parts(self, condition: Condition, dead: Iterable[Sequence[Conflict]]) -> None:
        """Warn of alternatives that add nothing to a condition that can fire without them."""
        never = "true" if condition.fires_on else "false"
        text = f"this part of `{condition.word}` can never make it {never}"
        for conflicts in dead:
            if not _on_purpose(conflicts):
                self._tell(Level.WARNING, "never-fires", condition, text, conflicts)

    def _tell(
        self,
        level: Level,
        code: str,
        condition: Condition,
        text: str,
        conflicts: Sequence[Conflict],
    ) -> None:
        """Report *text*, at the place of the only conflict and with its reason if there is one."""
        shown, help = condition.tree, None
        # one reason may rule out several alternatives
        reasons = {(id(each.fact), id(each.other)): each for each in conflicts}
        if len(reasons) == 1:
            (conflict,) = reasons.values()
            facts = [conflict.fact] if conflict.other is None else [conflict.fact, conflict.other]
            shown = next((f.node for f in facts if f.origin.text is condition.text), shown)
            reason = why(conflict, condition.text)
            text = text if reason is None else f"{text}: {reason}"
            help = _meant(facts, condition)
        report = self._report.error if level is Level.ERROR else self._report.warning
        report(code, place(condition.text, shown), text, help)


_SAID: Final = ("true", "false")


def _outcome(condition: Condition, wanted: bool) -> Formula:
    return formula(condition.tree, wanted, Origin(condition.word, condition.text))


def _given(policy: Policy) -> list[Given]:
    """What `match` says of the names of an expression."""
    hook = policy.hook
    given = [_is_one_of("phase", "phase", hook.node["phase"], [str(p) for p in hook.phases])]
    if not any("*" in event for event in hook.events):
        given.append(_is_one_of("event", "events", hook.node["events"], list(hook.events)))
    if hook.tools is not None:
        given.append(_known("tool", "tools", hook.tools, matching(hook.tools.value)))
    return given


def _is_one_of(name: str, word: str, node: Node, values: list[str]) -> Given:
    return _known(name, word, node, one_of(("string", value) for value in values))


def _known(name: str, word: str, node: Node, domain: Domain) -> Given:
    return Given(domain, Fact(Free(0, 0, name), True, Origin(word, span=node.span)))


def _on_purpose(conflicts: Sequence[Conflict]) -> bool:
    """True where a constant decides: a switch that somebody may want to set one day."""
    return all(conflict.alone and _is_switch(conflict.fact) for conflict in conflicts)


def _is_switch(fact: Fact) -> bool:
    text = fact.origin.text
    shown = "" if text is None else excerpt(text, fact.node)
    return shown in _SAID or "constants." in shown


def _meant(facts: Sequence[Fact], condition: Condition) -> str | None:
    """What was probably meant by two facts of one condition that exclude each other."""
    own = [fact for fact in facts if fact.origin.text is condition.text]
    if len(own) < 2:
        return None
    if all(fact.wanted for fact in own) and "&&" in condition.text:
        return "did you mean `||` instead of `&&`?"
    if not any(fact.wanted for fact in own) and "||" in condition.text:
        return "did you mean `&&` instead of `||`?"
    return None
