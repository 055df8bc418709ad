"""JSON lines: one object in a line, copied into Parquet when it is pinned.

Text of JSON has fewer types than SQL, so the report's declaration says them, and every value has to
be one of its column's type: nothing is cut, rounded or guessed. A key that an object lacks is NULL.
No engine reads the lines themselves: what each of them makes of a number or a time is its own.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from forerun.include.sources.files import Asked, Listing, Location, listed_below
from forerun.include.sources.parquet.format import ParquetFormat, end_of, spread_digest
from forerun.include.sources.raw import rows_of_file
from forerun.include.sources.texts.json_objects import ONE_OBJECT, refuse_line, rows_of, schema_of
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import MissingKeyError, StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 8 << 20
_THREADS = 8


class JsonFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "json"
    suffix = ".jsonl"

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders; all of it has to be copied."""
        location = asked.locations[-1]
        files = listed_below(asked.locations, self.suffix, asked.is_marker).files
        with ThreadPoolExecutor(_THREADS) as pool:
            digests = list(pool.map(partial(_digest, location), files))
        raw = tuple(
            rows_of_file(
                location,
                file,
                (digest, str(asked.ignores)),
                partial(_read, location, file, ignores=asked.ignores),
            )
            for file, digest in zip(files, digests, strict=True)
        )
        return Listing(location, raw=raw)


def _digest(location: Location, file: StoredFile) -> str:
    """Return a digest of the content where a file's identity is none."""
    if location.has_etags:
        return ""
    try:
        with location.store.open(file.key) as handle:
            return spread_digest(handle, file.size, end_of(handle, file.size))
    except MissingKeyError:
        raise _vanished(location, file) from None


def _read(
    location: Location, file: StoredFile, declared: Sequence[ColumnSpec], *, ignores: bool
) -> pa.RecordBatchReader:
    """Return the rows of a file. ``ignores``: whether keys that are not declared are left out."""
    import pyarrow as pa

    uri = location.store.uri(file.key)
    schema = schema_of(uri, declared)
    try:
        handle = location.store.open(file.key)
    except MissingKeyError:
        raise _vanished(location, file) from None
    if file.key.endswith(".gz"):
        handle = cast("BinaryIO", gzip.GzipFile(fileobj=handle))
    batches = _batches(uri, handle, schema, declared, ignores=ignores)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(
    uri: str,
    handle: BinaryIO,
    schema: pa.Schema,
    declared: Sequence[ColumnSpec],
    *,
    ignores: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows, some megabytes of text at a time. Raises SourceFileError naming a line."""
    lines = 0
    with handle:
        while block := _next(uri, handle):
            try:
                rows = rows_of(block, schema, ignores=ignores)
            except ValueError as error:
                for number, line in enumerate(block.split(b"\n"), lines + 1):
                    refuse_line(f"{uri}, line {number}", line, schema, declared, ignores=ignores)
                raise SourceFileError(
                    f"{uri}, after line {lines}: {error}", hint=ONE_OBJECT
                ) from None
            lines += block.count(b"\n")
            yield from rows.to_batches()


def _next(uri: str, handle: BinaryIO) -> bytes:
    """Return the next lines, each with its end."""
    try:
        block = handle.read(_BLOCK)
        block += handle.readline()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceFileError(
            f"{uri} is no readable gzip: {error}",
            hint="It is truncated or still being written: deliver it again.",
        ) from None
    return block if block.endswith(b"\n") or not block else block + b"\n"


def _vanished(location: Location, file: StoredFile) -> SourceFileError:
    return SourceFileError(
        f"{location.store.uri(file.key)} vanished while it was being pinned",
        hint="Deliver new files; leave those that are there. Then retry the task.",
    )
