"""Data types and columns.

A type is what Spark calls it. A nested type is carried whole, as text in one spelling, so that
equal types are equal texts: ``STRUCT<city:STRING,tags:ARRAY<STRING>>``. ``UNKNOWN`` is an honest
answer for an expression whose type we do not derive; nothing whose type is unknown is ever kept
between runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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


INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""The digits of the DECIMAL without scale that Spark takes an integer type for."""


def parse_type(text: str) -> DataType:
    """Read a type as Spark (``simpleString`` or SQL) writes it, whatever its case. Raises
    ValueError for a nested type that does not hold what it should, a DECIMAL out of bounds."""
    upper = text.strip().upper()
    if match := _DECIMAL.match(upper):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    if re.match(r"^(VARCHAR|CHAR)\s*\(", upper):
        return STRING
    if "<" in upper:
        return DataType(_one_spelling(text.strip()))
    return DataType(_ALIASES.get(upper, upper))


def split_type(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the word before the brackets of a nested type, and the texts between its commas: two
    of ``MAP<STRING,INT>``, the fields of a struct. Raises ValueError where there are no brackets
    around the rest."""
    kind, _, rest = text.strip().partition("<")
    rest = rest.rstrip()
    if not rest.endswith(">"):
        raise ValueError(f"{text!r} is not a nested type")
    return kind.strip().upper(), tuple(part.strip() for part in _at_commas(rest[:-1]))


def _at_commas(text: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets, parentheses, quotes or backticks."""
    depth, begin, quoted = 0, 0, ""
    for place, char in enumerate(text):
        if quoted or char in "`'":
            quoted = "" if char == quoted else quoted or char
        elif char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:]


def split_field(text: str) -> tuple[str, str]:
    """Return the name and the type of a field as :func:`split_type` gives it: ``a:INT``, or in SQL
    ``a INT NOT NULL COMMENT 'words'``. Raises ValueError for what is none."""
    found = _FIELD.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a field of a struct")
    quoted = found["quoted"]
    name = found["named"] or found["spaced"] if quoted is None else quoted.replace("``", "`")
    return name, found["type"]


def field_text(name: str, type_: str) -> str:
    """Return a field of a struct in the one spelling; a name that is no identifier is quoted."""
    shown = name if _IDENTIFIER.match(name) else "`" + name.replace("`", "``") + "`"
    return f"{shown}:{type_}"


def is_looked_into(type_: DataType) -> bool:
    """Return whether what a nested type holds is read, which asks for a call per bracket."""
    return type_.name.count("<") <= _DEEPEST


_DEEPEST = 200
"""A type with more brackets than that is not looked into."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_FIELD = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)*)`\s*:?\s*|(?P<named>[^:`<('\"]+?)\s*:\s*|(?P<spaced>\S+)\s+)"
    r"(?P<type>\S.*?)(?:\s+NOT\s+NULL)?(?:\s+COMMENT\s+(?:'[^']*'|\"[^\"]*\"))?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)


def _one_spelling(text: str) -> str:
    """A nested type in the spelling that equal ones share. Raises ValueError for what is none."""
    if not is_looked_into(DataType(text)):
        return text
    kind, parts = split_type(text)
    if kind == "STRUCT":
        fields = (split_field(part) for part in parts)
        inside = [field_text(name, parse_type(type_).sql) for name, type_ in fields]
    else:
        inside = [parse_type(part).sql for part in parts]
    return f"{kind}<{','.join(inside)}>"


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
