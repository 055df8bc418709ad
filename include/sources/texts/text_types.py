"""The types of Arrow in which values are read that a file has as texts, by their declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from forerun.planner.algebra.nested import element_type, struct_fields
from forerun.planner.algebra.types import DataType, parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa


def plain_type(kind: DataType) -> pa.DataType | None:
    """Return the type for numbers, truths, texts and dates; None for a declared type that is none
    of these."""
    import pyarrow as pa

    if kind.name == "DECIMAL":
        return pa.decimal128(kind.precision, kind.scale)
    return {
        "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
        "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(),
        "STRING": pa.string(), "DATE": pa.date32(),
    }.get(kind.name)  # fmt: skip


def flat_type(kind: DataType) -> pa.DataType | None:
    """Return the type for these and for timestamps; None for a declared type that is another."""
    import pyarrow as pa

    if kind.name == "TIMESTAMP":
        return pa.timestamp("us", "UTC")
    if kind.name == "TIMESTAMP_NTZ":
        return pa.timestamp("us")
    return plain_type(kind)


def nested_type(kind: DataType) -> pa.DataType | None:
    """Return the type for these, and for arrays and structs of all of them; None for a declared
    type that holds another one."""
    import pyarrow as pa

    if kind.name.startswith("ARRAY<"):
        inside = nested_type(element_type(kind))
        return None if inside is None else pa.list_(inside)
    if kind.name.startswith("STRUCT<"):
        fields = [(name, nested_type(inner)) for name, inner in struct_fields(kind)]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    return flat_type(kind)


def schema_of_columns(
    columns: Iterable[ColumnSpec],
    type_of: Callable[[DataType], pa.DataType | None],
    refused: Callable[[ColumnSpec], Exception],
) -> pa.Schema:
    """Return declared columns in the types that ``type_of`` gives for theirs. Raises what
    ``refused`` returns for one that it has none for."""
    import pyarrow as pa

    fields = []
    for column in columns:
        if (found := type_of(parse_type(column.type))) is None:
            raise refused(column)
        fields.append((column.name, found))
    return pa.schema(fields)
