"""The difference of two states of a table, as bags of rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from forerun.include.sources.files import locate_file
from forerun.include.state.records import PinnedFile
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa


def weighted(rows: pa.Table, weight: int) -> pa.Table:
    """Return rows that each come so often."""
    import pyarrow as pa

    weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
    return rows.append_column(pa.field(WEIGHT_COLUMN, pa.int64()), weights)


def pinned_rows(files: Iterable[PinnedFile], schema: pa.Schema) -> pa.Table:
    """Return the rows that files of a pin hold, and how often each comes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = []
    for file in files:
        at = locate_file(file.uri)
        with at.store.open(at.key) as handle:
            rows = pq.read_table(handle)
        held = rows.select(schema.names).cast(schema)
        known = rows[WEIGHT_COLUMN] if WEIGHT_COLUMN in rows.column_names else None
        found.append(
            weighted(held, 1) if known is None else held.append_column(WEIGHT_COLUMN, known)
        )
    return pa.concat_tables(found) if found else weighted(schema.empty_table(), 1)


def difference(before: pa.Table, now: pa.Table) -> pa.Table:
    """Return the rows that are not in both states equally often, and how much oftener each is in
    the second one. Numbers are compared as they are stored: NaN is NaN, and 0.0 is not -0.0.

    Rows with arrays or structs are not compared: all of the first state go, all of the second one
    come.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [name for name in now.column_names if name != WEIGHT_COLUMN]
    gone = before.set_column(
        before.column_names.index(WEIGHT_COLUMN),
        pa.field(WEIGHT_COLUMN, pa.int64()),
        pc.negate(before[WEIGHT_COLUMN]),
    )
    both = pa.concat_tables([now, gone.select(now.column_names)])
    if any(pa.types.is_nested(both.schema.field(name).type) for name in names):
        return both
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


def only_come(found: pa.Table) -> pa.Table | None:
    """Return a difference as rows that have come, each once; None if some have gone.

    A source that only grows is to be read anew then. That a run has read other rows is said when
    the pin is held against that of the run (:func:`forerun.include.sources.delivery.delivery`).
    """
    import pyarrow.compute as pc

    if pc.any(pc.less(found[WEIGHT_COLUMN], 0)).as_py():
        return None
    return repeated(found).drop_columns([WEIGHT_COLUMN])
