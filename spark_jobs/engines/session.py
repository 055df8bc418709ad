"""The part of an engine that every Spark session does alike, and families without a catalog."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from forerun.include.sources.formats import format_of
from forerun.planner.contract import ColumnSpec, Family, NamedTable
from forerun.planner.contract.plan_v1 import DAY_COLUMN, RUN_COLUMN
from forerun.spark_jobs.engine import (
    DayFiles,
    Frame,
    Judgement,
    Partition,
    Session,
    no_rows,
    quoted,
    schema_of,
    with_run,
)
from forerun.spark_jobs.paths import literal

_MODE = "SPARK_CONNECT_MODE_ENABLED"


class SessionEngine:
    """What a session of Spark's API does, whatever is behind it."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def configure(self, pairs: Iterable[tuple[str, str]]) -> None:
        for key, value in pairs:
            self.session.conf.set(key, value)

    def path(self, uri: str) -> str:
        """Return a path that the session reads as the file of that URI, and nothing else."""
        return literal(uri)

    def read(
        self, files: Sequence[str], columns: Sequence[ColumnSpec], form: str = "parquet"
    ) -> Frame:
        if not files:
            return no_rows(self.session, columns)
        written = format_of(form)
        reader = self.session.read.schema(schema_of(self.session, columns))
        reader = reader.format(written.engine_format).options(**written.engine_options)
        return reader.load([self.path(file) for file in files])

    def apart(self, frame: Frame) -> Frame:
        return frame

    def in_types(self, frame: Frame, types: Sequence[str]) -> Frame:
        from pyspark.sql.types import AtomicType

        casts = {
            field.name: frame[quoted(field.name)].cast(wanted)
            for field, wanted in zip(frame.schema.fields, types, strict=True)
            if wanted
            and isinstance(field.dataType, AtomicType)
            and field.dataType.simpleString() != wanted.lower()
        }
        return frame.withColumns(casts) if casts else frame

    def bind_view(self, name: str, frame: Frame) -> None:
        frame.createOrReplaceTempView(quoted(name))

    def bind_days(
        self, view: str, days: Sequence[DayFiles], columns: Sequence[ColumnSpec], form: str
    ) -> None:
        """Bind the rows of each day's files with the number of the day, read day by day."""
        bound: Frame | None = None
        for day in days:
            if day.files:
                rows = self.read(day.files, columns, form)
                rows = rows.selectExpr("*", f"{day.number} AS {quoted(DAY_COLUMN)}")
                bound = rows if bound is None else bound.union(rows)
        if bound is None:
            day_column = ColumnSpec(name=DAY_COLUMN, type="int")
            bound = no_rows(self.session, (*columns, day_column))
        self.bind_view(view, bound)

    def conform(self, frame: Frame, columns: Sequence[ColumnSpec]) -> Frame:  # noqa: ARG002
        return frame  # the declared types are the session's own


class ViewEngine(SessionEngine):
    """A session whose families are plain views over the committed files with a literal run column:
    there are no buckets, so nothing is said about shuffles."""

    has_buckets = False
    reports_scans = False

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._partitions: dict[str, list[Partition]] = {}

    def open_family(self, family: Family, folder: str) -> None:  # noqa: ARG002 - no table here
        self._partitions[family.id] = []
        self._bind(family)

    def add_partition(self, family: Family, partition: Partition) -> None:
        self._partitions[family.id].append(partition)
        self._bind(family)

    def _bind(self, family: Family) -> None:
        from pyspark.sql.connect.functions import lit

        bound: Frame | None = None
        for partition in self._partitions[family.id]:
            if partition.files:
                rows = self.read(partition.files, family.columns)
                rows = rows.withColumn(RUN_COLUMN, lit(partition.run).cast("int"))
                bound = rows if bound is None else bound.unionByName(rows)
        if bound is None:
            bound = no_rows(self.session, with_run(family.columns))
        self.bind_view(family.id, bound)

    def judge(self) -> str:
        return ""

    def compared(
        self,
        tables: tuple[NamedTable, ...],  # noqa: ARG002
        text: str,  # noqa: ARG002
        reading: str,  # noqa: ARG002
        parameters: Mapping[str, object],  # noqa: ARG002
    ) -> Judgement:
        return Judgement("not-asked", "the small engine shows no optimized plan of Spark")

    def partitions_for(self, size: int) -> int:  # noqa: ARG002 - it decides that by itself
        return 0

    @contextmanager
    def shuffling_into(self, partitions: int) -> Iterator[None]:  # noqa: ARG002 - no buckets here
        yield

    @contextmanager
    def running(self, sql: str) -> Iterator[None]:  # noqa: ARG002 - the server has the stacks for any
        yield


@contextmanager
def connect_functions() -> Iterator[None]:
    """Let ``pyspark.sql.functions`` build columns of a Spark Connect session for the block: it asks
    the environment which kind to build. Opening the session would set that for good, and break a
    classic session of the same process."""
    mode = os.environ.get(_MODE)
    os.environ[_MODE] = "1"
    try:
        yield
    finally:
        if mode is None:
            os.environ.pop(_MODE, None)
