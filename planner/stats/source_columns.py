"""Estimates of the columns of a source, from what its files, its author and its sample say."""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.types import DATE
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.request import ColumnStats, Source
from forerun.planner.stats.sample import counted_stats
from forerun.planner.stats.values import ColumnEstimate, of_source


def source_columns(source: Source) -> Mapping[str, ColumnEstimate]:
    """Return the estimates of the columns of all rows of a source, and of its panes, by name."""
    stats = {**dict(source.stats), **counted_stats(source)}
    unique = {key[0] for key in source.keys if len(key) == 1}
    rows = float(source.rows)
    found = {
        column.name: of_source(
            stats.get(column.name, ColumnStats()), column.type, rows, column.name in unique
        )
        for column in source.columns
    }
    if source.panes:
        panes = ColumnStats(distinct=float(source.panes))
        found[PANE_COLUMN] = of_source(panes, DATE, rows, unique=False)
    return found
