"""The places that a report's results go to, as its author says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from forerun.include.reports.places import check_place, check_service
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.names import check_name

_BRANCH = re.compile(r"[\w-]*\{ds(_nodash)?\}[\w-]*", re.ASCII)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedFolder:
    """Publish into the store's own results: a folder per version and a pointer to the current."""


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFolder:
    """Publish as the folder ``<path>/<column>=<date>`` of a partitioned table."""

    path: str
    """The table's folder: an absolute path, ``file://`` or ``s3://``."""
    column: str = "ds"
    """The partition column, which has the report date."""

    def __post_init__(self) -> None:
        take_fields(self, "PartitionFolder")
        check_name(self.column, "PartitionFolder: the partition column")
        check_place(self.path, "PartitionFolder: the path")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTable:
    """Publish as the rows of a day in a Delta table, beside the store's own results."""

    path: str
    """The table's folder: an absolute path, ``file://`` or ``s3://``. It is made if it is not
    there."""
    column: str = "ds"
    """The column that has the report date, by which the table is partitioned."""

    def __post_init__(self) -> None:
        take_fields(self, "DeltaTable")
        check_name(self.column, "DeltaTable: the column")
        check_place(self.path, "DeltaTable: the path")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTable:
    """Publish as the rows of a day in an Iceberg table, beside the store's own results."""

    name: str
    """The table's name in a catalog: ``lake.shop.daily`` is ``shop.daily`` in the catalog that
    pyiceberg's configuration calls ``lake``. It is made if it is not there."""
    column: str = "ds"
    """The column that has the report date, by which the table is partitioned."""
    early_branch: str = ""
    """The branch that has the early results of a day, such as ``early_{ds_nodash}``, with ``{ds}``
    or ``{ds_nodash}`` for the report date. The final result takes it away. Without one, a report
    that publishes here has no early results."""

    def __post_init__(self) -> None:
        take_fields(self, "IcebergTable")
        check_name(self.column, "IcebergTable: the column")
        if self.early_branch and not _BRANCH.fullmatch(self.early_branch):
            raise SpecError(
                f"IcebergTable: the branch {self.early_branch!r}",
                hint="Write letters, digits, - and _, and {ds} or {ds_nodash} once, since each day "
                "has its own: early_{ds_nodash}.",
            )
        if self.name.count(".") < 2 or not all(self.name.split(".")):
            raise SpecError(
                f"IcebergTable: the name {self.name!r}",
                hint="Write catalog, namespace and table, as in lake.shop.daily.",
            )

    def branch_on(self, day: date) -> str:
        """The branch that has the early results of a day."""
        dashed = day.isoformat()
        named = self.early_branch.replace("{ds}", dashed)
        return named.replace("{ds_nodash}", dashed.replace("-", ""))


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlTable:
    """Publish as the rows of a day in a table of PostgreSQL, beside the store's own results."""

    path: str
    """``postgresql://shop/reports.daily``: the id of an Airflow connection, the schema and the
    table, which is made if it is not there."""
    column: str = "ds"
    """The column that has the report date."""

    def __post_init__(self) -> None:
        take_fields(self, "PostgresqlTable")
        check_name(self.column, "PostgresqlTable: the column")
        check_service(self.path, "PostgresqlTable: the path", "postgresql", "a table")


TableSink: TypeAlias = DeltaTable | IcebergTable | PostgresqlTable
"""Tables of which a day's rows are replaced in one transaction."""
Sink: TypeAlias = VersionedFolder | PartitionFolder | TableSink


def only_spark_reads(kind: str) -> bool:
    """Return whether values of a type, or of a part of it, are written into Parquet as numbers or
    bytes of which Spark alone notes, and reads, what they are: lengths of time, VARIANT."""
    return _ONLY_SPARK.search(kind) is not None


CAST_IT = "Make it a text or a number in the query: CAST(... AS STRING), EXTRACT(DAY FROM ...)."
_ONLY_SPARK = re.compile(r"(?:^|[<,:]\s*)(?:INTERVAL|VARIANT)\b(?!\s*:)", re.IGNORECASE)


def takes_early_results(sink: Sink) -> bool:
    """Return whether readers of a sink can tell a part of a day from the whole."""
    on_branch = isinstance(sink, IcebergTable) and bool(sink.early_branch)
    return on_branch or isinstance(sink, VersionedFolder)
