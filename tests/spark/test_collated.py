"""Columns with a collation: Spark compares them, by the report's own text; who does not read them
is planned as ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.runs.exact_engines import why_not_on_day
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.stores.opening import open_store
from forerun.spark_jobs.engine import Engine
from tests.spark.days import rows_of
from tests.spark.places import RETURNS, Place

COLUMNS = {"o": "BIGINT", "cat": "STRING COLLATE UTF8_LCASE", "price": "BIGINT"}
ROWS = ([(1, "a", 5), (2, "A", 7)], [(1, "b", 1), (2, "a", 2)])


class CollatedPlace(Place):
    """Sales as Spark writes them that have categories whose case does not count."""

    def write(self, number: int, table: str, columns: Any, rows: Any) -> None:
        if table != "sales":
            super().write(number, table, columns, rows)
            return
        plain = {"type": "long", "nullable": True, "metadata": {}}
        collated = {"type": "string", "metadata": {"__COLLATIONS": {"cat": "spark.UTF8_LCASE"}}}
        kinds = {"o": plain, "cat": {**plain, **collated}, "price": plain}
        said = {"type": "struct", "fields": [{"name": n, **kind} for n, kind in kinds.items()]}
        values = [list(column) for column in zip(*rows, strict=True)]
        found = pa.table(dict(zip(kinds, values, strict=True))).replace_schema_metadata(
            {"org.apache.spark.sql.parquet.row.metadata": json.dumps(said)}
        )
        folder = Path(self.delivery(table))
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(found, folder / f"{number}.parquet")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "expected", "is_text"),
    [
        ("SELECT o, sum(price) AS s FROM sales GROUP BY o", {(1, 6), (2, 9)}, False),
        ("SELECT lower(cat), count(*) AS n FROM sales GROUP BY cat", {("a", 3), ("b", 1)}, True),
        ("SELECT o FROM sales WHERE cat = 'a' AND cat || 'X' IN ('ax', 'y')", {(1,), (2,)}, True),
        ("SELECT count(DISTINCT cat) AS d, max(o) AS m FROM sales", {(2, 2)}, True),
        ("SELECT price FROM sales s JOIN returns r ON s.o = r.o AND cat > 'A'", {(1,)}, True),
    ],
)  # fmt: skip
def test_spark_compares_what_has_a_collation(
    sql: str, expected: set[Any], is_text: bool, tmp_path: Path, spark: Engine
) -> None:
    place = CollatedPlace(tmp_path, spark)
    place.changes["r.sales"] = {"columns": COLUMNS}
    at = place.open("r", sql)
    for run, rows in enumerate(ROWS, 1):
        place.deliver(run, rows, [(run, 1)])
        prepared = place.plan(at, sql, run)
        because = StoredPlan.read(prepared.plan_uri).plan.batch_because
        assert ("a collation is a part of a type" in because) == is_text
        commit = None if prepared.skip_reason else place.do(prepared)
    assert commit is not None
    assert set(rows_of(open_store(place.uri), commit.result)) == expected


def test_a_small_engine_without_collations_is_not_asked(tmp_path: Path) -> None:
    place = CollatedPlace(tmp_path, Any)
    for columns, said in ((COLUMNS, ["the column cat of sales has a collation"]), (RETURNS, [])):
        place.changes["r.sales"] = {"columns": columns}
        sql = "SELECT o FROM sales"
        day = Day(open_store(place.uri), place.spec("r", sql), place.open("r", sql))
        assert why_not_on_day(day, {}) == said
