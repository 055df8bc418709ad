"""Quotients and means of DECIMALs are written so that the small engine gives Spark's values."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.cost.flaws import Flaw
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from tests.properties.sessions import sail_session

SQL = "SELECT k, avg(a) AS mean, sum(a) / sum(b) AS share, max(a / b) AS most FROM t GROUP BY k"
COLUMNS = (("k", "INT"), ("a", "DECIMAL(12,4)"), ("b", "DECIMAL(7,2)"))


def stage_sql(*, exact: bool, sql: str = SQL) -> str:
    source = Source(
        name="t",
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS),
        changing=True,
    )
    flaws: frozenset[Flaw] = frozenset({"quotients"} if exact else ())
    settings = Settings(prices=replace(SPARK, flaws=flaws), own_batch="always")
    request = PlanRequest(
        report="r", sql=sql, sources=(source,), points=(TimePoint(weight=1.0),), settings=settings
    )
    (stage,) = plan(request).plan.run.stages
    return stage.sql


def values(rng: random.Random) -> list[tuple[int, Decimal, Decimal]]:
    return [
        (
            rng.randrange(200),
            Decimal(rng.randint(-(10**11), 10**11)).scaleb(-4),
            Decimal(rng.randint(1, 10**6)).scaleb(-2),
        )
        for _ in range(2000)
    ]


def rounded(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def test_they_are_rounded_once_and_half_up(tmp_path: Path):
    rows = values(random.Random(1))
    columns = (
        pa.array([row[0] for row in rows], pa.int32()),
        pa.array([row[1] for row in rows], pa.decimal128(12, 4)),
        pa.array([row[2] for row in rows], pa.decimal128(7, 2)),
    )
    pq.write_table(
        pa.Table.from_arrays(list(columns), names=["k", "a", "b"]), tmp_path / "t.parquet"
    )
    session = sail_session()
    session.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    found, cut_off = (
        {row["k"]: row for row in session.sql(stage_sql(exact=exact)).toArrow().to_pylist()}
        for exact in (True, False)
    )
    with localcontext() as context:
        context.prec = 100
        for k in {row[0] for row in rows}:
            mine = [row for row in rows if row[0] == k]
            a, b = sum(row[1] for row in mine), sum(row[2] for row in mine)
            # Scales by Spark's rules: of a mean of DECIMAL(12,4); of DECIMAL(22,4) / DECIMAL(17,2),
            # whose 4 + 17 + 1 digits are cut to fit into 38; of DECIMAL(12,4) / DECIMAL(7,2).
            expected = {
                "k": k,
                "mean": rounded(a / len(mine), 8),
                "share": rounded(a / b, 18),
                "most": max(rounded(row[1] / row[2], 12) for row in mine),
            }
            assert found[k] == expected
    assert cut_off != found


ZERO = "(1, CAST(6 AS DECIMAL(12,4)), CAST(2 AS DECIMAL(7,2))), (2, 6, 0), (3, 6, NULL)"


@pytest.mark.parametrize(
    ("sql", "fails"),
    [
        ("SELECT k, a / b AS q FROM t", True),
        ("SELECT sum(a / b) AS q FROM t", True),
        ("SELECT k, sum(a) / sum(b) AS q FROM t GROUP BY k", True),
        ("SELECT k, a / b AS q FROM t WHERE k <> 2", False),
        ("SELECT k, CASE WHEN k <> 2 THEN a / b END AS q FROM t", False),
        ("SELECT k, a / b AS q FROM t WHERE k > 5", False),
        ("SELECT sum(a) / sum(b) AS q FROM t WHERE k = 3", False),
    ],
)
def test_a_divisor_of_zero_fails_in_the_rows_that_are_there(sql: str, fails: bool):
    session = sail_session()
    rows = f"SELECT * FROM (VALUES {ZERO}) AS t(k, a, b)"
    session.sql(rows).createOrReplaceTempView("t")
    written = session.sql(stage_sql(exact=True, sql=sql))
    if fails:
        with pytest.raises(Exception, match="division by zero"):
            written.collect()
    else:
        assert {row["q"] for row in written.collect()} <= {Decimal(3), None}
