"""Types of files that Spark reads as a wider declared one, value for value.

Every pair here is read by Spark and by the small engine in ``tests/spark/test_widening.py``.
"""

from __future__ import annotations

import functools

from forerun.planner.algebra.types import DataType, parse_type

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = {"TINYINT": 10, "SMALLINT": 10, "INT": 10, "BIGINT": 20}
"""Digits before the point that Spark wants of a DECIMAL which takes the physical numbers: those of
32 bits, and of 64."""


@functools.cache
def same_type(one: str, other: str) -> bool:
    """Return whether two types of columns, as texts, are one."""
    return parse_type(one).sql.upper() == parse_type(other).sql.upper()


def widens(found: str, declared: str) -> bool:
    """Return whether every value of a file's type is one of the declared type, and Spark reads it
    as that: integers in wider ones, in a DECIMAL with room, or (up to 32 bits) in a DOUBLE; FLOAT
    in DOUBLE; DECIMAL in one with as many digits on either side of the point. Nested types are only
    ever the same."""
    if "<" in found or "<" in declared:
        return False
    narrow, wide = parse_type(found), parse_type(declared)
    if narrow.is_integer:
        return _takes_integers(wide, narrow.name)
    if narrow.name == "FLOAT":
        return wide.name == "DOUBLE"
    if narrow.name == wide.name == "DECIMAL":
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return whole and wide.scale >= narrow.scale
    return False


def _takes_integers(wide: DataType, narrow: str) -> bool:
    if wide.is_integer:
        return _INTEGERS.index(narrow) < _INTEGERS.index(wide.name)
    if wide.name == "DECIMAL":
        return wide.precision - wide.scale >= _DIGITS[narrow]
    return wide.name == "DOUBLE" and narrow != "BIGINT"
