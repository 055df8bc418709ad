"""Writes tables of Iceberg and Delta by Spark with their own jars, and after each step holds what
is pinned of them against what Spark reads: a program, since a JVM has the jars from its start.

    python -m tests.spark.tables_by_spark FOLDER JARS

prints a JSON list of [table, step, what came of it]: ``same``, ``unchanged`` after a compaction, or
the code of the error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from forerun.include.days.sinks.day_rows import DayRows, DayVersion, ReportDay
from forerun.include.days.sinks.tables import publish_rows
from forerun.include.reports.sinks import IcebergTable
from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.state.records import Pin
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.engines.sail import start_sail
from tests.spark.lake import pinned, read

COLUMNS = {"k": "BIGINT", "v": "STRING", "dt": "DATE", "n": "STRUCT<x: BIGINT>"}
RENAMED = {"key": "BIGINT", "w": "STRING", "dt": "DATE", "n": "STRUCT<y: BIGINT>"}
ON_WRITE = [f"'write.{what}.mode' = " for what in ("delete", "update", "merge")]
COPIES, MARKS = (
    ", ".join(f"{mode}'{how}'" for mode in ON_WRITE) for how in ("copy-on-write", "merge-on-read")
)
ICEBERG = {
    "cow": f"'format-version' = '2', {COPIES}",
    "mor": f"'format-version' = '2', {MARKS}",
    "lineage": f"'format-version' = '3', {COPIES}",
    "vectors": f"'format-version' = '3', {MARKS}",
}
DELTA = {
    "plain": "'delta.enableDeletionVectors' = 'false'",
    "tracked": "'delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true'",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "mapped": "'delta.columnMapping.mode' = 'name'",
}

CHANGES = ("append_only", "changelog")
_MERGE = """
MERGE INTO {} t USING (SELECT 3L AS k, 'm' AS v, DATE'2026-03-01' AS dt,
named_struct('x', 1L) AS n) s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT *
"""


@dataclass
class Table:
    """A table: its name in Spark, what a source says of it, and how Spark compacts it."""

    session: Any
    sail: Any
    folder: Path
    form: str
    name: str
    catalog: str = ""
    columns: dict[str, str] = field(default_factory=COLUMNS.copy)

    @property
    def path(self) -> str:
        place = "lake/shop" if self.form == "iceberg" else "delta"
        return str(self.folder / place / self.name)

    @property
    def sql(self) -> str:
        return self.catalog or f"delta.`{self.path}`"

    def source(self, change: str) -> SourceSpec:
        return SourceSpec(
            name=self.name, path=self.path, columns=self.columns, format=self.form,
            catalog=self.catalog, complete_when=ClockTime(), change=change,
        )  # fmt: skip

    def pins(self) -> list[Pin]:
        folder = self.folder / f"pins-{self.form}-{'-'.join(self.columns)}"
        return [pinned(folder, self.source(change)) for change in CHANGES]

    def outcome(self) -> str:
        try:
            found = [
                read(self.sail, self.source(change), pin)
                for change, pin in zip(CHANGES, self.pins(), strict=True)
            ]
        except ForerunError as error:
            return error.code
        theirs = self.session.sql(f"SELECT {', '.join(self.columns)} FROM {self.sql}").collect()
        right = sorted(map(tuple, theirs), key=repr)
        return "same" if all(rows == right for rows in found) else "other rows"

    def steps(self, compacted: str) -> Iterator[tuple[str, str]]:
        for number in range(3):
            self.session.sql(
                f"INSERT INTO {self.sql} SELECT id + {number * 10}, concat('it''s ', id % 2), "
                "DATE'2026-03-01', IF(id = 3, NULL, named_struct('x', id)) FROM range(6)"
            )
        came = self.outcome()
        yield "append", came
        if came == "same":
            yield self._compacted("compaction", compacted)
        for what, text in (
            ("append after it", "INSERT INTO {} VALUES (99, 'z', DATE'2026-03-02', NULL)"),
            ("delete", "DELETE FROM {} WHERE k IN (1, 11)"),
            ("update", "UPDATE {} SET v = 'u' WHERE k = 2"),
            ("merge", _MERGE),
        ):
            self.session.sql(text.format(self.sql))
            yield what, self.outcome()
        if came == "same":
            yield self._compacted("compaction of what was changed", compacted)
            yield "after all", self.outcome()
            if self.form == "iceberg" or self.name == "mapped":
                yield from self._renamed()

    def _renamed(self) -> Iterator[tuple[str, str]]:
        """Give all columns other names, the partition column and one inside of a column, too."""
        for old, new in (("k", "key"), ("v", "w"), ("n.x", "y")):
            self.session.sql(f"ALTER TABLE {self.sql} RENAME COLUMN {old} TO {new}")
        self.columns = RENAMED
        yield "renamed", self.outcome()
        for text in (
            "INSERT INTO {} VALUES (50, 'n', DATE'2026-03-01', named_struct('y', 7L))",
            "DELETE FROM {} WHERE key = 4",
            "ALTER TABLE {} ADD COLUMN k BIGINT",
        ):
            self.session.sql(text.format(self.sql))
        self.columns = {**RENAMED, "k": "BIGINT"}
        yield "names that are given again", self.outcome()

    def _compacted(self, step: str, text: str) -> tuple[str, str]:
        before = [pin.files for pin in self.pins()]
        self.session.sql(text).collect()
        same = [pin.files for pin in self.pins()] == before
        return step, "unchanged" if same else "other files"


def _hidden(session: Any, sail: Any, folder: Path) -> Iterator[tuple[str, str]]:
    """Read the day, month or year of a table that Spark has partitioned by it."""
    parts = {"day": ("{ds}", 6), "month": ("{yyyy}-{mm}", 120), "year": ("{yyyy}", 1500)}
    for part, (value, step) in parts.items():
        name = f"by_{part}"
        session.sql(
            f"CREATE TABLE lake.shop.{name} (k BIGINT, at TIMESTAMP) USING iceberg "
            f"PARTITIONED BY ({part}s(at)) TBLPROPERTIES ('format-version' = '3', {MARKS})"
        )
        session.sql(
            f"INSERT INTO lake.shop.{name} SELECT id, TIMESTAMP'2026-02-28 12:00:00' + "
            f"INTERVAL '{step}' HOUR * id FROM range(-20, 20)"
        )
        session.sql(f"DELETE FROM lake.shop.{name} WHERE k % 3 = 0")
        table = Table(session, sail, folder, "iceberg", name, f"lake.shop.{name}")
        table.columns = {"k": "BIGINT", "at": "TIMESTAMP"}
        wanted = session.sql(
            f"SELECT k, at FROM {table.sql} WHERE trunc(at, '{part}') = trunc(DATE'2026-03-01', "
            f"'{part}')" if part != "day" else
            f"SELECT k, at FROM {table.sql} WHERE CAST(at AS DATE) = DATE'2026-03-01'"
        ).collect()  # fmt: skip
        of_part = replace(table.source("append_only"), path=f"{table.path}/at_{part}={value}")
        rows = read(sail, of_part, pinned(folder / f"pins-{name}", of_part))
        same = rows == sorted(map(tuple, wanted), key=repr) and rows
        yield f"hidden partition by {part}", "same" if same else "other rows"


def _by_column(table: Table) -> Iterator[tuple[str, str]]:
    """Read the days of a table that tells them by a column alone, in another time zone."""
    session, create = table.session, "(k BIGINT, at TIMESTAMP)"
    # The small engine does not read times of both formats together.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.sql(f"CREATE TABLE {table.sql} {create} USING {table.form}")
    for first, count in ((0, 5), (30, 5), (-20, 60)):  # the last one is of several days
        session.sql(
            f"INSERT INTO {table.sql} SELECT /*+ COALESCE(1) */ id, TIMESTAMP'2026-02-28 15:00:00' "
            f"+ INTERVAL '59' MINUTE * id FROM range({first}, {first + count})"
        )
    session.sql(f"INSERT INTO {table.sql} VALUES (-1, NULL)")
    table.columns = {"k": "BIGINT", "at": "TIMESTAMP"}
    of_days = replace(table.source("append_only"), day_by="at", timezone="Asia/Tokyo")
    found = pinned(table.folder / f"pins-{table.form}-days", of_days)
    wanted = session.sql(
        f"SELECT k, at FROM {table.sql} WHERE CAST(from_utc_timestamp(at, 'Asia/Tokyo') AS DATE) "
        "= DATE'2026-03-01'"
    ).collect()
    same = read(table.sail, of_days, found) == sorted(map(tuple, wanted), key=repr)
    as_it_is = [file for file in found.files if not file.origin]
    yield "days by a column", "same" if same and len(as_it_is) == 1 else "other rows"


def _early(session: Any) -> Iterator[tuple[str, str]]:
    """Let Spark read the branch of early results, and the table beside it."""
    sink = IcebergTable(name="lake.shop.daily", early_branch="early_{ds_nodash}")

    def publish(run: int, *, early: bool) -> None:
        of = ReportDay(report="daily", day=date(2026, 3, 1), store="file:///s", early=early)
        version = DayVersion(generation=1, run=run)
        rows = DayRows(of=of, version=version, attempt="a", incomplete=(), pins=())
        publish_rows(sink, rows, pa.table({"k": [run]}))

    def held(of: str = "") -> list[int]:
        return [row.k for row in session.sql(f"SELECT k FROM lake.shop.daily {of}").collect()]

    branch = "VERSION AS OF 'early_20260301'"
    publish(1, early=True)
    yield "early result", "same" if (held(), held(branch)) == ([], [1]) else "other rows"
    publish(2, early=True)
    yield "second one", "same" if (held(), held(branch)) == ([], [2]) else "other rows"
    publish(3, early=False)
    yield "whole day", "same" if held() == [3] else "other rows"
    refs = session.sql("SELECT name FROM lake.shop.daily.refs").collect()
    yield "branch after it", "same" if [row.name for row in refs] == ["main"] else "still there"


def main(folder: Path, jars: str) -> None:
    os.environ |= {
        "PYICEBERG_CATALOG__LAKE__TYPE": "sql",
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{folder}/catalog.db",
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE": f"file://{folder}/lake",
    }
    session, sail, found = _session(folder, jars), start_sail(), list[tuple[str, str, str]]()
    session.sql("CREATE NAMESPACE lake.shop")
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    of_table = f"({columns}) USING {{}} PARTITIONED BY (dt, v) TBLPROPERTIES ({{}})"
    for name, said in ICEBERG.items():
        table = Table(session, sail, folder, "iceberg", name, f"lake.shop.{name}")
        session.sql(f"CREATE TABLE {table.sql} {of_table.format('iceberg', said)}")
        rewrite = f"'shop.{name}', options => map('rewrite-all', 'true')"
        steps = table.steps(f"CALL lake.system.rewrite_data_files({rewrite})")
        found += [(f"iceberg {name}", *step) for step in steps]
    found += [("iceberg", *one) for one in (*_hidden(session, sail, folder), *_early(session))]
    for form, catalog in (("iceberg", "lake.shop.days"), ("delta", "")):
        days = Table(session, sail, folder, form, "days", catalog)
        found += [(form, *one) for one in _by_column(days)]
    for name, said in DELTA.items():
        table = Table(session, sail, folder, "delta", name)
        session.sql(f"CREATE TABLE {table.sql} {of_table.format('delta', said)}")
        found += [(f"delta {name}", *step) for step in table.steps(f"OPTIMIZE {table.sql}")]
    sys.stdout.write(json.dumps(found))
    sail.stop()
    session.stop()


def _session(folder: Path, jars: str) -> Any:
    from pyspark.sql import SparkSession

    extensions = (
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "io.delta.sql.DeltaSparkSessionExtension",
    )
    settings = {
        "spark.driver.extraClassPath": jars,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{folder}/catalog.db",
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.warehouse": f"file://{folder}/lake",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
