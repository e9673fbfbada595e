"""What the tests of redaction share: secrets made at run time, and short ways to redact."""

from __future__ import annotations

import copy
import time
from typing import Any

from policyd.detectors import DETECTORS, scanner
from policyd.expression import Budget
from policyd.model import Change
from policyd.pattern import Pattern, compile_pattern
from policyd.pointer import PointerPattern, parse_pattern
from policyd.redaction import (
    EVERYWHERE,
    Literal,
    PathRedaction,
    PatternFinder,
    Scope,
    ScopedRedaction,
    Strategy,
    TextRedaction,
    find_places,
    redact,
)

GITHUB = DETECTORS["github-token"].sample()
AWS = DETECTORS["aws-access-key-id"].sample()
CARD = DETECTORS["payment-card"].sample()
SSN = DETECTORS["us-ssn"].sample()
PEM = DETECTORS["private-key"].sample()
AWS_SECRET = DETECTORS["aws-secret-access-key"].sample()[-40:]
DANA, LEE = "dana.olsen@example.com", "lee.kim@example.org"
KEY = b"0123456789abcdef"

PLACEHOLDER = Literal("[{detector}]")


def budget(steps: int = 10_000_000) -> Budget:
    return Budget(steps, time.monotonic() + 600)


def patterns(*texts: str) -> tuple[PointerPattern, ...]:
    parsed = [parse_pattern(text) for text in texts]
    return tuple([each for each in parsed if isinstance(each, PointerPattern)])


def by_detectors(
    *names: str,
    replace: Strategy = PLACEHOLDER,
    retype: bool = False,
    scope: Scope = EVERYWHERE,
    rule: str = "r",
) -> ScopedRedaction:
    return ScopedRedaction(TextRedaction(rule, scanner(names), replace, True, retype), scope)


def by_pattern(
    text: str,
    replace: Strategy = PLACEHOLDER,
    group: int = 0,
    rule: str = "r",
    scope: Scope = EVERYWHERE,
) -> ScopedRedaction:
    pattern = compile_pattern(text)
    assert isinstance(pattern, Pattern)
    return ScopedRedaction(
        TextRedaction(rule, PatternFinder(pattern, group), replace, False), scope
    )


def by_path(
    text: str,
    replace: Strategy,
    retype: bool = False,
    rule: str = "r",
    scope: Scope = EVERYWHERE,
) -> ScopedRedaction:
    (pattern,) = patterns(text)
    return ScopedRedaction(PathRedaction(rule, pattern, replace, retype), scope)


def redacted(document: Any, *redactions: ScopedRedaction) -> Any:
    before = copy.deepcopy(document)
    result, _ = redact(document, redactions, budget())
    assert document == before
    return result


def changes(document: Any, *redactions: ScopedRedaction) -> tuple[Change, ...]:
    return redact(document, redactions, budget())[1]


def places(document: Any, *names: str) -> list[tuple[str, int]]:
    return list(find_places(document, [by_detectors(*names)], budget()))
