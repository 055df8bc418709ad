"""Values of Avro as rows in the columns that a report declares.

The schema that a value was written by is looked at once: each declared column has to be of a type
whose values are those of Avro's, so nothing is rounded, cut or guessed. Columns that the schema
does not have are NULL, as keys that an object of JSON does not have.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forerun.include.sources.services.schema_registry import Schema
from forerun.include.sources.texts.text_types import nested_type
from forerun.include.sources.unread import SourceFileError
from forerun.planner.algebra.nested import element_type, struct_fields
from forerun.planner.algebra.types import DataType, parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = {
    ("boolean", ""): ("BOOLEAN",),
    ("int", ""): ("INT", "BIGINT"),
    ("int", "date"): ("DATE",),
    ("long", ""): ("BIGINT",),
    ("float", ""): ("FLOAT", "DOUBLE"),
    ("double", ""): ("DOUBLE",),
    ("string", ""): ("STRING",),
    ("string", "uuid"): ("STRING",),
    ("enum", ""): ("STRING",),
    ("long", "timestamp-millis"): ("TIMESTAMP",),
    ("long", "timestamp-micros"): ("TIMESTAMP",),
    ("long", "local-timestamp-millis"): ("TIMESTAMP_NTZ",),
    ("long", "local-timestamp-micros"): ("TIMESTAMP_NTZ",),
}
"""The types that a column may be declared as, by Avro's type and what it stands for. Of what else a
type stands for Avro says to read the type itself: nanoseconds are numbers."""
_NUMBERS = {logical for _, logical in _PLAIN if logical}
"""What is taken as the number or the text that it is written as."""


class _MisfitError(Exception):
    """A column is declared as what Avro's type has no values of."""


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Reads the values of one schema. ``held``: the columns that are declared, in their order, with
    the types of Arrow in which their values are taken, None for one that the schema has not."""

    schema: Any
    held: tuple[tuple[str, pa.DataType | None], ...]

    def rows(self, values: Sequence[bytes], wanted: pa.Schema) -> pa.Table:
        """Return the rows of some values. Raises ValueError for one that is not of the schema."""
        import pyarrow as pa

        found = [_value(self.schema, value) for value in values]
        columns = []
        for (name, kind), field in zip(self.held, wanted, strict=True):
            if kind is None:
                columns.append(pa.nulls(len(found), field.type))
            else:
                columns.append(pa.array([one[name] for one in found], kind).cast(field.type))
        return pa.Table.from_arrays(columns, schema=wanted)


def avro_reader(
    schema: Schema, place: str, declared: Sequence[ColumnSpec], *, ignores: bool
) -> AvroReader:
    """Return what reads the values of a schema as declared; ``ignores``: other fields are not read.

    Raises :class:`SourceFileError` if the columns are declared otherwise.
    """
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema

    named: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    try:
        for one in schema.named.values():
            parse_schema(one, named_schemas=named)
            parse_schema(_as_numbers(one), named_schemas=numbers)
        whole = parse_schema(schema.avro, named_schemas=named)
        read = parse_schema(_as_numbers(schema.avro), named_schemas=numbers)
    except (SchemaParseException, UnknownType) as error:
        raise SourceFileError(
            f"{place}: its schema is no schema of Avro: {error}",
            hint="Correct the schema in the registry.",
        ) from None
    if not isinstance(whole, dict) or whole["type"] != "record":
        kind = whole["type"] if isinstance(whole, dict) else whole
        kind = "a union" if isinstance(kind, list) else kind
        raise SourceFileError(
            f"{place}: its schema is {kind}, and no record",
            hint="Let messages be records, whose fields are the columns.",
        )
    asked = {column.name: parse_type(column.type) for column in declared}
    try:
        types = _Fit(named, ignores).fields(whole, asked)
    except _MisfitError as error:
        raise SourceFileError(
            f"{place}: its schema has {error}",
            hint="Declare columns as what the schema has; fields that are not declared are left "
            'out by extra_columns="ignore" of the source.',
        ) from None
    return AvroReader(read, tuple((name, types.get(name)) for name in asked))


@dataclass(frozen=True, slots=True)
class _Fit:
    """Looks at types of Avro beside declared ones. ``named``: the types that others name;
    ``ignores``: whether a record may have fields that are not declared."""

    named: Mapping[str, Any]
    ignores: bool

    def type_of(self, schema: Any) -> tuple[dict[str, Any], str]:
        """Return a type without names and without its NULL, and what it stands for."""
        if isinstance(schema, list):
            others = [one for one in schema if one != "null"]
            if len(others) == 1:
                return self.type_of(others[0])
            names = ", ".join(self.type_of(one)[0]["type"] for one in others)
            raise _MisfitError(f"a union of {names}" if names else "nothing but null")
        if isinstance(schema, str):
            known = self.named.get(schema)
            return ({"type": schema}, "") if known is None else self.type_of(known)
        if not isinstance(schema["type"], str) or schema["type"] in self.named:
            return self.type_of(schema["type"])
        logical = schema.get("logicalType", "")
        return schema, logical if logical in {*_NUMBERS, "decimal"} else ""

    def fields(self, record: Mapping[str, Any], asked: Mapping[str, DataType]) -> dict[str, Any]:
        """Return the types of Arrow of those declared fields that a record has."""
        known = {field["name"]: field["type"] for field in record["fields"]}
        if not self.ignores and (unknown := sorted(known.keys() - asked.keys())):
            raise _MisfitError(f"the field {unknown[0]}, which is not declared")
        found = {}
        for name in asked.keys() & known.keys():
            try:
                found[name] = self.taken_as(known[name], asked[name])
            except _MisfitError as error:
                raise _MisfitError(f"for {name}, declared {asked[name]}: {error}") from None
        return found

    def taken_as(self, schema: Any, wanted: DataType) -> pa.DataType:
        """Return the type of Arrow in which values of a type are taken for a declared one. Raises
        :class:`_MisfitError` if the values of the two are not the same."""
        import pyarrow as pa

        kind, logical = self.type_of(schema)
        name = kind["type"]
        if name == "array" and wanted.name.startswith("ARRAY<"):
            return pa.list_(self.taken_as(kind["items"], element_type(wanted)))
        if name == "record" and wanted.name.startswith("STRUCT<"):
            asked = dict(struct_fields(wanted))
            found = self.fields(kind, asked)
            return pa.struct([(one, found.get(one, pa.null())) for one in asked])
        if logical == "decimal":
            precision, scale = kind["precision"], kind.get("scale", 0)
            whole = wanted.name == "DECIMAL" and wanted.scale == scale
            if not whole or (wanted.precision or 0) < precision:
                raise _MisfitError(f"decimal({precision},{scale})")
        elif wanted.name not in _PLAIN.get((name, logical), ()):
            raise _MisfitError(logical or name)
        if logical.endswith("millis"):
            return pa.timestamp("ms", None if wanted.name == "TIMESTAMP_NTZ" else "UTC")
        return nested_type(wanted)


def _value(schema: Any, value: bytes) -> Any:
    from fastavro import schemaless_reader

    given = io.BytesIO(value)
    try:
        found = schemaless_reader(given, schema, None)
    except Exception as error:  # noqa: BLE001 - whatever bytes that are no value lead it to
        raise ValueError(f"no value of its schema ({type(error).__name__})") from None
    if left := len(value) - given.tell():
        raise ValueError(f"{left} bytes more than a value of its schema has")
    return found


def _as_numbers(schema: Any) -> Any:
    """Return a schema by which dates and times are read as the numbers that they are written as,
    which have no least and no greatest year."""
    if isinstance(schema, list):
        return [_as_numbers(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _as_numbers(value) if key in ("type", "items", "values") else
        [{**field, "type": _as_numbers(field["type"])} for field in value] if key == "fields" else
        value
        for key, value in schema.items()
        if not (key == "logicalType" and value in _NUMBERS)
    }  # fmt: skip
