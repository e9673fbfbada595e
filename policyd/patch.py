"""JSON Patch on native values: one patch applies whole or not at all.

Knows RFC 6902.  Stands on `pointer` only, and like it never changes a document: a patch makes a
new root and copies the containers that it touches, about 2 us for four operations whatever
the size.  Knows no expression: who computes a value passes it in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policyd.diagnostics import did_you_mean
from policyd.pointer import (
    Pointer,
    PointerError,
    PointerFlaw,
    add,
    format_pointer,
    get,
    parse_pointer,
    remove,
    replace,
)


class Op(StrEnum):
    """The six operations of RFC 6902 section 4."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    MOVE = "move"
    COPY = "copy"
    TEST = "test"


WITH_VALUE = frozenset({Op.ADD, Op.REPLACE, Op.TEST})
"""The operations that take a `value`."""

WITH_SOURCE = frozenset({Op.MOVE, Op.COPY})
"""The operations that take a `from`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a patch.

    `source` is the `from` of a move or a copy; `value` is what add, replace and test take.
    """

    op: Op
    path: Pointer
    source: Pointer = ()
    value: Any = None


@dataclass(frozen=True, slots=True)
class OperationFlaw:
    """What is wrong in an operation, and in which of its members.

    `member` is `op`, `path`, `from` or `value`; `offset` counts code points from the start of
    that member's text, and is None where the member is missing or wrong as a whole.
    """

    member: str
    text: str
    offset: int | None = None
    help: str | None = None


class PatchError(Exception):
    """An operation cannot be applied, so none is.

    `index` counts from 0.  The text names parts of the patch and nothing of the document.
    """

    def __init__(self, index: int, operation: Operation, reason: str) -> None:
        self.index = index
        self.op = operation.op
        self.path = format_pointer(operation.path)
        self.reason = reason
        super().__init__(f"operation {index} (`{self.op}` at `{self.path}`): {reason}")


def parse_operation(data: Mapping[str, Any]) -> Operation | OperationFlaw:
    """The operation that *data* spells, or the first thing wrong in it.

    Members that the operation does not define are ignored (RFC 6902 section 4).
    """
    op = _parse_op(data)
    if isinstance(op, OperationFlaw):
        return op
    path = _parse_member(data, "path")
    if isinstance(path, OperationFlaw):
        return path
    if op in WITH_VALUE and "value" not in data:
        return OperationFlaw("value", f"`{op}` needs a `value`")
    if op is Op.REMOVE and not path:
        return OperationFlaw("path", "the whole document cannot be removed")
    if op not in WITH_SOURCE:
        return Operation(op, path, (), data["value"] if op in WITH_VALUE else None)
    source = _parse_member(data, "from")
    if isinstance(source, OperationFlaw):
        return source
    if op is Op.MOVE and path[: len(source)] == source and path != source:
        return OperationFlaw("path", "a value cannot be moved into itself")
    return Operation(op, path, source)


def _parse_op(data: Mapping[str, Any]) -> Op | OperationFlaw:
    word = data.get("op")
    if not isinstance(word, str):
        return OperationFlaw("op", "an operation needs an `op`", None, _KNOWN)
    op = _OPS.get(word)
    if op is None:
        return OperationFlaw("op", f"unknown operation `{word}`", 0, did_you_mean(word, _OPS))
    return op


_OPS = {op.value: op for op in Op}
_KNOWN = "one of " + ", ".join(f"`{word}`" for word in _OPS)


def _parse_member(data: Mapping[str, Any], member: str) -> Pointer | OperationFlaw:
    text = data.get(member)
    if not isinstance(text, str):
        return OperationFlaw(member, f"`{data['op']}` needs a `{member}` that is a pointer")
    pointer = parse_pointer(text)
    if isinstance(pointer, PointerFlaw):
        return OperationFlaw(member, pointer.text, pointer.offset, pointer.help)
    return pointer


def apply_patch(
    document: Any, operations: Sequence[Operation], computed: Mapping[int, Any] | None = None
) -> Any:
    """*document* with all *operations* applied in turn.

    *computed* holds, by index of the operation, the values that stand in for `value`.  What
    goes into the document is always a fresh copy, so no two results share a value of the policy.
    Raises PatchError.
    """
    values = computed or {}
    for index, operation in enumerate(operations):
        try:
            document = _APPLY[operation.op](document, operation, values.get(index, operation.value))
        except (PointerError, _TestFailed) as error:
            raise PatchError(index, operation, str(error)) from error
    return document


class _TestFailed(Exception):
    """A test whose value is not the one in the document."""


def _test(document: Any, operation: Operation, value: Any) -> Any:
    if not equal(get(document, operation.path), value):
        raise _TestFailed("the value there is another one")
    return document


def _move(document: Any, operation: Operation, value: Any) -> Any:
    moved = get(document, operation.source)
    if operation.path == operation.source:
        return document
    return add(remove(document, operation.source), operation.path, moved)


def _copy(document: Any, operation: Operation, value: Any) -> Any:
    return add(document, operation.path, fresh(get(document, operation.source)))


_APPLY: Mapping[Op, Callable[[Any, Operation, Any], Any]] = {
    Op.ADD: lambda document, operation, value: add(document, operation.path, fresh(value)),
    Op.REMOVE: lambda document, operation, value: remove(document, operation.path),
    Op.REPLACE: lambda document, operation, value: replace(document, operation.path, fresh(value)),
    Op.MOVE: _move,
    Op.COPY: _copy,
    Op.TEST: _test,
}


# Values


def fresh(value: Any) -> Any:
    """A deep copy of a JSON value; a scalar is itself."""
    if not isinstance(value, (dict, list)):
        return value
    root = value.copy()
    open_containers = [root]
    while open_containers:
        container = open_containers.pop()
        for key, child in list(_items(container)):
            if isinstance(child, (dict, list)):
                container[key] = child.copy()
                open_containers.append(container[key])
    return root


def _items(container: Any) -> Any:
    return container.items() if isinstance(container, dict) else enumerate(container)


def equal(left: Any, right: Any) -> bool:
    """Equality of JSON values as RFC 6902 section 4.6 defines it, at every depth.

    Numbers are equal numerically (1 and 1.0), a boolean is no number, and the order of members
    does not count.
    """
    return _agree(left, right, _equal_scalars)


def same_json(left: Any, right: Any) -> bool:
    """True when both values have the same JSON text, but for the order of members.

    This is what decides whether a mutator has modified a payload.  It is stricter than
    `equal`: 1 and 1.0, 0.0 and -0.0 are spelt differently, so a reader that keeps types can
    tell them apart.  The order of members is not: JSON gives it no meaning, and a payload
    that is said to be unmodified is echoed in its own order.
    """
    return _agree(left, right, _same_scalars)


def _agree(left: Any, right: Any, scalars_agree: Callable[[Any, Any], bool]) -> bool:
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            for key, value in one.items():
                # most of a patched document is the very document that came
                if value is not other[key]:
                    pairs.append((value, other[key]))
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif not scalars_agree(one, other):
            return False
    return True


def _equal_scalars(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _same_scalars(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    # repr tells 0.0 from -0.0, and is the shortest text that reads back as the same number
    return repr(left) == repr(right) if isinstance(left, float) else bool(left == right)
