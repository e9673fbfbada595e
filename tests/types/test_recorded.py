"""Types against payloads: whatever a payload of the examples holds, a rule may ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyd.envelope import unwrap
from policyd.events import names_in
from policyd.expr.cel import Program, Result, compile_cel
from policyd.expression import Scope
from policyd.testing import load_cases
from policyd.types import moment

EXAMPLES = Path(__file__).parents[2] / "policies"

BROKEN = frozenset(
    [
        "a text that is none leaves no record",
        "arguments that are no object stop the call",
        "a limit as a text is denied",
        "too many messages are denied",
        "a form that asks for a token deep in it is denied",
        "a temperature in words is denied",
        "a page that is no text is denied",
        "file bodies, error texts and unknown members are covered",
    ]
)
"""Cases whose payloads break the MCP schemas on purpose."""


def asked(value: Any, path: str, depth: int = 0) -> Iterator[str]:
    """Conditions on *value*, which stands at *path*, and on what it holds."""
    if depth > 5:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}[{json.dumps(key)}]"
            yield f"{json.dumps(key)} in {path}"
            yield from asked(inner, below, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value[:3]):
            yield from asked(inner, f"{path}[{index}]", depth + 1)
    elif not (isinstance(value, str) and ("\\" in json.dumps(value) or len(value) > 200)):
        yield f"{path} == {json.dumps(value)}"


def moments() -> Iterator[Any]:
    for file in sorted(EXAMPLES.glob("*_test.yaml")):
        case_file = load_cases(file).case_file
        assert case_file is not None
        for case in case_file.cases:
            when = case.when
            if "payload" in when and case.name not in BROKEN:
                payload = unwrap(when["event"], when["phase"], when["payload"]).payload
                name = f"{file.stem}: {case.name}"
                yield pytest.param(when["event"], when["phase"], payload, id=name)


@pytest.mark.parametrize(("event", "phase", "payload"), list(moments()))
def test_what_a_payload_holds_may_be_asked_for(event: str, phase: str, payload: Any) -> None:
    here = ((moment(event, phase),),)
    scope = Scope(names_in(event, phase), moments=here)
    for condition in asked(payload, "payload"):
        compiled = compile_cel(condition, scope, Result.BOOL)
        assert isinstance(compiled, Program), (condition, compiled)
