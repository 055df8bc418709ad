"""JSON lines: one object in a line, copied into Parquet when it is pinned.

Text of JSON has fewer types than SQL, so the report's declaration says them, and every value has to
be one of its column's type: nothing is cut, rounded or guessed. A key that an object lacks is NULL.
No engine reads the lines themselves: what each of them makes of a number or a time is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from forerun.include.sources.files import Asked, Listing, Location
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.texts.copied_files import open_text, texts_below
from forerun.include.sources.texts.json_objects import ONE_OBJECT, refuse_line, rows_of, schema_of
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 8 << 20


class JsonFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "json"
    suffix = ".jsonl"

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders; all of it has to be copied."""
        return texts_below(asked, self.suffix, _read)


def _read(
    location: Location, file: StoredFile, declared: Sequence[ColumnSpec], ignores: bool
) -> pa.RecordBatchReader:
    """Return the rows of a file. ``ignores``: whether keys that are not declared are left out."""
    import pyarrow as pa

    uri = location.store.uri(file.key)
    schema = schema_of(uri, declared)

    def batches() -> Iterator[pa.RecordBatch]:
        with open_text(location, file) as handle:
            yield from _batches(uri, handle, schema, declared, ignores=ignores)

    return pa.RecordBatchReader.from_batches(schema, batches())


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
    while block := _next(handle):
        try:
            rows = rows_of(block, schema, ignores=ignores)
        except ValueError as error:
            for number, line in enumerate(block.split(b"\n"), lines + 1):
                refuse_line(f"{uri}, line {number}", line, schema, declared, ignores=ignores)
            raise SourceFileError(f"{uri}, after line {lines}: {error}", hint=ONE_OBJECT) from None
        lines += block.count(b"\n")
        yield from rows.to_batches()


def _next(handle: BinaryIO) -> bytes:
    """Return the next lines, each with its end."""
    block = handle.read(_BLOCK)
    block += handle.readline()
    return block if block.endswith(b"\n") or not block else block + b"\n"
