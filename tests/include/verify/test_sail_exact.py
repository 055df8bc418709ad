"""What a query may have that is repaired on the small engine: what is listed, and nothing else."""

from __future__ import annotations

import pytest

from forerun.include.verify.sail_exact import why_not_exact
from forerun.planner.algebra.types import parse_type
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.sql.frontend import read_query

COLUMNS = (
    ("k", "INT"), ("n", "BIGINT"), ("m", "DECIMAL(9,2)"), ("w", "DECIMAL(38,2)"), ("x", "DOUBLE"),
    ("s", "STRING"), ("d", "DATE"), ("at", "TIMESTAMP"), ("v", "DECIMAL(38,10)"),
)  # fmt: skip


def source(**bounds: tuple[str, str]) -> Source:
    return Source(
        name="t",
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS),
        rows=1000,
        stats=tuple((n, ColumnStats(minimum=lo, maximum=hi)) for n, (lo, hi) in bounds.items()),
    )


def reasons(sql: str, **bounds: tuple[str, str]) -> list[str]:
    given = source(**bounds)
    return list(why_not_exact(read_query(sql, [given]).relation, [given]))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, sum(m) AS s, avg(m) AS a, count(*) AS c, min(d) AS lo FROM t GROUP BY k",
        "SELECT 100.00 * sum(CASE WHEN s LIKE 'PROMO%' THEN m ELSE 0 END) / sum(m) AS q FROM t",
        "SELECT s FROM t WHERE d > DATE'2024-01-01' + INTERVAL 1 YEAR AND substring(s, 1, 2) = 'a'",
        "SELECT a.k FROM t a JOIN t b ON a.k = b.k WHERE EXISTS (SELECT k FROM t WHERE k = a.k)",
        "SELECT k, sum(k) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 3",
        "SELECT k FROM t UNION ALL SELECT k FROM t",
    ],
)
def test_what_is_listed_is_exact(sql: str):
    assert reasons(sql) == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT k FROM t WHERE m / m > 1.0", "a quotient in a condition"),
        ("SELECT k FROM t GROUP BY k HAVING sum(m) / sum(m) > 1.0", "a quotient in a condition"),
        ("SELECT sum(m) FILTER (WHERE m / m > 1.0) AS s FROM t", "a quotient in a condition"),
        ("SELECT k = 1 AND m / m > 1.0 AS c FROM t", "a quotient in a condition"),
        ("SELECT sum(x) AS s FROM t", "DOUBLE"),
        ("SELECT k FROM t WHERE x > 1", "DOUBLE"),
        ("SELECT max(at) AS a FROM t", "TIMESTAMP"),
        ("SELECT k + n AS a FROM t", "+ of BIGINT, BIGINT"),
        ("SELECT s FROM t WHERE s LIKE 'a\\\\_%'", "like"),
        ("SELECT k FROM t WHERE s LIKE s", "like"),
        ("SELECT upper(s) AS u FROM t", "upper"),
        ("SELECT CAST(s AS INT) AS i FROM t", "cast of STRING"),
        ("SELECT CAST(m AS DECIMAL(9,1)) AS i FROM t", "cast of DECIMAL(9,2)"),
        ("SELECT v * v AS p FROM t", "* of DECIMAL(38,10)"),
        ("SELECT stddev(m) AS v FROM t", "stddev"),
        ("SELECT row_number() OVER (ORDER BY k) AS r FROM t", "Window"),
        ("SELECT k FROM t EXCEPT SELECT k FROM t", "SetOperation"),
        ("SELECT a.k FROM t a FULL JOIN t b ON a.k = b.k", "a join of kind"),
        ("SELECT CASE WHEN k > 1 THEN m ELSE x END AS c FROM t", "Sail gives COALESCE and CASE"),
        ("SELECT sum(w) AS s FROM t", "a sum of DECIMAL(38,2) could overflow"),
        ("SELECT sum(n) AS s FROM t", "a sum of BIGINT could overflow"),
    ],
)
def test_everything_else_is_refused_and_named(sql: str, said: str):
    found = reasons(sql)
    assert any(said in reason for reason in found), found


def test_a_sum_is_exact_where_the_bounds_of_files_keep_it_in_its_type():
    for column in ("n", "w"):
        sql = f"SELECT s, sum({column}) AS total FROM t GROUP BY s"
        assert reasons(sql, **{column: ("-5", "100000")}) == []
        assert reasons(sql, **{column: ("-5", "9" * 36)}) != []


def test_bounds_are_looked_at_below_projections():
    sql = "SELECT sum(v * 2.00) AS s FROM (SELECT w AS v FROM t) z"
    assert reasons(sql, w=("0", "100")) == []
    assert reasons(sql) != []
