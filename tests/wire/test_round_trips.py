from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import Cause
from policyd.events import INTERCEPTED_EVENTS, expand
from policyd.model import (
    Change,
    Descriptor,
    Failure,
    Finding,
    Invocation,
    Kind,
    Mode,
    MutationResult,
    Outcome,
    Phase,
    Severity,
    ValidationResult,
)
from policyd.wire import (
    Dialect,
    WireError,
    descriptor_from_json,
    descriptor_to_json,
    dump_json,
    outcome_from_json,
    outcome_to_json,
    parse_json,
)

PAYLOAD: dict[str, Any] = {"name": "echo", "arguments": {"note": "hello"}}
UPPER: dict[str, Any] = {"name": "echo", "arguments": {"note": "HELLO"}}
CALL = Invocation("tools/call", Phase.REQUEST, PAYLOAD)
VALIDATOR = Descriptor("v", Kind.VALIDATION, ("tools/call",), (Phase.REQUEST,))
AUDITOR = replace(VALIDATOR, mode=Mode.AUDIT)
MUTATOR = Descriptor("m", Kind.MUTATION, ("tools/call",), (Phase.REQUEST,))
SHADOW = replace(MUTATOR, mode=Mode.AUDIT)
SAME = MutationResult("m", Phase.REQUEST, False, PAYLOAD)


def judged(answer: object, descriptor: Descriptor = VALIDATOR) -> Outcome:
    return outcome_from_json(answer, descriptor, Phase.REQUEST, PAYLOAD)


def found(text: str, severity: Severity) -> Finding:
    return Finding("v", "", severity, text)


def sent(outcome: Outcome, dialect: Dialect) -> Any:
    """*outcome* as its bytes come out of another process."""
    return parse_json(dump_json(outcome_to_json(outcome, CALL, "9f3a", dialect)))


SEVERITIES = st.sampled_from(Severity)
TEXTS = st.text(min_size=1, max_size=20)
FINDINGS = st.lists(st.builds(found, TEXTS, SEVERITIES), max_size=4).map(
    lambda listed: tuple(sorted(listed, key=lambda finding: finding.severity.rank))
)
CHANGES = st.lists(
    st.builds(Change, TEXTS, TEXTS, TEXTS, st.none() | TEXTS, st.integers(1, 9)), max_size=4
).map(tuple)


@given(FINDINGS, st.sampled_from(Dialect))
def test_what_a_validator_of_our_own_says_reads_back(
    findings: tuple[Finding, ...], dialect: Dialect
) -> None:
    blocks = any(finding.severity is Severity.ERROR for finding in findings)
    own = ValidationResult("v", Phase.REQUEST, not blocks, findings, duration=0.003)
    answer = sent(own, dialect)
    assert judged(answer) == own._replace(info=answer["info"])
    assert judged(answer, AUDITOR) == own._replace(valid=True, audited=True, info=answer["info"])


@given(FINDINGS, st.sampled_from(Dialect))
def test_what_an_auditor_of_our_own_says_reads_back(
    findings: tuple[Finding, ...], dialect: Dialect
) -> None:
    blocks = any(finding.severity is Severity.ERROR for finding in findings)
    own = ValidationResult("v", Phase.REQUEST, True, findings, audited=True)
    answer = sent(own, dialect)
    assert judged(answer, AUDITOR) == own._replace(info=answer["info"])
    assert judged(answer) == own._replace(valid=not blocks, audited=False, info=answer["info"])


@given(CHANGES, st.sampled_from(Dialect))
def test_what_a_mutator_of_our_own_says_reads_back(
    changes: tuple[Change, ...], dialect: Dialect
) -> None:
    payload = UPPER if changes else PAYLOAD
    own = MutationResult("m", Phase.REQUEST, bool(changes), payload, changes)
    answer = sent(own, dialect)
    assert judged(answer, MUTATOR) == own._replace(info=answer["info"])
    audited = own._replace(modified=False, payload=PAYLOAD, audited=True)
    assert judged(answer, SHADOW) == audited._replace(info=answer["info"])
    answer = sent(audited, dialect)
    assert judged(answer, SHADOW) == audited._replace(info=answer["info"])


def failed(descriptor: Descriptor) -> Failure:
    reason = "the server only audits and could not judge the payload"
    return Failure(descriptor.name, descriptor.kind, Phase.REQUEST, Cause.ERROR, reason)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("cause", Cause)
def test_a_failed_audit_of_our_own_is_never_a_pass_when_enforced(
    cause: Cause, dialect: Dialect
) -> None:
    told: dict[str, Any] = {"audited": True, "failure": "policies/a.yaml:3:5", "cause": cause}
    own = ValidationResult("v", Phase.REQUEST, True)._replace(**told)
    assert judged(sent(own, dialect)) == failed(VALIDATOR)
    assert judged(sent(SAME._replace(**told), dialect), MUTATOR) == failed(MUTATOR)


WORDS = st.sampled_from(["error", "warn", "info", "validation", "mutation", "x"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({}, optional={"message": JSON, "severity": WORDS, "path": JSON}) | JSON,
    max_size=3,
)
CLAIMS = st.booleans() | JSON
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "valid": CLAIMS,
    "modified": CLAIMS,
    "severity": WORDS | JSON,
    "messages": MESSAGES | JSON,
    "changes": JSON,
}
NESTED = st.fixed_dictionaries({}, optional=MEMBERS) | JSON
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        **MEMBERS,
        "payload": JSON,
        "validation": NESTED,
        "mutation": NESTED,
        "suggestions": JSON,
        "info": st.fixed_dictionaries({}, optional={"audit": NESTED, "failure": JSON}) | JSON,
    },
)


@given(JSON | ANSWERS, st.sampled_from([VALIDATOR, AUDITOR, MUTATOR, SHADOW]))
def test_any_answer_is_an_outcome(answer: Any, descriptor: Descriptor) -> None:
    outcome = judged(answer, descriptor)
    assert outcome.interceptor == descriptor.name
    if isinstance(outcome, Failure):
        assert outcome.cause is Cause.ERROR
        return
    audits = descriptor.mode is Mode.AUDIT
    assert outcome.audited is audits
    if isinstance(outcome, ValidationResult):
        errors = [f for f in outcome.findings if f.severity is Severity.ERROR]
        denies = answer.get("valid") is False and (answer.get("severity") == "error" or errors)
        if audits or denies:
            assert outcome.valid is audits
    else:
        assert outcome.modified is (not audits and outcome.payload is not PAYLOAD)


NOTES = st.text(max_size=20)
VERSIONS = st.dates().map(str)
EVENTS = ("*", "tools/*", "acme/*", "tools/call", "tools/list", "resources/read", "acme/do")
DESCRIPTORS = st.builds(
    Descriptor,
    name=st.text(min_size=1, max_size=20),
    kind=st.sampled_from(Kind),
    events=st.lists(st.sampled_from(EVENTS), min_size=1).map(tuple),
    phases=st.sampled_from([(Phase.REQUEST,), (Phase.RESPONSE,), tuple(Phase)]),
    version=st.none() | NOTES,
    description=st.none() | NOTES,
    mode=st.sampled_from(Mode),
    fail_open=st.booleans(),
    priority=st.integers(-(2**31), 2**31 - 1),
    timeout=st.none() | st.floats(0.001, 30),
    config_schema=st.none() | st.just({}) | st.just({"type": "object"}),
    compat=st.none() | st.dictionaries(st.sampled_from(["minProtocol", "maxProtocol"]), VERSIONS),
)


def as_told(descriptor: Descriptor, dialect: Dialect) -> Descriptor:
    """What the wire is documented to keep of a descriptor."""
    universal = dialect is Dialect.UNIVERSAL
    shown: dict[str, None] = {}
    for pattern in descriptor.events:
        known = ("*", *(INTERCEPTED_EVENTS if universal else ())) if pattern == "*" else ()
        shown.update(dict.fromkeys(known or expand(pattern) or (pattern,)))
    audits = descriptor.mode is Mode.AUDIT
    compat = {"minProtocol": "2024-11-05", **descriptor.compat} if descriptor.compat else None
    return replace(
        descriptor,
        events=tuple(shown),
        fail_open=descriptor.fail_open or (audits and universal),
        priority=descriptor.priority if descriptor.kind is Kind.MUTATION else 0,
        timeout=None,
        compat=compat,
    )


@given(DESCRIPTORS, st.sampled_from(Dialect))
def test_what_is_emitted_reads_back(descriptor: Descriptor, dialect: Dialect) -> None:
    entry = descriptor_to_json(descriptor, dialect)
    assert descriptor_from_json(entry) == (as_told(descriptor, dialect),)


@given(DESCRIPTORS)
def test_the_older_spellings_read_as_the_newest(descriptor: Descriptor) -> None:
    entry = descriptor_to_json(descriptor, Dialect.UNIVERSAL)
    expected = descriptor_from_json(entry)
    del entry["hooks"]
    assert descriptor_from_json(entry) == expected
    assert descriptor_from_json(entry | entry.pop("hook")) == expected


@pytest.mark.parametrize("dialect", Dialect)
def test_a_round_trip_changes_no_match(dialect: Dialect) -> None:
    asked = (*INTERCEPTED_EVENTS, "acme/do", "acme/other")
    for event in EVENTS:
        own = replace(VALIDATOR, events=(event,))
        (read,) = descriptor_from_json(descriptor_to_json(own, dialect))
        for phase in Phase:
            assert [read.matches(e, phase) for e in asked] == [own.matches(e, phase) for e in asked]


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NOTES | st.sampled_from(EVENTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NOTES, inner, max_size=3),
    max_leaves=8,
)
HOOKS = ANY | st.lists(
    st.fixed_dictionaries(
        {"events": st.lists(st.sampled_from(EVENTS), min_size=1) | ANY},
        optional={"phase": st.sampled_from(["request", "response", "both"]) | ANY},
    ),
    max_size=3,
)
ENTRIES = st.fixed_dictionaries(
    {"name": st.just("v") | ANY, "type": st.sampled_from(["validation", "mutation"]) | ANY},
    optional={
        "hooks": HOOKS,
        "hook": HOOKS,
        "mode": ANY,
        "priorityHint": ANY,
        "compat": ANY,
        "configSchema": ANY,
    },
)


@given(ANY | ENTRIES)
def test_any_entry_is_read_or_refused(entry: Any) -> None:
    try:
        found = descriptor_from_json(entry)
    except WireError:
        return
    assert bool(found) is (entry["type"] in ("validation", "mutation"))
    for descriptor in found:
        assert descriptor.events
        assert descriptor.phases
