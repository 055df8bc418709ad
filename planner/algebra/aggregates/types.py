"""Result types of aggregate functions, as Spark 4.1 derives them from the argument types."""

from __future__ import annotations

from forerun.planner.algebra.functions import MAX_PRECISION
from forerun.planner.algebra.nested import array_of, struct_fields, struct_of
from forerun.planner.algebra.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    UNKNOWN,
    DataType,
    decimal,
)

Types = tuple[DataType, ...]
COUNT = decimal(20, 0)
"""The type to which Spark casts a count, to divide a DECIMAL by it."""


def unknown(types: Types) -> DataType:  # noqa: ARG001 - all result rules have one signature
    """We do not derive the type: the call is planned, and what it gives is never kept."""
    return UNKNOWN


def bigint(types: Types) -> DataType:  # noqa: ARG001
    """A count is BIGINT, whatever is counted."""
    return BIGINT


def boolean(types: Types) -> DataType:
    """BOOLEAN over an argument whose type we know."""
    return BOOLEAN if types and types[0].is_known else UNKNOWN


def double(types: Types) -> DataType:
    """DOUBLE over an argument whose type we know."""
    return DOUBLE if types and types[0].is_known else UNKNOWN


def percentile(types: Types) -> DataType:
    """DOUBLE over a number, or an array of them for an array of places."""
    if not types or not types[0].is_numeric:
        return UNKNOWN
    is_array = len(types) > 1 and types[1].name.startswith("ARRAY<")
    return array_of(DOUBLE) if is_array else DOUBLE


def count_of_known(types: Types) -> DataType:
    """BIGINT over an argument whose type we know."""
    return BIGINT if types and types[0].is_known else UNKNOWN


def first_argument(types: Types) -> DataType:
    """The type of the first argument: the function hands one of its values on."""
    return types[0] if types else UNKNOWN


def bits(types: Types) -> DataType:
    """The type of the whole numbers that it is over; INT over NULL alone."""
    return INT if types and types[0].name == "VOID" else first_argument(types)


def array_of_first(types: Types) -> DataType:
    """An array of what the argument is."""
    return array_of(types[0]) if types else UNKNOWN


_TOLD_APART = frozenset(["BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL", "STRING"])


def are_told_apart(types: Types) -> bool:
    """Return whether two values of one such type that are equal are the same, so that a list of
    them has one order: not of 0.0 and -0.0, nor of texts that a collation takes for equal. Structs
    are compared field by field."""
    if len(types) != 1:
        return False
    if fields := struct_fields(types[0]):
        return all(are_told_apart((type_,)) for _, type_ in fields)
    return types[0].is_integer or types[0].sql in _TOLD_APART or types[0].name == "DECIMAL"


def top_items(types: Types) -> DataType:
    """An array of items and of how often each comes, about."""
    item = types[0] if types else UNKNOWN
    return array_of(struct_of((("item", item), ("count", BIGINT))))


def binary(_: Types) -> DataType:
    """Bytes, as a sketch is."""
    return BINARY


def text(types: Types) -> DataType:
    """A list of texts is a text."""
    return STRING if types[:1] == (STRING,) else UNKNOWN


def ordered_percentile(types: Types) -> DataType:
    """The type of a percentile of the key, of ``(p, key)``."""
    return percentile((types[1], types[0])) if len(types) == 2 else UNKNOWN


def sum_type(types: Types) -> DataType:
    """Integers add up to BIGINT, DECIMAL(p, s) to (p + 10, s) bounded by 38, the rest to DOUBLE."""
    if not types:
        return UNKNOWN
    type_ = types[0]
    if type_.is_integer:
        return BIGINT
    if type_.name == "DECIMAL":
        return decimal(min(38, type_.precision + 10), type_.scale)
    return DOUBLE if type_.is_floating or type_.name == "STRING" else UNKNOWN


def average_type(types: Types) -> DataType:
    """DECIMAL(p, s) averages to (p + 4, s + 4), each bounded by 38; other numbers to DOUBLE."""
    if not types:
        return UNKNOWN
    type_ = types[0]
    if type_.name == "DECIMAL":
        # Spark bounds both by themselves here: DecimalType.adjustPrecisionScale does not apply.
        return decimal(min(38, type_.precision + 4), min(38, type_.scale + 4))
    return DOUBLE if type_.is_numeric or type_.name == "STRING" else UNKNOWN


def averaged_sum(total: DataType, result: DataType) -> DataType | None:
    """Return the DECIMAL type in which a sum, divided by :data:`COUNT`, is rounded as AVG rounds;
    None if there is none.

    AVG rounds the exact quotient once, to the scale of its result. A division of decimals rounds
    to a scale that follows from their types (``decimal_result``), and a cast then rounds again: a
    sum of DECIMAL(38, 10) over a count has 10 digits, its AVG has 14. With 34 digits in all the
    division has the sum's scale and 4 more, which is AVG's. Below scale 6 no division rounds; there
    the 12 further digits do no harm, as two quotients by counts below 10**12 differ before them.
    """
    integral = total.precision - total.scale
    if result.scale >= _LEAST_SCALE:
        return decimal(_EXACT_DIGITS, total.scale) if total.precision <= _EXACT_DIGITS else None
    return total if integral <= MAX_PRECISION - _COUNTED_DIGITS - result.scale else None


def averaged_rest(total: DataType, result: DataType) -> DataType | None:
    """Return the DECIMAL type in which what is left of a sum after whole multiples of the count is
    rounded as AVG rounds, for sums with too many digits for :func:`averaged_sum`; None if there is
    none. What is left is below the count, so it has few digits before the point."""
    room = _COUNTED_DIGITS + total.scale
    if total.scale + _ADDED_SCALE != result.scale or room > _EXACT_DIGITS:
        return None
    return decimal(_EXACT_DIGITS if result.scale >= _LEAST_SCALE else room, total.scale)


_COUNTED_DIGITS = 12
"""A group has fewer than 10**12 rows."""
_LEAST_SCALE = 6
"""The least scale that Spark's division of decimals has."""
_ADDED_SCALE = 4
"""How many digits after the point an average has beside those of its values."""
_EXACT_DIGITS = 34
"""With so many digits, the quotient of a sum has its scale and four digits more."""


def is_averaged(types: Types) -> bool:
    """Return whether the average of such values can be computed of their sum and count."""
    type_ = types[0]
    if type_.name != "DECIMAL":
        return type_.is_numeric
    total, result = sum_type(types), average_type(types)
    return averaged_sum(total, result) is not None or averaged_rest(total, result) is not None
