"""Rows that no engine reads where they lie are copied once, into Parquet files of the store.

That is what a run reads of JSON lines, and of rows that a table has deleted in its data files. What
was copied is named by what it was copied from, so that it is copied once for all runs, days and
reports of a source; and it is never written again, so that a run reads the same rows for as long as
a pin names them, whatever becomes of the place that they came from.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from forerun.include.sources.files import Location
from forerun.include.sources.raw import Raw
from forerun.include.state.layout import (
    digest_of_spooled,
    spool_folder,
    spool_key,
    spooled_file_key,
)
from forerun.include.state.records import Pin, PinnedFile, decode, encode
from forerun.include.stores.store import MissingKeyError, Store, put_or_get
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from forerun.include.sources.days import DayColumn

_PART = 64 << 20
"""Bytes of rows in memory that one file holds."""
_THREADS = 4
"""How many are in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpooledRows:
    """The record of rows that were copied: what identifies them, and the files that hold them."""

    identity: tuple[str, ...]
    files: tuple[PinnedFile, ...]


@dataclass(frozen=True)
class Spool:
    """What was copied of one source. ``last`` is its newest pin, which knows what it names."""

    store: Store
    source: str
    last: Pin | None

    def files(
        self, raw: Sequence[Raw], declared: Sequence[ColumnSpec]
    ) -> list[tuple[PinnedFile, ...]]:
        """Return the files that hold each of these rows; copy rows of which there are
        none, several at once.

        Raises :class:`forerun.include.sources.unread.SourceFileError` for rows that cannot be read.
        """
        if len(raw) < 2:
            return [self._files(one, declared) for one in raw]
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda one: self._files(one, declared), raw))

    def _files(self, raw: Raw, declared: Sequence[ColumnSpec]) -> tuple[PinnedFile, ...]:
        digest = raw.digest(declared)
        known = self._named.get(digest, ())
        if known and all(file.uri in self._there for file in known):
            return known
        key = spool_key(self.source, digest)
        if self.store.uri(key) in self._there:
            return decode(SpooledRows, self.store.get(key), key).files
        token = secrets.token_hex(8)
        files = tuple(self._copied(raw, declared, digest, token))
        raw.verify()
        record = SpooledRows(identity=(token, *raw.identity), files=files)
        data, ours = put_or_get(self.store, key, encode(record))
        if not ours:  # another pin was being made of the same rows
            for number in range(len(files)):
                self.store.delete(spooled_file_key(self.source, digest, number, token))
        return decode(SpooledRows, data, key).files

    @cached_property
    def _there(self) -> frozenset[str]:
        listed = self.store.list(spool_folder(self.source))
        return frozenset(self.store.uri(file.key) for file in listed)

    @cached_property
    def _named(self) -> Mapping[str, tuple[PinnedFile, ...]]:
        found: dict[str, tuple[PinnedFile, ...]] = {}
        for file in self.last.files if self.last else ():
            if file.origin:
                digest = digest_of_spooled(file.uri)
                found[digest] = (*found.get(digest, ()), _as_copied(file))
        return found

    def _copied(
        self, raw: Raw, declared: Sequence[ColumnSpec], digest: str, token: str
    ) -> Iterator[PinnedFile]:
        from forerun.include.sources.parquet.footers import read_footer

        for number, (day, data) in enumerate(_parts(raw.read(declared), raw.by_day)):
            key = spooled_file_key(self.source, digest, number, token)
            self.store.put(key, data)
            stored = self.store.stat(key)
            if stored is None:
                raise MissingKeyError(
                    f"{self.store.uri(key)} is gone right after it was written",
                    hint="Something else deletes in the store: see that nothing but Forerun does.",
                )
            found = read_footer(Location(self.store, key), stored)
            yield replace(found, origin=raw.origin, day=day)


def _as_copied(file: PinnedFile) -> PinnedFile:
    """A file without what a pin knows beside it."""
    lacking = {name for name, _ in file.constants}
    held = tuple(column for column in file.columns if column.name not in lacking)
    return replace(file, columns=held, constants=())


def _parts(rows: pa.RecordBatchReader, by_day: DayColumn | None) -> Iterator[tuple[str, bytes]]:
    """Yield Parquet files with all the rows, in their order; one without rows if there are none.
    ``by_day``: with those of one day each, which stands before them, and without rows of none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def files(batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
        together = pa.Table.from_batches(batches, rows.schema)
        for day, table in by_day.apart(together) if by_day else [("", together)]:
            sink = io.BytesIO()
            pq.write_table(table, sink, row_group_size=max(1, table.num_rows), compression="zstd")
            yield day, sink.getvalue()

    held: list[pa.RecordBatch] = []
    size, parts = 0, 0
    for batch in rows:
        held.append(batch)
        size += batch.nbytes
        if size >= _PART:
            yield from files(held)
            held, size, parts = [], 0, parts + 1
    if held or not parts:
        yield from files(held)
