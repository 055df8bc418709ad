"""Aggregate functions: result types, and how partial states are made, merged and finished.

The vocabulary is Tempura's (section 3.2): initialize and iterate make a partial state from rows,
merge combines partial states, finalize makes the value. A state is one or more ordinary columns,
so that it can be kept as rows and merged by GROUP BY.
"""

from __future__ import annotations

from planner.algebra.types import BIGINT, DOUBLE, UNKNOWN, DataType, decimal

MERGEABLE = frozenset({"sum", "count", "avg", "min", "max"})
"""Functions with a merge. ``count`` without arguments is ``count(*)``."""


def result_type(name: str, args: tuple[DataType, ...]) -> DataType:
    """The type Spark gives the aggregate, UNKNOWN where we do not derive it."""
    if name == "count":
        return BIGINT
    if not args or not args[0].is_known:
        return UNKNOWN
    (first, *_) = args
    if name in ("min", "max", "first", "last", "any_value", "first_value", "last_value", "mode"):
        return first
    if name == "sum":
        return _sum_type(first)
    if name in ("avg", "mean"):
        return _average_type(first)
    if name in ("stddev", "stddev_samp", "stddev_pop", "std", "variance", "var_samp", "var_pop",
                "corr", "covar_pop", "covar_samp", "skewness", "kurtosis"):  # fmt: skip
        return DOUBLE
    if name in ("bool_and", "bool_or", "every", "some", "any"):
        return DataType("BOOLEAN")
    if name in ("approx_count_distinct",):
        return BIGINT
    return UNKNOWN


def _sum_type(type_: DataType) -> DataType:
    if type_.is_integer:
        return BIGINT
    if type_.name == "DECIMAL":
        return decimal(min(38, type_.precision + 10), type_.scale)
    return DOUBLE if type_.is_floating or type_.name == "STRING" else UNKNOWN


def _average_type(type_: DataType) -> DataType:
    """Spark: DECIMAL(p, s) averages to (p+4, s+4), bounded; everything else numeric to DOUBLE."""
    if type_.name == "DECIMAL":
        precision, scale = type_.precision + 4, type_.scale + 4
        if precision > 38:
            # Spark's DecimalType.adjustPrecisionScale does not apply here: it bounds both.
            precision, scale = 38, min(scale, 38)
        return decimal(precision, scale)
    return DOUBLE if type_.is_numeric or type_.name == "STRING" else UNKNOWN
