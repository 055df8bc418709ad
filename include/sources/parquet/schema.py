"""The schema of a Parquet file as it is in the footer: a tree of fields with their annotations.

Arrow shows a schema of its own, for which it takes what the writer's Arrow has noted beside it, and
in which some types of Parquet are the same. What Spark reads depends on the footer alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from forerun.include.sources.parquet.thrift_compact import CompactReader, ThriftError

PHYSICAL = (
    "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
)  # fmt: skip
_SCHEMA = 2
_TYPE, _LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = (
    1, 2, 3, 4, 5, 6, 7, 8, 10,
)  # fmt: skip
_LOGICAL_NAMES = {
    1: "STRING", 2: "MAP", 3: "LIST", 4: "ENUM", 5: "DECIMAL", 6: "DATE", 7: "TIME",
    8: "TIMESTAMP", 10: "INTEGER", 11: "UNKNOWN", 12: "JSON", 13: "BSON", 14: "UUID",
    15: "FLOAT16", 16: "VARIANT", 17: "GEOMETRY", 18: "GEOGRAPHY",
}  # fmt: skip
_UNITS = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_OLD_NAMES: dict[int, tuple[str, tuple[Any, ...]]] = {
    0: ("STRING", ()), 1: ("MAP", ()), 2: ("MAP", ()), 3: ("LIST", ()), 4: ("ENUM", ()),
    6: ("DATE", ()), 7: ("TIME", ("MILLIS", True)), 8: ("TIME", ("MICROS", True)),
    9: ("TIMESTAMP", ("MILLIS", True)), 10: ("TIMESTAMP", ("MICROS", True)),
    11: ("INTEGER", (8, False)), 12: ("INTEGER", (16, False)), 13: ("INTEGER", (32, False)),
    14: ("INTEGER", (64, False)), 15: ("INTEGER", (8, True)), 16: ("INTEGER", (16, True)),
    17: ("INTEGER", (32, True)), 18: ("INTEGER", (64, True)), 19: ("JSON", ()), 20: ("BSON", ()),
    21: ("INTERVAL", ()),
}  # fmt: skip
"""Annotations of older writers by their numbers, as the newer ones that mean the same."""


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of the schema. ``physical`` is empty for a group, else one of :data:`PHYSICAL`;
    ``logical`` its annotation, "" without one, with ``arguments``: digits and scale of a DECIMAL,
    bits and sign of an INTEGER, unit and whether it is in UTC of a TIME or TIMESTAMP. ``length`` is
    in bytes, of values of fixed length."""

    name: str
    physical: str
    repetition: str
    logical: str
    arguments: tuple[Any, ...]
    length: int
    children: tuple[SchemaField, ...] = ()

    def leaves(self) -> Iterator[SchemaField]:
        """The fields without children, in the order of the column chunks."""
        if self.physical:
            yield self
        for child in self.children:
            yield from child.leaves()


def read_schema(handle: BinaryIO) -> tuple[SchemaField, ...]:
    """Return the columns of a Parquet file. Raises ValueError if the footer cannot be read."""
    handle.seek(-8, os.SEEK_END)
    end = handle.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1":
        raise ThriftError("no plain footer of Parquet")
    handle.seek(-8 - length, os.SEEK_END)
    for number, value in CompactReader(handle.read(length)).fields():
        if number == _SCHEMA:
            return _tree(value)
    raise ThriftError("the footer has no schema")


def _tree(elements: Sequence[dict[int, Any]]) -> tuple[SchemaField, ...]:
    rest = iter(elements)
    try:
        root = _field(next(rest), rest)
    except (StopIteration, KeyError, IndexError, AttributeError, TypeError) as error:
        raise ThriftError(f"the schema of the footer is broken: {error!r}") from None
    return root.children


def _field(element: dict[int, Any], rest: Iterator[dict[int, Any]]) -> SchemaField:
    logical, arguments = _annotation(element)
    children = tuple(_field(next(rest), rest) for _ in range(element.get(_CHILDREN, 0)))
    is_leaf = _TYPE in element
    return SchemaField(
        name=element[_NAME].decode(),
        physical=PHYSICAL[element[_TYPE]] if is_leaf else "",
        repetition=("required", "optional", "repeated")[element.get(_REPETITION, 0)],
        logical=logical,
        arguments=arguments,
        length=element.get(_LENGTH, 0),
        children=children,
    )


def _annotation(element: dict[int, Any]) -> tuple[str, tuple[Any, ...]]:
    for number, value in element.get(_LOGICAL, {}).items():
        name = _LOGICAL_NAMES.get(number, f"annotation {number}")
        if name == "DECIMAL":
            return name, (value[2], value[1])
        if name == "INTEGER":
            return name, (value[1], value[2])
        if name in ("TIME", "TIMESTAMP"):
            return name, (_UNITS.get(next(iter(value[2])), "unknown"), value[1])
        return name, ()
    old = element.get(_CONVERTED)
    if old is None:
        return "", ()
    if old == 5:
        return "DECIMAL", (element.get(_PRECISION, 0), element.get(_SCALE, 0))
    return _OLD_NAMES.get(old, (f"annotation {old}", ()))
