"""Reads the rows of Parquet files as they are written again: in types that every reader has.

Views of texts and bytes become texts and bytes. Timestamps of the type INT96, in which Spark writes
them unless it is told otherwise, become moments in microseconds, which is what Spark reads of them;
Arrow would make them local times in nanoseconds, which Spark does not read at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_MOMENT = pa.timestamp("us", tz="UTC")


def read_batches(path: Path, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in order, at most so many at a time."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        schema = _plain_schema(file)
        for batch in file.iter_batches(batch_size=rows):
            yield batch.cast(schema)


def read_schema(path: Path) -> pa.Schema:
    """Return the schema in which the rows of a file are read, without what was noted beside it."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        return _plain_schema(file).remove_metadata()


def _plain_schema(file: pq.ParquetFile) -> pa.Schema:
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    old = {leaf.path.partition(".")[0] for leaf in leaves if leaf.physical_type == "INT96"}
    schema = file.schema_arrow
    fields = [f.with_type(_plain_type(f.type, moments=f.name in old)) for f in schema]
    return pa.schema(fields, schema.metadata)


def _plain_type(type_: pa.DataType, *, moments: bool) -> pa.DataType:
    """The type, with views and (``moments``) local times replaced wherever they are nested."""
    if pa.types.is_struct(type_):
        inner = (type_.field(place) for place in range(type_.num_fields))
        return pa.struct([f.with_type(_plain_type(f.type, moments=moments)) for f in inner])
    if pa.types.is_list(type_):
        element = type_.value_field
        return pa.list_(element.with_type(_plain_type(element.type, moments=moments)))
    if pa.types.is_map(type_):
        key, value = (_plain_type(t, moments=moments) for t in (type_.key_type, type_.item_type))
        return pa.map_(key, value)
    if moments and pa.types.is_timestamp(type_) and type_.tz is None:
        return _MOMENT
    return _PLAIN.get(type_, type_)
