"""JSON lines: one object in a line, copied into Parquet when it is pinned.

Text of JSON has fewer types than SQL, so the report's declaration says them, and every value has to
be one of its column's type: nothing is cut, rounded or guessed. A key that an object lacks is NULL.
No engine reads the lines themselves: what each of them makes of a number or a time is its own.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from forerun.include.sources.files import Asked, Listing, Location, Raw, listed_below
from forerun.include.sources.parquet.format import ParquetFormat, end_of, spread_digest
from forerun.include.sources.text_types import nested_type
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.store import MissingKeyError, StoredFile
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 8 << 20
_THREADS = 8
_WITHOUT_OBJECT = re.compile(rb"^[ \t\r]*[^ \t\r\n{]", re.MULTILINE)
_LINE = re.compile(rb"^[ \t\r]*\{", re.MULTILINE)
_ROW = re.compile(r"\.? in row \d+\Z")
_ONE_OBJECT = "Write one object in each line, in UTF-8; or write Parquet."
_AS_DECLARED = "Correct the file, or declare the column as what it holds."


class JsonFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "json"
    suffix = ".jsonl"

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders; all of it has to be copied."""
        listing = listed_below(asked, self.suffix)
        location = listing.location
        with ThreadPoolExecutor(_THREADS) as pool:
            digests = list(pool.map(partial(_digest, location), listing.files))
        raw = tuple(
            Raw(
                file=file,
                identity=(digest, str(asked.ignores)),
                read=partial(_read, location, file, ignores=asked.ignores),
            )
            for file, digest in zip(listing.files, digests, strict=True)
        )
        return Listing(location, files=(), raw=raw)


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
    schema = pa.schema([(c.name, _arrow_type(uri, c)) for c in declared])
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
                rows = _table(block, schema, ignores=ignores)
            except ValueError as error:
                for number, line in enumerate(block.split(b"\n"), lines + 1):
                    _refuse_line(f"{uri}, line {number}", line, schema, declared, ignores=ignores)
                raise SourceFileError(
                    f"{uri}, after line {lines}: {error}", hint=_ONE_OBJECT
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


def _refuse_line(
    place: str, line: bytes, schema: pa.Schema, declared: Sequence[ColumnSpec], *, ignores: bool
) -> None:
    """Raise SourceFileError if a line is not an object as declared, naming the key that is not."""
    import pyarrow as pa

    line += b"\n"
    try:
        _table(line, schema, ignores=ignores)
        return
    except _NoLinesError as error:
        raise SourceFileError(f"{place}: {error}", hint=_ONE_OBJECT) from None
    except ValueError as error:
        said = error
    try:
        keys = json.loads(line).keys()
    except ValueError:  # no JSON: no key is to blame
        raise SourceFileError(f"{place}: {_text(said)}", hint=_ONE_OBJECT) from None
    if not ignores and (unknown := sorted(keys - set(schema.names))):
        raise SourceFileError(
            f"{place}: the key {unknown[0]!r} is not declared",
            hint='Declare the column, or say extra_columns="ignore" of the source.',
        )
    for column, field in zip(declared, schema, strict=True):
        try:
            _table(line, pa.schema([field]), ignores=True)
        except ValueError as error:
            place, said = f"{place}, column {column.name} {column.type}", error
            break
    raise SourceFileError(f"{place}: {_text(said)}", hint=_AS_DECLARED)


def _text(error: ValueError) -> str:
    """What Arrow says of a value, without the row that it counts by itself."""
    return _ROW.sub("", str(error).splitlines()[0]).removeprefix("JSON parse error: ")


class _NoLinesError(ValueError):
    """A text is not one object in each line."""


def _table(block: bytes, schema: pa.Schema, *, ignores: bool) -> pa.Table:
    """Return the rows of some lines. Raises ValueError for one that is not as declared."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    wanted = _objects(block)
    if not wanted:
        return schema.empty_table()
    block.decode()
    as_text = pa.schema([(field.name, _as_text(field.type)) for field in schema])
    rows = arrow_json.read_json(
        io.BytesIO(block),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=as_text, unexpected_field_behavior="ignore" if ignores else "error"
        ),
    )
    if rows.num_rows != wanted:
        raise _NoLinesError(f"{rows.num_rows} objects in {wanted} lines")
    return rows.cast(schema)


def _objects(block: bytes) -> int:
    """Return how many of some lines begin an object. Raises ValueError if one begins otherwise and
    is not empty: Arrow ends the process where the first value of a text is null."""
    lines = block.count(b"\n")
    if block.startswith(b"{") and block.count(b"\n{") == lines - 1:
        return lines
    if _WITHOUT_OBJECT.search(block):
        raise _NoLinesError("a line that is no object")
    return len(_LINE.findall(block))


def _as_text(kind: pa.DataType) -> pa.DataType:
    """Return the type as which Arrow parses a value that JSON has as a text: dates and times, whose
    text is then cast, by which one without a zone is told from one with it."""
    import pyarrow as pa

    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_text(field.type)) for field in kind])
    return kind


def _arrow_type(uri: str, column: ColumnSpec) -> pa.DataType:
    """Return the type of Arrow that values of a column have."""
    found = nested_type(parse_type(column.type))
    if found is None:
        raise SourceFileError(
            f"{uri}, column {column.name}: JSON lines have no values of type {column.type}",
            hint="Declare STRING, and cast in the query; or write Parquet.",
        )
    return found


def _vanished(location: Location, file: StoredFile) -> SourceFileError:
    return SourceFileError(
        f"{location.store.uri(file.key)} vanished while it was being pinned",
        hint="Deliver new files; leave those that are there. Then retry the task.",
    )
