"""Kinds of types, each a letter, and between which of them Spark casts.

What an operator, a cast or a function takes depends on the kind of a type, nearly never on its
precision or on what is nested in it. Tables over kinds are short enough to be read, and a test asks
Spark about every entry (``tests/spark/test_types_on_spark.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.types import DataType

_LETTERS = {
    "VOID": "v", "BOOLEAN": "b", "TINYINT": "i", "SMALLINT": "i", "INT": "i", "BIGINT": "l",
    "FLOAT": "f", "DOUBLE": "e", "DECIMAL": "c", "STRING": "s", "BINARY": "x", "DATE": "d",
    "TIMESTAMP": "t", "TIMESTAMP_NTZ": "n",
}  # fmt: skip
_NESTED = {"ARRAY<": "a", "MAP<": "p", "STRUCT<": "r"}
_CAST: Mapping[str, str] = {
    "b": "bilfecs", "i": "bilfecstmw", "l": "bilfecstmw", "f": "bilfecst", "e": "bilfecst",
    "c": "bilfecstmw", "s": "bilfecsxdtnmw", "x": "sx", "d": "sdtn", "t": "ilfecsdtn", "n": "sdtn",
    "m": "ilcsm", "w": "ilcsw", "a": "sa", "p": "sp", "r": "sr",
}  # fmt: skip
"""By the kind of what is cast: the kinds that Spark casts it to in ANSI mode."""


def kind_of(type_: DataType) -> str:
    """Return the letter of a type; empty for one that no table has, such as VARIANT or a type that
    is not known."""
    name = type_.name.upper()
    if name.startswith("INTERVAL "):
        return "m" if "YEAR" in name or "MONTH" in name else "w"
    nested = next((kind for begin, kind in _NESTED.items() if name.startswith(begin)), "")
    return nested or _LETTERS.get(name, "")


def is_nested(type_: DataType) -> bool:
    """Return whether it is an array, a map or a struct."""
    return kind_of(type_) in ("a", "p", "r")


def can_cast(given: DataType, to: DataType) -> bool:
    """Return whether Spark casts one type to the other; true where that is not known."""
    one, other = kind_of(given), kind_of(to)
    if to.name.upper() == "INTERVAL":
        return one in ("", "v", "s")  # an interval of all units is written as a text
    return not one or not other or one == "v" or other in _CAST[one]


def is_ordered(type_: DataType) -> bool:
    """Return whether Spark sorts values of the type, which it also does to find out whether rows
    are the same. Maps are not, wherever they are nested."""
    name = type_.name.upper()
    return "MAP<" not in name and name not in ("VARIANT", "INTERVAL")


def has_parts(type_: DataType) -> bool:
    """Return whether a name after a dot can mean a part of a value, which a type that is not known
    leaves open."""
    return not type_.is_known or is_nested(type_)
