"""The difference of two states of a table, as bags of rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa


def weighted(rows: pa.Table, weight: int) -> pa.Table:
    """Return rows that each come so often."""
    import pyarrow as pa

    weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
    return rows.append_column(pa.field(WEIGHT_COLUMN, pa.int64()), weights)


def difference(before: pa.Table, now: pa.Table) -> pa.Table:
    """Return the rows that are not in both states equally often, and how much oftener each is in
    the second one. Numbers are compared as they are stored: NaN is NaN, and 0.0 is not -0.0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [name for name in now.column_names if name != WEIGHT_COLUMN]
    gone = before.set_column(
        before.column_names.index(WEIGHT_COLUMN),
        pa.field(WEIGHT_COLUMN, pa.int64()),
        pc.negate(before[WEIGHT_COLUMN]),
    )
    both = pa.concat_tables([now, gone.select(now.column_names)])
    summed = both.group_by(names, use_threads=False).aggregate([(WEIGHT_COLUMN, "sum")])
    net = summed.rename_columns([*names, WEIGHT_COLUMN])
    return net.filter(pc.not_equal(net[WEIGHT_COLUMN], 0))


def with_keys(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """Return the rows that have one of some keys, in the columns of these."""
    names = keys.column_names
    return rows.join(keys, names, join_type="left semi", use_threads=False)


def repeated(rows: pa.Table) -> pa.Table:
    """Return each row as often as it comes."""
    import pyarrow as pa

    counts = rows[WEIGHT_COLUMN].to_pylist()
    if all(count == 1 for count in counts):
        return rows
    each = (itertools.repeat(number, count) for number, count in enumerate(counts))
    return rows.take(pa.array(itertools.chain.from_iterable(each), pa.int64()))
