"""CSV with a header line, copied into Parquet when it is pinned.

The dialect is RFC 4180's, in UTF-8: fields are parted by commas, a field that holds a comma, a
quote or the end of a line is quoted, a quote within is doubled. An empty field is NULL, quoted or
not, as Spark has it. Text of CSV has no types, so the report's declaration says them, and every
field has to be a value of its column's type: nothing is cut, rounded or guessed. Columns go by the
names in the header. No engine reads the text itself: what each of them makes of a quote or a number
is its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from forerun.include.sources.files import Asked, Listing, Location
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.texts.copied_files import open_text, texts_below
from forerun.include.sources.texts.text_types import flat_type, schema_of_columns
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 4 << 20
_ROW = re.compile(r"Row #(\d+): ")
_COLUMN = re.compile(r"In CSV column #(\d+): ")
_MARK = b"\xef\xbb\xbf"
_EMPTY_LINE = re.compile(rb"(?:\A|\n)(\r?\n)")
_LONE_QUOTE = re.compile(rb'[^,\r\n](")[^,\r\n]')
"""Sought where doubled quotes are left out."""
_DIALECT = (
    "Write a header and the rows, in UTF-8, a quote within a field doubled; or write Parquet."
)


class CsvFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "csv"
    suffix = ".csv"

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders; all of it has to be copied."""
        return texts_below(asked, self.suffix, _read)


class _Lines:
    """The bytes of a file as Arrow reads them, looked at on the way for what readers of CSV make
    different things of."""

    def __init__(self, uri: str, start: bytes, handle: BinaryIO) -> None:
        self._uri, self._start, self._handle = uri, start, handle
        self._rest = b""
        self._count = 0
        self._quotes = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises SourceFileError naming a line that is ambiguous."""
        data, self._start = self._start or self._handle.read(size), b""
        text = self._rest + (data or b"\n" * bool(self._rest))  # the last line may lack its end
        end = text.rfind(b"\n") + 1
        whole, self._rest = text[:end], text[end:]
        # To look for some bytes is many times faster than to look for a pattern.
        has_quotes = b'"' in whole
        if has_quotes:
            whole = whole.replace(b'""', b"")
            self._refuse(_LONE_QUOTE, whole, "a quote within a field that is not doubled")
        if whole[:1] in b"\r\n" or b"\n\n" in whole or b"\n\r" in whole:
            self._refuse(_EMPTY_LINE, whole, "an empty line")
        self._count += whole.count(b"\n")
        self._quotes += whole.count(b'"') if has_quotes else 0
        return data

    def _refuse(self, pattern: re.Pattern[bytes], whole: bytes, why: str) -> None:
        """Raise SourceFileError for what is found in these lines, but for an empty line in
        quotes."""
        for found in pattern.finditer(whole):
            at = found.start(1)
            is_within = (self._quotes + whole.count(b'"', 0, at)) % 2
            if pattern is _LONE_QUOTE or not is_within:
                line = self._count + whole.count(b"\n", 0, at) + 1
                raise SourceFileError(f"{self._uri}, line {line}: {why}", hint=_DIALECT)


def _read(
    location: Location, file: StoredFile, declared: Sequence[ColumnSpec], ignores: bool
) -> pa.RecordBatchReader:
    """Return the rows of a file. ``ignores``: whether columns that are not declared are left
    out."""
    import pyarrow as pa

    uri = location.store.uri(file.key)
    schema = _schema(uri, declared)

    def batches() -> Iterator[pa.RecordBatch]:
        with open_text(location, file) as handle:
            try:
                yield from _batches(uri, handle, schema, ignores=ignores)
            except pa.ArrowInvalid as error:
                raise _bad_row(uri, str(error), declared) from None

    return pa.RecordBatchReader.from_batches(schema, batches())


def _batches(uri: str, handle: BinaryIO, schema: pa.Schema, *, ignores: bool) -> Iterator[Any]:
    """Yield the rows of a file in parts. Raises ArrowInvalid for a row that is not as declared."""
    from pyarrow import csv as arrow_csv

    start = handle.read(_BLOCK)
    _check_header(uri, _header(uri, start), schema.names, ignores=ignores)
    reader = arrow_csv.open_csv(
        _Lines(uri, start, handle),
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        parse_options=arrow_csv.ParseOptions(ignore_empty_lines=False, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            null_values=[""],
            strings_can_be_null=True,
            true_values=["true"],
            false_values=["false"],
        ),
    )
    yield from reader


def _header(uri: str, start: bytes) -> list[str]:
    if start.startswith(_MARK):
        raise SourceFileError(
            f"{uri}, line 1: the file begins with a byte order mark", hint=_DIALECT
        )
    try:
        return next(csv.reader(io.StringIO(start.decode(errors="surrogateescape"))), [])
    except csv.Error as error:
        raise SourceFileError(f"{uri}, line 1: {error}", hint=_DIALECT) from None


def _check_header(
    uri: str, found: Sequence[str], declared: Sequence[str], *, ignores: bool
) -> None:
    """Raise SourceFileError unless a header names each declared column, none twice, and no other
    one unless these are left out."""
    twice = [name for name in found if found.count(name) > 1]
    lacking = [name for name in declared if name not in found]
    others = [] if ignores else [name for name in found if name not in declared]
    if twice or lacking or others:
        raise SourceFileError(
            f"{uri}, line 1: the columns are {', '.join(found)}, and declared are "
            f"{', '.join(declared)}",
            hint="Deliver the declared columns, under these names, in any order; "
            'extra_columns="ignore" leaves out others.',
        )


def _schema(uri: str, declared: Sequence[ColumnSpec]) -> pa.Schema:
    """Return the types as which Arrow reads the declared columns."""

    def refused(column: ColumnSpec) -> SourceFileError:
        return SourceFileError(
            f"{uri}, column {column.name}: CSV has no values of type {column.type}",
            hint="Declare STRING, and cast in the query; or write Parquet.",
        )

    return schema_of_columns(declared, flat_type, refused)


def _bad_row(uri: str, said: str, declared: Sequence[ColumnSpec]) -> SourceFileError:
    """Return the error that names the row, and the column, that Arrow could not read: the header is
    row 1, so that in a file without line breaks in values it is the line."""
    row, column = _ROW.search(said), _COLUMN.search(said)
    place = f"{uri}, row {row[1]}" if row else uri
    if column is not None:
        one = declared[int(column[1])]
        place += f", column {one.name} {one.type}"
    text = _COLUMN.sub("", _ROW.sub("", said)).splitlines()[0].removeprefix("CSV ")
    return SourceFileError(
        f"{place}: {text}", hint="Correct the file, or declare the column as what it holds."
    )
