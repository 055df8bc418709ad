"""The demo's data: four tables of a day, and how they arrive.

``<data>/staged/<date>/run-<i>/<table>/*.parquet`` is what comes in before time point i. Delivering
it copies it to ``<data>/arrived/<date>/<table>/``; the last delivery marks the day as complete.
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from importlib import resources

from forerun import include
from forerun.include.machine.jvm import home_folder
from forerun.include.reports.spec import MarkerFile, RunPolicy, RunTime, SourceSpec, SpecError
from forerun.include.stores.opening import open_store
from forerun.planner.contract.plan_v1 import ColumnSpec

DAY = date(2026, 1, 1)
"""The day that the demo generates data of."""
PAST_DAYS = tuple(DAY - timedelta(days=back) for back in (3, 2, 1))
"""The days before it that have gone by when Airflow's UI is up, each with fewer rows."""
DATA_VARIABLE = "FORERUN_DATA"
MARKER = "_SUCCESS"

POLICY = RunPolicy(
    runs=(
        RunTime(at="14:00", weight=0.25),
        RunTime(at="19:00", weight=0.3),
        RunTime(at="24:00", weight=1.0),
    )
)

# Table: its key, then its columns.
_TABLES = {
    "customer": """c_custkey
        c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey BIGINT, c_phone STRING,
        c_acctbal DECIMAL(15;2), c_mktsegment STRING, c_comment STRING""",
    "orders": """o_orderkey
        o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15;2),
        o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT,
        o_comment STRING""",
    "lineitem": """l_orderkey l_linenumber
        l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT,
        l_quantity DECIMAL(15;2), l_extendedprice DECIMAL(15;2), l_discount DECIMAL(15;2),
        l_tax DECIMAL(15;2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE,
        l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING,
        l_comment STRING""",
    "returns": """r_orderkey r_linenumber
        r_orderkey BIGINT, r_linenumber INT, r_cost DECIMAL(15;2)""",
}


def data_uri() -> str:
    """Return where the demo's data lies: ``FORERUN_DATA``, else ``demo/data`` in Forerun's home."""
    return os.environ.get(DATA_VARIABLE) or (home_folder() / "demo" / "data").as_uri()


def demo_sql(name: str) -> str:
    """Return the path of the file that has the SQL of a report of the demo."""
    return str(resources.files(include) / "sql" / f"{name}.sql")


def demo_sources(*tables: str) -> tuple[SourceSpec, ...]:
    """Tables of the demo as the sources of a report."""
    return tuple(map(_source, tables))


def _source(table: str) -> SourceSpec:
    key, _, columns = _TABLES[table].partition("\n")
    pairs = (column.split() for column in columns.split(","))
    return SourceSpec(
        name=table,
        path=f"{data_uri()}/arrived/{{ds}}/{table}",
        columns=tuple(ColumnSpec(name=name, type=kind.replace(";", ",")) for name, kind in pairs),
        key=tuple(key.split()),
        complete_when=MarkerFile(name=MARKER),
    )


def deliver(sources: tuple[str, ...], day: date, run: int, *, last: bool) -> int:
    """Let what is staged for time point ``run`` arrive; return the number of files that are new.

    Delivering again changes nothing; the first delivery starts the day anew, without what an
    earlier demo has left. Raises :class:`forerun.include.reports.spec.SpecError` when nothing is
    staged for the day.
    """
    store = open_store(data_uri())
    staged = f"staged/{day.isoformat()}"
    if not store.list(staged):
        raise SpecError(
            f"no demo data is staged for {day} in {data_uri()}",
            hint="Run `forerun demo`, or choose the day that it generated.",
        )
    arrived, count = f"arrived/{day.isoformat()}", 0
    for table in sources:
        there = {file.key for file in store.list(f"{arrived}/{table}")}
        if run == 1:
            for key in sorted(there):
                if not key.startswith(f"{arrived}/{table}/run-1-"):
                    store.delete(key)
        for file in store.list(f"{staged}/run-{run}/{table}"):
            target = f"{arrived}/{table}/run-{run}-{file.key.rpartition('/')[2]}"
            if target not in there:
                store.copy(file.key, target)
                count += 1
        if last:
            store.put_if_absent(f"{arrived}/{table}/{MARKER}", b"")
    return count
