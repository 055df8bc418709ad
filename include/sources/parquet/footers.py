"""Parquet footers: rows, schema in Spark's types, and statistics by column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.sources.disjoint import PartOfColumn, least_distinct
from forerun.include.sources.files import Location
from forerun.include.sources.parquet.old_times import columns_of_old_times
from forerun.include.sources.parquet.schema import SchemaField, read_schema
from forerun.include.sources.parquet.types import (
    UnreadTypeError,
    leaf_paths,
    same_but_for_case,
    spark_type,
    types_beside,
)
from forerun.include.sources.unread import UNREAD, SourceFileError
from forerun.include.state.records import ColumnFooter, PartFooter, PinnedFile
from forerun.include.stores.store import MissingKeyError, StoredFile

__all__ = ["SourceFileError", "read_footer", "read_footers"]

_THREADS = 8
_LONGEST = 120
"""Longest text kept as minimum or maximum: statistics, not data."""

_SMALL_DICTIONARY = 1 << 16
_PAGE_HEADER = 14
_REPEATED = 8
_MOST_PACKED = 10
"""A dictionary is taken for compressed by at most this factor: texts of few words, all alike."""
_WITHOUT_ENTROPY_CODING = ("SNAPPY", "LZ4", "LZ4_RAW", "LZO")


_UNREADABLE = (
    "It is truncated or still being written: write under a name that starts with _ or . and rename "
    "it at the end, or deliver it again."
)
_NO_DATA = (
    "Every file in the folder of a source is data, whatever its name, unless the name starts with "
    "_ or a dot: rename it, or move it away. If it is data, it is truncated or still being written."
)


def read_footers(location: Location, files: Sequence[StoredFile]) -> list[PinnedFile]:
    """The footers of ``files``, in order. Raises :class:`SourceFileError` naming the file."""
    if len(files) < 2:
        return [read_footer(location, file) for file in files]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda file: read_footer(location, file), files))


def read_footer(location: Location, file: StoredFile) -> PinnedFile:
    """The footer of one file."""
    uri = location.store.uri(file.key)
    with opened(location, file) as (handle, parquet):
        meta, schema = parquet.metadata, read_schema(handle)
        _check_names(uri, [field.name for field in schema])
        rows = _rows(uri, meta)
        columns = _columns(meta, schema)
        old = columns_of_old_times(meta.metadata, schema)
    return PinnedFile(
        uri=uri,
        size=file.size,
        identity=file.identity,
        rows=rows,
        columns=columns,
        old_times=old,
    )


@contextmanager
def opened(location: Location, file: StoredFile) -> Iterator[tuple[BinaryIO, pq.ParquetFile]]:
    """Open a file, whose metadata is read. Raises :class:`SourceFileError` naming it if it is no
    Parquet file, or is gone."""
    uri = location.store.uri(file.key)
    try:
        with location.store.open(file.key) as handle, pq.ParquetFile(handle) as parquet:
            yield handle, parquet
    except MissingKeyError:
        raise SourceFileError(
            f"{uri} vanished while it was being pinned",
            hint="Deliver new files; leave those that are there. Then retry the task.",
        ) from None
    except (pa.ArrowException, ValueError, OSError, EOFError) as error:
        raise SourceFileError(
            f"{uri} is not a readable Parquet file: {str(error).splitlines()[0]}",
            hint=_UNREADABLE if file.key.lower().endswith(".parquet") else _NO_DATA,
        ) from None


def _rows(uri: str, meta: Any) -> int:
    """Return how many rows the file has. Engines count by the file's own number or by that of its
    row groups: where the two differ, a query and its runs could see other rows."""
    rows = int(meta.num_rows)
    in_groups = sum(meta.row_group(group).num_rows for group in range(meta.num_row_groups))
    if rows != in_groups:
        raise SourceFileError(
            f"the footer of {uri} says {rows} rows, and {in_groups} in its row groups",
            hint="Its writer is broken, or somebody changed it: deliver it again.",
        )
    return rows


def _check_names(uri: str, names: Sequence[str]) -> None:
    if alike := same_but_for_case(names):
        raise SourceFileError(
            f"{uri}: the columns {' and '.join(alike)} have one name, as Spark ignores case",
            hint="Rename all but one of them when the file is written.",
        )


def _columns(meta: Any, schema: Sequence[SchemaField]) -> tuple[ColumnFooter, ...]:
    groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
    beside = types_beside(meta.metadata)
    first, found = 0, []
    for field in schema:
        leaves = tuple(field.leaves())
        chunks = [[group.column(first + i) for i in range(len(leaves))] for group in groups]
        first += len(leaves)
        _check_types(leaves, chunks)
        kind = beside.get(field.name) or _type(field)
        found.append(_column(field, kind, chunks))
    return tuple(found)


def _check_types(leaves: Sequence[SchemaField], chunks: Sequence[Sequence[Any]]) -> None:
    """Raise ValueError where the schema and a row group name different types of a leaf: whoever
    asks Arrow for the statistics of one ends the process."""
    for row in chunks:
        for leaf, chunk in zip(leaves, row, strict=True):
            if chunk.physical_type != leaf.physical:
                raise ValueError(f"{leaf.name} is {leaf.physical} and {chunk.physical_type}")


def _column(field: SchemaField, kind: str, chunks: list[list[Any]]) -> ColumnFooter:
    sizes = [chunk for row in chunks for chunk in row]
    base = ColumnFooter(
        name=field.name,
        type=kind,
        compressed=sum(chunk.total_compressed_size for chunk in sizes),
        uncompressed=sum(chunk.total_uncompressed_size for chunk in sizes),
    )
    if field.physical and field.repetition != "repeated":
        return _with_statistics(base, [row[0] for row in chunks], field)
    return base if kind.startswith(UNREAD) else replace(base, parts=_parts(field, chunks))


def _parts(field: SchemaField, chunks: list[list[Any]]) -> tuple[PartFooter, ...]:
    found = []
    for place, (leaf, path) in enumerate(zip(field.leaves(), leaf_paths(field), strict=True)):
        own = [row[place] for row in chunks]
        base = PartFooter(path=path, entries=sum(chunk.num_values for chunk in own))
        found.append(_with_statistics(base, own, leaf))
    return tuple(found)


def _type(field: SchemaField) -> str:
    """The type of a column; for one that Spark does not read, a text that says so."""
    try:
        return spark_type(field)
    except UnreadTypeError as error:
        return f"{UNREAD}{error}"


_Footer = TypeVar("_Footer", ColumnFooter, PartFooter)


def _with_statistics(base: _Footer, chunks: list[Any], field: SchemaField) -> _Footer:
    stats = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
    nulls: int | None = 0
    lows, highs, known = [], [], bool(chunks)
    for chunk, stat in zip(chunks, stats, strict=True):
        if stat is None or not stat.has_null_count:
            nulls = None
        elif nulls is not None:
            nulls += stat.null_count
        bounds = _bounds(stat)
        if bounds is not None:
            lows.append(bounds[0])
            highs.append(bounds[1])
        elif stat is None or not stat.has_null_count or stat.null_count < chunk.num_values:
            known = False
    usable = known and bool(lows)
    low, high = (_text(min(lows)), _text(max(highs))) if usable else (None, None)
    return replace(
        base,
        minimum=low,
        maximum=high,
        nulls=nulls,
        distinct=_distinct(chunks, _width(field, low, high), alone=isinstance(base, ColumnFooter)),
    )


def _bounds(stat: Any) -> tuple[Any, Any] | None:
    """The least and the greatest value of a row group; None where the footer has none, or such as
    no value of Python is: dates outside of the years 1 to 9999, texts cut within a letter."""
    if stat is None or not stat.has_min_max:
        return None
    try:
        return stat.min, stat.max
    except (OverflowError, ValueError, pa.ArrowException):  # UnicodeDecodeError is a ValueError
        return None


def _text(value: object) -> str | None:
    """Spark's text of a value; None for what has no order that the planner uses."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, int | Decimal | date):
        return str(value)
    return value if isinstance(value, str) and len(value) <= _LONGEST else None


def _distinct(chunks: list[Any], width: float, *, alone: bool) -> int:
    """About how many distinct values the row groups have, from the sizes of their dictionaries.

    0 (not known) unless every row group has a small dictionary whose values come often: if they do
    not, other row groups have others. Nor if it is large: writers give a dictionary up when
    it grows to about a megabyte, and the footer does not say that they did. A dictionary holds each
    value once. What the rest of the chunk holds is packed numbers, in which codecs that only look
    for repetitions find none, so what they have saved was saved on the dictionary. Of other codecs
    that is not known: texts much alike are taken for fewer than they are. A leaf of a nested column
    is not ``alone``: how deep its values lie is in the chunk as well, and packs well.
    """
    parts: list[PartOfColumn] = []
    for chunk in chunks:
        start, data = chunk.dictionary_page_offset, chunk.data_page_offset
        if not chunk.has_dictionary_page or not start or not 0 < data - start < _SMALL_DICTIONARY:
            return 0
        if chunk.total_uncompressed_size > _MOST_PACKED * _SMALL_DICTIONARY + 2 * chunk.num_values:
            return 0  # numbers take two bytes at most; the rest is no small dictionary
        saved = 0
        if alone and chunk.compression in _WITHOUT_ENTROPY_CODING:
            saved = max(0, chunk.total_uncompressed_size - chunk.total_compressed_size)
        size = min(data - start + saved, _MOST_PACKED * (data - start)) - _PAGE_HEADER
        here = max(1, round(size / width))
        stats = chunk.statistics if chunk.is_stats_set else None
        if here * _REPEATED > (stats.num_values if stats else chunk.num_values):
            return 0
        parts.append(_bounded(stats, here))
    return least_distinct(parts)


def _bounded(stats: Any, distinct: int) -> PartOfColumn:
    """A row group with its bounds, if they can be compared with others."""
    bounds = _bounds(stats)
    if bounds is None or None in map(_text, bounds):
        return PartOfColumn(None, None, distinct)
    return PartOfColumn(*bounds, distinct)


_BYTES = {"INT32": 4.0, "INT64": 8.0, "INT96": 12.0, "FLOAT": 4.0, "DOUBLE": 8.0, "BOOLEAN": 1.0}


def _width(field: SchemaField, low: str | None, high: str | None) -> float:
    """Bytes of a value in a dictionary; a text has its length in 4 more."""
    if field.physical in _BYTES:
        return _BYTES[field.physical]
    if field.length:
        return float(field.length)
    lengths = [len(text) for text in (low, high) if text is not None]
    return 4.0 + (sum(lengths) / len(lengths) if lengths else 12.0)
