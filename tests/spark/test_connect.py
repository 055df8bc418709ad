"""What is peculiar to the small engine, behind the seam."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.planner.contract import ColumnSpec, Family
from forerun.spark_jobs.engines.sail import SailEngine


def test_sums_beside_a_count_of_distinct_values_are_kept_in_their_type(
    sail: SailEngine, tmp_path: Path
) -> None:
    """TPC-DS Q16, Q94 and Q95. Sail says DECIMAL(17,2), and wrote DECIMAL(27,2)."""
    rows = "VALUES (1, CAST(1.5 AS DECIMAL(7,2))), (1, CAST(2.25 AS DECIMAL(7,2))), (2, NULL)"
    frame = sail.session.sql(
        f"SELECT count(DISTINCT k) AS n, sum(d) AS total, 1L AS __w FROM {rows} AS t(k, d)"
    )
    family = Family(
        id="f_1",
        kind="shuffle",
        fingerprint="1",
        title="totals",
        columns=(
            ColumnSpec(name="n", type="BIGINT"),
            ColumnSpec(name="total", type="DECIMAL(17,2)"),
            ColumnSpec(name="__w", type="BIGINT"),
        ),
    )
    sail.write_artifact(frame, family, (tmp_path / "part").as_uri())
    table = pq.read_table(tmp_path / "part")
    assert table.schema.field("total").type == pa.decimal128(17, 2)
    assert [(row["n"], str(row["total"])) for row in table.to_pylist()] == [(2, "3.75")]


def test_states_have_the_types_of_spark_where_sail_gives_others(sail: SailEngine) -> None:
    """Of numbers of days, and of what is cut to a unit of time. Nothing else is cast."""
    sail.session.conf.set("spark.sql.session.timeZone", "UTC")  # a day of another test left its own
    frame = sail.session.sql(
        "SELECT datediff(DATE '2024-02-01', DATE '2024-01-01') AS days, "
        "date_trunc('MONTH', DATE '2024-02-03') AS month, 'x' AS wrong"
    )
    declared = (
        ColumnSpec(name="days", type="INT"),
        ColumnSpec(name="month", type="TIMESTAMP"),
        ColumnSpec(name="wrong", type="BIGINT"),
    )
    assert [f.dataType.simpleString() for f in frame.schema.fields] == [
        "bigint", "timestamp_ntz", "string",
    ]  # fmt: skip
    found = sail.conform(frame, declared)
    assert [f.dataType.simpleString() for f in found.schema.fields] == [
        "int", "timestamp", "string",
    ]  # fmt: skip
    (row,) = found.collect()
    assert (row["days"], row["month"].strftime("%Y-%m-%d %H:%M")) == (31, "2024-02-01 00:00")


def test_long_chains_do_not_end_the_server(sail: SailEngine) -> None:
    """Sail calls itself for each part. With its own stacks the process is gone at 500 ANDs or 400
    branches, without a word."""
    sail.session.sql("SELECT 1 AS a").createOrReplaceTempView("one")
    tests = " AND ".join(f"a <> {i + 2}" for i in range(1000))
    assert sail.session.sql(f"SELECT a FROM one WHERE {tests}").count() == 1
    branches = " UNION ALL ".join(f"SELECT a + {i} AS a FROM one" for i in range(500))
    assert sail.session.sql(branches).count() == 500
