"""Arrow's types of Parquet columns as Spark's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "SMALLINT",
    pa.uint16(): "INT",
    pa.uint32(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.binary_view(): "BINARY",
    pa.date32(): "DATE",
}


_MOST_DIGITS = 38


def same_but_for_case(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns that Spark takes for one and the same, as it ignores case."""
    lower = [name.lower() for name in names]
    return tuple(name for name in names if lower.count(name.lower()) > 1)


def spark_type(kind: pa.DataType) -> str:
    """The Spark SQL type in which Spark reads a Parquet column. Raises TypeError where it does not:
    decimals of more than 38 digits, nanoseconds, structs with names that differ by case only, and
    what Parquet has and SQL has not."""
    if kind in _TYPES:
        return _TYPES[kind]
    if pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return "TIMESTAMP_NTZ" if kind.tz is None else "TIMESTAMP"
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{spark_type(kind.key_type)},{spark_type(kind.item_type)}>"
    if pa.types.is_struct(kind) and not same_but_for_case([field.name for field in kind]):
        inside = ",".join(f"{field.name}:{spark_type(field.type)}" for field in kind)
        return f"STRUCT<{inside}>"
    raise TypeError(str(kind))
