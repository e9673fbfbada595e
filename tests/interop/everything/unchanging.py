"""A chain that reads every message, rewrites every message, and changes none.

Knows how a payload is changed and changed back, so that what goes on is equal to what came but
made anew, by policies and by Python functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import policyd
from policyd.chain import Chain
from policyd.functions import Interceptors

POLICIES = Path(__file__).with_name("policies.yaml")
MARK = "everything/was-here"


def make_chain(asked: set[tuple[str, str, str]]) -> Chain:
    """The chain; each (event, phase, direction) it is asked for is added to *asked*."""
    functions = Interceptors()

    @functions.validator("everything/asked", events=["*"], phase="both")
    def note(invocation: policyd.Invocation) -> None:
        asked.add((invocation.event, str(invocation.phase), str(invocation.direction)))

    @functions.mutator("everything/there", events=["*"], phase="both", priority=1)
    def there(invocation: policyd.Invocation) -> dict[str, Any]:
        return {**invocation.payload, MARK: True}

    @functions.mutator("everything/back", events=["*"], phase="both", priority=2)
    def back(invocation: policyd.Invocation) -> dict[str, Any]:
        return {key: value for key, value in invocation.payload.items() if key != MARK}

    chain = Chain()
    chain.add_engine(policyd.load(POLICIES))
    chain.add_functions(functions)
    return chain
