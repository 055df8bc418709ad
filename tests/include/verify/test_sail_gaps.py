"""Each gap is found in its query and in no other, and Sail really differs there from Spark.

A test of the second kind that turns red says that Sail has mended it: take the gap out of
``include/verify/sail_gaps.py`` and docs/reference/equality.md. The answers of Spark were
taken from 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forerun.include.verify.sail_gaps import SAIL_GAPS, gaps_of
from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from tests.meta.sources import ROOT
from tests.properties.sessions import sail_session

COLUMNS = (
    ("k", "INT"), ("n", "TINYINT"), ("m", "DECIMAL(9,2)"), ("f", "FLOAT"), ("x", "DOUBLE"),
    ("d", "DATE"),
)  # fmt: skip
SOURCE = Source(
    name="t", columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS)
)
DAYS = "VALUES (DATE'2024-01-01', 1), (DATE'2024-01-04', 4), (DATE'2024-01-05', 8) v(d, n)"
NULLS = "VALUES (1, CAST(NULL AS INT)), (2, 5)"


@dataclass(frozen=True)
class Example:
    """``query`` over :data:`SOURCE` has the gap. ``shows`` is run on Sail; ``spark`` is what Spark
    gives for it: the rows, or the types of the columns."""

    query: str
    shows: str
    spark: Any
    types: bool = False


EXAMPLES = {
    "range-of-dates": Example(
        "SELECT sum(k) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) "
        "AS s FROM t",
        "SELECT sum(n) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) "
        f"AS s FROM {DAYS} ORDER BY d",
        [(1,), (4,), (12,)],
    ),
    "percentile-frequencies": Example(
        "SELECT percentile(k, 0.5, n) AS p FROM t",
        "SELECT percentile(k, 0.5, n) AS p FROM VALUES (1, 2), (5, 1) v(k, n)",
        [(1.0,)],
    ),
    "not-in-as-value": Example(
        "SELECT k FROM t a WHERE k > 2 OR n NOT IN (SELECT z.n FROM t z WHERE z.k = a.k)",
        "SELECT a.k FROM VALUES (1, 1), (2, 2), (3, 3) a(k, n) WHERE a.n > 2 OR a.n NOT IN "
        f"(SELECT z.n FROM {NULLS} z(k, n) WHERE z.k = a.k) ORDER BY a.k",
        [(2,), (3,)],
    ),
    "not-in-by-more": Example(
        "SELECT k FROM t a WHERE n NOT IN (SELECT z.n FROM t z WHERE z.k < a.k)",
        "SELECT a.k FROM VALUES (1, CAST(NULL AS INT)), (2, 2) a(k, n) WHERE a.n NOT IN "
        f"(SELECT z.n FROM {NULLS} z(k, n) WHERE z.k < a.k - 5) ORDER BY a.k",
        [(1,), (2,)],
    ),
    "exists-one-row": Example(
        "SELECT k FROM t a WHERE EXISTS (SELECT max(z.n) FROM t z WHERE z.k = a.k)",
        "SELECT a.k FROM VALUES (1), (7) a(k) WHERE EXISTS "
        f"(SELECT max(z.n) FROM {NULLS} z(k, n) WHERE z.k = a.k) ORDER BY a.k",
        [(1,), (7,)],
    ),
    "extreme-of-doubles": Example(
        "SELECT k, min(x) AS lo FROM t GROUP BY k",
        "SELECT k, min(x) AS lo FROM VALUES (1, double('Infinity')), (1, double('Infinity')) "
        "v(k, x) GROUP BY k",
        [(1, math.inf)],
    ),
    "partitions-of-doubles": Example(
        "SELECT k, count(*) OVER (PARTITION BY x) AS n FROM t",
        "SELECT k, count(*) OVER (PARTITION BY x) AS n FROM VALUES (1, 0.0D), (2, -0.0D) v(k, x) "
        "ORDER BY k",
        [(1, 2), (2, 2)],
    ),
    "float-in-arithmetic": Example(
        "SELECT m + f AS a FROM t",
        "SELECT CAST(1.1 AS DECIMAL(5,2)) + CAST(1 AS FLOAT) AS a, "
        "CAST(1 AS INT) * CAST(1 AS FLOAT) AS b",
        ["double", "double"],
        types=True,
    ),
    "mixed-branches": Example(
        "SELECT n FROM t UNION ALL SELECT m FROM t UNION ALL SELECT x FROM t",
        "SELECT CAST(1 AS TINYINT) AS x UNION ALL SELECT CAST(2.5 AS DECIMAL(9,2)) "
        "UNION ALL SELECT 3D",
        ["double"],
        types=True,
    ),
    "mixed-values": Example(
        "SELECT coalesce(m, f) AS c FROM t",
        "SELECT coalesce(CAST(1 AS DECIMAL(9,2)), CAST(2.5 AS FLOAT)) AS a, "
        "CASE WHEN true THEN CAST(1 AS TINYINT) ELSE CAST(1 AS DECIMAL(9,2)) END AS b",
        ["double", "decimal(9,2)"],
        types=True,
    ),
    "intersect-all": Example(
        "SELECT k FROM t INTERSECT ALL SELECT k FROM t",
        "SELECT * FROM VALUES (1), (1), (2) INTERSECT ALL SELECT * FROM VALUES (1), (2), (2)",
        [(1,), (2,)],
    ),
    "set-of-nothing": Example(
        "SELECT k, count(*) AS n FROM t GROUP BY ROLLUP(k)",
        "SELECT k, count(*) AS n FROM (SELECT 1 AS k WHERE false) GROUP BY GROUPING SETS ((k), ())",
        [],
    ),
    "long-quotient": Example(
        "SELECT k, m / CAST(k AS DECIMAL(9,2)) AS q FROM t",
        "SELECT CAST(10 AS DECIMAL(9,2)) / CAST(3 AS DECIMAL(9,2)) AS q",
        [(Decimal("3.333333333333"),)],
    ),
}
COVERED = (
    "SELECT k, sum(x) AS s, min(k) AS lo, max(m) AS hi FROM t GROUP BY k",
    "SELECT k FROM t WHERE n NOT IN (SELECT n FROM t) AND (k > 2 OR n IN (SELECT n FROM t))",
    "SELECT k, m FROM t UNION ALL SELECT k, m FROM t",
    "SELECT CAST(k AS DOUBLE) * x AS a, coalesce(n, k) AS b, m * 2 AS c FROM t",
    "SELECT k FROM t INTERSECT SELECT k FROM t",
    "SELECT sum(k) OVER (ORDER BY d) AS s FROM t",
    "SELECT k, m / 3 AS q FROM t",
    "SELECT k FROM t a WHERE EXISTS (SELECT max(z.n) FROM t z WHERE z.k = a.k GROUP BY z.k)",
    "SELECT k FROM t a WHERE NOT EXISTS (SELECT 1 FROM t z WHERE z.k = a.k AND isnull(z.n))",
    "SELECT sum(k) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS r FROM t",
)


def found(sql: str) -> list[str]:
    return [gap.code for gap in gaps_of(read_query(sql, [SOURCE]).relation, SAIL_GAPS, sql)]


def test_each_gap_has_an_example_and_is_documented():
    assert sorted(EXAMPLES) == sorted(gap.code for gap in SAIL_GAPS)
    page = Path(ROOT / "docs" / "reference" / "equality.md").read_text(encoding="utf-8")
    assert [code for code in EXAMPLES if f"`{code}`" not in page] == []


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_gap_is_found_in_its_query_alone(code: str):
    assert found(EXAMPLES[code].query) == [code]


@pytest.mark.parametrize("sql", COVERED)
def test_what_sail_does_as_spark_is_no_gap(sql: str):
    assert found(sql) == []


@pytest.mark.parametrize("code", EXAMPLES)
def test_sail_still_differs_from_spark(code: str):
    one = EXAMPLES[code]
    frame = sail_session().sql(one.shows)
    given: Any = [tuple(row) for row in frame.collect()]
    if one.types:
        given = [field.dataType.simpleString() for field in frame.schema.fields]
    assert given != one.spark, "Sail gives what Spark gives: the gap is closed, take it out"


@pytest.mark.spark
@pytest.mark.parametrize("code", EXAMPLES)
def test_spark_gives_what_is_said_of_it(code: str):
    from tests.properties.sessions import spark_session

    one = EXAMPLES[code]
    frame = spark_session().sql(one.shows)
    given: Any = [tuple(row) for row in frame.collect()]
    if one.types:
        given = [field.dataType.simpleString() for field in frame.schema.fields]
    assert given == one.spark
