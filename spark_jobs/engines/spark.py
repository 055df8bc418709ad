"""Spark itself: bucketed tables in an in-memory catalog, and figures from the event log.

The application is the deployment's: spark-submit and ``spark-defaults.conf`` decide on its master,
its event log, its memory and everything else but the few settings that results depend on.

A family is one external table, ``PARTITIONED BY (__run) CLUSTERED BY (key) INTO n BUCKETS``, with
one partition per committed run at a location of its own. Reads, joins and aggregates on its key
then need no shuffle of what is saved. Nothing is ever kept in a metastore.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from forerun.include.machine.eventlog import STAGE_PROPERTY, ApplicationUse
from forerun.include.machine.jvm import local_name
from forerun.include.machine.settings import forbidden_functions
from forerun.include.reports.spark.session import refuse_differing
from forerun.include.sources.formats import format_of
from forerun.planner.contract import ColumnSpec, Family, NamedTable
from forerun.planner.contract.plan_v1 import DAY_COLUMN, RUN_COLUMN
from forerun.spark_jobs.engine import (
    SESSION_REQUIRED,
    DayFiles,
    EngineError,
    Frame,
    Judgement,
    Partition,
    Session,
    ddl,
    quoted,
    text_literal,
)
from forerun.spark_jobs.engines.in_plan import JAVA_TIME, can_be_in_plan, in_plan
from forerun.spark_jobs.engines.judging import compared, judge_of
from forerun.spark_jobs.engines.session import SessionEngine
from forerun.spark_jobs.event_recorder import EventRecorder

_GROUP = "spark.jobGroup.id"
_SHUFFLES = "spark.sql.shuffle.partitions"
_UNTOLD = 200
"""What Spark shuffles into where nobody has said anything."""
_SHUFFLED_BYTES = 64 << 20
"""Of files for each partition. Unpacked, with all columns, they are some 200 MB, which a task can
sort in Spark's default heap."""
_LEAST_PARTITIONS = 8
_WHOLE_STAGE = "spark.sql.codegen.wholeStage"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_CONDITION = re.compile(r"\b(?:AND|OR)\b", re.IGNORECASE)
_MOST_COMPILED = 1000
"""So many conditions of a text are still compiled as one method. What the compiler needs grows with
the square of their number: 5,000 fill a heap of 1 GB, or a stack, and end in nothing."""
_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
_SENT = 128 * 2**20
"""Rows that were counted are sent to all workers if their hash table has at most these bytes: an
eighth of the heap that a driver has by default. Spark's own threshold, of 10 MB, is one for sizes
that it guesses."""
_IN_PLAN = 2**22
"""Of them, rows with at most these bytes become a part of the plan: some tens of thousands."""
_HASHED_ROW, _HASHED_VALUE = 32, 16
"""Bytes in a hash table, about: of a row, and of each of its values."""
# What results and bucketed families rest on, against whatever the deployment says.
_REQUIRED = (
    ("spark.sql.catalogImplementation", "in-memory"),
    ("spark.sql.sources.bucketing.enabled", "true"),
    # Families with other bucket counts still join without a shuffle: buckets are read together.
    ("spark.sql.bucketing.coalesceBucketsInJoin.enabled", "true"),
    # A join on (key, more) may rely on rows that are distributed by key alone.
    ("spark.sql.requireAllClusterKeysForCoPartition", "false"),
    # A task that writes a family has one bucket, so its rows need not be sorted by bucket first.
    ("spark.sql.maxConcurrentOutputFileWriters", "1"),
    ("spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs", "false"),
    *SESSION_REQUIRED,
)
# What a run of some minutes does with, and without, unless the deployment says otherwise.
_DEFAULTS = (
    # Spark resolves a level of nested subqueries in each round; reports may have 150.
    ("spark.sql.analyzer.maxIterations", "1000"),
    ("spark.ui.enabled", "false"),
    ("spark.ui.showConsoleProgress", "false"),
)
# What spark-submit calls an application that nobody has given a name.
_NAMELESS = ("", "pyspark-shell", "run.py")


class SparkEngine(SessionEngine):
    """Implements :class:`forerun.spark_jobs.engine.Engine` on a Spark session with a JVM."""

    name = "spark"
    has_buckets = True
    reports_scans = True
    reports_cpu = True

    def __init__(self, session: Session, scratch: Path) -> None:
        """``scratch`` is a folder of the driver's disk; it is removed when the engine stops."""
        super().__init__(session)
        self._scratch = scratch
        self._written = 0
        events = scratch / "events"
        events.mkdir()
        self._recorder = EventRecorder(session.sparkContext, events)

    def bind_days(
        self, view: str, days: Sequence[DayFiles], columns: Sequence[ColumnSpec], form: str
    ) -> None:
        """One table with a partition for each day, at the day's own folder: one scan, in which the
        day costs nothing. Where a folder holds more than the files of its day, a scan for each."""
        if not all(day.folder for day in days if day.files):
            super().bind_days(view, days, columns, form)
            return
        table, written = quoted(f"forerun_days_{view}"), format_of(form)
        options = ", ".join(
            f"{text_literal(k)} {text_literal(v)}" for k, v in written.engine_options.items()
        )
        place = self._scratch / "days" / view  # nothing is ever in it
        place.mkdir(parents=True, exist_ok=True)
        self.session.sql(f"DROP TABLE IF EXISTS {table}")
        self.session.sql(
            f"CREATE TABLE {table} ({ddl(columns)}, {quoted(DAY_COLUMN)} INT) "
            f"USING {written.engine_format} {f'OPTIONS ({options}) ' if options else ''}"
            f"PARTITIONED BY ({quoted(DAY_COLUMN)}) LOCATION {text_literal(place.as_uri())}"
        )
        parts = " ".join(
            f"PARTITION ({quoted(DAY_COLUMN)}={day.number}) LOCATION {text_literal(day.folder)}"
            for day in days
            if day.files
        )
        if parts:
            self.session.sql(f"ALTER TABLE {table} ADD {parts}")
        self.bind_view(view, self.session.table(table))

    def open_family(self, family: Family, folder: str) -> None:
        columns = f"{ddl(family.columns)}, {quoted(RUN_COLUMN)} INT"
        buckets = ""
        if family.buckets:
            key = ", ".join(map(quoted, family.key))
            buckets = f" CLUSTERED BY ({key}) INTO {family.buckets} BUCKETS"
        self.session.sql(f"DROP TABLE IF EXISTS {quoted(family.id)}")
        self.session.sql(
            f"CREATE TABLE {quoted(family.id)} ({columns}) USING parquet "
            f"PARTITIONED BY ({quoted(RUN_COLUMN)}){buckets} LOCATION {text_literal(folder)}"
        )

    def add_partition(self, family: Family, partition: Partition) -> None:
        if partition.files:  # no rows, no folder: nothing to point at
            self.session.sql(
                f"ALTER TABLE {quoted(family.id)} ADD PARTITION "
                f"({quoted(RUN_COLUMN)}={partition.run}) LOCATION {text_literal(partition.folder)}"
            )

    @contextmanager
    def shuffling_into(self, partitions: int) -> Iterator[None]:
        with self._set(_SHUFFLES, str(partitions)) if partitions else nullcontext():
            yield

    def partitions_for(self, size: int) -> int:
        """Spark's own 200 are joined to larger ones after a shuffle, but written apart by every
        task before it. A number that the deployment has chosen stays."""
        context, partitions = self.session.sparkContext, int(self.session.conf.get(_SHUFFLES))
        if partitions != _UNTOLD or context.getConf().contains(_SHUFFLES):
            return 0
        return few_partitions(size, int(context.defaultParallelism))

    @contextmanager
    def running(self, sql: str) -> Iterator[None]:
        is_long = len(_CONDITION.findall(sql)) > _MOST_COMPILED
        with self._set(_WHOLE_STAGE, "false") if is_long else nullcontext():
            yield

    @contextmanager
    def _set(self, name: str, value: str) -> Iterator[None]:
        before = self.session.conf.get(name)
        self.session.conf.set(name, value)
        try:
            yield
        finally:
            self.session.conf.set(name, before)

    @contextmanager
    def computed_first(self, view: str, frame: Frame, rows: int) -> Iterator[None]:
        with nullcontext(rows) if rows else self._held(frame) as count:
            # Rows that are held are as many bytes as Spark says, packed; unpacked they may be more.
            packed = 0 if rows else _held_bytes(frame)
            room = max(packed, count * (_HASHED_ROW + _HASHED_VALUE * len(frame.columns)))
            sent = room <= _SENT and self.session.conf.get(_BROADCAST) != "-1"
            if sent and not rows and room <= _IN_PLAN and can_be_in_plan(frame):
                with self._set(*JAVA_TIME):
                    frame = in_plan(frame)
            self.bind_view(view, frame.hint("broadcast") if sent else frame)
            try:
                yield
            finally:
                self.session.sql(f"DROP VIEW IF EXISTS {quoted(view)}")

    @contextmanager
    def _held(self, frame: Frame) -> Iterator[int]:
        """The rows are computed and held in memory within the block; gives how many there are."""
        frame.persist()
        try:
            with self._set(_ADAPTIVE, "false"):  # to count what is held is one job then, not three
                count = frame.count()
            yield count
        finally:
            frame.unpersist()

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> int | None:
        encoding = _encoding(family.columns)
        if not family.buckets:
            with self._counted() as rows_written:
                frame.write.mode("overwrite").options(**encoding).parquet(folder)
            return rows_written()
        # Only saveAsTable writes buckets. The table's name is dropped, its files stay.
        # Not sorted within a bucket: with a file per run Spark could not use the order.
        self._written += 1
        table = quoted(f"forerun_write_{self._written}")
        rows = frame.repartition(family.buckets, *(frame[quoted(k)] for k in family.key))
        writer = rows.write.format("parquet").mode("overwrite").options(**encoding)
        writer = writer.option("path", folder).bucketBy(family.buckets, *family.key)
        with self._counted() as rows_written:
            writer.saveAsTable(table)
        self.session.sql(f"DROP TABLE {table}")
        return rows_written()

    def write_result(
        self,
        frame: Frame,
        folder: str,
        *,
        ordered: bool,  # noqa: ARG002
        by: str = "",
    ) -> int | None:
        # Spark numbers the files of a sorted frame in order, so nothing is to do for `ordered`.
        with self._counted() as rows_written:
            frame.write.mode("overwrite").partitionBy(*filter(None, (by,))).parquet(folder)
        return rows_written()

    @contextmanager
    def _counted(self) -> Iterator[Callable[[], int]]:
        """Gives a function that says, after one write was done within, how many rows it committed:
        what Spark's driver added up of the reports of the tasks that won."""
        before = len(self.used().rows_by_write)

        def rows_written() -> int:
            writes = self.used().rows_by_write[before:]
            if len(writes) != 1:
                raise EngineError(
                    f"Spark reports {len(writes)} writes where one was made",
                    hint="Its events got lost or have changed: see the driver's log for dropped "
                    "events, and docs/guides/operations.md for the versions of Spark that are "
                    "supported.",
                )
            return writes[0]

        yield rows_written

    def judge(self) -> str:
        return judge_of(self.session)

    def compared(
        self,
        tables: tuple[NamedTable, ...],
        text: str,
        reading: str,
        parameters: Mapping[str, object],
    ) -> Judgement:
        return compared(self.session, tables, text, reading, parameters)

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

    def used(self) -> ApplicationUse:
        return self._recorder.used()

    def stop(self) -> None:
        try:
            try:
                self._recorder.stop()
            finally:
                self.session.stop()
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)


def few_partitions(size: int, cores: int) -> int:
    """Return a power of two, as buckets are, by which each partition gets little enough to sort
    and each core gets one; never more than Spark would take."""
    wanted = max(size // _SHUFFLED_BYTES, cores - 1, _LEAST_PARTITIONS - 1)
    return min(_UNTOLD, 1 << wanted.bit_length())


def start_spark(
    *, master: str | None = None, name: str = "forerun", options: Iterable[tuple[str, str]] = ()
) -> SparkEngine:
    """Start a Spark application, or take part in the one that spark-submit has begun.

    Everything that the deployment has set is kept, but for :data:`_REQUIRED`. ``options`` and
    ``master`` override it; without spark-submit they also decide how the JVM is started. ``name``
    is for an application that spark-submit was given no name for. Raises
    :class:`forerun.include.reports.spark.session.SessionError` where the deployment sets otherwise
    what the meaning of SQL depends on.
    """
    from pyspark.sql import SparkSession

    # PySpark writes each error of an analysis, which it raises as well, with all of Java's stack.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    # Py4J tells of each connection that it closes, on stdout where Airflow has set up the log.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    given = dict(options) | ({"spark.master": master} if master else {})
    if master:  # read by the JVM that begins here, as spark-submit's by the task that submits
        os.environ.update(local_name(master))
    conf = _deployment(given).setAll([*given.items(), *_REQUIRED])
    scratch = Path(tempfile.mkdtemp(prefix="forerun-spark-"))
    try:
        warehouse = (scratch / "warehouse").as_uri()
        for key, value in (*_DEFAULTS, ("spark.sql.warehouse.dir", warehouse)):
            conf.setIfMissing(key, value)
        if conf.get("spark.app.name", "") in _NAMELESS:
            conf.setAppName(name)
        session = SparkSession.builder.config(conf=conf).getOrCreate()
        try:
            refuse_differing(lambda setting: _value(session, setting))
            forbid(session, forbidden_functions())
            return SparkEngine(session, scratch)
        except BaseException:
            session.stop()
            raise
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _value(session: Session, setting: str) -> str | None:
    """The value that a setting has in the session, under any of its names; None for one that this
    version of Spark does not have, or that has no value."""
    found: str | None = session.conf.get(setting, None)
    return found


def forbid(session: Session, functions: Iterable[str]) -> None:
    """Take functions out of the registry of a session: no text that it runs can call them. The
    planner refuses them, too, with a message; this holds for any text, whoever wrote it."""
    registry = session._jsparkSession.sessionState().functionRegistry()  # noqa: SLF001 - no other way
    jvm = session._jvm  # noqa: SLF001 - the same
    identifier, some = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier, jvm.scala.Some
    for name in functions:
        try:
            registry.dropFunction(identifier(name))
        except Py4JJavaError:  # Spark 4.3, where functions of its own lie in a schema
            registry.dropFunction(identifier(name, some("builtin"), some("system")))


def _deployment(given: Mapping[str, str]) -> Any:
    """A ``SparkConf`` with all that spark-submit and ``spark-defaults.conf`` say.

    Only the JVM knows that: a ``SparkConf`` made in Python before there is one is empty, and
    looks as if the deployment had set nothing. Where spark-submit has started no JVM, one is
    started here, with ``given`` on its command line.
    """
    from pyspark import SparkConf, SparkContext

    before = SparkConf(loadDefaults=False).setAll(list(given.items()))
    SparkContext._ensure_initialized(conf=before)  # noqa: SLF001 - what SparkContext() does first
    return SparkConf()


def _encoding(columns: Sequence[ColumnSpec]) -> dict[str, str]:
    """Return how a partition is written: with zstd, half the bytes of snappy for the same CPU; and
    with dictionaries for texts only, since to look every number up in one costs more CPU than is
    saved on files that are read a few times and then deleted (docs/lab/benchmarks.md)."""
    texts = {f"parquet.enable.dictionary#{c.name}": "true" for c in columns if c.type == "string"}
    return {"compression": "zstd", "parquet.enable.dictionary": "false", **texts}


def _held_bytes(frame: Any) -> int:
    """The size in memory of rows that are held there and have been computed."""
    planned = frame.select("*")._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no public way
    return int(str(planned.stats().sizeInBytes()))
