"""Rows of committed and published files, read into memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.state.records import ArtifactFile, ArtifactPartition
from forerun.include.stores.store import StoreReader


def read_rows(store: StoreReader, folder: str, files: tuple[ArtifactFile, ...]) -> pa.Table | None:
    """The rows of named files below a key of the store, in the order of the names."""
    tables = [
        pq.read_table(pa.BufferReader(store.get(f"{folder}/{file.name}")))
        for file in sorted(files, key=lambda file: file.name)
    ]
    return pa.concat_tables(tables) if tables else None


def result_rows(store: StoreReader, result: ArtifactPartition) -> pa.Table:
    """The rows of a committed result; without files, no rows of its declared columns."""
    rows = read_rows(store, result.folder, result.files)
    return rows if rows is not None else empty_table(result)


def empty_table(result: ArtifactPartition) -> pa.Table:
    """No rows, with the columns that the commit declares, read through Parquet types."""
    return pa.table({column.name: pa.array([], _arrow(column.type)) for column in result.columns})


_ARROW = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
    "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip


def _arrow(kind: str) -> pa.DataType:
    text = kind.lower()
    if text.startswith("decimal("):
        precision, _, scale = text[len("decimal(") : -1].partition(",")
        return pa.decimal128(int(precision), int(scale or 0))
    return _ARROW.get(text, pa.string())
