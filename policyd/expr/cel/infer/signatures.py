"""What each function takes and gives, as types.

One row for each entry of `functions.FUNCTIONS`; of a function that has no row nothing is known.
Says less than the functions themselves check: a row refuses only what can never be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from policyd.expr.cel.function import Function
from policyd.types import (
    ANYTHING,
    BOOL,
    BYTES,
    CIDR,
    DURATION,
    INTEGER,
    IP,
    LIST,
    NUMBER,
    OPEN_MAP,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    ListOf,
    Member,
    ObjectOf,
    OptionalOf,
    Type,
    join,
)

_Result = Type | Callable[[tuple[Type, ...]], Type]


@dataclass(frozen=True, slots=True)
class Signature:
    """takes: what each argument must be, the receiver first; arguments beyond may be anything.

    gives: the type of the value, or what makes it of the types of the arguments.
    """

    takes: tuple[Type, ...]
    gives: _Result

    def result(self, arguments: tuple[Type, ...]) -> Type:
        """The type of a call with *arguments*."""
        return self.gives if isinstance(self.gives, Type) else self.gives(arguments)


def signature_of(function: Function) -> Signature:
    """The row of *function*, or what is known without one."""
    known = SIGNATURES.get(function.name)
    return known or Signature((), BOOL if function.returns_bool else ANYTHING)


def _reversed(arguments: tuple[Type, ...]) -> Type:
    """A list of the same items as the first argument, or a text."""
    if isinstance(arguments[0], ListOf):
        return arguments[0]
    return STRING if arguments[0] == STRING else _TEXT_OR_LIST


def _part_of_list(arguments: tuple[Type, ...]) -> Type:
    """A list of the same items as the first argument, where that is a list."""
    return arguments[0] if isinstance(arguments[0], ListOf) else LIST


def _optional_of(arguments: tuple[Type, ...]) -> Type:
    return OptionalOf(arguments[0])


def _optional_item(arguments: tuple[Type, ...]) -> Type:
    """An element of the first argument, or nothing."""
    return OptionalOf(arguments[0].item) if isinstance(arguments[0], ListOf) else OPTIONAL


def _value(arguments: tuple[Type, ...]) -> Type:
    """What the first argument holds."""
    return arguments[0].value if isinstance(arguments[0], OptionalOf) else ANYTHING


_TEXT_OR_LIST: Final = join((STRING, LIST))
_URL: Final = ObjectOf(
    "url",
    {
        **{
            part: Member(STRING, True)
            for part in ("scheme", "host", "path", "query", "fragment", "username", "password")
        },
        "port": Member(INTEGER, True),
    },
)
_SIZED: Final = join((STRING, BYTES, LIST, OPEN_MAP))
_PRINTED: Final = join((STRING, NUMBER, BOOL, BYTES, TIMESTAMP, DURATION, IP, CIDR))
_TIME: Final = join((TIMESTAMP, DURATION))
_NUMERIC: Final = join((NUMBER, STRING))
_S, _N, _B, _L = STRING, NUMBER, BOOL, LIST

SIGNATURES: Final[Mapping[str, Signature]] = {
    name: Signature(takes, gives)
    for names, takes, gives in (
        # conversions
        ("size", (_SIZED,), INTEGER),
        ("type", (), TYPE),
        ("dyn", (), ANYTHING),
        ("string", (_PRINTED,), _S),
        ("int", (join((_NUMERIC, TIMESTAMP)),), INTEGER),
        ("uint", (_NUMERIC,), INTEGER),
        ("double", (_NUMERIC,), _N),
        ("bool", (join((_B, _S)),), _B),
        ("bytes", (join((BYTES, _S)),), BYTES),
        ("timestamp", (join((_NUMERIC, TIMESTAMP)),), TIMESTAMP),
        ("duration", (join((_S, DURATION)),), DURATION),
        # texts
        ("startsWith endsWith matches glob", (_S, _S), _B),
        ("charAt", (_S, _N), _S),
        ("indexOf lastIndexOf", (_S, _S, _N), INTEGER),
        ("substring", (_S, _N, _N), _S),
        ("regex.replace", (_S, _S, _S, _N), _S),
        ("regex.extract", (_S, _S), OptionalOf(_S)),
        ("regex.extractAll", (_S, _S), ListOf(_S)),
        ("split", (_S, _S, _N), ListOf(_S)),
        ("join", (_L, _S), _S),
        ("replace", (_S, _S, _S, _N), _S),
        ("lowerAscii upperAscii trim strings.quote normalize", (_S,), _S),
        ("format", (_S, _L), _S),
        ("contains", (join((_S, CIDR)), join((_S, IP))), _B),
        ("reverse", (_TEXT_OR_LIST,), _reversed),
        ("json", (_S,), ANYTHING),
        ("detect", (join((_S, _L, OPEN_MAP)), _S), _B),
        ("sql.readOnly", (_S,), _B),
        ("base64.encode", (BYTES,), _S),
        ("base64.decode", (_S,), BYTES),
        ("path.normalize", (_S,), _S),
        ("path.within path.outside", (_S, join((_S, _L))), _B),
        # optionals
        ("optional.of optional.ofNonZeroValue", (), _optional_of),
        ("optional.none", (), OPTIONAL),
        ("hasValue", (OPTIONAL,), _B),
        ("value", (OPTIONAL,), _value),
        # lists and sets
        ("slice", (_L, _N, _N), _part_of_list),
        ("distinct sort", (_L,), _part_of_list),
        ("first last", (_L,), _optional_item),
        ("flatten", (_L, _N), _L),
        ("lists.range", (_N,), ListOf(INTEGER)),
        ("sets.contains sets.equivalent sets.intersects", (_L, _L), _B),
        # addresses
        ("url", (_S,), _URL),
        ("isUrl isIp", (_S,), _B),
        ("ip", (join((_S, IP)),), IP),
        ("cidr", (_S,), CIDR),
        ("family", (IP,), INTEGER),
        ("isGlobal isPrivate isLoopback isLinkLocal", (IP,), _B),
        ("isMulticast isUnspecified isReserved", (IP,), _B),
        # numbers
        ("math.greatest math.least", (join((_N, _L)),), ANYTHING),
        ("math.ceil math.floor math.round math.trunc math.abs math.sign math.sqrt", (_N,), _N),
        ("math.isInf math.isNaN math.isFinite", (_N,), _B),
        ("math.bitAnd math.bitOr math.bitXor", (_N, _N), INTEGER),
        ("math.bitShiftLeft math.bitShiftRight", (_N, _N), INTEGER),
        ("math.bitNot", (_N,), INTEGER),
        # times
        ("getFullYear getMonth getDate getDayOfMonth", (TIMESTAMP, _S), INTEGER),
        ("getDayOfWeek getDayOfYear", (TIMESTAMP, _S), INTEGER),
        ("getHours getMinutes getSeconds getMilliseconds", (_TIME, _S), INTEGER),
    )
    for name in names.split()
}
"""By the name of the function as written in a call."""
