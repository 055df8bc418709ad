"""Values of Avro: as declared, or refused by the column and what the schema has."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer

from forerun.include.sources.services.avro_values import avro_reader
from forerun.include.sources.services.schema_registry import Schema
from forerun.include.sources.texts.json_objects import schema_of
from forerun.include.sources.unread import SourceFileError
from forerun.planner.contract import ColumnSpec

AT = dt.datetime(2026, 3, 1, 12, 30, 1, 123000, tzinfo=dt.UTC)
INSIDE = {"type": "record", "name": "inside", "fields": [{"name": "x", "type": "int"}]}
UUID = "0b9f7f6e-5f0c-4f5e-9a63-8a2f6f0a1c11"


def logical(kind: str, logical_type: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


def record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"c{number}", "type": one} for number, one in enumerate(types)]
    return {"type": "record", "name": "row", "fields": fields}


def written(schema: Any, row: dict[str, Any]) -> bytes:
    given = io.BytesIO()
    schemaless_writer(given, parse_schema(schema), row)
    return given.getvalue()


def read(
    schema: Any, declared: dict[str, str], *values: bytes, named: Any = None, ignores: bool = False
) -> list[dict[str, Any]]:
    columns = [ColumnSpec(name=name, type=kind) for name, kind in declared.items()]
    found = Schema("AVRO", schema, named or {})
    reader = avro_reader(found, "here", columns, ignores=ignores)
    rows: list[dict[str, Any]] = reader.rows(values, schema_of("here", columns)).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("kind", "declared", "value", "given"),
    [
        ("int", "INT", -(2**31), -(2**31)),
        ("int", "BIGINT", 7, 7),
        ("long", "BIGINT", 2**63 - 1, 2**63 - 1),
        ("float", "FLOAT", 0.5, 0.5),
        ("float", "DOUBLE", 0.5, 0.5),
        ("double", "DOUBLE", 0.1, 0.1),
        ("boolean", "BOOLEAN", True, True),
        ("string", "STRING", "ä\n", "ä\n"),
        (["null", "string"], "STRING", None, None),
        (["string", "null"], "STRING", "a", "a"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "STRING", "B", "B"),
        (logical("string", "uuid"), "STRING", UUID, UUID),
        (logical("int", "date"), "DATE", dt.date(1, 1, 1), dt.date(1, 1, 1)),
        (logical("long", "timestamp-millis"), "TIMESTAMP", AT, AT),
        (logical("long", "timestamp-micros"), "TIMESTAMP", AT.replace(microsecond=1),
         AT.replace(microsecond=1)),
        (logical("long", "local-timestamp-micros"), "TIMESTAMP_NTZ", AT.replace(tzinfo=None),
         AT.replace(tzinfo=None)),
        (logical("long", "timestamp-nanos"), "BIGINT", 5, 5),
        (logical("bytes", "decimal", precision=9, scale=2), "DECIMAL(12,2)", Decimal("-1.25"),
         Decimal("-1.25")),
        (logical("fixed", "decimal", name="f", size=5, precision=9, scale=2), "DECIMAL(9,2)",
         Decimal("3.00"), Decimal("3.00")),
        ({"type": "array", "items": ["null", "long"]}, "ARRAY<BIGINT>", [1, None], [1, None]),
        ({"type": "array", "items": logical("long", "timestamp-millis")}, "ARRAY<TIMESTAMP>", [AT],
         [AT]),
        (INSIDE, "STRUCT<x: INT, y: STRING>", {"x": 1}, {"x": 1, "y": None}),
        (["null", INSIDE], "STRUCT<x: INT>", None, None),
    ],
)  # fmt: skip
def test_values_are_what_they_were_written_as(
    kind: Any, declared: str, value: Any, given: Any
) -> None:
    schema = record(kind, "int")
    data = written(schema, {"c0": uuid.UUID(value) if value == UUID else value, "c1": 1})
    assert read(schema, {"c0": declared, "c1": "INT"}, data, data) == [{"c0": given, "c1": 1}] * 2


@pytest.mark.parametrize(
    ("kind", "declared", "says"),
    [
        ("long", "INT", "for c0, declared INT: long"),
        ("int", "DOUBLE", "for c0, declared DOUBLE: int"),
        ("double", "FLOAT", "declared FLOAT: double"),
        ("double", "DECIMAL(10,2)", "double"),
        ("string", "INT", "string"),
        ("bytes", "STRING", "bytes"),
        (logical("int", "date"), "INT", "declared INT: date"),
        (logical("long", "timestamp-millis"), "TIMESTAMP_NTZ", "timestamp-millis"),
        (logical("long", "local-timestamp-millis"), "TIMESTAMP", "local-timestamp-millis"),
        (logical("long", "timestamp-micros"), "BIGINT", "timestamp-micros"),
        (logical("bytes", "decimal", precision=9, scale=2), "DECIMAL(9,3)", r"decimal\(9,2\)"),
        (logical("bytes", "decimal", precision=9, scale=2), "DECIMAL(8,2)", r"decimal\(9,2\)"),
        (["int", "string"], "STRING", "a union of int, string"),
        ("null", "INT", "null"),
        ({"type": "map", "values": "int"}, "STRING", "map"),
        ({"type": "array", "items": "int"}, "ARRAY<STRING>", "declared ARRAY<STRING>: int"),
        (INSIDE, "STRUCT<y: INT>", "c0, declared STRUCT<y:INT>: the field x, which is not"),
        (INSIDE, "STRUCT<x: STRING>", "for x, declared STRING: int"),
    ],
)
def test_what_has_other_values_is_refused(kind: Any, declared: str, says: str) -> None:
    with pytest.raises(SourceFileError, match=says) as caught:
        read(record(kind), {"c0": declared})
    assert "here" in str(caught.value)


def test_fields_that_are_not_declared_and_columns_that_are_not_there() -> None:
    schema = record("int", "string")
    data = written(schema, {"c0": 1, "c1": "a"})
    with pytest.raises(SourceFileError, match="the field c1, which is not declared") as caught:
        read(schema, {"c0": "INT"}, data)
    assert "extra_columns" in caught.value.hint
    assert read(schema, {"c0": "INT"}, data, ignores=True) == [{"c0": 1}]
    later = {"c0": "INT", "c1": "STRING", "c2": "DATE"}
    assert read(schema, later, data) == [{"c0": 1, "c1": "a", "c2": None}]


def test_types_that_have_a_name_are_read_wherever_they_stand() -> None:
    schema = record(INSIDE, "inside", {"type": "array", "items": ["null", "inside"]})
    kind = "STRUCT<x: INT>"
    data = written(schema, {"c0": {"x": 1}, "c1": {"x": 2}, "c2": [None, {"x": 3}]})
    declared = {"c0": kind, "c1": kind, "c2": f"ARRAY<{kind}>"}
    assert read(schema, declared, data) == [
        {"c0": {"x": 1}, "c1": {"x": 2}, "c2": [None, {"x": 3}]}
    ]
    other = record("inside")
    value = written(record(INSIDE), {"c0": {"x": 5}})
    assert read(other, {"c0": kind}, value, named={"inside": INSIDE}) == [{"c0": {"x": 5}}]


def test_what_is_no_schema_or_no_record_is_said() -> None:
    for wrong, kind in (("string", "string"), (["null", record("int")], "a union"), (
        {"type": "array", "items": "int"}, "array"
    )):  # fmt: skip
        with pytest.raises(SourceFileError, match=f"is {kind}, and no record"):
            read(wrong, {"c0": "STRING"})
    with pytest.raises(SourceFileError, match="no schema of Avro"):
        read(record("inside"), {"c0": "STRING"})


@pytest.mark.parametrize("data", [b"", b"\2", b"\x80", b"\0\0\0", b"\0\xff\xff\xff\xff\xff\xff"])
def test_what_is_no_value_of_its_schema_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="of its schema"):
        read(record("int", "string"), {"c0": "INT", "c1": "STRING"}, data)


def test_a_moment_that_no_timestamp_has_is_an_error() -> None:
    schema = record(logical("long", "timestamp-millis"))
    data = written(record("long"), {"c0": 2**62})
    with pytest.raises(pa.ArrowInvalid):
        read(schema, {"c0": "TIMESTAMP"}, data)
