"""A compiled expression: the fast path, and the exact path behind it.

Knows when which of the two runs, and that nothing but EvaluationError comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from policyd.errors import Cause, EvaluationError
from policyd.expr.cel.check import Checked
from policyd.expr.cel.generate import generate
from policyd.expr.cel.interpret import Frame, interpret
from policyd.expr.cel.values import boolean
from policyd.expression import Budget
from policyd.types import ANYTHING, Type


class Result(Enum):
    """What the value of an expression is wanted for.

    ANY: anything.  BOOL: a decision, so exactly a bool.  TEXT: to be printed, which takes any
    value; said so that a typed check can tell the two apart.
    """

    ANY = auto()
    BOOL = auto()
    TEXT = auto()


Fast = Callable[[Mapping[str, Any], Budget], Any]


class Program:
    """A compiled expression.

    text: as written.
    checked: the tree that it evaluates.
    type: what its value may be, as far as schemas tell.
    free: the keys of the activation that it reads; `variables.NAME` for a variable.
    Safe to call from several threads at once.
    """

    __slots__ = (
        "_boolean",
        "_exact",
        "_fast",
        "_offset",
        "_slots",
        "checked",
        "free",
        "text",
        "type",
    )

    def __init__(self, text: str, checked: Checked, result: Result, type: Type = ANYTHING) -> None:
        self.text = text
        self.type = type
        self.checked = checked
        self.free = checked.free
        self._boolean = result is Result.BOOL
        self._offset = checked.root.offset
        self._slots = checked.slots
        self._exact = interpret(checked.root)
        self._fast = generate(checked.root, boolean=self._boolean)

    @property
    def fast(self) -> Fast | None:
        """The fast path alone, if there is one.

        What it raises, whatever that is, says that only the program itself can tell.
        """
        return self._fast

    def __call__(self, activation: Mapping[str, Any], budget: Budget) -> Any:
        """The value for *activation*; exactly a bool where that was asked for.

        Raises EvaluationError, and nothing else.  Its offset is that of the part that failed.
        """
        if self._fast is not None:
            try:
                return self._fast(activation, budget)
            except EvaluationError as error:
                if error.cause is not Cause.ERROR:
                    raise
            except Exception:  # whatever it is, the exact path decides what it means
                pass
        return self._decide(activation, budget)

    def _decide(self, activation: Mapping[str, Any], budget: Budget) -> Any:
        try:
            value = self._exact(Frame(activation, budget, self._slots))
            return boolean(value) if self._boolean else value
        except EvaluationError as error:
            if error.offset is None:
                error.offset = self._offset
            raise
        except RecursionError:
            reason, cause = "a value is nested too deep", Cause.ERROR
        except MemoryError:
            reason, cause = "a value is too large", Cause.BUDGET
        raise EvaluationError(reason, cause, self._offset)
