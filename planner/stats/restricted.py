"""Estimates of the values that a condition leaves of a column, beside how many rows it leaves.

A column that is compared with a constant has one value in the rows that pass, one that is in a list
at most as many as the list, and neither is NULL. Without it ``GROUP BY year`` of the rows of one
year would be estimated at as many groups as there are years. Ranges are left to what the share of
the rows says (:func:`forerun.planner.stats.values.resized`).
"""

from __future__ import annotations

from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjuncts
from forerun.planner.algebra.types import ColumnId
from forerun.planner.stats.selectivity import column_and_constant, constant_value
from forerun.planner.stats.values import ColumnEstimate


def restricted(
    predicate: Scalar, columns: dict[ColumnId, ColumnEstimate]
) -> dict[ColumnId, ColumnEstimate]:
    """Return the columns of the rows for which the predicate is true; ``columns`` is what else is
    estimated of these."""
    left = dict(columns)
    for part in conjuncts(predicate):
        if (told := _told(part)) is None:
            continue
        column, values, value = told
        before = left[column.column.id]
        kept = before._replace(distinct=min(before.distinct, values), nulls=0.0)
        if value is not None:
            kept = kept._replace(low=value, high=value)
        left[column.column.id] = kept
    return left


def _told(part: Scalar) -> tuple[Ref, float, float | None] | None:
    """Return the column whose values a conjunct bounds, how many are left, and which one it is
    where that has a place on the number line; None for any other conjunct."""
    match part:
        case Call("in", (Ref() as column, *listed)) if all(isinstance(x, Literal) for x in listed):
            return column, float(len(listed)), None
    compared = column_and_constant(part)
    if compared is None or compared[0] != "=":
        return None
    _, column, constant = compared
    return column, 1.0, constant_value(constant, column)
