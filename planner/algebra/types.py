"""Data types and columns.

A type is what Spark calls it. Nested types are carried whole, as text: the planner never looks
inside them. ``UNKNOWN`` is an honest answer for an expression whose type we do not derive; nothing
whose type is unknown is ever kept between runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NewType

ColumnId = NewType("ColumnId", int)

_ALIASES = {
    "LONG": "BIGINT", "INTEGER": "INT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "REAL": "FLOAT",
    "BOOL": "BOOLEAN", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "TEXT": "STRING",
    "TIMESTAMP_LTZ": "TIMESTAMP",
}  # fmt: skip
_DECIMAL = re.compile(
    r"^(?:DECIMAL|DEC|NUMERIC)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?\Z", re.ASCII
)
_WIDTH = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "DATE": 4, "FLOAT": 4, "STRING": 24}


@dataclass(frozen=True, slots=True)
class DataType:
    """A Spark SQL type. ``precision`` and ``scale`` are for DECIMAL only."""

    name: str
    precision: int = 0
    scale: int = 0

    @property
    def sql(self) -> str:
        """The type as Spark SQL text."""
        if self.name == "DECIMAL":
            return f"DECIMAL({self.precision},{self.scale})"
        return self.name

    @property
    def is_integer(self) -> bool:
        return self.name in ("TINYINT", "SMALLINT", "INT", "BIGINT")

    @property
    def is_floating(self) -> bool:
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_floating or self.name == "DECIMAL"

    @property
    def is_known(self) -> bool:
        return self.name != "UNKNOWN"

    @property
    def width(self) -> int:
        """Bytes of one value, for estimates when no statistics are at hand."""
        return _WIDTH.get(self.name, 8 if self.precision <= 18 else 16)

    def __str__(self) -> str:
        return self.sql


BOOLEAN = DataType("BOOLEAN")
TINYINT = DataType("TINYINT")
SMALLINT = DataType("SMALLINT")
INT = DataType("INT")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
STRING = DataType("STRING")
BINARY = DataType("BINARY")
DATE = DataType("DATE")
TIMESTAMP = DataType("TIMESTAMP")
TIMESTAMP_NTZ = DataType("TIMESTAMP_NTZ")
INTERVAL = DataType("INTERVAL")
NULL = DataType("VOID")
UNKNOWN = DataType("UNKNOWN")


def decimal(precision: int, scale: int) -> DataType:
    """A DECIMAL within Spark's bounds (at most 38 digits)."""
    if not 0 < precision <= 38 or not 0 <= scale <= precision:
        raise ValueError(f"DECIMAL({precision},{scale}) is out of Spark's bounds")
    return DataType("DECIMAL", precision, scale)


def parse_type(text: str) -> DataType:
    """Read a type as Spark (``simpleString`` or SQL) writes it, whatever its case."""
    upper = text.strip().upper()
    if match := _DECIMAL.match(upper):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    if re.match(r"^(VARCHAR|CHAR)\s*\(", upper):
        return STRING
    if "<" in upper:
        return DataType(text.strip())
    return DataType(_ALIASES.get(upper, upper))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation. Its id is its identity; the name is for people and for SQL text."""

    id: ColumnId
    name: str
    type: DataType

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        return f"{self.name}#{self.id}"
