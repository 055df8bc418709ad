"""Results of other reports: all rows are copied for the first pin of a day, and for later ones what
has changed since.

A report publishes early results during its day and the whole one at its end. Each of them is one
version; the changes are those between the version that the last pin has and the one that readers
find now. So a report that reads another one works early on what that has published early, and its
later runs read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forerun.include.sources.files import Asked, Listing, Location, TableVersion, locate_file
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.raw import Raw, Read
from forerun.include.sources.rows.table_difference import (
    difference,
    only_come,
    pinned_rows,
    weighted,
)
from forerun.include.sources.texts.text_types import nested_type, schema_of_columns
from forerun.include.sources.unread import SourceFileError
from forerun.include.sources.widening import same_type
from forerun.include.state.layout import version_folder
from forerun.include.state.pointers import Pointer, read_published
from forerun.include.state.records import PinnedFile
from forerun.include.stores.opening import default_store, open_store
from forerun.include.stores.store import Store, StoredFile, StoreReader
from forerun.planner.algebra.types import DataType
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_PATH = re.compile(r"forerun://report/(?P<report>[^/]+)/(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})")
_ORIGIN = re.compile(r"(?P<path>[^#]+)#(?P<number>[0-9]+) (?P<version>.+)")


def store_of_results(uri: str) -> Store:
    """Open the store that has the results of other reports; without a URI the deployment's own."""
    return open_store(uri or default_store())


def published(store: StoreReader, path: str) -> Pointer | None:
    """Return the pointer to what is published of a report for a day, both of which ``path`` names;
    None if nothing is."""
    found = _PATH.fullmatch(path)
    if found is None:
        raise SourceFileError(
            f"{path} names no day of a report", hint="Write forerun://report/NAME/{ds}."
        )
    return read_published(store, found["report"], found["day"]).pointer


class ReportFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "report"
    has_files = False

    def listed(self, asked: Asked) -> Listing:
        """List, of each day, all rows of what is published if the last pin has none of it, else
        those that have come or gone since; all rows, too, if some have gone from a source that only
        grows.

        Raises :class:`SourceFileError` for a result that has not the declared columns.
        """
        store = store_of_results(asked.store)
        days = [
            _Day(store, path, published(store, path), _kept(asked, path)) for path in asked.paths
        ]
        found = [_listed(asked, day) for day in days]
        raw = [one for added, _ in found for one in added]
        kept = [file for _, files in found for file in files]
        if not raw and not kept and not any(day.pointer for day in days):
            raw = [_nothing(asked)]
        own = (
            (one.key, asked.day_of.get(day.path, ""))
            for day, (added, _) in zip(days, found, strict=True)
            for one in added
        )
        return Listing(
            folder=None,
            raw=tuple(raw),
            days=dict(own),
            table=TableVersion("results", 0, None),
            kept=tuple(kept),
        )

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:  # noqa: ARG002
        """List nothing: what was copied of a result lies in the spool."""
        return ()


@dataclass(frozen=True, slots=True)
class _Day:
    """A day of a report: what is published of it in a store, and the files of the last pin that
    have rows of it."""

    store: Store
    path: str
    pointer: Pointer | None
    kept: Sequence[PinnedFile]

    @property
    def read(self) -> tuple[int, str]:
        """The newest version that the last pin has read, and the how many-th it was; 0 and no name
        without one."""
        found = (_ORIGIN.fullmatch(file.origin) for file in self.kept)
        return max(((int(one["number"]), one["version"]) for one in found if one), default=(0, ""))


def _kept(asked: Asked, path: str) -> list[PinnedFile]:
    files = asked.last.files if asked.last is not None else ()
    return [file for file in files if file.origin.partition("#")[0] == path]


def _listed(asked: Asked, day: _Day) -> tuple[list[Raw], Sequence[PinnedFile]]:
    """The rows of a day that are to be copied, and the files of the last pin that stay."""
    pointer, (number, version) = day.pointer, day.read
    if pointer is None or pointer.version == version:
        return [], day.kept
    come = _changes(pointer, asked, day) if number else None
    if come is None:  # what says that there was nothing stays; what has other rows by now does not
        read = partial(_all_rows, pointer, asked.columns, day.store)
        return [_raw(day, pointer, (), read, pointer.rows)], () if number else day.kept
    if not come.num_rows:
        return [], day.kept
    return [_raw(day, pointer, day.kept, partial(_known_rows, come), come.num_rows)], day.kept


def _raw(day: _Day, pointer: Pointer, since: Sequence[PinnedFile], read: Read, rows: int) -> Raw:
    """Rows that a version of a day has more, or less, than the files of a pin. Another pin may have
    come to a version by other files: copies are told apart by these."""
    origin = f"{day.path}#{day.read[0] + 1} {pointer.version}"
    return Raw(
        key=origin,
        origin=origin,
        identity=(day.path, *(file.uri for file in since), "to", pointer.version),
        read=read,
        verify=int,  # what is read is compared with the pointer
        rows=partial(int, rows),
    )


def _nothing(asked: Asked) -> Raw:
    """No rows, where no report has published anything yet: the day goes on without them."""
    path = asked.paths[-1]
    rows = _schema(path, asked.columns).empty_table()
    return Raw(
        key=path,
        origin=f"{path}#0 nothing",
        identity=(path, "nothing"),
        read=partial(_known_rows, weighted(rows, 1)),
        verify=int,
        most=0,
    )


def _known_rows(rows: pa.Table, declared: Sequence[ColumnSpec]) -> pa.RecordBatchReader:
    return rows.select([column.name for column in declared]).to_reader()


def _all_rows(
    pointer: Pointer,
    columns: Sequence[ColumnSpec],
    store: Store,
    declared: Sequence[ColumnSpec],
) -> pa.RecordBatchReader:
    """Return all rows of a published result, each of which comes once."""
    import pyarrow as pa

    names = [column.name for column in declared]
    held = weighted(_schema(pointer.folder, columns).empty_table(), 1).select(names)

    def batches() -> Iterator[pa.RecordBatch]:
        for rows in _tables(pointer, columns, store):
            yield from weighted(rows, 1).select(names).to_batches()

    return pa.RecordBatchReader.from_batches(held.schema, batches())


def _changes(pointer: Pointer, asked: Asked, day: _Day) -> pa.Table | None:
    """The rows that have come since the last pin, each once, or how often each has come or gone, of
    a source whose rows may go; None if some have gone from another one."""
    import pyarrow as pa

    schema = _schema(pointer.folder, asked.columns)
    now = pa.concat_tables([schema.empty_table(), *_tables(pointer, asked.columns, day.store)])
    found = difference(pinned_rows(day.kept, schema), weighted(now, 1))
    return found if asked.signed else only_come(found)


def _tables(pointer: Pointer, columns: Sequence[ColumnSpec], store: Store) -> Iterator[pa.Table]:
    """Yield the rows of each file that a pointer names, in the declared types.

    Raises :class:`SourceFileError` for a file that is not the one that was published, and for one
    whose columns are not as declared.
    """
    import pyarrow.parquet as pq

    folder, schema = _folder(pointer, store), _schema(pointer.folder, columns)
    for file in pointer.files:
        at = Location(folder.store, f"{folder.key}/{file.name}")
        there = at.store.stat(at.key)
        if there is None or there.size != file.size:
            raise _not_as_published(pointer, file.name)
        with at.store.open(at.key) as handle:
            rows = pq.read_table(handle)
        same = (
            at.store.checksum(at.key) == file.checksum
            if file.checksum
            else (not file.identity or there.identity == file.identity)
        )
        if not same:
            raise _not_as_published(pointer, file.name)
        _check_types(at, there, columns)
        names = {name.lower(): name for name in rows.column_names}
        held = rows.select([names[name.lower()] for name in schema.names])
        yield held.rename_columns(schema.names).cast(schema)


def _folder(pointer: Pointer, store: Store) -> Location:
    """Return where the files of a pointer lie: in the store, which may have moved since, or in a
    folder of a table."""
    key = version_folder(pointer.report, pointer.day, pointer.folder.rpartition("/")[2])
    if pointer.folder.endswith(f"/{key}"):
        return Location(store, key)
    return locate_file(pointer.folder)


def _check_types(at: Location, file: StoredFile, columns: Sequence[ColumnSpec]) -> None:
    """Raise SourceFileError unless a file has the declared columns in their types."""
    from forerun.include.sources.parquet.footers import read_footer

    found = {column.name.lower(): column.type for column in read_footer(at, file).columns}
    for column in columns:
        there = found.get(column.name.lower(), "no such column")
        if not same_type(there, column.type):
            raise SourceFileError(
                f"{at.store.uri(at.key)}, column {column.name}: declared {column.type}, found "
                f"{there}",
                hint="Declare the columns as the report that is read publishes them: "
                "`forerun result` shows where its files lie.",
            )


def _schema(where: str, columns: Sequence[ColumnSpec]) -> pa.Schema:
    """The types of Arrow in which the rows of a result are read."""

    def refused(column: ColumnSpec) -> SourceFileError:
        return SourceFileError(
            f"{where}, column {column.name}: a result is not read as {column.type}",
            hint="Leave the column out, or publish it in another type.",
        )

    return schema_of_columns(columns, _type_of, refused)


def _type_of(kind: DataType) -> pa.DataType | None:
    import pyarrow as pa

    return pa.binary() if kind.name == "BINARY" else nested_type(kind)


def _not_as_published(pointer: Pointer, name: str) -> SourceFileError:
    return SourceFileError(
        f"{pointer.folder}/{name} is not what {pointer.report} has published for {pointer.day}",
        hint="It was published again meanwhile, and a retry reads that; or it was changed from "
        "outside: clear the day of that report.",
    )
