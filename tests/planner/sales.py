"""A large table of numbers with few groups, for tests of which runs are opened."""

from __future__ import annotations

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.request import ColumnStats, Source, SourceColumn

SALES = Source(
    name="sales",
    columns=(
        SourceColumn(name="k", type=BIGINT),
        SourceColumn(name="g", type=STRING),
        SourceColumn(name="v", type=BIGINT),
    ),
    changing=True,
    rows=50_000_000,
    bytes=2_000_000_000,
    stats=(("g", ColumnStats(distinct=10.0)),),
)
