"""What came, held against what a case expected, in words for the author of a policy.

Knows decisions, diagnostics and plain JSON values.  Knows no case file, runs nothing, and
never raises: a difference is a line of text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from policyd.diagnostics import Diagnostic
from policyd.execution import Decision
from policyd.model import Failure, Finding, Outcome

MAX_DIFFERENCES = 5
"""Places of one payload that are told; what is beyond is rarely news."""

MAX_SHOWN = 80
"""Characters of a value that are shown."""

MAX_OUTPUT = 500
"""Characters of a command's output that are shown."""


def decision_problems(then: Mapping[str, Any], decision: Decision) -> tuple[str, ...]:
    """How *decision* differs from the `then` of a case (`decision` in the case schema).

    A policy that could not be evaluated is a problem unless `failed` names it: a denial for
    the wrong reason must not pass for the right one.
    """
    problems: list[str] = []
    if "allowed" in then:
        problems += _allowed_problems(then["allowed"], decision)
    if "findings" in then:
        problems += _finding_problems(then["findings"], decision.findings, "a finding")
    if "audited" in then:
        problems += _finding_problems(then["audited"], decision.audited, "an audited finding")
    problems += _failure_problems(then.get("failed", []), decision)
    if "payload" in then:
        problems += _differences(then["payload"], decision.payload)
    if "unchanged" in then:
        problems += _differences(decision.invocation.payload, decision.payload)
    problems += text_problems(then, decision.payload, "the payload")
    return tuple(problems)


def diagnostic_problems(
    expected: Sequence[str], diagnostics: Iterable[Diagnostic]
) -> tuple[str, ...]:
    """How diagnostics differ from the lines of a compile case; order does not count."""
    found = [spelled(diagnostic) for diagnostic in diagnostics]
    missing = _without(expected, found)
    surplus = _without(found, expected)
    return (
        *(f"expected the diagnostic `{line}`, there is none" for line in missing),
        *(f"expected no diagnostic `{line}`, there is one" for line in surplus),
    )


def spelled(diagnostic: Diagnostic) -> str:
    """A diagnostic as the `diagnostics` of a compile case spell it."""
    span = diagnostic.span
    place = f"{span.file}:{span.line}:{span.column}"
    return f"{place} {diagnostic.level}[{diagnostic.code}] {diagnostic.text}"


def answer_problems(then: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[str, ...]:
    """How a JSON-RPC answer (`{"result": ...}` or `{"error": ...}`) differs from a `then`."""
    problems: list[str] = []
    for member in ("result", "error"):
        if member not in then:
            continue
        if member in answer:
            problems += _first(_misses(then[member], answer[member], f"/{member}"))
        else:
            problems.append(f"expected a member `{member}`, the answer is {_shown(answer)}")
    return (*problems, *text_problems(then, answer, "the answer"))


def output_problems(then: Mapping[str, Any], output: Mapping[str, Any]) -> tuple[str, ...]:
    """How a run command (`{"exit": 0, "stdout": "...", "stderr": "..."}`) differs from a `then`."""
    problems: list[str] = []
    if then["exit"] != output["exit"]:
        problems.append(f"expected exit code {then['exit']}, it is {output['exit']}")
    for stream in ("stdout", "stderr"):
        if stream in then:
            problems += _line_problems(then[stream], output[stream].splitlines(), stream)
    if problems and output["stderr"]:
        problems.append(f"stderr says: {_cut(output['stderr'].strip(), MAX_OUTPUT)}")
    return tuple(problems)


def same(left: Any, right: Any) -> bool:
    """True when two JSON values are equal and of the same types: 1 is not 1.0 and not true."""
    return next(_different(left, right, ""), None) is None


def text_problems(then: Mapping[str, Any], value: Any, what: str) -> tuple[str, ...]:
    """How *value* differs from the `contains` and `lacks` of a `then`.

    A text is looked for in the JSON text of the value and in each of its strings.
    """
    wanted, unwanted = then.get("contains", ()), then.get("lacks", ())
    if not wanted and not unwanted:
        return ()
    texts = [("", json.dumps(value, ensure_ascii=False, default=str)), *_texts(value, "")]
    problems = [
        f"expected {what} to contain `{_cut(text)}`, it does not"
        for text in wanted
        if not any(text in held for _, held in texts)
    ]
    for text in unwanted:
        places = [place for place, held in texts if text in held]
        if places:
            place = max(places, key=len) or "its JSON text"
            problems.append(f"expected {what} to lack `{_cut(text)}`, it stands at {place}")
    return tuple(problems)


def _allowed_problems(expected: bool, decision: Decision) -> Iterator[str]:
    if expected is decision.allowed:
        return
    if not expected:
        yield "expected the payload to be denied, it is allowed"
        return
    blocking = [f for f in decision.findings if f.severity.rank == 0]
    yield "expected the payload to be allowed, it is denied"
    yield from (f"denied by {_described(finding)}" for finding in blocking)


def _failure_problems(expected: Sequence[str], decision: Decision) -> Iterator[str]:
    reasons = {outcome.interceptor: _reason(outcome) for outcome in decision.outcomes}
    failed = {name: reason for name, reason in reasons.items() if reason is not None}
    for name in expected:
        if name not in failed:
            what = "was evaluated" if name in reasons else "did not run"
            yield f"expected `{name}` to fail, it {what}"
    for name, reason in failed.items():
        if name not in expected:
            yield f"`{name}` could not be evaluated: {reason}"


def _reason(outcome: Outcome) -> str | None:
    return outcome.reason if isinstance(outcome, Failure) else outcome.failure


def _finding_problems(
    expected: Sequence[Mapping[str, Any]], found: Sequence[Finding], what: str
) -> Iterator[str]:
    partner = _paired(expected, found)
    rest = [finding for i, finding in enumerate(found) if i not in partner.values()]
    for i, wanted in enumerate(expected):
        if i in partner:
            continue
        near = next((finding for finding in rest if finding.rule == wanted["rule"]), None)
        if near is None:
            place = f" at {wanted['path']}" if "path" in wanted else ""
            yield f"expected {what} of `{wanted['rule']}`{place}, there is none"
        else:
            rest.remove(near)
            yield from _unlike_finding(wanted, near, what)
    for finding in rest:
        yield f"expected no {what.split(' ', 1)[1]} of {_described(finding, ', there is one')}"


def _unlike_finding(wanted: Mapping[str, Any], found: Finding, what: str) -> Iterator[str]:
    for key, value in wanted.items():
        actual = getattr(found, key)
        if actual != value:
            text = f"expected {what} of `{found.rule}` with the {key} {_shown(value)}"
            yield f"{text}, it is {_shown(actual)}"


def _described(finding: Finding, link: str = "") -> str:
    place = "" if finding.path is None else f" at {finding.path or 'the whole payload'}"
    return f"`{finding.rule}`{link}{place}: {finding.message}"


def _paired(expected: Sequence[Mapping[str, Any]], found: Sequence[Finding]) -> dict[int, int]:
    """As many expected findings as can have a found one of their own: index by index.

    Augmenting paths, because an expectation that says little may have taken the only finding
    that one that says more can have.
    """
    owner: dict[int, int] = {}

    def claim(wanted: int, tried: set[int]) -> bool:
        for i, finding in enumerate(found):
            if i in tried or not _meets(expected[wanted], finding):
                continue
            tried.add(i)
            if i not in owner or claim(owner[i], tried):
                owner[i] = wanted
                return True
        return False

    for wanted in range(len(expected)):
        claim(wanted, set())
    return {wanted: i for i, wanted in owner.items()}


def _meets(wanted: Mapping[str, Any], finding: Finding) -> bool:
    return all(getattr(finding, key) == value for key, value in wanted.items())


def _differences(expected: Any, found: Any) -> list[str]:
    return _first(_different(expected, found, ""))


def _first(problems: Iterator[str]) -> list[str]:
    told = [problem for _, problem in zip(range(MAX_DIFFERENCES), problems, strict=False)]
    return told if next(problems, None) is None else [*told, "there are more differences"]


def _different(expected: Any, found: Any, place: str) -> Iterator[str]:
    """Every place where two JSON values differ."""
    yield from _compared(expected, found, place, _different)
    if type(expected) is dict and type(found) is dict:
        for key in found:
            if key not in expected:
                yield f"expected nothing at {_step(place, key)}, there is {_shown(found[key])}"


def _misses(expected: Any, found: Any, place: str) -> Iterator[str]:
    """Every place where *found* lacks what *expected* says; more members are fine."""
    yield from _compared(expected, found, place, _misses)


def _compared(
    expected: Any, found: Any, place: str, go_on: Callable[[Any, Any, str], Iterator[str]]
) -> Iterator[str]:
    if type(expected) is not type(found):
        yield _unlike(expected, found, place)
    elif type(expected) is dict:
        for key, value in expected.items():
            if key in found:
                yield from go_on(value, found[key], _step(place, key))
            else:
                yield f"expected {_shown(value)} at {_step(place, key)}, there is nothing"
    elif type(expected) is list and len(expected) == len(found):
        for i, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from go_on(left, right, _step(place, i))
    elif expected != found:
        yield _unlike(expected, found, place)


def _unlike(expected: Any, found: Any, place: str) -> str:
    where = place or "the top"
    return f"at {where}: expected {_shown(expected)}, there is {_shown(found)}"


def _step(place: str, step: str | int) -> str:
    return f"{place}/{str(step).replace('~', '~0').replace('/', '~1')}"


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every string of a value, keys too, with the pointer to it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield _step(place, key), key
            yield from _texts(child, _step(place, key))
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield from _texts(child, _step(place, i))


def _line_problems(expected: Sequence[str], lines: Sequence[str], stream: str) -> Iterator[str]:
    if not expected and lines:
        yield f"expected nothing on {stream}, there is `{_cut(lines[0])}`"
    rest = iter(lines)
    for part in expected:
        if not any(part in line for line in rest):
            yield f"expected `{part}` on {stream}{_misplaced(part, lines)}"
            return


def _misplaced(part: str, lines: Sequence[str]) -> str:
    if any(part in line for line in lines):
        return ", it stands there, but not in this order"
    return f", it says: {_cut(' | '.join(lines), MAX_OUTPUT)}" if lines else ", it is empty"


def _without(left: Iterable[str], right: Iterable[str]) -> list[str]:
    """What *left* has more often than *right*, in its order."""
    spare = list(right)
    rest: list[str] = []
    for line in left:
        if line in spare:
            spare.remove(line)
        else:
            rest.append(line)
    return rest


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str, size: int = MAX_SHOWN) -> str:
    shown = " ".join(text.split("\n"))
    return shown if len(shown) <= size else shown[: size - 3] + "..."
