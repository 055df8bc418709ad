"""A table of PostgreSQL as a sink: delete and copy in one transaction, with a note beside it.

The note of each day is a row of the table ``forerun_published`` in the same schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from forerun.include.days.sinks.day_rows import (
    DayRows,
    DayVersion,
    ReportDay,
    SinkError,
    refuse_older,
)
from forerun.include.reports.places import split_service
from forerun.include.reports.sinks import PostgresqlTable
from forerun.include.sources.services.postgresql_server import connected, quoted

if TYPE_CHECKING:
    import pyarrow as pa

_NOTES = "forerun_published"
_LONGEST_NAME = 63
"""Bytes of a name, as PostgreSQL is built (``NAMEDATALEN``)."""


class PostgresqlSink:
    """Implements :class:`forerun.include.days.sinks.tables.SinkTable`."""

    def __init__(self, sink: PostgresqlTable) -> None:
        self._sink = sink
        _, name = split_service(sink.path)
        schema, _, self._name = name.rpartition(".")
        self._schema = schema or "public"
        self._table = f"{quoted(self._schema)}.{quoted(self._name)}"
        self._notes = f"{quoted(self._schema)}.{quoted(_NOTES)}"

    def published(self, of: ReportDay) -> DayVersion | None:
        """Return what the note of the day says."""
        with self._asked() as cursor:
            return self._noted(cursor, of) if _is_there(cursor, self._notes) else None

    def replace(self, rows: DayRows, data: pa.Table) -> bool:
        """Replace the rows; whoever else publishes the day waits."""
        with self._asked() as cursor:
            self._make(cursor, data)
            # Of two that publish a day, the second one waits here, and sees what the first one did.
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                [f"{self._table} {rows.of.day}"],
            )
            cursor.execute(
                f"INSERT INTO {self._notes} (relation, owner, day) VALUES ($1, $2, $3) "
                "ON CONFLICT DO NOTHING",
                [self._name, rows.of.owner, rows.of.day],
            )
            there = self._noted(cursor, rows.of)
            refuse_older(self._sink, rows, there)
            cursor.execute(
                f"DELETE FROM {self._table} WHERE {quoted(self._sink.column)} = $1", [rows.of.day]
            )
            if data.num_rows:
                cursor.adbc_ingest(self._name, data, mode="append", db_schema_name=self._schema)
            cursor.execute(
                f"UPDATE {self._notes} SET generation = $1, run = $2, said = $3, rows = $4, "
                "published_at = now() WHERE relation = $5 AND owner = $6 AND day = $7",
                [rows.version.generation, rows.version.run, json.dumps(rows.said), data.num_rows,
                 self._name, rows.of.owner, rows.of.day],
            )  # fmt: skip
            return True

    def _noted(self, cursor: Any, of: ReportDay) -> DayVersion | None:
        cursor.execute(
            f"SELECT owner, generation, run FROM {self._notes} WHERE relation = $1 AND day = $2",
            [self._name, of.day],
        )
        found = cursor.fetchall()
        if others := [owner for owner, generation, _ in found if generation and owner != of.owner]:
            raise SinkError(
                f"{self._sink.path} has rows of {of.day} of another report, or of another state "
                f"store: {others[0]}",
                hint="Give every report a table of its own. If those rows may go, delete their row "
                f"of {_NOTES} first.",
            )
        versions = [DayVersion(generation=g, run=r) for o, g, r in found if o == of.owner and g]
        return versions[0] if versions else None

    def _make(self, cursor: Any, data: pa.Table) -> None:
        """Create the tables that are not there, and see that the other ones take the rows."""
        if not _is_there(cursor, self._notes):
            cursor.execute(
                f"CREATE TABLE {self._notes} (relation text, owner text, day date, "
                "generation int NOT NULL DEFAULT 0, run int NOT NULL DEFAULT 0, said text, "
                "rows bigint, published_at timestamptz, PRIMARY KEY (relation, owner, day))"
            )
        if not _is_there(cursor, self._table):
            _check_names(self._sink, data)
            columns = ", ".join(f"{quoted(f.name)} {_type_of(self._sink, f)}" for f in data.schema)
            cursor.execute(f"CREATE TABLE {self._table} ({columns})")
        cursor.execute(f"SELECT * FROM {self._table} LIMIT 0")
        there = [column[0] for column in cursor.description]
        if sorted(there) != sorted(data.column_names):
            raise SinkError(
                f"{self._sink.path} has the columns {', '.join(there)}; the result has "
                f"{', '.join(data.column_names)}",
                hint="Alter the table, or give the report another one.",
            )

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        with connected(self._sink.path) as opened:
            with opened.cursor() as cursor:
                yield cursor
            opened.commit()


def _check_names(sink: PostgresqlTable, data: pa.Table) -> None:
    """Refuse names that PostgreSQL would cut, after which no later day has the table's columns."""
    for name in data.column_names:
        if (size := len(name.encode())) > _LONGEST_NAME:
            raise SinkError(
                f"{sink.path}: a column has a name of {size} bytes, of which PostgreSQL keeps "
                f"{_LONGEST_NAME}: {name}",
                hint="Name it with AS in the query.",
            )


def _is_there(cursor: Any, relation: str) -> bool:
    cursor.execute("SELECT to_regclass($1) IS NOT NULL", [relation])
    return bool(cursor.fetchone()[0])


def _type_of(sink: PostgresqlTable, field: pa.Field) -> str:
    """Return the type of PostgreSQL that a column is made with."""
    import pyarrow as pa

    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision},{field.type.scale})"
    found = {
        pa.bool_(): "boolean", pa.int8(): "smallint", pa.int16(): "smallint", pa.int32(): "integer",
        pa.int64(): "bigint", pa.float32(): "real", pa.float64(): "double precision",
        pa.string(): "text", pa.binary(): "bytea", pa.date32(): "date",
        pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz",
    }.get(field.type)  # fmt: skip
    if found is None:
        raise SinkError(
            f"{sink.path}: the column {field.name} is {field.type}, which no column of PostgreSQL "
            "is made for",
            hint="Cast it in the query, or publish into another sink.",
        )
    return found
