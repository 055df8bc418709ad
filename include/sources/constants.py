"""Columns that a file does not hold, since all of its rows have one value there.

The folders of a partitioned table name such values (``country=DE/``), and so does the log of a
table format, whose data files lack the partition columns, too. Which of them a file has is pinned
with it: each engine then reads the file without them and adds the values, so that no engine's own
discovery of partitions (which Spark and Sail do differently) has a say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from forerun.include.state.records import ColumnFooter, PinnedFile
from forerun.planner.algebra.types import DataType, parse_type
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

Constants = tuple[tuple[str, str | None], ...]
"""Columns and the text of the one value that all rows of a file have, None for NULL."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder's value for NULL, and for the empty text, which Spark reads as NULL."""
_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TRUTHS = {"true": "true", "false": "false"}


class PartitionError(ForerunError):
    """A folder or a log does not name the value of a partition column, or names no such value."""

    code = "schema-drift"


def in_folders(uri: str, key: str, columns: Sequence[str]) -> Constants:
    """Return the values of partition columns by the folders that a file lies in, the innermost of
    a name. Raises :class:`PartitionError` for a column that no folder names."""
    named = {}
    for folder in key.split("/")[:-1]:
        name, mark, text = folder.partition("=")
        if mark:
            value = unquote(text)
            named[unquote(name).lower()] = None if value == NO_VALUE else value
    for column in columns:
        if named.get(column.lower(), "") == "":
            raise PartitionError(
                f"{uri} lies in no folder that names its {column}",
                hint=f"Deliver it into a folder {column}=..., or take {column} out of "
                "partitioned_by, if the files have it.",
            )
    return tuple((column, named[column.lower()]) for column in columns)


def with_constants(
    file: PinnedFile, constants: Constants, columns: Sequence[ColumnSpec]
) -> PinnedFile:
    """Return a file with these constants, and with what is thereby known of those columns.

    Raises :class:`PartitionError` for a text that is no value of the declared type, for a type
    that no partition column has here, and for a column that the file holds as well: which of the
    two an engine reads is up to the engine.
    """
    types = {column.name.lower(): column for column in columns}
    held = {column.name.lower() for column in file.columns}
    pinned, footers = [], []
    for name, text in constants:
        declared = types.get(name.lower())
        if declared is None:
            continue
        if name.lower() in held:
            raise PartitionError(
                f"{file.uri} holds the column {name}, which its partition names as well",
                hint=f"Take {name} out of partitioned_by, or write the files without it.",
            )
        value = None if text is None else _value(file.uri, declared, text)
        pinned.append((declared.name, value))
        footers.append(
            ColumnFooter(
                name=declared.name,
                type=declared.type,
                minimum=value,
                maximum=value,
                nulls=file.rows if value is None else 0,
                distinct=int(value is not None),
            )
        )
    return replace(file, constants=tuple(pinned), columns=(*file.columns, *footers))


def value_of(text: str | None, kind: DataType) -> object:
    """Return the value of a constant, in Python's type."""
    return None if text is None else _OF_TYPE[_family(kind)](text)


def _value(uri: str, column: ColumnSpec, text: str) -> str:
    """Return the text of a value as a CAST of Spark reads it, whatever the type."""
    kind = parse_type(column.type)
    if _family(kind) not in _OF_TYPE:
        raise PartitionError(
            f"{uri}: the partition column {column.name} is of type {column.type}",
            hint=f"Declare it as one of {', '.join(_OF_TYPE)}, and cast in the query.",
        )
    try:
        value = value_of(text, kind)
    except (ValueError, InvalidOperation):
        value = None
    if value is None or not _fits(value, kind):
        raise PartitionError(
            f"{uri}: {text!r} is no {column.type}, the type of the partition column {column.name}",
            hint="Correct the folder's name, or declare the column as what it holds.",
        )
    return _TRUTHS[text.lower()] if isinstance(value, bool) else str(value)


def _family(kind: DataType) -> str:
    return "INT" if kind.name in _WHOLE else kind.name


def _fits(value: object, kind: DataType) -> bool:
    if kind.name in _WHOLE and isinstance(value, int):
        end: int = 1 << (_WHOLE[kind.name] - 1)
        return -end <= value < end
    if isinstance(value, Decimal):
        return value.is_finite() and _is_exact(value, kind.precision, kind.scale)
    return True


def _is_exact(value: Decimal, precision: int, scale: int) -> bool:
    scaled = value.scaleb(scale)
    return bool(scaled == scaled.to_integral_value() and abs(scaled) < 10**precision)


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError
    return int(text)


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise ValueError
    return text.lower() == "true"


def _day(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError
    return date.fromisoformat(text)


_OF_TYPE: dict[str, Callable[[str], object]] = {
    "BOOLEAN": _truth,
    "INT": _whole,
    "DECIMAL": Decimal,
    "DATE": _day,
    "STRING": str,
}
"""How the text of a value is read, by the family of its type."""
