"""sql.readOnly: whether a text of SQL only reads.

Knows how the dialects differ in quoting and comments, and which words and functions write, wait
or reach outside.  Knows no schema: a function that a database defines may do anything, and views
may call one.  A database user who may only read is the real guard; this one catches mistakes
and the usual tricks.

The answer is yes only when every dialect would read the text alike and find one statement that
reads.  Where dialects disagree (a backslash before a quote, `#`, nested comments, a quote within
brackets, ...) the answer is no, as it is for some harmless texts that use a forbidden word as a
name.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any, Final, NamedTuple

from policyd.expr.cel.bounds import COPY_PER_STEP
from policyd.expr.cel.function import Function
from policyd.expr.cel.values import no_overload
from policyd.expression import Budget

MAX_SQL: Final = 100_000
"""Characters of a text that may be read-only."""


class _Kind(Enum):
    WORD = "keyword or name"
    QUOTED = "quoted name"
    TEXT = "string"
    SIGN = "punctuation"


class _Token(NamedTuple):
    kind: _Kind
    text: str


_END: Final = _Token(_Kind.SIGN, "")


class _Unsure(Exception):
    """Dialects may disagree about how the text goes on."""


def _read_only(budget: Budget, text: Any) -> bool:
    if type(text) is not str:
        raise no_overload("sql.readOnly", text)
    if len(text) > MAX_SQL:
        return False
    budget.spend(1 + len(text) // COPY_PER_STEP)
    try:
        tokens = list(_tokens(text, budget))
    except _Unsure:
        return False
    return _is_one_reading_statement(tokens)


# Tokens


_SPACES: Final = frozenset(" \t\n\r\f")
_SIGNS: Final = frozenset("()+-*/<>=!%&|^~?@:,.;[]")
_QUOTES: Final = frozenset("'\"`")
_STRING_QUOTES: Final = frozenset("'\"")
_STRING_PREFIXES: Final = frozenset({"n", "b", "x", "e"})
_DIGITS: Final = frozenset("0123456789")
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def _tokens(text: str, budget: Budget) -> Iterator[_Token]:
    """The tokens of *text*, without spaces and comments.  Raises _Unsure."""
    at, bracket = 0, False
    while at < len(text):
        budget.spend(1)
        end, token = _next(text, at)
        if token is not None:
            bracket = _inside(bracket, token)
            yield token
        elif bracket and text[at] not in _SPACES:
            raise _Unsure  # a comment, if brackets do not quote
        at = end
    if bracket:
        raise _Unsure


def _inside(bracket: bool, token: _Token) -> bool:
    """Whether the text goes on inside brackets, which quote a name or index an array.

    Both readings must find the same end, so nothing inside may hide one.
    """
    if token == (_Kind.SIGN, "["):
        if bracket:
            raise _Unsure
        return True
    if token == (_Kind.SIGN, "]"):
        if not bracket:
            raise _Unsure
        return False
    hides = token.kind is not _Kind.WORD and ("]" in token.text or "[" in token.text)
    if bracket and (hides or token == (_Kind.SIGN, ";")):
        raise _Unsure
    return bracket


def _next(text: str, at: int) -> tuple[int, _Token | None]:
    """The end of what starts at *at*, and its token; None for a space or a comment."""
    char = text[at]
    if char == "_" or char.isalnum():
        return _word(text, at)
    if char in _SPACES:
        return at + 1, None
    if text.startswith(("--", "/*"), at):
        return _skip_comment(text, at), None
    if char in _QUOTES:
        return _quoted(text, at)
    if char == "$":
        return _dollar(text, at)
    if char not in _SIGNS:
        raise _Unsure  # among them `#`, a comment or an operator, and backslash
    return at + 1, _Token(_Kind.SIGN, char)


def _skip_comment(text: str, at: int) -> int:
    if text.startswith("--", at):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        after, body = text[at + 2 : at + 3], text[at:end].removesuffix("\r")
        # `--1` is arithmetic to some, and `\r` ends a line to some
        if (after and after not in _SPACES) or "\r" in body:
            raise _Unsure
        return end
    end = text.find("*/", at + 2)
    if end < 0 or "/*" in text[at + 2 : end] or text.startswith(("!", "+", "M!"), at + 2):
        raise _Unsure  # nested, or read as SQL by MySQL and MariaDB
    return end + 2


def _quoted(text: str, at: int) -> tuple[int, _Token]:
    """A string or a quoted name; its quote is doubled inside."""
    quote = text[at]
    inner, end = "", at + 1
    while True:
        close = text.find(quote, end)
        if close < 0 or text[close - 1] == "\\":
            raise _Unsure
        inner += text[end:close]
        if text[close + 1 : close + 2] != quote:
            break
        inner += quote
        end = close + 2
    if quote == "`" and not _is_plain(inner):
        raise _Unsure  # no quote at all in some dialects
    if quote != "'" and "\\" in inner:
        raise _Unsure  # names spelled by escapes
    return close + 1, _Token(_Kind.TEXT if quote == "'" else _Kind.QUOTED, inner)


def _is_plain(text: str) -> bool:
    return "--" not in text and all(char.isalnum() or char in "_ .-" for char in text)


def _dollar(text: str, at: int) -> tuple[int, _Token]:
    """A parameter, or a string in dollar quotes, which are part of a name to some."""
    end = _word_end(text, at + 1, "_")
    name = text[at + 1 : end]
    if name.isdecimal():
        return end, _Token(_Kind.TEXT, "")
    tag = f"${name}$"
    close = text.find(tag, end + 1) if text.startswith(tag, at) else -1
    if close < 0 or not _is_plain(text[end + 1 : close]):
        raise _Unsure
    return close + len(tag), _Token(_Kind.TEXT, "")


def _word_end(text: str, at: int, signs: str) -> int:
    while at < len(text) and (text[at].isalnum() or text[at] in signs):
        at += 1
    return at


def _word(text: str, at: int) -> tuple[int, _Token]:
    end = _word_end(text, at, "_$")
    word = text[at:end]
    after = text[end : end + 2]
    # `q'[it's]'` ends elsewhere for some, `U&"..."` spells a name by escapes
    if after[:1] in _STRING_QUOTES and word.lower() not in _STRING_PREFIXES:
        raise _Unsure
    if word.lower() == "u" and after in ("&'", '&"'):
        raise _Unsure
    # `1delete` is a number and a keyword to some
    if word[0].isdigit() and not _is_number(word.lower(), after):
        raise _Unsure
    return end, _Token(_Kind.WORD, word)


def _is_number(word: str, after: str) -> bool:
    """Whether *word* is digits, with an exponent perhaps, or hexadecimal."""
    if word.startswith("0x"):
        return _HEXADECIMAL.issuperset(word[2:])
    mantissa, e, exponent = word.partition("e")
    signed = after[:1] in ("+", "-") and after[1:].isdigit()
    return _DIGITS.issuperset(mantissa + exponent) and (not e or bool(exponent) or signed)


# Meaning

_READING: Final = frozenset(
    {"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW", "DESCRIBE", "DESC"}
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FORBIDDEN: Final = _words(
    """
    INSERT UPDATE DELETE MERGE UPSERT DROP ALTER CREATE GRANT REVOKE DENY INTO
    CALL EXEC EXECUTE PREPARE DEALLOCATE DO COPY LOAD BULK ATTACH DETACH PRAGMA VACUUM
    SET LOCK UPDLOCK XLOCK TABLOCK TABLOCKX HOLDLOCK
    BEGIN DECLARE COMMIT ROLLBACK SAVEPOINT WHILE GO GOTO USE TRIGGER DELIMITER
    WAITFOR SHUTDOWN KILL DBCC BACKUP RESTORE RECONFIGURE CHECKPOINT SETUSER REVERT
    SEND RECEIVE WRITETEXT UPDATETEXT OPENROWSET OPENQUERY OPENDATASOURCE
    """
)
"""Words that start something else than reading.

Transact-SQL needs no semicolon between statements, so these may stand nowhere.
"""

_FORBIDDEN_BUT_AS_FUNCTIONS: Final = frozenset({"REPLACE", "TRUNCATE"})
_LOCKING: Final = frozenset({"SHARE", "KEY", "NO"})
"""What after `FOR` takes a lock."""

_FUNCTIONS: Final = _words(
    """
    sleep benchmark load_file get_lock release_lock release_all_locks master_pos_wait
    source_pos_wait sys_exec sys_eval sys_get sys_set load_extension readfile writefile edit
    fts3_tokenizer set_config setval nextval pg_notify pg_reload_conf pg_rotate_logfile pg_promote
    pg_stat_file pg_export_snapshot query_to_xml cursor_to_xml crosstab connectby ts_stat lowrite
    loread httpuritype
    """
)
_FUNCTION_PREFIXES: Final = (
    "pg_sleep",
    "pg_read_",
    "pg_ls_",
    "pg_file_",
    "pg_terminate_",
    "pg_cancel_",
    "pg_advisory_",
    "pg_try_advisory_",
    "pg_create_",
    "pg_drop_",
    "pg_switch_",
    "pg_backup_",
    "pg_start_backup",
    "pg_stop_backup",
    "pg_replication_",
    "pg_logical_",
    "pg_wal_",
    "pg_stat_reset",
    "pg_import_",
    "lo_",
    "dblink",
)
_PACKAGE_PREFIXES: Final = ("xp_", "dbms_", "utl_")
"""Extended procedures, and packages whose functions have any name."""


def _is_one_reading_statement(tokens: list[_Token]) -> bool:
    if tokens and tokens[-1] == (_Kind.SIGN, ";"):
        tokens = tokens[:-1]
    opening = next((t for t in tokens if t != (_Kind.SIGN, "(")), _END)
    if opening.kind is not _Kind.WORD or opening.text.upper() not in _READING:
        return False
    if [t.text.upper() for t in tokens[:2]] == ["SHOW", "CREATE"]:
        tokens = tokens[2:]
    return all(_reads(token, after) for token, after in pairwise([*tokens, _END]))


def _reads(token: _Token, after: _Token) -> bool:
    """True when *token*, with *after* behind it, has no part in anything but reading."""
    if token.kind is _Kind.TEXT:
        return True
    if token.kind is _Kind.SIGN:
        # `:=` sets a variable
        return token.text != ";" and (token.text, after.text) != (":", "=")
    called = after == (_Kind.SIGN, "(")
    if called and _is_dangerous(token.text.lower()):
        return False
    return token.kind is _Kind.QUOTED or _is_harmless_word(token.text.upper(), after, called)


def _is_harmless_word(word: str, after: _Token, called: bool) -> bool:
    if word in _FORBIDDEN_BUT_AS_FUNCTIONS:
        return called
    if word == "FOR":
        return after.text.upper() not in _LOCKING
    return word not in _FORBIDDEN and not word.lower().startswith(_PACKAGE_PREFIXES)


def _is_dangerous(function: str) -> bool:
    return function in _FUNCTIONS or function.startswith(_FUNCTION_PREFIXES)


FUNCTIONS: Final = (
    Function("sql.readOnly", _read_only, (1,), (), returns_bool=True, budgeted=True),
)
"""The functions of this library."""
