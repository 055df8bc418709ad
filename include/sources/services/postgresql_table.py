"""A table of PostgreSQL, or a view, read as Arrow in one transaction that sees one state of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forerun.include.reports.places import split_service
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.services.postgresql_server import connected, quoted
from forerun.include.sources.texts.text_types import nested_type
from forerun.include.sources.unread import SourceFileError
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_READ: Mapping[str, tuple[str, ...]] = {
    "smallint": ("SMALLINT", "INT", "BIGINT"),
    "integer": ("INT", "BIGINT"),
    "bigint": ("BIGINT",),
    "real": ("FLOAT", "DOUBLE"),
    "double precision": ("DOUBLE",),
    "numeric": ("DECIMAL",),
    "boolean": ("BOOLEAN",),
    "text": ("STRING",),
    "character varying": ("STRING",),
    "uuid": ("STRING",),
    "date": ("DATE",),
    "timestamp without time zone": ("TIMESTAMP_NTZ",),
    "timestamp with time zone": ("TIMESTAMP",),
    "bytea": ("BINARY",),
}
"""The declared types in which values of a type of PostgreSQL are read, each as it is."""
_ENDLESS = ("date", "timestamp without time zone", "timestamp with time zone")
_CATALOG = """
SELECT c.oid::bigint, (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
       a.attname, regexp_replace(format_type(a.atttypid, a.atttypmod), '\\(.*?\\)', '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.oid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
"""


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table in a transaction. ``identity`` tells it from one that is created anew under its name;
    ``types``: those of PostgreSQL, by the names of its columns."""

    uri: str
    name: str
    identity: str
    types: Mapping[str, str]
    cursor: Any

    def rows(
        self, columns: Sequence[ColumnSpec], where: str, keys: pa.Table | None = None
    ) -> pa.RecordBatchReader:
        """Return the rows for which the predicate ``where`` holds, which PostgreSQL computes; all
        if there is none. With ``keys`` those alone that have one of them, and others that
        PostgreSQL takes to be equal. Raises :class:`SourceFileError` for a column that has other
        values than the declared type."""
        import pyarrow as pa

        schema = schema_of_table(self.uri, columns)
        for column in columns:
            self._refuse_other(column)
        wanted, given = self._wanted(where, keys)
        self._refuse_endless(columns, wanted, given)
        texts = ", ".join(_expression(column, self.types[column.name]) for column in columns)
        self.cursor.execute(f"SELECT {texts} FROM {self.name}{wanted}", given)
        batches = self._cast(self.cursor.fetch_record_batch(), schema, columns)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _wanted(self, where: str, keys: pa.Table | None) -> tuple[str, list[str] | None]:
        """Return the condition of rows that are read, and the parameters that it has."""
        parts, given = [f"({where})"] if where else [], None
        if keys is not None:
            names = [quoted(name) for name in keys.column_names]
            typed = ", ".join(
                f"{mark} {self.types[name]}"
                for mark, name in zip(names, keys.column_names, strict=True)
            )
            same = " AND ".join(f"k.{name} = {self.name}.{name}" for name in names)
            listed = f"jsonb_to_recordset($1::jsonb) AS k({typed})"
            parts.append(f"EXISTS (SELECT 1 FROM {listed} WHERE {same})")
            given = [json.dumps(keys.to_pylist())]
        return (f" WHERE {' AND '.join(parts)}" if parts else ""), given

    def _cast(
        self, found: pa.RecordBatchReader, schema: pa.Schema, columns: Sequence[ColumnSpec]
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in found:
            held = []
            for column, field, values in zip(columns, schema, batch.columns, strict=True):
                try:
                    held.append(values.cast(field.type))
                except pa.ArrowInvalid as error:
                    raise SourceFileError(
                        f"{self.uri}, column {column.name} {column.type}: {error}",
                        hint="Declare the column as what it holds, or read a view that casts it.",
                    ) from None
            yield pa.RecordBatch.from_arrays(held, schema=schema)

    def _refuse_other(self, column: ColumnSpec) -> None:
        """Raise SourceFileError unless the table has a column that is read as declared."""
        if column.name not in self.types:
            raise SourceFileError(
                f"{self.uri} has no column {column.name}",
                hint=f"Its columns are {', '.join(self.types)}.",
            )
        kind, there = parse_type(column.type), self.types[column.name]
        if kind.name not in _READ.get(there, ()):
            wanted = " or ".join(_READ.get(there, ())) or "it in a view, cast to another type"
            raise SourceFileError(
                f"{self.uri}, column {column.name} is {there}, and declared {column.type}",
                hint=f"Declare {wanted}.",
            )

    def _refuse_endless(
        self, columns: Sequence[ColumnSpec], wanted: str, given: list[str] | None
    ) -> None:
        """Refuse ``infinity``, which no date of Spark is."""
        each = [column.name for column in columns if self.types[column.name] in _ENDLESS]
        if not each:
            return
        texts = ", ".join(f"coalesce(bool_or(NOT isfinite({quoted(n)})), false)" for n in each)
        self.cursor.execute(f"SELECT {texts} FROM {self.name}{wanted}", given)
        found = self.cursor.fetchone()
        for name, has in zip(each, found, strict=True):
            if has:
                raise SourceFileError(
                    f"{self.uri}, column {name} has infinity, which is no value of Spark",
                    hint="Read a view that has NULL, or a far day, in its place.",
                )


def schema_of_table(uri: str, columns: Sequence[ColumnSpec]) -> pa.Schema:
    """Return the types of Arrow in which these columns are read. Raises SourceFileError for one
    that no column of PostgreSQL is read as."""
    import pyarrow as pa

    known = {name for names in _READ.values() for name in names}
    fields = []
    for column in columns:
        kind = parse_type(column.type)
        found = pa.binary() if kind.name == "BINARY" else nested_type(kind)
        if kind.name not in known or found is None:
            raise SourceFileError(
                f"{uri}, column {column.name}: nothing of PostgreSQL is read as {column.type}",
                hint=f"Declare one of {', '.join(sorted(known))}.",
            )
        fields.append((column.name, found))
    return pa.schema(fields)


@contextmanager
def open_table(uri: str) -> Iterator[OpenTable]:
    """Open the table that ``postgresql://<connection>/<schema>.<table>`` names, for the duration of
    the block: all that is asked there is of one state of it.

    Raises :class:`forerun.include.sources.services.service_error.ServiceError` if the server cannot
    be asked, and :class:`SourcePathError` if there is no such table.
    """
    _, name = split_service(uri)
    relation = ".".join(quoted(part) for part in name.split("."))
    with connected(uri) as opened, opened.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(_CATALOG, [relation])
        found = cursor.fetchall()
        if not found:
            raise SourcePathError(
                f"{uri}: there is no such table, or the user of the connection may not see it",
                hint="Write the schema and the table, as in postgresql://shop/public.orders.",
            )
        table, database = found[0][:2]
        types = {column: kind for _, _, column, kind in found}
        yield OpenTable(uri, relation, f"{database}/{table}", types, cursor)


def _expression(column: ColumnSpec, there: str) -> str:
    name = quoted(column.name)
    return f"{name}::text AS {name}" if there in ("numeric", "uuid") else name
