"""Keep what a repair changes in the result, row by row, before anybody publishes it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.days.publishing import published_folder
from forerun.include.reports.spec import PartitionFolder
from forerun.include.sources.files import locate
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import RunCommit
from forerun.include.state.rows import read_rows, result_rows
from forerun.include.verify.row_diff import row_diff


def write_diff(day: Day, commit: RunCommit, published: Pointer) -> pa.Table:
    """Compare the result of a repair's run with what is published, keep the difference in the store
    and return it. Raises :class:`forerun.include.verify.row_diff.SchemaChangedError`."""
    if commit.result is None:
        raise ValueError("a repair has a result")
    after = result_rows(day.store, commit.result)
    if isinstance(day.spec.published_to, PartitionFolder):
        place = locate(published.folder)
        before = read_rows(place.store, place.key, published.files)
    else:
        before = read_rows(day.store, published_folder(published), published.files)
    diff = row_diff(after.slice(0, 0) if before is None else before, after)
    sink = pa.BufferOutputStream()
    pq.write_table(diff, sink)
    day.store.put(day.at.diff(commit.run, commit.attempt), sink.getvalue().to_pybytes())
    return diff
