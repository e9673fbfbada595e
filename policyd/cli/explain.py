"""`policyd explain`: why a set of policies decides as it does about one payload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.exits import Exit
from policyd.cli.payload import (
    headline,
    note_unmatched,
    payload_options,
    read_invocation,
    refuse,
)
from policyd.cli.policies import bundle_or_exit, format_option, paths_argument
from policyd.cli.render import BAD, DIM, GOOD, STRONG, WARNING, Format, examples, say, say_json
from policyd.cli.settings import settings_option
from policyd.diagnostics import Span
from policyd.errors import InvocationError
from policyd.explanation import (
    Account,
    Explanation,
    PolicyAccount,
    RuleAccount,
    Term,
    explain,
)
from policyd.model import Kind

_STYLES = {Account.FIRED: WARNING, Account.FAILED: BAD, Account.NOT_RUN: DIM, Account.SKIPPED: DIM}
_STEP = "  "


@click.command(
    "explain",
    short_help="Say why policies decide as they do about one payload.",
    epilog=examples(
        "policyd explain policies/ --event tools/call --phase request --payload call.json",
        "policyd explain p.yaml --event tools/list --phase response --payload - < tools.json",
    ),
)
@paths_argument
@settings_option
@payload_options
@format_option(Format.TEXT, Format.JSON)
def command(
    paths: Sequence[Path], settings_path: Path | None, format: Format, **asked: Any
) -> Exit:
    """Run the policies at or below each PATH on one payload and say why they decide as they do.

    For each policy and each rule: whether it fired, did not fire, was skipped (and what in
    `match` says so) or could not be evaluated, and which part of its condition decided. Below
    stand the parts of the condition, each with its value; a part that was not needed, because
    the others decided, is marked. For a mutator, what each step changed and where. Policies for
    other events come last, in a line each.

    Values are shown as messages show them: cut, and without secrets. The exit code is 0 whether
    the payload is allowed or denied, as for `policyd eval`, whose options are the same.
    """
    bundle, snapshot = bundle_or_exit(paths, settings_path)
    invocation = read_invocation(snapshot, asked)
    try:
        explanation = explain(bundle, invocation)
    except InvocationError as error:
        raise refuse(error) from None
    if format is Format.JSON:
        say_json(_as_json(explanation))
        return Exit.FINE
    note_unmatched(explanation.decision)
    say(headline(explanation.decision), GOOD if explanation.decision.allowed else BAD)
    hooked = [policy for policy in explanation.policies if policy.hooked]
    for policy in hooked:
        say("")
        _say_policy(policy)
    others = [policy for policy in explanation.policies if not policy.hooked]
    if others:
        say("")
        for policy in others:
            say(_policy_line(policy), DIM)
    return Exit.FINE


def _say_policy(policy: PolicyAccount) -> None:
    say(_policy_line(policy), _STYLES.get(policy.account, STRONG))
    if policy.when is not None:
        _say_term(policy.when, 1, "when: ")
    for name, term in policy.variables:
        _say_term(term, 1, f"{name}: ")
    for rule in policy.rules:
        _say_rule(rule)


def _policy_line(policy: PolicyAccount) -> str:
    kind = "validator" if policy.kind is Kind.VALIDATION else "mutator"
    mode = "" if policy.mode == "enforce" else f", {policy.mode}"
    reason = f": {policy.reason}" if policy.reason else ""
    return f"{kind} {policy.name} ({_place(policy.span)}{mode}) {policy.account}{reason}"


def _say_rule(rule: RuleAccount) -> None:
    reason = f": {rule.reason}" if rule.reason else ""
    head = f"rule {rule.id} ({_place(rule.span)}) {rule.account}{reason}"
    say(_STEP + head, _STYLES.get(rule.account, ""))
    for detail in rule.details:
        say(_STEP * 2 + detail)
    label = {"deny": "deny: ", "require": "require: ", "drop": "where: "}.get(rule.kind, "value: ")
    for term in rule.expressions:
        _say_term(term, 2, label)


def _say_term(term: Term, depth: int, label: str = "") -> None:
    line = f"{_STEP * depth}{label}{term.text}"
    if term.value is not None:
        say(f"{line} = {term.value}")
    elif term.error is not None:
        say(f"{line}: {term.error}", BAD)
    else:
        say(f"{line} (not needed)", DIM)
    for part in term.parts:
        _say_term(part, depth + 1)
    if term.elided:
        say(f"{_STEP * (depth + 1)}... and {term.elided} more, not shown", DIM)


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _as_json(explanation: Explanation) -> dict[str, Any]:
    decision = explanation.decision
    return {
        "allowed": decision.allowed,
        "generation": decision.generation,
        "policies": [_policy_to_json(policy) for policy in explanation.policies],
    }


def _policy_to_json(policy: PolicyAccount) -> dict[str, Any]:
    value = {
        "name": policy.name,
        "kind": policy.kind.value,
        "mode": policy.mode,
        **_position(policy.span),
        "account": policy.account.value,
        "reason": policy.reason,
    }
    if policy.when is not None:
        value["when"] = _term_to_json(policy.when)
    if policy.variables:
        value["variables"] = [
            {"name": name, **_term_to_json(term)} for name, term in policy.variables
        ]
    return {**value, "rules": [_rule_to_json(rule) for rule in policy.rules]}


def _rule_to_json(rule: RuleAccount) -> dict[str, Any]:
    return {
        "id": rule.id,
        "kind": rule.kind,
        **_position(rule.span),
        "account": rule.account.value,
        "reason": rule.reason,
        "details": list(rule.details),
        "expressions": [_term_to_json(term) for term in rule.expressions],
    }


def _term_to_json(term: Term) -> dict[str, Any]:
    value: dict[str, Any] = {"text": term.text, **_position(term.span), "needed": term.needed}
    if term.value is not None:
        value["value"] = term.value
    if term.error is not None:
        value["error"] = term.error
    if term.parts:
        value["parts"] = [_term_to_json(part) for part in term.parts]
    return {**value, "elided": term.elided} if term.elided else value


def _position(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "column": span.column}
