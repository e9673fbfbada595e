"""base64.*: bytes as text and back.

Source: the CEL encoders extension; the standard alphabet of RFC 4648, section 4.
"""

from __future__ import annotations

import binascii
from typing import Any, Final

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import bound_text, charge_copy
from policyd.expr.cel.function import Function
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget


def _encode(budget: Budget, value: Any) -> str:
    if type(value) is not bytes:
        raise no_overload("base64.encode", value)
    bound_text(len(value) * 4 // 3)
    charge_copy(len(value), budget)
    return binascii.b2a_base64(value, newline=False).decode()


def _decode(budget: Budget, text: Any) -> bytes:
    if type(text) is not str:
        raise no_overload("base64.decode", text)
    bound_text(len(text) * 3 // 4)
    charge_copy(len(text), budget)
    padding = "" if text.endswith("=") else "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text + padding, strict_mode=True)
    except ValueError:  # binascii.Error is one, and so is a text that is not ASCII
        raise EvaluationError("the text is not base64") from None


FUNCTIONS: Final = (
    Function("base64.encode", _encode, (1,), (), budgeted=True),
    Function("base64.decode", _decode, (1,), (), budgeted=True),
)
"""The functions of this library."""
