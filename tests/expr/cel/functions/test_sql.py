from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget

Call = Callable[..., Any]
CASE = Path(__file__).parents[4] / ".." / "shared" / "cases" / "C51.json"


def test_the_published_bypasses_of_sql_guards_are_seen_through(call: Call) -> None:
    if not CASE.exists():
        pytest.skip("no cases beside the repository")
    table = json.loads(CASE.read_text("utf-8"))["inputs"][3]["table"]
    assert len(table) >= 11
    for text, wanted in table:
        assert call("sql.readOnly", text) is wanted.startswith("PASS"), text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "select * from t;",
        "\n  SELECT 1 ; -- done\n",
        "(SELECT 1) UNION (SELECT 2)",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "VALUES (1, 2)",
        "TABLE t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "EXPLAIN (FORMAT JSON) SELECT 1",
        "SHOW TABLES",
        "SHOW CREATE TABLE t",
        "SHOW GRANTS",
        "DESCRIBE t",
        "desc t",
        "SELECT 'DELETE FROM t' AS s",
        "SELECT 'it''s; DROP TABLE t' FROM t",
        "SELECT 'a\\b' FROM t WHERE p LIKE '%\\_x'",
        'SELECT "update" FROM "drop"',
        "SELECT `update`, `a b` FROM `drop`",
        "SELECT [a b], x[1] FROM [dbo].[t]",
        "SELECT ARRAY['a', 'b'] FROM t",
        "SELECT $$plain text$$, $tag$delete$tag$ FROM t WHERE a = $1",
        "SELECT /* DELETE */ 1 -- DROP\n FROM t",
        "SELECT a -- to the end",
        "SELECT 1.5, 1e5, 1e-5, 2E+7, 0xFF, .5, 5. FROM t",
        "SELECT e'x', N'y', x'ff', b'01' FROM t",
        "SELECT a FROM t WHERE b = @p AND c = :name AND d = ?",
        "SELECT a::text, b->>'k', c @> d FROM t",
        "SELECT REPLACE(a, 'x', 'y'), TRUNCATE(b, 2) FROM t",
        "SELECT substring(a FROM 1 FOR 3) FROM t FOR XML PATH",
        "SELECT created_at, updated_at, deleted FROM updates",
        "SELECT sleep FROM t ORDER BY benchmark",
        "SELECT lo_price FROM t",
        "SELECT größe FROM straße",
        "SELECT a & b, u & 1 FROM t",
        "SELECT CASE WHEN a THEN 1 ELSE 2 END FROM t",
        "SELECT '😀\n' FROM t",
    ],
)
def test_one_statement_that_reads_is_read_only(call: Call, text: str) -> None:
    assert call("sql.readOnly", text) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        " -- nothing\n",
        ";",
        "1",
        "'SELECT'",
        "INSERT INTO t VALUES (1)",
        "update t set a = 1",
        "DELETE FROM t",
        "MERGE INTO t USING s",
        "REPLACE INTO t VALUES (1)",
        "DROP TABLE t",
        "ALTER TABLE t ADD a int",
        "CREATE TABLE t (a int)",
        "TRUNCATE t",
        "GRANT ALL ON t TO u",
        "CALL f()",
        "EXEC sp_who",
        "DO $$ plain $$",
        "COPY t FROM PROGRAM 'x'",
        "LOAD DATA INFILE 'x'",
        "ATTACH 'x' AS y",
        "PRAGMA writable_schema = 1",
        "VACUUM",
        "SET x = 1",
        "LOCK TABLE t",
        "BEGIN",
        "SELECTS 1",
        # a write behind something that reads
        "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        "WITH x AS (SELECT 1) REPLACE INTO t SELECT 1",
        "EXPLAIN ANALYZE DELETE FROM t",
        "DESC DELETE FROM t",
        "SELECT * INTO t2 FROM t",
        "SELECT * FROM t INTO OUTFILE '/tmp/x'",
        "SELECT 1; SELECT 2",
        "SELECT 1;; ",
        "SELECT 1 DELETE FROM t",
        "SELECT 1DELETE FROM t",
        "SELECT 1eDELETE FROM t",
        "SELECT 1.DELETE FROM t",
        "SELECT 0xDELETE FROM t",
        "SELECT 1e- DELETE FROM t",
        "SELECT'a'DELETE FROM t",
        "SELECT 'a'DELETE FROM t",
        "SELECT (1)DELETE FROM t",
        "SELECT 1\nGO\nsp_who",
        "SELECT 1 WAITFOR DELAY '0:0:9'",
        "SELECT 1 WHILE 1=1 SELECT 2",
        "SELECT 1 SHUTDOWN",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a FROM t FOR SHARE",
        "SELECT a FROM t FOR /* x */ NO KEY UPDATE",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "SELECT a FROM t WITH (TABLOCKX)",
        "SELECT @a := 1",
        "SHOW CREATE TABLE t; DROP TABLE t",
        # functions
        "SELECT pg_sleep(9)",
        "SELECT pg_catalog . pg_sleep (9)",
        'SELECT "pg_sleep"(9)',
        "SELECT `sleep`(9)",
        "SELECT SLEEP /* x */ (9)",
        "SELECT benchmark(1000000000, 1)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT load_file('/etc/passwd')",
        "SELECT lo_export(1, '/tmp/x')",
        "SELECT dblink_exec('x', 'y')",
        "SELECT load_extension('x')",
        "SELECT pg_terminate_backend(1)",
        "SELECT nextval('s')",
        "SELECT * FROM OPENROWSET('x')",
        "SELECT utl_http.request('http://x') FROM dual",
        "SELECT 1 FROM xp_cmdshell",
        # quotes that some read differently
        "SELECT 'a",
        'SELECT "a',
        "SELECT `a",
        "SELECT [a",
        "SELECT a]",
        "SELECT [[a]]",
        "SELECT [a'];DELETE FROM t WHERE c='x'",
        "SELECT [a;b]",
        "SELECT [a -- ]\n]",
        "SELECT [a /* ] */ ]",
        "SELECT [a]]b]",
        "SELECT 'a\\'; DELETE FROM t; --'",
        "SELECT 'a\\\\'",
        'SELECT "a\\"',
        'SELECT "a\\b"',
        "SELECT `a'b`",
        "SELECT `a; DELETE FROM t`",
        "SELECT `a -- b`",
        "SELECT $$a'b$$",
        "SELECT $$a; DELETE$$",
        "SELECT $a$ x",
        "SELECT $a",
        "SELECT $",
        "SELECT q'[it's]'",
        "SELECT _utf8'x'",
        'SELECT U&"\\0070g_sleep"(9)',
        "SELECT u&'x'",
        "SELECT 1 # DELETE",
        "SELECT 1 \\; DELETE FROM t",
        "SELECT {fn now()}",
        # comments that some read differently
        "SELECT 1 /*! DELETE */",
        "SELECT 1 /*M! DELETE */",
        "SELECT /*+ x */ 1",
        "SELECT 1 /* /* x */ DELETE FROM t */",
        "SELECT 1 /* x",
        "SELECT 1 --1",
        "SELECT 1 -- x\rDELETE FROM t",
        # characters that some take for spaces
        "SELECT\u00a01",
        "SELECT 1\x00",
        "SELECT \ud800",
        "SELECT 1²",
        "SELECT '" + "a" * 100_000 + "'",
    ],
)
def test_everything_else_is_not(call: Call, text: str) -> None:
    assert call("sql.readOnly", text) is False


def test_a_line_comment_may_end_as_on_windows(call: Call) -> None:
    assert call("sql.readOnly", "SELECT 1 -- x\r\nFROM t") is True


def test_only_texts_are_sql(refuse: Call) -> None:
    assert refuse("sql.readOnly", 1) == "`sql.readOnly` does not take int"


READING = {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, 33}
"""What SQLite asks leave for when it reads; 33 is a recursive query."""

FRAGMENTS = st.sampled_from(
    [
        *(
            "SELECT",
            "SELECT 1",
            "WITH x AS (SELECT 1)",
            "* FROM t",
            "a FROM t",
            "VALUES (1)",
            "EXPLAIN",
        ),
        *("DELETE FROM t", "DROP TABLE t", "INSERT INTO t VALUES (1)", "REPLACE INTO t VALUES (1)"),
        *(
            "'",
            '"',
            "`",
            "[",
            "]",
            "--",
            "\n",
            "/*",
            "*/",
            ";",
            "\\",
            "$$",
            "(",
            ")",
            ",",
            "1",
            "a",
        ),
        *("''", '""', "``", "]]", "/*!", "#", " ", "e", "q", "0x", ".", "$1"),
    ]
)


@settings(max_examples=400)
@given(st.lists(FRAGMENTS, max_size=9), st.sampled_from(["", " "]))
def test_what_is_read_only_makes_sqlite_do_nothing_but_read(
    fragments: list[str], space: str
) -> None:
    text = space.join(["SELECT 1", *fragments])
    if not FUNCTIONS["sql.readOnly"].call(Budget(10**6, float("inf")), text):
        return
    actions: list[int] = []
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a)")
    database.commit()

    def allow(action: int, *_: str | None) -> int:
        actions.append(action)
        return sqlite3.SQLITE_OK

    database.set_authorizer(allow)
    with contextlib.closing(database), contextlib.suppress(sqlite3.Error):
        database.executescript(text)
    assert set(actions) <= READING, text
