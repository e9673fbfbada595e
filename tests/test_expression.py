from __future__ import annotations

import time

import pytest

from policyd.errors import Cause, EvaluationError
from policyd.expression import Budget


def test_a_budget_ends_with_its_steps() -> None:
    budget = Budget(10, time.monotonic() + 60)
    budget.spend(4)
    budget.spend(6)
    with pytest.raises(EvaluationError) as caught:
        budget.spend(1)
    assert caught.value.cause is Cause.BUDGET


def test_a_budget_ends_with_its_deadline_however_many_steps_are_left() -> None:
    budget = Budget(10, time.monotonic() - 1)
    with pytest.raises(EvaluationError) as caught:
        budget.spend(0)
    assert caught.value.cause is Cause.DEADLINE
