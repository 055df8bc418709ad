"""Texts that Spark's analyzer refuses and that were planned once: found by generated texts and by
asking about columns of every kind (``tests/properties/judged_texts.py``,
``tests/spark/test_types_on_spark.py``). And texts that were refused though Spark takes them."""

# ruff: noqa: E501 - lists of texts
from __future__ import annotations

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.errors import SqlError, UnsupportedSqlError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query

COLUMNS = {
    "a": "INT", "k": "BIGINT", "m": "DECIMAL(10,2)", "e": "DOUBLE", "s": "STRING", "d": "DATE",
    "ts": "TIMESTAMP", "x": "BOOLEAN", "o": "BINARY", "p": "MAP<STRING,INT>", "w": "ARRAY<INT>",
    "l": "INTERVAL DAY", "z": "ARRAY<STRING>",
}  # fmt: skip
SOURCE = Source(
    name="t",
    columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS.items()),
)


def type_of(expression: str) -> str:
    query = read_query(f"SELECT {expression} AS r FROM t", [SOURCE])
    return query.relation.columns[0].type.sql


@pytest.mark.parametrize(
    "expression",
    [
        "-x", "-d", "+o", "- collect_list(a)", "a IS TRUE", "s + s", "s + INTERVAL 1 MONTH",
        "NULL * s", "p = p", "p IN (p)", "s = INTERVAL 1 DAY", "s || w", "p || p", "w LIKE 'a'",
        "s RLIKE p", "s AND s", "CAST(d AS INT)", "CAST(a AS DATE)", "CAST(x AS TIMESTAMP)",
        "TRY_CAST(p AS INT)", "CAST(s AS MAP<STRING,INT>)", "CAST(s AS VARCHAR)", "DATE'x'",
        "CAST(a AS INT(3))", "CAST(s AS STRING(5))", "CAST(a AS ARRAY)", "128Y", "1e400", "DATE'2020-13-01'",
        "upper(s, s)", "radians()", "float(a, a)", "crc32(a)", "year(a)", "bit_count(m)", "hash(p)",
        "date_add(d, k)", "array_contains(w, d)", "array_union(w, w, w)", "greatest(a, s)", "greatest(p, p)",
        "mod(a, x)", "nullif(a, d)", "equal_null(a, d)", "round(m, a)", "date_part(s, d)",
        "EXTRACT(EPOCH FROM ts)", "EXTRACT(YEAR FROM l)", "datediff('DAY', d, d)", "s LIKE 'a' ESCAPE '!!'",
        "datediff(DAY, l, d)", "s LIKE ANY ('a', 'b' || 7L)", "s NOT LIKE ANY ('a') <=> s",
        "s LIKE ALL ('a') = b", "s LIKE ANY ('a') || s", "sum(x)", "max(p)", "count_if(a)",
        "sum(rand())", "listagg(s, s)", "percentile(a, e)", "max(a) OVER (PARTITION BY p)",
        "row_number() OVER ()", "lag(a) OVER (PARTITION BY a)", "lag(a, a) OVER (ORDER BY a)",
        "lead(a) OVER (ORDER BY a ROWS 1 PRECEDING)", "ntile(0) OVER (ORDER BY a)", "ntile('x') OVER (ORDER BY a)",
        "nth_value(a) OVER (ORDER BY a)", "row_number(a) OVER (ORDER BY a)", "count(DISTINCT a) OVER ()",
        "rank() OVER (ORDER BY a ROWS 2 PRECEDING)", "sum(a) IGNORE NULLS OVER (ORDER BY a)",
        "sum(a) OVER (ORDER BY a ROWS BETWEEN 2 FOLLOWING AND 1 PRECEDING)",
        "sum(a) OVER (ORDER BY a ROWS 1.5 PRECEDING)", "sum(a) OVER (ORDER BY a ROWS UNBOUNDED FOLLOWING)",
        "sum(a) OVER (ORDER BY a, k RANGE 1 PRECEDING)", "sum(a) OVER (ORDER BY s RANGE 1 PRECEDING)",
        "sum(a) OVER (ORDER BY d RANGE INTERVAL 1 HOUR PRECEDING)", "sum(a) OVER (RANGE CURRENT ROW)",
        "INTERVAL 1.5 DAY", "INTERVAL '1-13' YEAR TO MONTH", "INTERVAL '1' DAY TO MONTH", "INTERVAL 'x' HOUR",
        "INTERVAL 3000000000 YEAR", "levenshtein(s, s, x)", "mode(DISTINCT a)", "sum(a) IGNORE NULLS",
        "CASE WHEN NULL THEN 1 END", "a IS ! NULL", "timestampadd('DAY', 1, d)", "f(TABLE t)",
        "uuid(s)", "uuid('1')", "to_json(map('a', 1), 'x')", "to_csv(named_struct('a', 1), s)",
    ],
)  # fmt: skip
def test_expressions(expression):
    with pytest.raises(SqlError):
        type_of(expression)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE NULL", "SELECT DISTINCT p FROM t", "SELECT p FROM t ORDER BY p",
        "SELECT p FROM t UNION SELECT p FROM t", "SELECT p FROM t EXCEPT ALL SELECT p FROM t",
        "SELECT a FROM t LIMIT 1L", "SELECT a FROM t LIMIT 3000000000", "SELECT a FROM t JOIN t u USING",
        "WITH q AS (SELECT 1), Q AS (SELECT 2) SELECT * FROM q", "SELECT a FROM t JOIN t u ON ORDER BY 1",
        "SELECT d FROM t GROUP BY ROLLUP (d, a) ORDER BY a", "SELECT DISTINCT a FROM t ORDER BY k",
        "SELECT d FROM t GROUP BY CUBE (d, a) HAVING max(k) > 1 AND a > 1",
        "SELECT d FROM t GROUP BY ROLLUP (d, a) HAVING grouping(a) = 1",
        "SELECT a AS q FROM t GROUP BY ROLLUP (a) HAVING grouping(a) = 0",
        "SELECT * FROM t CROSS JOIN t u ORDER BY a", "VALUES (1, 'a'), (2, 2)",
        "SELECT 0x1F FROM t", "SELECT datediff() FROM t", "SELECT overlay(s, s, x) FROM t",
        "SELECT a IN GROUP BY a FROM t", "SELECT sum(a) OVER AS v FROM t", "SELECT substring(s FOR) FROM t",
    ],
)  # fmt: skip
def test_queries(sql):
    with pytest.raises(SqlError) as caught:
        read_query(sql, [SOURCE])
    assert not isinstance(caught.value, UnsupportedSqlError)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t AS", "SELECT a AS FROM t", "SELECT AS FROM t", "SELECT AS `a` FROM t",
        "SELECT DISTINCT AS a FROM t", "SELECT ALL AS a FROM t", "SELECT (a) AS, k FROM t", "SELECT k, AS a FROM t",
        "SELECT a FROM t AS WHERE a > 0", "SELECT u.a FROM (SELECT a FROM t) AS",
    ],
)  # fmt: skip
def test_as_without_a_name_is_one_to_spark(sql):
    """Spark takes AS for a name, and whoever wrote it mostly has forgotten one."""
    with pytest.raises(UnsupportedSqlError, match="AS as a name") as caught:
        read_query(sql, [SOURCE])
    assert "name after AS" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT d FROM t GROUP BY ROLLUP (d, a) ORDER BY max(k), d",
        "SELECT d FROM t GROUP BY d, a GROUPING SETS ((d), (a)) HAVING a > 0",
        "SELECT d, a FROM t GROUP BY ROLLUP (d, a) HAVING max(k) > 1 AND a > 1 ORDER BY a + 1",
        "SELECT grouping(a) g, a FROM t GROUP BY CUBE (a) HAVING grouping(a) = 1 ORDER BY g, grouping(a)",
    ],
)
def test_queries_that_spark_takes(sql):
    assert read_query(sql, [SOURCE]).names


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("-s", "DOUBLE"), ("-NULL", "DOUBLE"), ("NOT s", "BOOLEAN"), ("x AND s", "BOOLEAN"),
        ("NULL + d", "UNKNOWN"), ("s - d", "UNKNOWN"), ("s * INTERVAL 1 DAY", "UNKNOWN"),
        ("s + INTERVAL 1 DAY", "STRING"), ("NULL / m", "DOUBLE"), ("NULL DIV NULL", "UNKNOWN"),
        ("l DIV INTERVAL 1 DAY", "BIGINT"), ("~NULL", "UNKNOWN"), ("NULL & NULL", "UNKNOWN"),
        ("w IN (z)", "BOOLEAN"), ("if(x, w, z)", "ARRAY<BIGINT>"), ("abs(s)", "DOUBLE"), ("reverse(a)", "STRING"),
        ("left(o, 1)", "BINARY"), ("lpad(o, 1, o)", "BINARY"), ("elt(1, o, o)", "BINARY"),
        ("collect_list(a)", "ARRAY<INT>"), ("NULL AND x", "BOOLEAN"), ("-128Y", "TINYINT"),
        ("lag(a, 1 + 1) OVER (ORDER BY a)", "INT"), ("DATE'2020-1'", "DATE"), ("DATE'today'", "DATE"),
        ("sum(a) OVER (ORDER BY d RANGE INTERVAL 1 DAY PRECEDING)", "BIGINT"),
        ("round(1.25, 1.5)", "DECIMAL(3,1)"), ("round(1.25, ' 1 ')", "DECIMAL(3,1)"),
        ("round(1.25, 2L)", "DECIMAL(4,2)"),
        ("round(1.25, '1_0')", "UNKNOWN"), ("round(1.25, '_b')", "UNKNOWN"), ("uuid(1)", "STRING"),
        ("to_json(map('a', 1), map('k', 'v'))", "STRING"),
        ("nth_value(a, 2) IGNORE NULLS OVER (ORDER BY a ROWS 2 PRECEDING)", "INT"),
    ],
)  # fmt: skip
def test_what_spark_takes(expression, type_):
    assert type_of(expression) == type_
