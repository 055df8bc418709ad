"""Rows of the data files of a table that are copied, since no engine reads them where they lie.

Deleted rows are named by their positions. A changelog reads the file as it is, and takes the rows
at those positions back; where no row may be taken back, the rows that are left are read in place of
the file. All rows are copied of a file that has other names for the columns of its table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forerun.include.sources.files import Location
from forerun.include.sources.parquet.footers import opened, read_footer
from forerun.include.sources.parquet.old_times import is_by_the_old_calendar
from forerun.include.sources.parquet.views import without_views
from forerun.include.sources.raw import Raw, rows_of_file
from forerun.include.sources.tables.other_names import OtherNames, relabelled
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec

Positions: TypeAlias = "pa.Int64Array"
"""Numbers of rows of a file, from 0, ascending, each once."""
NO_POSITIONS: Positions = pa.array([], pa.int64())


def positions_of(numbers: pa.Array | pa.ChunkedArray) -> Positions:
    """Return the positions that numbers in any order are."""
    each = pc.unique(numbers.cast(pa.int64()))
    return pc.array_take(each, pc.array_sort_indices(each))


def rows_of(location: Location, file: StoredFile, columns: Sequence[str]) -> pa.RecordBatchReader:
    """Return all rows of a file, in these columns of it."""
    return _read(location, file, NO_POSITIONS, columns, (), left=True, names=None)


def rows_at(
    location: Location,
    file: StoredFile,
    positions: Positions,
    columns: Sequence[str],
    *,
    left: bool,
    names: OtherNames | None = None,
) -> Raw:
    """Return the rows of a file at these positions, which count -1; or those that are ``left``.
    ``columns`` are those of the table: what else a file has is the format's own. ``names``: its
    names for them, if the file has other ones."""
    digest = hashlib.sha256(memoryview(positions.buffers()[1])[: 8 * len(positions)]).hexdigest()
    identity = ("left of" if left else "deleted in", digest, *columns)
    read = partial(_read, location, file, positions, tuple(columns), left=left, names=names)
    called = [names.by_column[column] for column in columns] if names else ()
    count = partial(_count, location, file, positions, left=left)
    return rows_of_file(location, file, (*identity, *called), read, 1 if left else -1, count)


def _count(location: Location, file: StoredFile, positions: Positions, *, left: bool) -> int:
    """Return how many rows these are, by the file's footer."""
    if not left:
        return len(positions)
    with opened(location, file) as (_, parquet):
        return int(parquet.metadata.num_rows) - len(positions)


def _read(
    location: Location,
    file: StoredFile,
    positions: Positions,
    columns: Sequence[str],
    declared: Sequence[ColumnSpec],  # noqa: ARG001 - the file says its columns itself
    *,
    left: bool,
    names: OtherNames | None,
) -> pa.RecordBatchReader:
    """Return the rows with the types that the file has them in, and the names of the table."""
    pinned = read_footer(location, file)
    handle = location.store.open(file.key)
    parquet = pq.ParquetFile(handle, coerce_int96_timestamp_unit="us")
    if is_by_the_old_calendar(parquet.metadata.metadata or {}) and pinned.old_times:
        raise SourceFileError(
            f"{pinned.uri}: column {pinned.old_times[0]} is written by an old calendar, in a file "
            "that has to be copied, for deleted rows or other names of its columns",
            hint="Rewrite the data files of the table with a Spark of today.",
        )
    last = positions[-1].as_py() if len(positions) else -1
    if last >= pinned.rows:
        raise SourceFileError(
            f"{pinned.uri} has {pinned.rows} rows, and row {last} of it is deleted",
            hint="The table is damaged: look at it with the tool that wrote it.",
        )
    wanted = {name.lower() for name in columns}
    utc = {c.name for c in pinned.columns if c.type == "TIMESTAMP"}
    there = parquet.schema_arrow
    called = (
        {field: field for field in there if field.name.lower() in wanted}
        if names is None
        else names.fields(pinned.uri, there, columns)
    )
    held = without_views(
        pa.schema([_in_utc(f) if f.name in utc else f for f in called], there.metadata)
    )
    schema = without_views(
        pa.schema(
            [_in_utc(to) if f.name in utc else to for f, to in called.items()],
            there.metadata if names is None else None,
        )
    )
    batches = _batches(parquet, held, positions, left=left)
    if names is None:
        return pa.RecordBatchReader.from_batches(schema, batches)
    older = names.missing(called.values(), columns)
    whole = pa.schema([*schema, *(pa.field(name, value.type) for name, value in older.items())])
    return pa.RecordBatchReader.from_batches(
        whole, (_with_values(relabelled(batch, schema), older, whole) for batch in batches)
    )


def _with_values(
    batch: pa.RecordBatch, values: Mapping[str, pa.Scalar], schema: pa.Schema
) -> pa.RecordBatch:
    """Return rows with more columns, which have one value each."""
    more = [pa.repeat(value, batch.num_rows) for value in values.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)


def _in_utc(field: pa.Field) -> pa.Field:
    """Return the field of a timestamp as Spark's TIMESTAMP: Arrow takes INT96 for local time."""
    return field.with_type(pa.timestamp("us", "UTC"))


def _batches(
    parquet: pq.ParquetFile, schema: pa.Schema, positions: Positions, *, left: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows, a row group at a time; row groups without any are not read."""
    first = 0
    with parquet:
        for group in range(parquet.num_row_groups):
            count = parquet.metadata.row_group(group).num_rows
            deleted = pc.is_in(pa.arange(first, first + count), value_set=positions)
            wanted = pc.invert(deleted) if left else deleted
            first += count
            if pc.any(wanted).as_py():
                rows = parquet.read_row_group(group, columns=schema.names).cast(schema)
                yield from rows.filter(wanted).to_batches()
