"""Spark's grammar as rules: what is no query is refused where it stops being one."""

# ruff: noqa: E501 - lists of texts
from __future__ import annotations

import pytest

from forerun.planner.errors import SqlError, UnsupportedSqlError
from forerun.planner.nesting import room_for_nesting
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.syntax.lexer import filled
from forerun.planner.sql.syntax.recognizer import first_misfit, words_of
from forerun.planner.sql.syntax.text import QueryText
from tests.planner.sql import tables


def misfit(sql: str) -> str | None:
    """The token that does not fit; empty where the text ends too soon, None for a query."""
    words = words_of(filled(QueryText(sql)).sql)
    at = first_misfit(words)
    return None if at is None else "" if at == len(words) else words[at].text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t", "FROM t SELECT a", "TABLE t", "VALUES (1, 'a'), (2, 'b') AS v(x, y)",
        "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 LIMIT 1 + 1 OFFSET 2", "SELECT DISTINCT * FROM t",
        "WITH a AS (SELECT 1), b(x) AS (TABLE a) SELECT * FROM a, b", "SELECT `a``b`.`c` FROM x.y.z",
        "SELECT /*+ BROADCAST(t), MERGE(u) */ a FROM t JOIN u USING (a) CROSS JOIN v",
        "SELECT CASE a WHEN 1 THEN 2 ELSE 3 END x, CASE WHEN a THEN b END FROM t LEFT ANTI JOIN u ON a",
        "SELECT a BETWEEN 1 AND 2 AND b IN (1, 2) OR NOT c LIKE ANY ('a') AND d IS NOT DISTINCT FROM e",
        "SELECT a >> 1 >>> 2 << 3, CAST(a AS ARRAY<ARRAY<INT>>), b::MAP<STRING, STRUCT<x: INT>>",
        "SELECT sum(DISTINCT a) FILTER (WHERE x) OVER (PARTITION BY b ORDER BY c ROWS 1 PRECEDING)",
        "SELECT listagg(s) WITHIN GROUP (ORDER BY s), first(a) IGNORE NULLS OVER w WINDOW w AS ()",
        "SELECT EXTRACT(YEAR FROM d), trim(BOTH 'x' FROM s), substr(s FROM 1 FOR 2), x -> x + 1",
        "SELECT INTERVAL '1-2' YEAR TO MONTH, INTERVAL 1 DAY 2 HOURS, INTERVAL '1 day', DATE'2020-01-01'",
        "SELECT a GROUP BY ROLLUP (a, (b, c)), GROUPING SETS ((a), CUBE (b)) HAVING count(*) > 1",
        "SELECT a FROM t GROUP BY a WITH CUBE", "SELECT a FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (1)",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (1 AS x, 2)) UNPIVOT (v FOR n IN (a, b AS c))",
        "SELECT c FROM t LATERAL VIEW OUTER explode(a) x AS c", "SELECT 1 FROM t, LATERAL (SELECT 1)",
        "FROM t |> WHERE a > 1 |> AGGREGATE sum(a) GROUP BY b |> ORDER BY 1 |> LIMIT 2",
        "SELECT range, date, order, left, timestamp, interval, 1 end FROM range(10) AS r(id)",
        "SELECT :x, ? , 1.5e3BD, .5, 5., 3L, X'1F', 'a' R'\\d', t.* EXCEPT (a, b), a[1].b['c']",
    ],
)  # fmt: skip
def test_queries(sql):
    assert misfit(sql) is None


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT a FROM t JOIN u ON ORDER BY 1", "BY"), ("SELECT a FROM t JOIN u USING", ""),
        ("SELECT a FROM t WHERE a IN (", ""), ("SELECT sum(a) OVER (", ""), ("SELECT é", "É"),
        ("SELECT a IN () FROM t", ")"), ("SELECT a LIMIT 1 LIMIT 2", "LIMIT"),
        ("SELECT a FROM t UNION SELECT b ORDER 1", "1"), ("SELECT CAST(a AS TIME)", "TIME"),
        ("SELECT CAST(a AS VARCHAR)", ")"), ("SELECT CAST(a AS INT(3))", "("), ("SELECT a IS ! NULL", "!"),
        ("SELECT b'x'", "'X'"), ("SELECT a ILIKE ANY (b", ""), ("SELECT f(TABLE t)", "T"),
        ("SELECT INTERVAL 3 QUARTER, INTERVAL 1 + 1 DAY", "QUARTER"), ("SELECT a b c", "C"),
        ("SELECT a FROM t QUALIFY rank() OVER (ORDER BY a) = 1", "RANK"), ("SELECT (a", ""),
        ("SELECT sum(a) OVER (GROUPS 1 PRECEDING)", "1"), ("SELECT a ==> b", ">"),
    ],
)  # fmt: skip
def test_the_first_word_that_does_not_fit(sql, word):
    assert misfit(sql) == (word if word != "'X'" else "'X'")


def test_it_takes_time_in_proportion_to_the_text():
    with room_for_nesting():
        assert misfit("SELECT " + "(" * 100 + "a" + ")" * 100 + " + 1" * 2000) is None


def test_what_spark_reads_and_sqlglot_does_not_is_ours():
    with pytest.raises(UnsupportedSqlError, match="FROM as a name"):
        read_query("SELECT a FROM t AS x, t FROM", tables.SOURCES)
    with pytest.raises(SqlError, match="it ends too soon"):
        read_query("SELECT a FROM t WHERE a IN (", tables.SOURCES)
