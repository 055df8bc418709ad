"""Upserts: files that have a row anew, with its key, each time that it changes.

The table is the newest row of each key among all that was delivered. For each pin it is computed
anew of the files and compared with what the pins before have: the difference is copied, as rows
with a weight, so an update takes the old row back and brings the new one (Tempura, section 3, the
multiset perspective). Files may come late or twice; an older row changes nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.files import Listing, locate_file
from forerun.include.sources.parquet.old_times import is_by_the_old_calendar
from forerun.include.sources.raw import Raw
from forerun.include.sources.rows.table_difference import difference, pinned_rows, weighted
from forerun.include.sources.texts.text_types import flat_type, schema_of_columns
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin, PinnedFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa


def upserted(source: SourceSpec, delivered: Sequence[PinnedFile], last: Pin | None) -> Listing:
    """Return what has changed since the last pin, as rows that are to be copied: those of the
    newest row of each key, in the files that were ``delivered``.

    Raises :class:`forerun.include.sources.unread.SourceFileError` for a key or a ``newest_by``
    that is NULL, and for a key of which two rows are equally new.
    """

    def refused(column: ColumnSpec) -> SourceFileError:
        return SourceFileError(
            f"source {source.name}: rows with a column {column.name} of type {column.type} are not "
            "compared",
            hint="Leave the column out, or take the newest row of a key in the query.",
        )

    schema = schema_of_columns(source.columns, flat_type, refused)
    now = weighted(_newest(source, _rows(delivered, schema)), 1)
    come = now if last is None else difference(pinned_rows(last.files, schema), now)
    kept = () if last is None else last.files
    if last is not None and not come.num_rows:
        return Listing(folder=None, kept=kept)
    token = secrets.token_hex(16)

    def read(declared: Sequence[ColumnSpec]) -> pa.RecordBatchReader:
        return come.select([column.name for column in declared]).to_reader()

    uri = source.path.partition("{")[0].rstrip("/")
    raw = Raw(
        key=token,
        origin=f"{uri}/{token}",
        identity=("upserts", token),
        read=read,
        verify=int,  # what was read is what is copied
    )
    return Listing(folder=None, raw=(raw,), kept=kept)


def _rows(files: Sequence[PinnedFile], schema: pa.Schema) -> pa.Table:
    """Return the rows of files as they were delivered, by the declared names and types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = [schema.empty_table()]
    for file in files:
        at = locate_file(file.uri)
        with at.store.open(at.key) as handle:
            parquet = pq.ParquetFile(handle, coerce_int96_timestamp_unit="us")
            if file.old_times and is_by_the_old_calendar(parquet.metadata.metadata or {}):
                raise SourceFileError(
                    f"{file.name}: column {file.old_times[0]} is written by an old calendar, in a "
                    "file of upserts, which are compared here",
                    hint="Deliver it as a Spark of today writes it.",
                )
            names = {name.lower(): name for name in parquet.schema_arrow.names}
            rows = parquet.read([names[name.lower()] for name in schema.names])
        found.append(rows.rename_columns(schema.names).cast(schema))
    return pa.concat_tables(found)


def _newest(source: SourceSpec, rows: pa.Table) -> pa.Table:
    """Return the newest row of each key, each once."""
    import pyarrow.compute as pc

    keys, by = list(source.key), source.newest_by
    for name in (*keys, by):
        if rows[name].null_count:
            raise SourceFileError(
                f"source {source.name}: {rows[name].null_count} rows have NULL in {name}",
                hint="Each row of upserts says which key it is of and how new it is.",
            )
    newest = rows.group_by(keys, use_threads=False).aggregate([(by, "max")])
    newest = newest.rename_columns([*keys, by])
    found = rows.join(newest, [*keys, by], join_type="left semi", use_threads=False)
    found = found.group_by(rows.column_names, use_threads=False).aggregate([])
    if found.num_rows > newest.num_rows:
        counts = found.group_by(keys, use_threads=False).aggregate([(by, "count")])
        twice = counts.filter(pc.greater(counts[f"{by}_count"], 1))
        first = {name: twice[name][0].as_py() for name in keys}
        raise SourceFileError(
            f"source {source.name}: {twice.num_rows} keys have several rows with the greatest "
            f"{by}, such as {first}",
            hint=f"Which of them is the newest is not known: deliver a {by} that tells.",
        )
    return found.select(rows.column_names)
