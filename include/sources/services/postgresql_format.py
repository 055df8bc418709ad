"""Tables of PostgreSQL: all rows are copied for the first pin of a day, and for later ones what has
changed since.

The changes are those between two states of the table, each seen by one transaction: rows that are
there oftener come, rows that are there less often go. So a source that only grows is known to do
so, and of a changelog each update and each delete is taken back, without a trigger or a column of
time. The whole table is read for each pin, or the rows with the keys that a slot names.

Of a table whose rows are told apart by day, those of the days that are read. What an earlier day
has copied of them is gone on from; and where rows of a day have gone from a source that only grows,
that day alone is copied anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from forerun.include.sources.days import DayColumn
from forerun.include.sources.files import Asked, Listing, Location, TableVersion
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.raw import Raw
from forerun.include.sources.rows.table_difference import (
    difference,
    only_come,
    pinned_rows,
    repeated,
    weighted,
    with_keys,
)
from forerun.include.sources.services.postgresql_server import quoted
from forerun.include.sources.services.postgresql_slot import Mark, changed
from forerun.include.sources.services.postgresql_table import (
    OpenTable,
    open_table,
    schema_of_table,
)
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa


class PostgresqlFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "postgresql"
    has_files = False

    def listed(self, asked: Asked) -> Listing:
        """List all rows if there is no pin yet, else those that have come or gone since the last
        one; all rows, too, if some have gone from a source that only grows."""
        asked = replace(asked, where=_where(asked))
        with open_table(asked.paths[-1]) as table:
            last, told = _known(table, asked), None
            if asked.slot:
                told = changed(table, asked.slot, asked.key, last, asked.before)
            # Rows of the days that are new may be older than what an earlier day has seen.
            keys = told.keys if told and asked.last is not None else None
            found = None if last is None else _changes(table, asked, last.files, keys)
        return Listing(
            folder=None,
            raw=_raw(table, asked, found.come if found else None, told.mark if told else None),
            table=TableVersion(table.identity, 0, None),
            kept=found.kept if found else (),
        )

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:  # noqa: ARG002
        """List nothing: a table has no files."""
        return ()


@dataclass(frozen=True, slots=True)
class _Found:
    """The changes since a pin: the files of it that are ``kept``, and the rows that have come, or
    how often each has come or gone."""

    kept: tuple[PinnedFile, ...]
    come: pa.Table


def _where(asked: Asked) -> str:
    """Return the condition of the rows that are read."""
    if asked.day_by is None:
        return asked.where
    of_days = asked.day_by.predicate(quoted(asked.day_by.name))
    return f"({asked.where}) AND {of_days}" if asked.where else of_days


def _known(table: OpenTable, asked: Asked) -> Pin | None:
    """Return the pin that this one goes on from: the last one, or what that of an earlier day has
    of the days that are read."""
    last, column = asked.last, asked.day_by
    if last is None and column is not None and asked.before is not None:
        files = tuple(file for file in asked.before.files if column.reads(file.day))
        last = replace(asked.before, files=files) if files else None
    return last if last is not None and last.table == table.identity else None


def _raw(
    table: OpenTable, asked: Asked, come: pa.Table | None, mark: Mark | None
) -> tuple[Raw, ...]:
    """The rows of a table, or the changes, as rows that are to be copied. What is copied has a name
    that nothing else has: of a state of the table, nobody can ask again. It ends with the ``mark``
    of that state, or of one before it."""
    if come is not None and not come.num_rows:
        return ()
    token = secrets.token_hex(16)
    found = Raw(
        key=token,
        origin=f"{table.uri}/{token}{f'#{mark}' if mark else ''}",
        identity=(table.identity, token),
        read=partial(_read, table.uri, asked.where, come),
        verify=int,  # a transaction sees one state
        by_day=asked.day_by,
    )
    return (found,)


def _read(
    uri: str, where: str, come: pa.Table | None, declared: Sequence[ColumnSpec]
) -> pa.RecordBatchReader:
    """Return changes that are known, or all rows of a table, of which each then comes once."""
    import pyarrow as pa

    columns = [column for column in declared if column.name != WEIGHT_COLUMN]
    names = [column.name for column in declared]
    if come is not None:
        return come.select(names).to_reader()
    held = weighted(schema_of_table(uri, columns).empty_table(), 1).select(names)

    def batches() -> Iterator[pa.RecordBatch]:
        with open_table(uri) as table:
            for batch in table.rows(columns, where):
                rows = pa.Table.from_batches([batch])
                yield from weighted(rows, 1).select(names).to_batches()

    return pa.RecordBatchReader.from_batches(held.schema, batches())


def _changes(
    table: OpenTable, asked: Asked, files: tuple[PinnedFile, ...], keys: pa.Table | None
) -> _Found | None:
    """The rows that have come since these files, each once, or how often each has come or gone, of
    a source whose rows may go; None if some have gone from another one, unless it is known of which
    day. With ``keys``, among the rows that have one of them."""
    import pyarrow as pa

    if keys is not None and not keys.num_rows:
        empty = schema_of_table(table.uri, asked.columns).empty_table()
        return _Found(files, weighted(empty, 1))
    rows = table.rows(asked.columns, asked.where, keys)
    now = pa.Table.from_batches(rows, rows.schema)
    before = pinned_rows(files, now.schema)
    if keys is not None:
        now, before = with_keys(now, keys), with_keys(before, keys)
    found = difference(before, weighted(now, 1))
    come = found if asked.signed else only_come(found)
    if come is not None:
        return _Found(files, come)
    if asked.day_by is None:
        return None
    if keys is not None:  # of the days from which rows have gone, all others are needed, too
        return _changes(table, asked, files, None)
    return _days_anew(asked.day_by, files, found, now)


def _days_anew(
    column: DayColumn, files: tuple[PinnedFile, ...], found: pa.Table, now: pa.Table
) -> _Found:
    """The rows that have come of days from which none has gone, and all that are there ``now`` of
    the others. ``found``: what differs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    differing, there = dict(column.apart(found)), dict(column.apart(now))
    anew = {
        day for day, rows in differing.items() if pc.any(pc.less(rows[WEIGHT_COLUMN], 0)).as_py()
    }
    come = [
        repeated(rows).select(now.column_names)
        for day, rows in differing.items()
        if day not in anew
    ]
    come += [there[day] for day in sorted(anew & there.keys())]
    kept = tuple(file for file in files if file.day not in anew)
    return _Found(kept, pa.concat_tables([now.slice(0, 0), *come]))
