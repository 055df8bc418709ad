"""Compute what a new version of a result changes, row by row: a bag with weights, readable before
anybody publishes it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from forerun.include.verify.equality import row_classes, schema_differences, sides_of
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.planner.errors import ForerunError


class SchemaChangedError(ForerunError):
    """Two versions of a result have different columns, so no row of one is a row of the other."""

    code = "schema-changed"


def row_diff(before: pa.Table, after: pa.Table) -> pa.Table:
    """Return the rows whose number differs, with a column ``__w BIGINT``: how many more of them
    ``after`` has (positive) or fewer (negative).

    Rows are equal in the sense of docs/reference/equality.md, so floating-point numbers that only
    were added up in another order are no difference. The rows are in the order of their values,
    those that went beside those that came in their place. Raises :class:`SchemaChangedError`.
    """
    if problems := schema_differences(before.schema, after.schema):
        raise SchemaChangedError(
            f"the versions have other columns: {'; '.join(problems)}",
            hint="The report was changed in between: clear the day to compute it as it is now.",
        )
    sides = sides_of(before, after, {})
    classes = row_classes(sides, range(sides.table.num_columns))
    size = int(classes.max(initial=-1)) + 1
    more = np.bincount(classes[sides.split :], minlength=size)
    more -= np.bincount(classes[: sides.split], minlength=size)
    found, first = np.unique(classes, return_index=True)
    example = np.zeros(size, dtype=np.int64)
    example[found] = first
    changed = np.flatnonzero(more)
    rows = sides.table.take(pa.array(example[changed]))
    return rows.append_column(WEIGHT_COLUMN, pa.array(more[changed], pa.int64()))


def counts(diff: pa.Table) -> tuple[int, int]:
    """Return how many rows a difference adds, and how many it takes away."""
    weights = diff.column(WEIGHT_COLUMN).to_numpy()
    return int(weights[weights > 0].sum()), int(-weights[weights < 0].sum())
