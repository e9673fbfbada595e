"""path.normalize, path.within and path.outside: guards for tools that take file names.

Knows POSIX paths, `file:` URIs and percent-encoding.  Knows no file system: symbolic links, case
folding and the directory that a relative path starts from cannot be seen here.

A path may be decoded by whoever opens it, once, twice or never, and a backslash may or may not
separate.  `path.within` therefore holds only when every such reading of the path is within, and
`path.outside` only when every one is outside: what is doubtful is neither.
Sources: CWE-22 and its children; RFC 8089 (`file:`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from policyd.errors import EvaluationError
from policyd.expr.cel.bounds import charge_copy
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget

MAX_PATH: Final = 32_768
"""Characters of a text that may be a path; operating systems allow 4,096 or as many as this."""

MAX_DECODINGS: Final = 8
"""How often percent-encoding may be nested."""

_CONTROLS: Final = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_LOCAL_HOSTS: Final = ("", "localhost")
_MAX_NAME: Final = 255  # characters of one name, in every common file system
_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")
_SCHEME_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")

Parts = tuple[str, ...]


class _Unreadable(Exception):
    """The text is no path, or has too many readings.  The text of it says why."""


# Readings


def _readings(text: str) -> Iterator[str]:
    """The path that *text* is, and each that further decoding makes of it."""
    path = _local_path(_checked(text))
    for _ in range(MAX_DECODINGS):
        yield _checked(path)
        decoded = _decode(path)
        if decoded == path:
            return
        path = decoded
    raise _Unreadable("the path is percent-encoded too often")


def _local_path(text: str) -> str:
    """*text* itself, or the path of a `file:` URI, decoded as the URI demands."""
    scheme, colon, rest = text.partition(":")
    if not colon or not scheme[:1].isalpha() or not _SCHEME_CHARS.issuperset(scheme.lower()):
        return text
    if scheme.lower() != "file":
        raise _Unreadable("the text is a URI, but no `file:` URI")
    if "?" in rest or "#" in rest:
        raise _Unreadable("the `file:` URI has a query or a fragment")
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        if host.lower() not in _LOCAL_HOSTS:
            raise _Unreadable("the `file:` URI names another machine")
    if not rest.startswith("/"):
        raise _Unreadable("the `file:` URI has no absolute path")
    return _decode(rest)


def _decode(path: str) -> str:
    if "%" not in path:
        return path
    if any(map(_is_wide_escape, path.split("%")[1:])):
        raise _Unreadable("the path has an escape such as `%u002e`")
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeError:
        # overlong encodings of `.` and `/` end here too
        raise _Unreadable("the percent-encoding is not UTF-8") from None


def _is_wide_escape(behind: str) -> bool:
    """True for what stands behind `%` in `%u002e`, which servers of one make decode."""
    return behind[:1] in ("u", "U") and len(behind) > 4 and _HEXADECIMAL.issuperset(behind[1:5])


def _checked(path: str) -> str:
    if not path:
        raise _Unreadable("the path is empty")
    if len(path) > MAX_PATH:
        raise _Unreadable("the path is too long")
    if not _CONTROLS.isdisjoint(path):
        raise _Unreadable("the path has a control character")
    if path.startswith("~"):
        raise _Unreadable("the path may stand for the home of a user")
    return path


def _parts(path: str) -> Parts:
    """*path* without `.`, `..` and empty names; an absolute one starts with `/`.

    What is left of `..` stands at the start of a relative path.
    """
    parts: list[str] = ["/"] if path.startswith("/") else []
    for name in path.split("/"):
        if name != "..":
            if name not in ("", "."):
                parts.append(name)
        elif parts and parts[-1] not in ("..", "/"):
            parts.pop()
        elif not parts or parts[-1] == "..":
            parts.append(name)
    return tuple(parts)


def _forms(path: str) -> set[str]:
    """*path* in each way that systems take separators and the names of directories."""
    forms = {path}
    for change in (_as_ascii, _with_slashes, _with_plain_dots):
        forms |= set(map(change, forms))
    return forms


_LOOKALIKES: Final = str.maketrans(
    {
        **dict.fromkeys("\uff0e\u2024\ufe52", "."),
        **dict.fromkeys("\uff0f\u2044\u2215\u29f8", "/"),
        **dict.fromkeys("\uff3c\ufe68\u2216\u29f5", "\\"),
        "\u2025": "..",
        "\u2026": "...",
    }
)
"""Characters that become part of a path's grammar by NFKC or by the best fit of a code page."""


def _as_ascii(path: str) -> str:
    return path if path.isascii() else path.translate(_LOOKALIKES)


def _with_slashes(path: str) -> str:
    return path.replace("\\", "/")


def _with_plain_dots(path: str) -> str:
    """Parameters (`..;x`) and spaces behind dots go, as in servers of Java and in Windows."""
    if ".;" not in path and ". " not in path:
        return path
    return "/".join(map(_plain_dots, path.split("/")))


def _plain_dots(name: str) -> str:
    bare = name.partition(";")[0].rstrip(" ")
    return bare if bare in (".", "..") else name


# path.normalize


def _normalize(budget: Budget, text: Any) -> str:
    if type(text) is not str:
        raise no_overload("path.normalize", text)
    charge_copy(len(text) * 2, budget)
    try:
        *_, last = _readings(text)
    except _Unreadable as reason:
        raise EvaluationError(str(reason)) from None
    parts = _parts(_with_slashes(last))
    if parts[:1] == ("/",):
        return "/" + "/".join(parts[1:])
    return "/".join(parts) or "."


# path.within and path.outside


def _root(name: str, value: Any) -> Parts:
    """The parts of a root: a path or a `file:` URI, taken as written.

    Raises EvaluationError for anything else.
    """
    if type(value) is not str:
        raise no_overload(name, "", value)
    if "*" in value or "?" in value:
        # taken for the name of a directory it would guard nothing
        raise EvaluationError(f"`{name}`: a root has no wildcards; all below it counts anyway")
    if value.startswith("$") or "/$" in value:
        raise EvaluationError(f"`{name}`: a root is taken as written, and a variable is not put in")
    try:
        return _parts(_checked(_local_path(value)))
    except _Unreadable:
        raise EvaluationError(f"`{name}`: the root is not a POSIX path") from None


def _roots(name: str, value: Any) -> tuple[Parts, ...]:
    if type(value) is list:
        return tuple(map(partial(_root, name), value))
    return (_root(name, value),)


def _paths(text: str) -> list[Parts] | None:
    """Every path that *text* may be, or None where that cannot be said."""
    try:
        return [_parts(form) for reading in _readings(text) for form in _forms(reading)]
    except _Unreadable:
        return None


def _is_within(text: str, roots: tuple[Parts, ...]) -> bool:
    paths = _paths(text)
    return paths is not None and any(all(_is_below(path, root) for path in paths) for root in roots)


def _is_below(path: Parts, root: Parts) -> bool:
    size = len(root)
    if not root and path[:1] == ("/",):
        return False
    return path[:size] == root and path[size : size + 1] != ("..",)


def _is_outside(text: str, roots: tuple[Parts, ...]) -> bool:
    paths = _paths(text)
    return paths is not None and all(_is_apart(path, root) for path in paths for root in roots)


def _is_apart(path: Parts, root: Parts) -> bool:
    """True where *path* is surely not *root* and not below it.

    Of a relative path and an absolute one, or of one that leads up, nothing is sure.
    """
    if path[:1] == ("..",) or root[:1] == ("..",) or (path[:1] == ("/",)) != (root[:1] == ("/",)):
        return False
    return tuple(map(_same_name, path[: len(root)])) != tuple(map(_same_name, root))


def _same_name(name: str) -> str:
    """What two names have in common that some file system takes for one."""
    if not name.isascii() and len(name) <= _MAX_NAME:
        name = unicodedata.normalize("NFKC", name)
    bare = name.partition(":")[0].rstrip(" .")
    return (bare or name).casefold()


_Holds = Callable[[str, tuple[Parts, ...]], bool]


def _test(name: str, holds: _Holds, roots: tuple[Parts, ...]) -> Callable[..., bool]:
    def test(budget: Budget, text: Any) -> bool:
        if type(text) is not str:
            raise no_overload(name, text, "")
        charge_copy(len(text) * 2, budget)
        return holds(text, roots)

    return test


def _root_flaw(name: str, root: Any) -> str | None:
    try:
        _roots(name, root)
    except EvaluationError as error:
        return error.reason
    return None


def _guard(name: str, holds: _Holds) -> Function:
    """The function *name*: *holds* of a text and one root or a list of roots."""

    def call(budget: Budget, text: Any, root: Any) -> bool:
        if type(root) is list:
            budget.spend(len(root))
        return _test(name, holds, _roots(name, root))(budget, text)

    def check(arguments: tuple[Any, ...]) -> str | None:
        return None if arguments[1] is NOT_LITERAL else _root_flaw(name, arguments[1])

    def specialise(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        text, root = arguments
        if text is not NOT_LITERAL or root is NOT_LITERAL or check(arguments) is not None:
            return None
        return _test(name, holds, _roots(name, root))

    return Function(
        name,
        call,
        (2,),
        (),
        returns_bool=True,
        literal=check,
        budgeted=True,
        specialise=specialise,
    )


FUNCTIONS: Final = (
    Function("path.normalize", _normalize, (1,), (), budgeted=True),
    _guard("path.within", _is_within),
    _guard("path.outside", _is_outside),
)
"""The functions of this library."""
