"""Deliveries of a changelog, made of a table: some rows come with other values first.

Such a row comes when it is its turn, with what its neighbour has in all columns but the first and
those it arrives by. In a later run that version is taken back, and the row itself comes. So the
source ends as the table, whatever is taken back on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from forerun.include.reports.sources.changes import WEIGHT
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

UPDATED = 0.1
"""The share of rows that come with other values first."""

Part = tuple[int, pa.RecordBatch]
"""The number of a run, from 0, and rows of its delivery."""


def with_updates(
    batch: pa.RecordBatch,
    runs: np.ndarray,
    last: int,
    chances: np.ndarray,
    own: Collection[str],
) -> Iterator[Part]:
    """The changes that these rows make in the runs of a day, which are 0 to ``last``.

    ``runs``: when each row arrives; ``chances``: for each row a number in [0, 1) of its own;
    ``own``: columns that keep their values, beside the first.
    """
    updated = (chances < UPDATED) & (runs < last)
    again = runs + 1 + np.floor(chances / UPDATED * (last - runs)).astype(np.int64)
    first = _before(batch, {batch.schema.names[0], *own})
    for run in range(last + 1):
        comes = runs == run
        parts = (
            _signed(batch.filter(pa.array(comes & ~updated)), 1),
            _signed(first.filter(pa.array(comes & updated)), 1),
            _signed(first.filter(pa.array((again == run) & updated)), -1),
            _signed(batch.filter(pa.array((again == run) & updated)), 1),
        )
        for part in parts:
            if part.num_rows:
                yield run, part


def _before(batch: pa.RecordBatch, own: Collection[str]) -> pa.RecordBatch:
    """The rows as they were: with the values of the row after, the last with those of the first."""
    places = pa.array((np.arange(batch.num_rows) + 1) % max(1, batch.num_rows))
    arrays = [
        column if name in own else column.take(places)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _signed(rows: pa.RecordBatch, weight: int) -> pa.RecordBatch:
    weights = pa.array(np.full(rows.num_rows, weight, dtype=np.int64))
    schema = rows.schema.append(pa.field(WEIGHT_COLUMN, pa.int64(), nullable=WEIGHT.nullable))
    return pa.RecordBatch.from_arrays([*rows.columns, weights], schema=schema)
