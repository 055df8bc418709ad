"""Spark's types of Parquet columns, as its ``ParquetToSparkSchemaConverter`` has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forerun.include.sources.parquet.schema import SchemaField
from forerun.planner.algebra.parts import ELEMENTS, KEYS, VALUES, Path, field_step
from forerun.planner.algebra.types import field_text

_MOST_DIGITS = 38
_INTEGERS = {
    (8, True): "TINYINT", (16, True): "SMALLINT", (32, True): "INT", (64, True): "BIGINT",
    (8, False): "SMALLINT", (16, False): "INT", (32, False): "BIGINT", (64, False): "DECIMAL(20,0)",
}  # fmt: skip
_PLAIN = {
    "BOOLEAN": "BOOLEAN", "INT32": "INT", "INT64": "BIGINT", "INT96": "TIMESTAMP",
    "FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "BYTE_ARRAY": "BINARY",
    "FIXED_LEN_BYTE_ARRAY": "BINARY",
}  # fmt: skip
_ANNOTATED = {
    "DATE": {"INT32": "DATE"},
    "STRING": {"BYTE_ARRAY": "STRING"},
    "ENUM": {"BYTE_ARRAY": "STRING"},
    "JSON": {"BYTE_ARRAY": "STRING"},
    "BSON": {"BYTE_ARRAY": "BINARY"},
}
_BITS = {"INT32": (8, 16, 32), "INT64": (64,)}
_DIGITS = {"INT32": 9, "INT64": 18}

_ROW_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_COLLATIONS = "__COLLATIONS"


class UnreadTypeError(TypeError):
    """A type of a Parquet column that Spark does not read; the text names it."""


def same_but_for_case(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns that Spark takes for one and the same, as it ignores case."""
    lower = [name.lower() for name in names]
    return tuple(name for name in names if lower.count(name.lower()) > 1)


def spark_type(field: SchemaField) -> str:
    """Return the Spark SQL type in which Spark reads a column. Raises :class:`UnreadTypeError`
    where it does not: nanoseconds, structs with names that differ by case only, and what Parquet
    has and SQL has not."""
    if field.repetition == "repeated":
        return f"ARRAY<{_of_one(field)}>"
    return _of_one(field)


def _of_one(field: SchemaField) -> str:
    """The type of a value of the field, how often it comes left aside."""
    if field.physical:
        return _of_leaf(field)
    if field.logical == "LIST":
        return _of_list(field)
    if field.logical == "MAP":
        return _of_map(field)
    if field.logical:
        raise UnreadTypeError(field.logical)
    if alike := same_but_for_case([child.name for child in field.children]):
        raise UnreadTypeError(f"STRUCT with {' and '.join(alike)}")
    inside = ",".join(field_text(child.name, spark_type(child)) for child in field.children)
    return f"STRUCT<{inside}>"


def leaf_paths(field: SchemaField) -> Iterator[Path]:
    """Yield the path of each leaf of a column that Spark reads, in the order of the column
    chunks."""
    repeated = (ELEMENTS,) if field.repetition == "repeated" else ()
    yield from ((*repeated, *path) for path in _paths_of_one(field))


def _paths_of_one(field: SchemaField) -> Iterator[Path]:
    if field.physical:
        yield ()
    elif field.logical == "LIST":
        (inner,) = field.children
        rest = _paths_of_one(inner) if _is_element(field) else leaf_paths(inner.children[0])
        yield from ((ELEMENTS, *path) for path in rest)
    elif field.logical == "MAP":
        for step, child in zip((KEYS, VALUES), field.children[0].children, strict=True):
            yield from ((step, *path) for path in leaf_paths(child))
    else:
        for child in field.children:
            yield from ((field_step(child.name), *path) for path in leaf_paths(child))


def _of_list(field: SchemaField) -> str:
    if len(field.children) != 1 or field.children[0].repetition != "repeated":
        raise UnreadTypeError("LIST of no repeated field")
    (inner,) = field.children
    return f"ARRAY<{_of_one(inner) if _is_element(field) else spark_type(inner.children[0])}>"


def _is_element(field: SchemaField) -> bool:
    """Return whether the repeated field of a LIST is the element, and not a group around it, as
    older writers have it."""
    (inner,) = field.children
    names = ("array", f"{field.name}_tuple")
    return bool(inner.physical) or len(inner.children) > 1 or inner.name in names


def _of_map(field: SchemaField) -> str:
    if len(field.children) != 1 or len(field.children[0].children) != 2:
        raise UnreadTypeError("MAP of no keys with values")
    key, value = field.children[0].children
    return f"MAP<{spark_type(key)},{spark_type(value)}>"


def _of_leaf(field: SchemaField) -> str:
    kind, found = field.physical, None
    match field.logical, field.arguments:
        case (("" | "UNKNOWN"), _):  # the latter has NULLs only
            found = _PLAIN[kind]
        case "INTEGER", (bits, signed) if bits in _BITS.get(kind, ()):
            found = _INTEGERS[bits, signed]
        case "DECIMAL", (digits, scale) if 0 < digits <= min(_MOST_DIGITS, _digits(field)):
            found = f"DECIMAL({digits},{scale})"
        case "TIMESTAMP", (("MILLIS" | "MICROS"), utc) if kind == "INT64":
            found = "TIMESTAMP" if utc else "TIMESTAMP_NTZ"
        case name, _:
            found = _ANNOTATED.get(name, {}).get(kind)
    if kind == "INT96":
        found = _PLAIN[kind]
    if found is None:
        arguments = f"({', '.join(map(str, field.arguments))})" if field.arguments else ""
        raise UnreadTypeError(f"{field.logical}{arguments} in {kind}")
    return found


def _digits(field: SchemaField) -> int:
    """The most digits that a DECIMAL of the physical type may have."""
    if field.physical == "FIXED_LEN_BYTE_ARRAY":
        return len(str(2 ** (8 * field.length - 1) - 1)) - 1
    return _DIGITS.get(field.physical, _MOST_DIGITS if field.physical == "BYTE_ARRAY" else 0)


def types_beside(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return, by column, Spark's own name of types that the Parquet schema does not show: what
    Spark has written as INT, BIGINT, text or a struct, and notes to be intervals, variants or
    collated texts, anywhere in the column."""
    try:
        fields = json.loads((metadata or {})[_ROW_SCHEMA])["fields"]
        return {field["name"]: said for field in fields if (said := _beside(field))}
    except (KeyError, ValueError, TypeError, RecursionError):
        return {}


def _beside(field: Mapping[str, Any]) -> str:
    collations = (field.get("metadata") or {}).get(_COLLATIONS) or {}
    for _, collation in sorted(collations.items()):
        return f"STRING COLLATE {str(collation).rpartition('.')[2]}"
    return _beside_in(field["type"])


def _beside_in(kind: Any) -> str:
    if isinstance(kind, str):
        return kind.upper() if kind.startswith(("interval", "string collate", "variant")) else ""
    if kind["type"] == "struct":
        return next((said for field in kind["fields"] if (said := _beside(field))), "")
    inside = ("elementType", "keyType", "valueType")
    return next((said for name in inside if name in kind and (said := _beside_in(kind[name]))), "")
