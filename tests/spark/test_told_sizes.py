"""What Spark takes relations for before it computes anything is what the planner says it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forerun.planner import api
from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.types import parse_type
from forerun.planner.cost.told_sizes import Files, row_bytes, told_bytes
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint

pytestmark = pytest.mark.spark

TABLES = {
    "big": "k BIGINT, n INT, d DECIMAL(12,2), w DECIMAL(20,2), s STRING, t DATE, unread STRING",
    "few": "k BIGINT, name STRING, f DOUBLE, b BOOLEAN",
}
TEXTS = {
    "a table": "SELECT k, n, d, w, s, t, unread FROM big",
    "some of its columns": "SELECT k, s, w FROM big",
    "a filter": "SELECT k, d FROM big WHERE n > 3 AND s LIKE 'a%'",
    "a grouping": "SELECT n, sum(d) AS x, count(*) AS c FROM big GROUP BY n",
    "all rows as one": "SELECT sum(n) AS x, max(s) AS m FROM big",
    "DISTINCT": "SELECT DISTINCT n, t FROM big",
    "a join": "SELECT big.k, big.s, few.name FROM big JOIN few ON big.k = few.k",
    "a left join": "SELECT big.k, few.f FROM big LEFT JOIN few ON big.k = few.k",
    "EXISTS": "SELECT k, t FROM big WHERE EXISTS (SELECT 1 FROM few WHERE few.k = big.k)",
    "NOT EXISTS": "SELECT k, t FROM big WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.k = big.k)",
    "a union": "SELECT k, n FROM big UNION ALL SELECT k, 1 FROM few",
    "rows of an array": "SELECT k, x FROM big LATERAL VIEW explode(array(n, 1)) e AS x",
    "the first rows": "SELECT k, n FROM big ORDER BY n, k LIMIT 7",
}


@pytest.fixture(scope="module")
def sources(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Source, ...]:
    folder = tmp_path_factory.mktemp("told")
    found = []
    for name, columns in TABLES.items():
        values = ", ".join(
            f"CAST(id AS {type_}) AS {column}"
            if type_ not in ("DATE", "BOOLEAN")
            else f"CAST(NULL AS {type_}) AS {column}"
            for column, type_ in (one.split(" ") for one in columns.split(", "))
        )
        rows = spark.session.range(0, 2000 if name == "big" else 40, numPartitions=1)
        rows.selectExpr(*_items(values)).write.parquet(str(folder / name))
        spark.session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        found.append(_source(name, columns, folder / name))
    return tuple(found)


def _items(values: str) -> list[str]:
    return values.replace(", CAST", "\nCAST").split("\n")


def _source(name: str, columns: str, folder: Path) -> Source:
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=column, type=parse_type(type_))
            for column, type_ in (one.split(" ") for one in columns.split(", "))
        ),
        rows=2000 if name == "big" else 40,
        bytes=sum(path.stat().st_size for path in folder.glob("*.parquet")),
    )


def _told(node: Relation, files: dict[str, Files]) -> float:
    return told_bytes(node, tuple(_told(one, files) for one in node.inputs), files)


@pytest.mark.parametrize("what", TEXTS)
def test_it_is_what_spark_says(what: str, spark: Any, sources: tuple[Source, ...]) -> None:
    asked = PlanRequest(
        report="r", sql=TEXTS[what], sources=sources, points=(TimePoint(weight=1.0),),
        method="batch",
    )  # fmt: skip
    files = {s.name: Files(s.bytes, row_bytes(c.type for c in s.columns)) for s in sources}
    plan = spark.session.sql(TEXTS[what])._jdf.queryExecution().optimizedPlan()
    told = int(str(plan.stats().sizeInBytes()))
    assert _told(api.plan(asked).reading.relation, files) == pytest.approx(told, rel=0.03)
