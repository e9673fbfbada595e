"""What our restatements of the chains accept: each is as strict, and as blind, as its original.

Without these tables the scenarios would only show that policyd is understood by something.
Both generations of the Node client share one chain, and both of Go one reader of results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.interop.conftest import Kind, Programs


READERS = ("go-hook", "go-hooks", "python", "v1")

REQUEST = {"events": ["tools/call"], "phase": "request"}
BOTH = {"events": ["tools/call"], "phase": "both"}
DESCRIPTOR = {"name": "a", "type": "validation", "hooks": [REQUEST], "hook": REQUEST}
GONE = object()

RUN, IDLE, REFUSED = "run", "idle", "refused"

# what is changed, and what becomes of the interceptor in READERS' order
DESCRIPTORS: dict[str, tuple[dict[str, Any], tuple[str, str, str, str]]] = {
    "universal": ({}, (RUN, RUN, RUN, RUN)),
    "only hooks": ({"hook": GONE}, (IDLE, RUN, RUN, RUN)),
    "only hook": ({"hooks": GONE}, (RUN, IDLE, REFUSED, REFUSED)),
    "phase both": ({"hooks": [BOTH], "hook": BOTH}, (RUN, RUN, REFUSED, REFUSED)),
    "unknown key": ({"acme": 1}, (RUN, RUN, RUN, RUN)),
    "no name": ({"name": GONE}, (RUN, RUN, REFUSED, REFUSED)),
    "mode active": ({"mode": "active"}, (RUN, RUN, RUN, RUN)),
    "mode enforce": ({"mode": "enforce"}, (RUN, RUN, REFUSED, RUN)),
    "mode empty": ({"mode": ""}, (RUN, RUN, REFUSED, REFUSED)),
    "mode null": ({"mode": None}, (RUN, RUN, REFUSED, REFUSED)),
    "failOpen null": ({"failOpen": None}, (RUN, RUN, REFUSED, REFUSED)),
    "priority": ({"priorityHint": -5}, (RUN, RUN, RUN, RUN)),
    "priorities": ({"priorityHint": {"request": 1}}, (RUN, RUN, RUN, RUN)),
    "fractional priority": ({"priorityHint": 1.5}, (REFUSED, REFUSED, REFUSED, RUN)),
    "another type": ({"type": "observability"}, (IDLE, IDLE, IDLE, REFUSED)),
    "compat": ({"compat": {}}, (RUN, RUN, REFUSED, REFUSED)),
    "configSchema": ({"configSchema": True}, (RUN, RUN, REFUSED, RUN)),
}

MESSAGES = [{"message": "no", "severity": "error"}]
VERDICT = {"valid": False, "severity": "error", "messages": MESSAGES}
DENIAL = {"type": "validation", "interceptor": "a", "phase": "request", "durationMs": 1}
DENIAL |= {**VERDICT, "validation": VERDICT}
SILENT = {"messages": GONE, "validation": {"valid": False, "severity": "error"}}
FLAT = dict.fromkeys(VERDICT, GONE)
UNCHANGED = {"type": "mutation", "phase": "request", "modified": False, "payload": {}}

BLOCKS, PASSES, REPLACES = "blocks", "passes", "replaces"

# what is changed in a denial or in a mutation that changed nothing; Go's generations agree
RESULTS: dict[str, tuple[dict[str, Any], tuple[str, str, str]]] = {
    "universal": (DENIAL, (BLOCKS, BLOCKS, BLOCKS)),
    "only flat": (DENIAL | {"validation": GONE}, (PASSES, BLOCKS, BLOCKS)),
    "only nested": (DENIAL | FLAT, (BLOCKS, REFUSED, REFUSED)),
    "no type": (DENIAL | {"type": GONE}, (BLOCKS, REFUSED, REFUSED)),
    "no phase": (DENIAL | {"phase": GONE}, (BLOCKS, BLOCKS, REFUSED)),
    "no interceptor": (DENIAL | {"interceptor": GONE}, (BLOCKS, BLOCKS, BLOCKS)),
    "fractional time": (DENIAL | {"durationMs": 1.25}, (REFUSED, BLOCKS, BLOCKS)),
    "time as a float": (DENIAL | {"durationMs": 3.0}, (REFUSED, BLOCKS, BLOCKS)),
    "modern members": (DENIAL | {"resultType": "complete", "_meta": {}}, (BLOCKS,) * 3),
    "severity null": (DENIAL | {"severity": None}, (BLOCKS, BLOCKS, REFUSED)),
    "no severity": (DENIAL | {"severity": GONE}, (BLOCKS, BLOCKS, PASSES)),
    "no message": (DENIAL | SILENT, (PASSES, BLOCKS, BLOCKS)),
    "nothing modified": (UNCHANGED, (REPLACES, PASSES, PASSES)),
    "nothing modified to null": (UNCHANGED | {"payload": None}, (REPLACES, PASSES, PASSES)),
    "modified": (UNCHANGED | {"modified": True}, (REPLACES, REPLACES, REPLACES)),
    "a sink": ({"type": "sink", "phase": "request", "recorded": True}, (PASSES, REFUSED, PASSES)),
}


def without_the_gone(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not GONE}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_a_descriptor_is_read_as_its_chain_reads_it(
    programs: Programs, reader: Kind, name: str
) -> None:
    change, expected = DESCRIPTORS[name]
    listing = {"interceptors": [without_the_gone(DESCRIPTOR | change)]}
    answer = programs(reader.program).ask("descriptors", answer=listing, **reader.options)
    came_of_it = REFUSED if "error" in answer else RUN if answer["hooked"] else IDLE
    assert came_of_it == expected[READERS.index(str(reader))]


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_read_as_its_chain_reads_it(
    programs: Programs, reader: Kind, name: str
) -> None:
    result, by_program = RESULTS[name]
    expected = dict(zip(("go", "python", "v1"), by_program, strict=True))[reader.program]
    answer = programs(reader.program).ask("result", answer=without_the_gone(result))
    assert (REFUSED if "error" in answer else answer["outcome"]) == expected
