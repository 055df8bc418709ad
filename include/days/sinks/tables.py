"""A table that many days of a report are published into, whatever its format.

A day's rows are replaced in one transaction, which says in the table itself of which run they are.
So readers, who need know nothing of Forerun, see a day as it was or as it is, whole; to publish
once more changes nothing; and who comes late with the rows of an older generation finds that out in
the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from forerun.include.days.not_published import NotPublishedError
from forerun.include.days.sink_folder import refuse_table_folder
from forerun.include.days.sinks.day_rows import (
    DayRows,
    DayVersion,
    ReportDay,
    SinkError,
    place_of_sink,
    refuse_older,
)
from forerun.include.reports.sinks import (
    CAST_IT,
    DeltaTable,
    IcebergTable,
    PartitionFolder,
    Sink,
    TableSink,
    VersionedFolder,
    only_spark_reads,
)
from forerun.include.stores.backoff import Backoff
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = 2 << 30
_TRIES = 10


class SinkTable(Protocol):
    """A table of one format."""

    def published(self, of: ReportDay) -> DayVersion | None:
        """Return of which run of this report the day's rows are; None if of none."""
        ...

    def replace(self, rows: DayRows, data: pa.Table) -> bool:
        """Replace the day's rows in one transaction, unless it finds those of a later run there;
        return false if somebody else has changed the table meanwhile, so that it is to be tried
        again. ``data`` has the column of the day."""
        ...


def open_sink(sink: TableSink) -> SinkTable:
    """Return the table. Raises :class:`SinkError` if it cannot be reached."""
    if isinstance(sink, DeltaTable):
        from forerun.include.days.sinks.delta import DeltaSink

        return DeltaSink(sink)
    if isinstance(sink, IcebergTable):
        from forerun.include.days.sinks.iceberg import IcebergSink

        return IcebergSink(sink)
    from forerun.include.days.sinks.postgresql import PostgresqlSink

    return PostgresqlSink(sink)


def check_sink(sink: Sink, of: ReportDay, *, final: bool) -> None:
    """Raise if results cannot go there, as far as can be seen before there is one: the first run of
    a day finds it, not the last. A folder must be in no table of another format, and a table must
    be reachable, of which the ``final`` run is not asked: it can compute while a server is down.
    """
    if isinstance(sink, PartitionFolder):
        refuse_table_folder(sink, of.day)
    elif not isinstance(sink, VersionedFolder) and not final:
        open_sink(sink).published(of)


def refuse_types(columns: Sequence[ColumnSpec]) -> None:
    """Raise :class:`NotPublishedError` if readers of the table would find numbers or bytes in the
    place of a column's values."""
    for column in columns:
        if only_spark_reads(column.type):
            raise NotPublishedError(
                f"the column {column.name} of the result is {column.type.upper()}, which readers "
                "of a table would find as numbers or bytes",
                hint=CAST_IT,
            )


def publish_rows(sink: TableSink, rows: DayRows, data: pa.Table) -> None:
    """Make ``data`` the rows of the day. Repeating it changes nothing.

    Raises :class:`forerun.include.days.not_published.NotPublishedError` if those of a newer
    generation are there, or if the result is too large, and :class:`SinkError` for a table that
    does not take them.
    """
    import pyarrow as pa

    if data.nbytes > _MOST_BYTES:
        raise NotPublishedError(
            f"the result has {data.nbytes:,} bytes; a table takes {_MOST_BYTES:,} at most",
            hint="Publish it with VersionedFolder(), and let readers follow the pointer.",
        )
    if sink.column.lower() in (name.lower() for name in data.column_names):
        raise NotPublishedError(
            f"the result has the column {sink.column}, which says in the table of which day a row "
            "is",
            hint=f"Name one of them otherwise: {type(sink).__name__}(column=...), or AS in the "
            "SQL.",
        )
    days = pa.repeat(pa.scalar(rows.of.day, pa.date32()), data.num_rows)
    plain = pa.schema([pa.field(f.name, f.type) for f in data.schema])
    whole = data.cast(plain).append_column(pa.field(sink.column, pa.date32()), days)
    backoff = Backoff(f"{rows.of.owner}/{rows.of.day}")
    for _ in range(_TRIES):
        table = open_sink(sink)
        there = table.published(rows.of)
        if there == rows.version:
            return
        refuse_older(sink, rows, there)
        if table.replace(rows, whole):
            return
        backoff.wait()
    raise SinkError(
        f"{place_of_sink(sink)} was changed by somebody else {_TRIES} times while the day "
        f"{rows.of.day} of {rows.of.report} was to be published",
        hint="Retry the task when less is written there.",
    )
