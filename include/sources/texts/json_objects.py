"""Objects of JSON, one in a line, as rows in the columns that a report declares.

Arrow parses them; what it lets pass is looked at here: a line that is no object, text that is no
UTF-8, a time with or without its zone.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forerun.include.sources.texts.text_types import nested_type
from forerun.include.sources.unread import SourceFileError
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_WITHOUT_OBJECT = re.compile(rb"^[ \t\r]*[^ \t\r\n{]", re.MULTILINE)
_LINE = re.compile(rb"^[ \t\r]*\{", re.MULTILINE)
_ROW = re.compile(r"\.? in row \d+\Z")
ONE_OBJECT = "Write one object in each line, in UTF-8; or write Parquet."
_AS_DECLARED = "Correct it, or declare the column as what it holds."


def schema_of(place: str, declared: Sequence[ColumnSpec]) -> pa.Schema:
    """Return the types of Arrow that values of these columns have. Raises SourceFileError for a
    type that JSON has no values of; ``place`` names what has the objects."""
    import pyarrow as pa

    return pa.schema([(column.name, _arrow_type(place, column)) for column in declared])


def rows_of(block: bytes, schema: pa.Schema, *, ignores: bool) -> pa.Table:
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


def refuse_line(
    place: str, line: bytes, schema: pa.Schema, declared: Sequence[ColumnSpec], *, ignores: bool
) -> None:
    """Raise SourceFileError if a line is not an object as declared, naming the key that is not."""
    import pyarrow as pa

    line += b"\n"
    try:
        rows_of(line, schema, ignores=ignores)
        return
    except _NoLinesError as error:
        raise SourceFileError(f"{place}: {error}", hint=ONE_OBJECT) from None
    except ValueError as error:
        said = error
    try:
        keys = json.loads(line).keys()
    except ValueError:  # no JSON: no key is to blame
        raise SourceFileError(f"{place}: {_text(said)}", hint=ONE_OBJECT) from None
    if not ignores and (unknown := sorted(keys - set(schema.names))):
        raise SourceFileError(
            f"{place}: the key {unknown[0]!r} is not declared",
            hint='Declare the column, or say extra_columns="ignore" of the source.',
        )
    for column, field in zip(declared, schema, strict=True):
        try:
            rows_of(line, pa.schema([field]), ignores=True)
        except ValueError as error:
            place, said = f"{place}, column {column.name} {column.type}", error
            break
    raise SourceFileError(f"{place}: {_text(said)}", hint=_AS_DECLARED)


class _NoLinesError(ValueError):
    """A text is not one object in each line."""


def _text(error: ValueError) -> str:
    """Return what Arrow says of a value, without the row that it counts by itself."""
    return _ROW.sub("", str(error).splitlines()[0]).removeprefix("JSON parse error: ")


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
