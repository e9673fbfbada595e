"""Functions whose name serves several libraries: `contains` and `reverse`.

Sources: CEL language definition, and the strings and lists extensions.
"""

from __future__ import annotations

from typing import Any, Final

from policyd.expr.cel.bounds import bound_list, bound_text, charge_copy
from policyd.expr.cel.function import Function
from policyd.expr.cel.functions.addresses import Cidr, Ip, certain_ip
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget


def _contains(budget: Budget, container: Any, part: Any) -> bool:
    if type(container) is str and type(part) is str:
        charge_copy(len(container), budget)
        return part in container
    if type(container) is not Cidr:
        raise no_overload("contains", container, part)
    address = certain_ip(part) if type(part) is str else part
    if type(address) is not Ip:
        raise no_overload("contains", container, part)
    return container.contains(address)


def _reverse(budget: Budget, value: Any) -> Any:
    if type(value) is str:
        bound_text(len(value))
        charge_copy(len(value), budget)
    elif type(value) is list:
        bound_list(len(value))
        budget.spend(len(value))
    else:
        raise no_overload("reverse", value)
    return value[::-1]


FUNCTIONS: Final = (
    Function("contains", _contains, (), (2,), returns_bool=True, budgeted=True),
    Function("reverse", _reverse, (), (1,), budgeted=True),
)
"""The functions of this library."""
