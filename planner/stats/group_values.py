"""Estimates of the values that aggregate functions have over the groups of a relation."""

from __future__ import annotations

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.algebra.aggregates.record import Mean
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import Column
from forerun.planner.stats.values import ColumnEstimate


def of_group(
    call: AggregateCall,
    made: Column,
    argument: ColumnEstimate | None,
    rows: float,
    groups: float,
) -> ColumnEstimate:
    """Estimate the values of a call over so many groups of rows; ``argument`` is what is known of
    its first one. A list is as long as all that it gathers. A sum or count is known by its mean, a
    value among those of a column by their bounds."""
    known, size = function(call.name), rows / max(1.0, groups)
    column = argument if call.args and isinstance(call.args[0], Ref) else None
    bounds = column if known.bounded else None
    gathered = argument if known.gathers else None
    return ColumnEstimate(
        distinct=groups,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        width=gathered.width * size if gathered else float(made.type.width),
        mean=_mean(known.mean, column, size),
    )


def _mean(kind: Mean, column: ColumnEstimate | None, size: float) -> float | None:
    if kind is Mean.ROWS:
        return size
    if kind is not Mean.SUM or column is None or column.low is None or column.high is None:
        return None
    return size * (column.low + column.high) / 2.0
