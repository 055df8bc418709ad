"""The interface of an engine, so that the same job runs on Spark and on the small engine.

Everything else in this package uses only what :class:`pyspark.sql.SparkSession` and Spark Connect
share. Bucketed tables, partitions with a location of their own and the event log need the JVM:
they are behind this seam.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from forerun.include.engines import EngineSpec
from forerun.include.machine.eventlog import ApplicationUse
from forerun.include.state.verdicts import Outcome
from forerun.planner.contract import ColumnSpec, Family, NamedTable
from forerun.planner.contract.plan_v1 import RUN_COLUMN
from forerun.planner.errors import ForerunError

# The types of pyspark's two kinds of session have no common base; both are opaque here.
Session = Any
Frame = Any


SESSION_REQUIRED = (
    # A file that is gone or broken is an error, never fewer rows.
    ("spark.sql.files.ignoreMissingFiles", "false"),
    ("spark.sql.files.ignoreCorruptFiles", "false"),
    # A text cannot read files that are no source by their paths: text.`/etc/passwd`.
    ("spark.sql.runSQLOnFiles", "false"),
    # ${env:NAME} in a text would be replaced by what the environment holds, secrets included.
    ("spark.sql.variable.substitute", "false"),
    # Spark's default is INT96: without statistics, and without a word on the time zone.
    ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"),
    # A union in a union may claim a distribution that it has not, and the query fails: "Can't zip
    # RDDs with unequal numbers of partitions" (Spark 4.1).
    ("spark.sql.unionOutputPartitioning", "false"),
)
"""What results of Spark rest on and every session may set, against whatever the deployment says."""


class EngineError(ForerunError):
    """The engine cannot be started, or refuses what it is told."""

    code = "engine"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of comparing a text with what was read of it. ``why``: where the two part, or
    the engine's message; ``cpu_ms`` is what the driver took to say so."""

    outcome: Outcome
    why: str = ""
    cpu_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One run's rows of a family: a folder and its files, as URIs that the engine reads."""

    run: int
    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFiles:
    """The files of a source on a day, as URIs that the engine reads, and the number of the day.
    ``folder``: the folder that holds these files and no other, empty if there is none."""

    number: int
    files: tuple[str, ...]
    folder: str = ""


class Engine(Protocol):
    """A session with the few operations that differ between engines."""

    @property
    def name(self) -> str:
        """Its name in :data:`forerun.include.engines.ENGINES`."""
        ...

    @property
    def session(self) -> Session:
        """The session that stage SQL runs in."""
        ...

    @property
    def has_buckets(self) -> bool:
        """Return whether partitions of a family with a key are written in buckets."""
        ...

    def configure(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Set session configuration, as the plan asks for it."""
        ...

    def read(
        self, files: Sequence[str], columns: Sequence[ColumnSpec], form: str = "parquet"
    ) -> Frame:
        """The rows of exactly these files under a declared schema; no files, no rows. ``form``: the
        name of their format, see :mod:`forerun.include.sources.formats`."""
        ...

    def bind_view(self, name: str, frame: Frame) -> None:
        """Make a frame readable in SQL under a name that may need quotes."""
        ...

    def bind_days(
        self, view: str, days: Sequence[DayFiles], columns: Sequence[ColumnSpec], form: str
    ) -> None:
        """Make the rows of exactly these files readable in SQL, with the number of their day as a
        column more (``__day``)."""
        ...

    def open_family(self, family: Family, folder: str) -> None:
        """Register the table of a family, without partitions. ``folder`` holds its partitions."""
        ...

    def add_partition(self, family: Family, partition: Partition) -> None:
        """Make the rows of one run visible in the family's table."""
        ...

    def in_types(self, frame: Frame, types: Sequence[str]) -> Frame:
        """Return the same rows with columns of these types, as Spark DDL has them; "" is any."""
        ...

    def apart(self, frame: Frame) -> Frame:
        """Return the same rows, whose keys the engine does not believe to be unique once the rows
        are copied."""
        ...

    def shuffling_into(self, partitions: int) -> AbstractContextManager[None]:
        """While in it, rows are shuffled into this many partitions; 0: as the session has it."""
        ...

    def partitions_for(self, size: int) -> int:
        """Return into how many partitions rows are best shuffled that are read from so many bytes
        of files; 0: as the session has it."""
        ...

    def running(self, sql: str) -> AbstractContextManager[None]:
        """While in it, this text is run, with the settings that a very long one needs."""
        ...

    def computed_first(self, view: str, frame: Frame, rows: int) -> AbstractContextManager[None]:
        """While in it, the rows can be read as a view; an engine that plans joins by sizes knows
        how many there are: ``rows``, or where that is 0, what it has computed and counted."""
        ...

    def conform(self, frame: Frame, columns: Sequence[ColumnSpec]) -> Frame:
        """The frame with the declared types where this engine is known to give a value another type
        than Spark. All other types stay, for whoever checks them."""
        ...

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> int | None:
        """Write rows as a partition of a family; file names carry bucket ids if it has buckets.
        A folder may be missing afterwards if there are no rows.

        Returns how many rows its writers say that they wrote and committed, None if this engine
        does not say. Never from a look at the folder: it is what the folder is compared with.
        """
        ...

    def write_result(self, frame: Frame, folder: str, *, ordered: bool, by: str = "") -> int | None:
        """Write the report; ``ordered``: rows in the order of file names, then of rows. ``by``: the
        last column, whose every value gets a folder ``<by>=<value>`` of its own; an order begins
        with it. Returns the same as :meth:`write_artifact`."""
        ...

    def judge(self) -> str:
        """Return the name under which this engine's verdicts are kept, empty where it cannot say
        whether two texts mean the same."""
        ...

    def compared(
        self,
        tables: tuple[NamedTable, ...],
        text: str,
        reading: str,
        parameters: Mapping[str, object],
    ) -> Judgement:
        """Return whether the engine makes the same of a text and of what was read of it, over
        tables of its own, without rows. Raises what a text raises that is no error of its own."""
        ...

    def working_on(self, stage: str) -> AbstractContextManager[None]:
        """Work done within belongs to this stage in the figures of :meth:`used`."""
        ...

    def used(self) -> ApplicationUse:
        """Return what has been used up to now, by stage. Scans are there only where the engine
        reports them."""
        ...

    @property
    def reports_scans(self) -> bool:
        """Return whether what :meth:`used` has just given knows the rows that each scan read."""
        ...

    @property
    def reports_cpu(self) -> bool:
        """Return whether all that a run takes is known: it is in this process tree, or :meth:`used`
        has it. If not, the run is not measured."""
        ...

    def stop(self) -> None:
        """End the session and remove what it left on this machine."""
        ...


def start_engine(spec: EngineSpec, *, master: str | None, name: str) -> Engine:
    """Start an engine of the table; only its own module, and what that needs, is imported.

    ``master`` is the Spark master, None for what spark-submit says; ``name`` is the application's.
    """
    module, _, function = spec.start.partition(":")
    start: Callable[..., Engine] = getattr(importlib.import_module(module), function)
    return start(master=master, name=name)


def ddl(columns: Sequence[ColumnSpec]) -> str:
    """Columns as a DDL schema string."""
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def quoted(name: str) -> str:
    """A name as a SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str | None) -> str:
    """A text, or NULL, as a SQL literal that each engine reads back as it is."""
    if text is None:
        return "NULL"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_run(columns: Sequence[ColumnSpec]) -> tuple[ColumnSpec, ...]:
    """The columns of a family's table: its own and the run."""
    return (*columns, ColumnSpec(name=RUN_COLUMN, type="INT"))


def no_rows(session: Session, columns: Sequence[ColumnSpec]) -> Frame:
    """A frame with the declared columns and no rows. (``createDataFrame([])`` would start Python
    workers on Spark, and hides from the optimizer that there is nothing.)"""
    nulls = ", ".join(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns)
    return session.sql(f"SELECT {nulls} WHERE false")


def schema_of(session: Session, columns: Sequence[ColumnSpec]) -> Any:
    """The declared columns as the engine's own schema object."""
    return no_rows(session, columns).schema


def describe_schema(frame: Frame) -> tuple[ColumnSpec, ...]:
    """The columns that a frame has, as the contract writes them."""
    return tuple(
        ColumnSpec(name=field.name, type=field.dataType.simpleString(), nullable=field.nullable)
        for field in frame.schema.fields
    )
