"""Read changelogs: a row is there as often as its ``__w`` add up to.

See :mod:`forerun.include.sources.changelog` for the files.
"""

from __future__ import annotations

from collections.abc import Collection

from forerun.include.state.records import ManifestSource
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.spark_jobs.engine import Engine, Frame, quoted

_W = quoted(WEIGHT_COLUMN)
TAKEN_BACK_TOO_OFTEN = "source {}: a row is taken back more often than it came"
"""What a run fails with whose result would be wrong whatever it did."""
_CHANGED, _CAME = "__forerun_changed", "__forerun_came"
_MOST_SENT = 2_000_000
"""Hashes of so many rows are sent to all workers: some 60 MB there."""
_COPIES = 4096
"""So many copies of a row are made at a time: by few columns millions of rows are alike, and what
is repeated is in memory as a whole."""


def consolidated(
    engine: Engine,
    source: ManifestSource,
    rows: Frame,
    *,
    once: bool,
    reads: Collection[str] = (),
) -> Frame:
    """The rows that are there. ``once``: by the footers each row comes exactly once and none is
    taken back, so nothing has to be added up. A row of which that is not true fails the query.

    So does a row that was taken back more often than it came: what the source says is wrong, and
    any result would be. ``reads``: the columns that count, by default all; rows are added up and
    compared by these alone, and the others are NULL. A table of many columns is grouped by few.
    """
    columns = [quoted(column.name) for column in source.columns]
    if once:
        wrong = f"source {source.name}: a footer says of all rows that they come once, one does not"
        return rows.where(f"CASE WHEN {_W} = 1 THEN true ELSE {_error(wrong)} END").select(*columns)
    keys = [quoted(c.name) for c in source.columns if not reads or c.name in reads]
    total, part = quoted(f"sum({WEIGHT_COLUMN})"), quoted("__part")
    wrong = (
        f"{TAKEN_BACK_TOO_OFTEN.format(source.name)}. Deliver a negative {WEIGHT_COLUMN} only for "
        "rows that are there, with the values that they came with."
    )
    parts = (
        f"CASE WHEN {total} < 0 THEN raise_error('{wrong}') "
        f"ELSE sequence(CAST(0 AS BIGINT), ({total} - 1) DIV {_COPIES}) END"
    )
    copies = f"array_repeat(1, CAST(least({total} - {part} * {_COPIES}, {_COPIES}) AS INT))"
    there = engine.apart(rows.groupBy(*keys).sum(WEIGHT_COLUMN))
    apart = there.selectExpr(*keys, total, f"explode({parts}) AS {part}")
    each = apart.selectExpr(*keys, f"explode({copies}) AS {quoted('__copy')}")
    return each.selectExpr(
        *(
            name if name in keys else f"CAST(NULL AS {column.type}) AS {name}"
            for name, column in zip(columns, source.columns, strict=True)
        )
    )


def goes_too_often(
    engine: Engine, source: ManifestSource, came: Frame, changed: Frame, back: int
) -> bool:
    """Return whether one of the ``back`` rows that go in these changes is now there less than no
    times, of all that came.

    Rows are shuffled and grouped only if they are alike to one that goes. They are found by a hash,
    which is equal for equal rows (of 0.0 and -0.0, too); some others that it lets through are then
    told apart.
    """
    engine.bind_view(_CHANGED, changed)
    engine.bind_view(_CAME, came)
    columns = ", ".join(quoted(column.name) for column in source.columns)
    hashed = f"xxhash64({columns})"
    hint = "/*+ BROADCAST(g) */" if back <= _MOST_SENT else ""
    found = engine.session.sql(
        f"SELECT {hint} 1 AS found FROM {quoted(_CAME)} a LEFT SEMI JOIN "
        f"(SELECT DISTINCT {hashed} AS h FROM {quoted(_CHANGED)} WHERE {_W} < 0) g "
        f"ON {hashed} = g.h GROUP BY {columns} HAVING sum({_W}) < 0 LIMIT 1"
    )
    return bool(found.collect())


def with_taken_back(source: ManifestSource, rows: Frame, gone: Frame | None) -> Frame:
    """The rows of a delivery with a weight each, and those of files that are gone taken back. Files
    of a changelog have weights; those of ``gone``, if there are any, then count the other way
    round."""
    columns = [quoted(column.name) for column in source.columns]
    weight = _W if source.change == "changelog" else "CAST(1 AS BIGINT)"
    came = rows.selectExpr(*columns, f"{weight} AS {_W}")
    return came if gone is None else came.union(gone.selectExpr(*columns, f"-{weight} AS {_W}"))


def _error(text: str) -> str:
    return f"CAST(raise_error('{text}') AS BOOLEAN)"
