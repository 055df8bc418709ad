"""The columns of an Iceberg table, which are told by numbers in the table and its data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import MappedField
from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, NestedField, StructType

from forerun.include.sources.tables.other_names import OtherNames, Path
from forerun.planner.algebra.types import field_text
from forerun.planner.contract import ColumnSpec

FIELD_ID = b"PARQUET:field_id"
"""Where a field of a Parquet file says its number."""
_WORDS = {"long": "BIGINT", "timestamptz": "TIMESTAMP", "timestamp": "TIMESTAMP_NTZ"}
"""The types that Spark calls otherwise than Iceberg."""


def columns_of(table: Table) -> tuple[ColumnSpec, ...]:
    """Return the columns as Spark would declare them."""
    return tuple(
        ColumnSpec(name=field.name, type=_type(field.field_type), nullable=field.optional)
        for field in table.schema().fields
    )


def _type(kind: IcebergType) -> str:
    match kind:
        case StructType(fields=fields):
            inside = (field_text(field.name, _type(field.field_type)) for field in fields)
            return f"STRUCT<{', '.join(inside)}>"
        case ListType(element_type=element):
            return f"ARRAY<{_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"MAP<{_type(key)}, {_type(value)}>"
        case DecimalType(precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
    return _WORDS.get(str(kind), str(kind).upper())


def other_names(table: Table) -> OtherNames | None:
    """Return the names of the columns, and their values in files that are older; None where no
    column has had another name or has such a value, and no name another column, so that files can
    be read by their own names."""
    defaults = {
        field.name: value_before(field)
        for field in table.schema().fields
        if field.initial_default is not None
    }
    now = index_by_name(table.schema())
    names = {number: name for name, number in now.items()}
    if not defaults and all(
        now.get(name, number) == number and names.get(number, name) == name
        for schema in table.schemas().values()
        for name, number in index_by_name(schema).items()
    ):
        return None
    fields, mapping = index_by_id(table.schema()), table.name_mapping()
    elsewhere = dict(_numbers(mapping or (), ()))

    def name_of(path: Path, field: pa.Field) -> str | None:
        said = (field.metadata or {}).get(FIELD_ID)
        # A file that was added to the table from elsewhere does not say it.
        number = elsewhere.get(path) if said is None else int(said)
        return fields[number].name if number in fields else None

    by_column = {
        column.name: repr(sorted(pair for pair in names.items() if _is_of(pair[1], column.name)))
        + (f" = {defaults[column.name]}" if column.name in defaults else "")
        for column in table.schema().fields
    }
    return OtherNames(by_column, name_of, everywhere=False, defaults=defaults)


def value_before(field: NestedField) -> pa.Scalar:
    """Return the value of a column in the rows of files that are older than it: NULL, unless the
    table says another one."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow  # a third of a second, for few tables

    kind = schema_to_pyarrow(Schema(NestedField(1, "value", field.field_type))).field(0).type
    short = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}  # as in other files
    return pa.scalar(field.initial_default, short.get(kind, kind))


def _numbers(fields: Iterable[MappedField], above: Path) -> Iterator[tuple[Path, int | None]]:
    """Yield the fields of a mapping of names, by each path that they have."""
    for field in fields:
        for name in field.names:
            yield (*above, name), field.field_id
            yield from _numbers(field.fields, (*above, name))


def _is_of(path: str, column: str) -> bool:
    return path == column or path.startswith(f"{column}.")
