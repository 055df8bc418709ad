"""Spark itself: bucketed tables in an in-memory catalog, and figures from the event log.

A family is one external table, ``PARTITIONED BY (__run) CLUSTERED BY (key) INTO n BUCKETS``, with
one partition per committed run at a location of its own. Reads, joins and aggregates on its key
then need no shuffle of what is saved. Nothing is ever kept in a metastore.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from include.eventlog import STAGE_PROPERTY, ApplicationUse, EventLogError, EventLogReader
from planner.contract import ColumnSpec, Family
from planner.contract.plan_v1 import RUN_COLUMN
from spark_jobs.engine import Frame, Partition, Session, ddl, no_rows, quoted, schema_of
from spark_jobs.status import used_by_group

_GROUP = "spark.jobGroup.id"
_SHUFFLES = "spark.sql.shuffle.partitions"
# What bucketed families rest on, against whatever the cluster's defaults say.
_SESSION = (
    ("spark.sql.catalogImplementation", "in-memory"),
    ("spark.sql.sources.bucketing.enabled", "true"),
    # Families with other bucket counts still join without a shuffle: buckets are read together.
    ("spark.sql.bucketing.coalesceBucketsInJoin.enabled", "true"),
    # A join on (key, more) may rely on rows that are distributed by key alone.
    ("spark.sql.requireAllClusterKeysForCoPartition", "false"),
    # A task that writes a family has one bucket, so its rows need not be sorted by bucket first.
    ("spark.sql.maxConcurrentOutputFileWriters", "1"),
    # A file that is gone or broken is an error, never fewer rows.
    ("spark.sql.files.ignoreMissingFiles", "false"),
    ("spark.sql.files.ignoreCorruptFiles", "false"),
    ("spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs", "false"),
    # Spark's default is INT96: without statistics, and without a word on the time zone.
    ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"),
    ("spark.eventLog.enabled", "true"),
    ("spark.eventLog.compress", "false"),
    ("spark.eventLog.rolling.enabled", "false"),
    ("spark.ui.enabled", "false"),
    ("spark.ui.showConsoleProgress", "false"),
)


class ClassicEngine:
    """Implements :class:`spark_jobs.engine.Engine` on a Spark session with a JVM."""

    name = "spark"
    has_buckets = True

    def __init__(self, session: Session, scratch: Path) -> None:
        self.session = session
        self._scratch = scratch
        self._written = 0
        context = session.sparkContext
        events = urlsplit(context.getConf().get("spark.eventLog.dir"))
        name = f"{context.applicationId}.inprogress"
        on_this_disk = events.scheme in ("", "file")
        self._log = EventLogReader(Path(events.path) / name) if on_this_disk else None

    def configure(self, pairs: Iterable[tuple[str, str]]) -> None:
        for key, value in pairs:
            self.session.conf.set(key, value)

    def read(self, files: Sequence[str], columns: Sequence[ColumnSpec]) -> Frame:
        if not files:
            return no_rows(self.session, columns)
        # Without this option Spark takes [, { and * in a file's name for a pattern.
        reader = self.session.read.option("__globPaths__", "false")
        return reader.schema(schema_of(self.session, columns)).parquet(*files)

    def bind_view(self, name: str, frame: Frame) -> None:
        frame.createOrReplaceTempView(quoted(name))

    def open_family(self, family: Family, folder: str) -> None:
        columns = f"{ddl(family.columns)}, {quoted(RUN_COLUMN)} INT"
        buckets = ""
        if family.buckets:
            key = ", ".join(map(quoted, family.key))
            buckets = f" CLUSTERED BY ({key}) INTO {family.buckets} BUCKETS"
        self.session.sql(f"DROP TABLE IF EXISTS {quoted(family.id)}")
        self.session.sql(
            f"CREATE TABLE {quoted(family.id)} ({columns}) USING parquet "
            f"PARTITIONED BY ({quoted(RUN_COLUMN)}){buckets} LOCATION {_text(folder)}"
        )

    def add_partition(self, family: Family, partition: Partition) -> None:
        if partition.files:  # no rows, no folder: nothing to point at
            self.session.sql(
                f"ALTER TABLE {quoted(family.id)} ADD PARTITION "
                f"({quoted(RUN_COLUMN)}={partition.run}) LOCATION {_text(partition.folder)}"
            )

    @contextmanager
    def plan_for(self, family: Family | None) -> Iterator[None]:
        if family is None or not family.buckets:
            yield
            return
        # With as many shuffle partitions as buckets, an aggregate on the family's key comes out
        # distributed as it is saved, and Spark drops the shuffle in front of the write.
        before = self.session.conf.get(_SHUFFLES)
        self.session.conf.set(_SHUFFLES, str(family.buckets))
        try:
            yield
        finally:
            self.session.conf.set(_SHUFFLES, before)

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> None:
        encoding = _encoding(family.columns)
        if not family.buckets:
            frame.write.mode("overwrite").options(**encoding).parquet(folder)
            return
        # Only saveAsTable writes buckets. The table's name is dropped, its files stay.
        # Not sorted within a bucket: with a file per run Spark could not use the order.
        self._written += 1
        table = quoted(f"forerun_write_{self._written}")
        rows = frame.repartition(family.buckets, *(frame[quoted(k)] for k in family.key))
        writer = rows.write.format("parquet").mode("overwrite").options(**encoding)
        writer.option("path", folder).bucketBy(family.buckets, *family.key).saveAsTable(table)
        self.session.sql(f"DROP TABLE {table}")

    def write_result(self, frame: Frame, folder: str, *, ordered: bool) -> None:  # noqa: ARG002
        # Spark numbers the files of a sorted frame in order, so nothing is to do for `ordered`.
        frame.write.mode("overwrite").parquet(folder)

    @contextmanager
    def working_on(self, stage: str) -> Iterator[None]:
        context = self.session.sparkContext
        for name in (STAGE_PROPERTY, _GROUP):
            context.setLocalProperty(name, stage)
        try:
            yield
        finally:
            for name in (STAGE_PROPERTY, _GROUP):
                context.setLocalProperty(name, None)

    @property
    def reports_scans(self) -> bool:
        """False from when it turns out that the event log does not lie on this disk."""
        return self._log is not None

    def used(self) -> ApplicationUse:
        bus = self.session.sparkContext._jsc.sc().listenerBus()  # noqa: SLF001 - no public way
        bus.waitUntilEmpty()
        if self._log is not None:
            try:
                return self._log.read()
            except EventLogError:  # a cluster gives it a name or a place of its own
                self._log = None
        return used_by_group(self.session)

    def stop(self) -> None:
        self.session.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)


def start_spark(
    *, master: str | None = None, name: str = "forerun", options: Iterable[tuple[str, str]] = ()
) -> ClassicEngine:
    """Start a Spark application, or take part in the one that spark-submit has begun.

    ``options`` come on top of what a run needs. An event log folder that the cluster has set up is
    used as it is; otherwise the log lies in a scratch folder until the session ends.
    """
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    scratch = Path(tempfile.mkdtemp(prefix="forerun-spark-"))
    conf = SparkConf().setAppName(name).setAll([*_SESSION, *options])
    conf.set("spark.sql.warehouse.dir", (scratch / "warehouse").as_uri())
    if not conf.contains("spark.eventLog.dir"):
        (scratch / "events").mkdir()
        conf.set("spark.eventLog.dir", (scratch / "events").as_uri())
    if master:
        conf.setMaster(master)
    elif not conf.contains("spark.master"):
        conf.setMaster("local[*]")
    return ClassicEngine(SparkSession.builder.config(conf=conf).getOrCreate(), scratch)


def _encoding(columns: Sequence[ColumnSpec]) -> dict[str, str]:
    """Dictionaries for texts only: to look every number up in one costs more CPU than is saved on
    files that are read a few times and then deleted (docs/benchmarks.md)."""
    texts = {f"parquet.enable.dictionary#{c.name}": "true" for c in columns if c.type == "string"}
    return {"parquet.enable.dictionary": "false", **texts}


def _text(value: str) -> str:
    """A string literal of Spark SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
