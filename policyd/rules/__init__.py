"""The kinds of rules.  The two tables are the list: nothing registers itself.

A check looks at a payload and gives findings; a step takes a payload and gives it back
changed.  Both are callables, built once from a rule and the site where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policyd.policy import Rule
from policyd.rules import detect, drop, match_schema, patch, predicate, redact
from policyd.rules.kinds import Check, Step
from policyd.site import Site

CHECK_BUILDERS: Mapping[str, Callable[[Rule, Site], Check | None]] = {
    "deny": predicate.build_deny,
    "require": predicate.build_require,
    "schema": match_schema.build,
    "detect": detect.build,
}
"""From the YAML word of a validator's rule to what compiles it; None after a diagnostic."""

STEP_BUILDERS: Mapping[str, Callable[[tuple[Rule, ...], Site], Step | None]] = {
    "patch": patch.build,
    "redact": redact.build,
    "drop": drop.build,
}
"""From the YAML word of a mutator to what compiles all its entries; None after a diagnostic."""

__all__ = ["CHECK_BUILDERS", "STEP_BUILDERS", "Check", "Step"]
