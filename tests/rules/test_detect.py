from __future__ import annotations

from policyd.compiler import compile_bundle
from policyd.model import Invocation, ValidationResult
from policyd.rules.detect import MAX_PLACES
from policyd.source import make_bundle

POLICY = """
policyd: v1
validators:
  - name: v
    match: {events: [tools/call], phase: response}
    rules: [{id: mail, detect: [email], message: an address}]
"""


def test_of_very_many_places_some_are_told() -> None:
    snapshot = compile_bundle(make_bundle({"p.yaml": POLICY})).snapshot
    assert snapshot is not None
    text = "dana.olsen@example.com"
    payload = {"content": [{"type": "text", "text": text} for _ in range(3 * MAX_PLACES)]}
    (outcome,) = snapshot.decide(Invocation("tools/call", "response", payload)).outcomes
    assert isinstance(outcome, ValidationResult)
    assert [finding.path for finding in outcome.findings] == [
        f"/content/{index}/text" for index in range(MAX_PLACES)
    ]
