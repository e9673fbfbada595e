"""path.normalize and path.within: guards for tools that take file names.

Knows POSIX paths, `file:` URIs and percent-encoding.  Knows no file system: symbolic links, case
folding and the directory that a relative path starts from cannot be seen here.

A path may be decoded by whoever opens it, once, twice or never, and a backslash may or may not
separate.  `path.within` therefore holds only when every such reading of the path is within.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from policyd.errors import EvaluationError
from policyd.expr.cel.function import NOT_LITERAL, Function
from policyd.expr.cel.values import charge_copy, no_overload
from policyd.expression import Budget

MAX_PATH: Final = 32_768
"""Characters of a text that may be a path; operating systems allow 4,096 or as many as this."""

MAX_DECODINGS: Final = 8
"""How often percent-encoding may be nested."""

_CONTROLS: Final = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_LOCAL_HOSTS: Final = ("", "localhost")
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
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeError:
        # overlong encodings of `.` and `/` end here too
        raise _Unreadable("the percent-encoding is not UTF-8") from None


def _checked(path: str) -> str:
    if not path:
        raise _Unreadable("the path is empty")
    if len(path) > MAX_PATH:
        raise _Unreadable("the path is too long")
    if not _CONTROLS.isdisjoint(path):
        raise _Unreadable("the path has a control character")
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


def _both_slashes(path: str) -> tuple[str, ...]:
    return (path, path.replace("\\", "/")) if "\\" in path else (path,)


# path.normalize


def _normalize(budget: Budget, text: Any) -> str:
    if type(text) is not str:
        raise no_overload("path.normalize", text)
    charge_copy(len(text) * 2, budget)
    try:
        *_, last = _readings(text)
    except _Unreadable as reason:
        raise EvaluationError(str(reason)) from None
    parts = _parts(last.replace("\\", "/"))
    if parts[:1] == ("/",):
        return "/" + "/".join(parts[1:])
    return "/".join(parts) or "."


# path.within


def _root(value: Any) -> Parts:
    """The parts of a root: a path or a `file:` URI, taken as written.

    Raises EvaluationError for anything else.
    """
    if type(value) is not str:
        raise no_overload("path.within", "", value)
    try:
        return _parts(_checked(_local_path(value)))
    except _Unreadable:
        raise EvaluationError("`path.within`: the root is not a path") from None


def _roots(value: Any) -> tuple[Parts, ...]:
    return tuple(map(_root, value)) if type(value) is list else (_root(value),)


def _is_within(text: str, roots: tuple[Parts, ...]) -> bool:
    try:
        paths = [_parts(path) for reading in _readings(text) for path in _both_slashes(reading)]
    except _Unreadable:
        return False
    return any(all(_is_below(path, root) for path in paths) for root in roots)


def _is_below(path: Parts, root: Parts) -> bool:
    size = len(root)
    if not root and path[:1] == ("/",):
        return False
    return path[:size] == root and path[size : size + 1] != ("..",)


def _within(budget: Budget, text: Any, root: Any) -> bool:
    if type(root) is list:
        budget.spend(len(root))
    return _test(_roots(root))(budget, text)


def _test(roots: tuple[Parts, ...]) -> Callable[..., bool]:
    def within(budget: Budget, text: Any) -> bool:
        if type(text) is not str:
            raise no_overload("path.within", text, "")
        charge_copy(len(text) * 2, budget)
        return _is_within(text, roots)

    return within


def _check_root(arguments: tuple[Any, ...]) -> str | None:
    root = arguments[1]
    if root is NOT_LITERAL:
        return None
    try:
        _roots(root)
    except EvaluationError as error:
        return error.reason
    return None


def _specialise(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    text, root = arguments
    if text is not NOT_LITERAL or root is NOT_LITERAL or _check_root(arguments) is not None:
        return None
    return _test(_roots(root))


FUNCTIONS: Final = (
    Function("path.normalize", _normalize, (1,), (), budgeted=True),
    Function(
        "path.within",
        _within,
        (2,),
        (),
        returns_bool=True,
        literal=_check_root,
        budgeted=True,
        specialise=_specialise,
    ),
)
"""The functions of this library."""
