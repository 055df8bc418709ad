"""Days that Spark has made and the small engine repairs: what is published is what Spark's plain
query gives, and each construct that :mod:`forerun.include.verify.sail_exact` lists is the same on
both."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.include.runs.exact_engines import settings_on
from forerun.include.verify.sail_exact import why_not_exact
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.spark_jobs.engines.sail import SailEngine
from tests.properties.cases import Case
from tests.properties.execute import RefusedError
from tests.properties.generate import random_case
from tests.spark.repaired_days import RepairedDay

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

WANTED = 6
"""Generated days of which the query is exact on the small engine."""
COLUMNS = (
    ("k", "INT"), ("n", "BIGINT"), ("m", "DECIMAL(9,2)"), ("p", "DECIMAL(12,4)"), ("s", "STRING"),
    ("d", "DATE"),
)  # fmt: skip
ROWS = (
    (1, 10, "1.10", "2.5000", "PROMO a", "2024-02-29"),
    (1, 20, "-1.15", "0.3333", "a%b", "2023-12-31"),
    (2, None, "0.05", "-7.0001", "Ä_b", "2024-01-30"),
    (2, 7, None, "3.0000", None, None),
    (None, 5, "9999999.99", "0.0007", "", "1969-12-31"),
    (3, 5, "0.01", "12345678.0003", "promo", "2024-03-31"),
)
QUERIES = (
    "SELECT k, sum(m) AS total, avg(p) AS mean, min(s) AS lo, max(d) AS hi FROM t GROUP BY k",
    "SELECT k, count(m) AS c, count(*) AS n FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT k, sum(m) / sum(p) AS share, avg(m) AS mean, sum(m * (1 - p)) AS net FROM t GROUP BY k",
    "SELECT n, m / p AS q, m * p AS product, m + p AS plus, m - p AS minus, -m AS neg FROM t",
    "SELECT 100.00 * sum(CASE WHEN s LIKE 'PROMO%' THEN m ELSE 0 END) / sum(p) AS q FROM t",
    "SELECT s FROM t WHERE s LIKE '%_b' OR s IN ('promo', '') OR s > 'Z' OR s IS NULL",
    "SELECT k, substring(s, 2, 3) AS part, year(d) AS y FROM t WHERE NOT (k = 2 AND n IS NULL)",
    "SELECT d + INTERVAL 1 MONTH AS m, d - INTERVAL 1 YEAR AS y, d + INTERVAL 3 DAY AS e FROM t",
    "SELECT coalesce(m, 0.00) AS c, CAST(k AS DECIMAL(12,2)) AS w FROM t WHERE k <=> NULL OR k > 0",
    "SELECT a.k, b.m FROM t a LEFT JOIN t b ON a.k = b.n",
    "SELECT k FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.n = a.n AND b.m < a.m)",
    "SELECT k FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.k = a.k AND b.m > a.m)",
    "SELECT k, s FROM t UNION ALL SELECT k, s FROM t WHERE d < DATE'2024-01-01'",
    "SELECT k, m FROM t ORDER BY m DESC NULLS LAST, k LIMIT 3",
    "SELECT DISTINCT k FROM t",
)


@pytest.mark.parametrize("sql", QUERIES)
def test_what_is_listed_gives_the_same_on_both(spark, sail: SailEngine, sql: str):
    source = Source(
        name="t",
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS),
        changing=True,
        rows=len(ROWS),
    )
    assert list(why_not_exact(read_query(sql, [source]).relation, [source])) == []
    request = PlanRequest(
        report="r",
        sql=sql,
        sources=(source,),
        points=(TimePoint(weight=1.0),),
        settings=settings_on(ENGINES["sail"]),
    )
    (stage,) = plan(request).plan.run.stages
    for engine in (spark, sail):
        engine.session.sql(
            f"SELECT * FROM VALUES {_values()} v({_names()})"
        ).createOrReplaceTempView("t")
    expected = spark.session.sql(sql).toArrow().to_pylist()
    with sail.working_on("compare"):
        found = sail.session.sql(stage.sql).toArrow().to_pylist()
    assert Counter(map(_row, found)) == Counter(map(_row, expected))


def _row(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row.values())


def _names() -> str:
    return ", ".join(name for name, _ in COLUMNS)


def _values() -> str:
    typed = [
        ", ".join(
            f"CAST({'NULL' if value is None else repr(str(value))} AS {kind})"
            for value, (_, kind) in zip(row, COLUMNS, strict=True)
        )
        for row in ROWS
    ]
    return ", ".join(f"({row})" for row in typed)


@pytest.mark.slow
def test_generated_days_of_spark_are_repaired_by_sail(sessions, sail: SailEngine, tmp_path: Path):
    found: Counter[str] = Counter()
    done = 0
    for seed in range(74_000, 74_400):
        case = random_case(seed, for_sail=True)
        if not is_exact(case):
            continue
        day = RepairedDay(
            case, tmp_path / case.name, *sessions, seed=2 * seed + 1, repaired_by=sail
        )
        try:
            found += day.check()
        except RefusedError:
            continue
        done += 1
        if done == WANTED:
            break
    assert done == WANTED
    assert found["delta"] >= WANTED // 2
    assert found["changed by delta"] + found["vanished by delta"] >= 1


def is_exact(case: Case) -> bool:
    sources = [
        Source(
            name=name,
            columns=tuple(SourceColumn(name=c, type=parse_type(t)) for c, t in table.columns),
            rows=1000,
        )
        for name, table in case.tables.items()
    ]
    return not list(why_not_exact(read_query(case.query.sql, sources).relation, sources))
