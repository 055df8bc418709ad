"""CSV with a header line: read whole when it is pinned, so that a bad row is refused by its line.

The dialect is RFC 4180's, in UTF-8: fields are parted by commas, a field that holds a comma or a
quote is quoted, a quote within is doubled. An empty field is NULL, quoted or not, as Spark has it.
Text of CSV has no types, so the report's declaration says them, and every field has to be a value
of its column's type: nothing is cut, rounded or guessed. What is refused here is never read by an
engine; what is not, Spark reads in its mode ``FAILFAST``, and both engines get the same values.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from forerun.include.sources.files import Asked, Listing, Location, listed_below
from forerun.include.sources.parquet.format import end_of, spread_digest
from forerun.include.sources.texts.text_types import plain_type
from forerun.include.state.records import ColumnFooter, PinnedFile
from forerun.include.stores.store import MissingKeyError, StoredFile
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 4 << 20
_ROW = re.compile(r"Row #(\d+): ")
_COLUMN = re.compile(r"In CSV column #(\d+): ")
_MARK = (re.compile(rb"\A(\xef\xbb\xbf)"), "the file begins with a byte order mark")
_AMBIGUOUS = (
    (re.compile(rb"(?:\A|\n)(\r?\n)"), "an empty line"),
    (re.compile(rb'[^,\r\n](")[^,\r\n]'), "a quote within a field that is not doubled"),
)
"""What one engine reads otherwise than another. Doubled quotes are left out before."""
_DIALECT = (
    "Write a header and one line for each row, in UTF-8, a quote within a field doubled, and no "
    "line break within a value; or write Parquet."
)
_BOUNDED = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "DECIMAL")
"""Types whose least and greatest value are told, as a Parquet footer tells them."""


class CsvFormat:
    """Implements :class:`forerun.include.sources.formats.SourceFormat`. Arrow is imported only
    where a file is read: whoever builds a report needs it not."""

    name = "csv"
    suffix = ".csv"
    has_files = True
    has_log = False
    engine_format = "csv"
    engine_options: Mapping[str, str] = MappingProxyType(
        {"header": "true", "mode": "FAILFAST", "escape": '"', "enforceSchema": "false"}
    )

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders."""
        return listed_below(asked.locations, self.suffix, asked.is_marker)

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """List what lies below the folders, markers and all."""
        return listed_below(locations, self.suffix).files

    def describe(
        self, location: Location, files: Sequence[StoredFile], declared: Sequence[ColumnSpec]
    ) -> list[PinnedFile]:
        """Read every row of the files: whether it has the declared columns, in their order, and in
        each a value of its type."""
        return [_described(location, file, declared) for file in files]

    def digest(self, handle: BinaryIO, size: int) -> str:
        """Return a digest of all of a small file, and of blocks all over a larger one."""
        return spread_digest(handle, size, end_of(handle, size))

    def blocks(
        self,
        file: PinnedFile,  # noqa: ARG002 - see below
        columns: Sequence[str],  # noqa: ARG002
        count: int,  # noqa: ARG002
        chance: random.Random,  # noqa: ARG002
    ) -> list[tuple[pa.Table, int]]:
        """Return no parts: where a line begins, only who reads the file from its start can tell."""
        return []


class _Lines:
    """The bytes of a file as Arrow reads them, looked at on the way for what engines read in
    different ways. ``count``: the lines so far."""

    def __init__(self, uri: str, handle: BinaryIO) -> None:
        self._uri, self._handle = uri, handle
        self._rest = b""
        self.count = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises SourceFileError naming a line that is ambiguous."""
        data = self._handle.read(size)
        text = self._rest + (data or b"\n" * bool(self._rest))  # the last line may lack its end
        end = text.rfind(b"\n") + 1
        whole, self._rest = text[:end], text[end:]
        for pattern, why in _AMBIGUOUS if self.count else (_MARK, *_AMBIGUOUS):
            if found := pattern.search(whole.replace(b'""', b"")):
                line = self.count + whole.replace(b'""', b"").count(b"\n", 0, found.start(1)) + 1
                raise _error(f"{self._uri}, line {line}: {why}", _DIALECT)
        self.count += whole.count(b"\n")
        return data


def _described(location: Location, file: StoredFile, declared: Sequence[ColumnSpec]) -> PinnedFile:
    from pyarrow import ArrowInvalid

    uri, rows = location.store.uri(file.key), 0
    found = [ColumnFooter(name=one.name, type=one.type, nulls=0) for one in declared]
    types = _arrow_types(uri, declared)
    try:
        with location.store.open(file.key) as handle:
            lines = _Lines(uri, handle)
            for batch in _batches(uri, lines, types):
                rows += batch.num_rows
                found = [_with(one, batch.column(at)) for at, one in enumerate(found)]
    except MissingKeyError:
        raise _error(
            f"{uri} vanished while it was being pinned",
            "Deliver new files; leave those that are there. Then retry the task.",
        ) from None
    except ArrowInvalid as error:
        raise _bad_row(uri, str(error), declared) from None
    if lines.count != rows + 1:
        raise _error(f"{uri} has {lines.count} lines for {rows} rows and the header", _DIALECT)
    return PinnedFile(
        uri=uri,
        size=file.size,
        identity=file.identity,
        rows=rows,
        columns=tuple(found),
        old_times=(),
    )


def _batches(uri: str, lines: _Lines, types: Mapping[str, pa.DataType]) -> Iterator[Any]:
    """Yield the rows of a file in parts. Raises ArrowInvalid for a row that is not as declared."""
    from pyarrow import csv

    reader = csv.open_csv(
        lines,
        read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        parse_options=csv.ParseOptions(ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=dict(types),
            null_values=[""],
            strings_can_be_null=True,
            true_values=["true"],
            false_values=["false"],
        ),
    )
    if reader.schema.names != list(types):
        raise _error(
            f"{uri}, line 1: the columns are {', '.join(reader.schema.names)}, and declared are "
            f"{', '.join(types)}",
            "CSV goes by the place of a column: deliver the declared ones in their order.",
        )
    yield from reader


def _arrow_types(uri: str, declared: Sequence[ColumnSpec]) -> dict[str, pa.DataType]:
    """Return the types as which Arrow reads the declared columns."""
    found = {}
    for column in declared:
        found[column.name] = plain_type(parse_type(column.type))
        if found[column.name] is None:
            raise _error(
                f"{uri}, column {column.name}: CSV has no values of type {column.type}",
                "Declare STRING, and cast in the query; or write Parquet.",
            )
    return found


def _with(known: ColumnFooter, values: Any) -> ColumnFooter:
    """Return what is known of a column with more of its values."""
    import pyarrow.compute as pc

    nulls = (known.nulls or 0) + values.null_count
    if not known.type.upper().startswith(_BOUNDED) or values.null_count == len(values):
        return replace(known, nulls=nulls)
    ends = pc.min_max(values).as_py()
    if known.minimum is not None and known.maximum is not None:
        kind = type(ends["min"])
        of = kind.fromisoformat if hasattr(kind, "fromisoformat") else kind
        ends["min"] = min(ends["min"], of(known.minimum))
        ends["max"] = max(ends["max"], of(known.maximum))
    return replace(known, nulls=nulls, minimum=str(ends["min"]), maximum=str(ends["max"]))


def _bad_row(uri: str, said: str, declared: Sequence[ColumnSpec]) -> Exception:
    """Return the error that names the line, and the column, of a row that Arrow could not read."""
    row, column = _ROW.search(said), _COLUMN.search(said)
    place = f"{uri}, line {row[1]}" if row else uri
    if column is not None:
        one = declared[int(column[1])]
        place += f", column {one.name} {one.type}"
    text = _COLUMN.sub("", _ROW.sub("", said)).splitlines()[0].removeprefix("CSV ")
    return _error(f"{place}: {text}", "Correct the file, or declare the column as what it holds.")


def _error(message: str, hint: str) -> Exception:
    from forerun.include.sources.parquet.footers import SourceFileError

    return SourceFileError(message, hint=hint)
