"""A few rows of a source drawn at random, for the planner to count predicates in.

Places are drawn in equal steps over all rows, from a random first one, and of the row group around
each place a few rows: every row of the source is equally likely, and a column that is sorted by
arrival is met all along (systematic sampling: Cochran 1977, "Sampling techniques", chapter 8).
There are as many places as rows where the columns are small enough for all row groups to be read:
such rows are at least as good as rows that are drawn one by one. Of what is larger as many row
groups are read as :data:`WORK` allows. Rows of one row group may be alike, so these know less than
as many that were drawn one by one (Olken and Rotem 1995, "Random sampling from databases", on what
a block of rows is worth). So it is told which of them come from one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from forerun.include.sources.constants import value_of
from forerun.include.sources.formats import SourceFormat, format_of
from forerun.include.sources.parquet.views import without_views
from forerun.include.state.records import PinnedFile
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.planner.errors import ForerunError
from forerun.planner.request import SampleValue, Source
from forerun.planner.sampling import Filtered

BLOCKS = 16
"""Row groups that are read of any source, however large they are."""

WORK = 32_000_000
"""What is read at most where that is more than so many row groups, in bytes of compressed columns:
a quarter of a CPU second. An estimate: how many row groups a file has is not known before it is
opened, so they are taken to be of the size that most writers aim at."""

_ROW_GROUP = 128_000_000
"""Bytes of all columns of a row group, as writers make them by default."""

_OPENED = 800_000
"""What a file takes to open, in bytes: a few requests, of 6 ms of CPU on S3 together."""

_DECODED = 0.5
"""Bytes that a value counts as at least: one that is compressed to nothing is still decoded."""

_THREADS = 8
"""Files that are opened at a time."""

BY_DEFAULT = 2_000
"""Rows that are drawn where nobody says how many, of a source with a filter that is guessed: they
know a share of a tenth to within 7 percent of itself."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows that were drawn, column by column; and how many of them, one after the other, come from
    the same row group, nothing if there is no row group of which none was drawn."""

    values: tuple[tuple[str, tuple[SampleValue, ...]], ...] = ()
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawable:
    """The files from which a sample of a source is drawn. ``rows``: how many are asked for, 0 for
    none; None draws :data:`BY_DEFAULT` if a filter over the source is guessed."""

    files: Sequence[PinnedFile]
    rows: int | None = None
    changelog: bool = False
    source_format: str = "parquet"

    def draw(self, filtered: Filtered) -> Drawn:
        """Draw the columns that are filtered."""
        rows = self.rows if self.rows is not None else BY_DEFAULT if filtered.guessed else 0
        return draw(
            self.files,
            filtered.columns,
            rows,
            changelog=self.changelog,
            source_format=self.source_format,
        )


def with_samples(
    sources: Sequence[Source], drawable: Mapping[str, Drawable], filtered: Mapping[str, Filtered]
) -> tuple[Source, ...]:
    """Return the sources with samples of those that are filtered."""
    drawn = {name: drawable[name].draw(one) for name, one in filtered.items()}
    return tuple(
        replace(one, sample=drawn[one.name].values, sample_blocks=drawn[one.name].blocks)
        if one.name in drawn
        else one
        for one in sources
    )


def draw(
    files: Sequence[PinnedFile],
    columns: Sequence[str],
    rows: int,
    *,
    changelog: bool = False,
    source_format: str = "parquet",
    seed: str = "",
) -> Drawn:
    """About ``rows`` rows of the files: the values of ``columns``, but those of types that are
    neither numbers, texts, truths nor times. Equal files give equal rows.

    Nothing is drawn if a file cannot be read: rows of the others alone are no sample, and whoever
    reads the source says what is wrong with the file.
    """
    filled = [file for file in files if file.rows]
    if not filled or not columns or rows < 1:
        return Drawn()
    seed = "".join((seed, *(f"{f.uri} {f.identity} " for f in filled)))
    read = [*columns, *([WEIGHT_COLUMN] if changelog else [])]
    number = _places(filled, frozenset(name.lower() for name in read), rows)
    of_file = partial(_of_file, format_of(source_format), read, -(-rows // number), seed)
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            found = [
                *pool.map(of_file, _in_equal_steps(filled, number, random.Random(seed).random()))
            ]
        parts = [part for each in found for part in each.parts]
        together = pa.concat_tables(parts, promote_options="permissive")
    except (ForerunError, pa.ArrowException, OSError, EOFError):
        return Drawn()  # types that do not go together, too
    named = ((n, _values(together.column(n))) for n in columns if n in together.column_names)
    values = tuple((name, values) for name, values in named if values is not None)
    all_read = sum(each.read for each in found) >= sum(file.rows for file in filled)
    return Drawn(values, tuple(part.num_rows for part in parts) if values and not all_read else ())


def _places(files: Sequence[PinnedFile], columns: frozenset[str], rows: int) -> int:
    """Return at how many places rows are drawn: as many as rows, or half, a quarter, ... of them,
    the most that take no more than :data:`WORK`; at least :data:`BLOCKS`."""
    decoded, groups = 0.0, 0
    for file in files:
        read = [column for column in file.columns if column.name.lower() in columns]
        decoded += max(sum(column.compressed for column in read), len(read) * _DECODED * file.rows)
        groups += max(1, file.size // _ROW_GROUP)
    number = rows
    while number > BLOCKS:
        opened, drawn = min(number, len(files)), min(number, groups)
        if opened * _OPENED + drawn * decoded / groups <= WORK:
            return number
        number = -(-number // 2)
    return BLOCKS


def _in_equal_steps(
    files: Sequence[PinnedFile], number: int, first: float
) -> Iterator[tuple[PinnedFile, list[int]]]:
    """Yield so many places in equal steps over all rows, the first one at a share of a step: the
    files, each with the numbers of the rows that lie there."""
    total, before, place = sum(file.rows for file in files), 0, 0
    for file in files:
        places = []
        while place < number and (at := int((place + first) * total / number)) < before + file.rows:
            places.append(at - before)
            place += 1
        before += file.rows
        if places:
            yield file, places


@dataclass(frozen=True, slots=True)
class _OfFile:
    """``parts``: what was drawn of the row groups of a file; ``read``: the rows that these have."""

    parts: Sequence[pa.Table]
    read: int


def _of_file(
    reader: SourceFormat,
    columns: Sequence[str],
    rows: int,
    seed: str,
    at: tuple[PinnedFile, list[int]],
) -> _OfFile:
    """Draw ``rows`` rows around each place of a file."""
    file, places = at
    chance = random.Random(f"{seed} {file.uri}")
    parts, read = [], 0
    for block, times in reader.blocks(file, columns, places):
        read += block.num_rows
        parts.append(_rows(_with_constants(block, file, columns), rows * times, chance))
    return _OfFile(parts, read)


def _with_constants(part: pa.Table, file: PinnedFile, columns: Sequence[str]) -> pa.Table:
    """Add the columns that the file lacks since all its rows have one value there."""
    types = {column.name: parse_type(column.type) for column in file.columns}
    for name, text in file.constants:
        if name in columns:
            value = value_of(text, types[name])
            part = part.append_column(name, pa.array([value] * part.num_rows))
    return part


def _rows(block: pa.Table, rows: int, chance: random.Random) -> pa.Table:
    """Draw ``rows`` rows of a row group, or all, as plain values; of a changelog such that come."""
    table = block.cast(without_views(block.schema))
    if WEIGHT_COLUMN in table.column_names:
        coming = table.filter(pc.greater(table.column(WEIGHT_COLUMN), 0))
        table = coming.drop_columns([WEIGHT_COLUMN])
    drawn = chance.sample(range(table.num_rows), min(rows, table.num_rows))
    taken = table.take(sorted(drawn))
    return taken.cast(pa.schema([_decoded(field) for field in taken.schema]))


def _decoded(field: pa.Field) -> pa.Field:
    coded = pa.types.is_dictionary(field.type)
    return field.with_type(field.type.value_type) if coded else field


def _values(column: pa.ChunkedArray) -> tuple[SampleValue, ...] | None:
    """The values of a column; None if they are of a type that is not sampled, or if one of them is
    no value of Python (a date outside of the years 1 to 9999)."""
    if not any(is_of(column.type) for is_of in _SIMPLE):
        return None
    try:
        return tuple(_value(value) for value in column.to_pylist())
    except (OverflowError, ValueError, pa.ArrowException):
        return None


_SIMPLE = (
    pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    pa.types.is_string, pa.types.is_large_string, pa.types.is_date32, pa.types.is_timestamp,
)  # fmt: skip
"""Timestamps in nanoseconds, too: so Arrow gives the old format of Spark."""


def _value(value: object) -> SampleValue:
    """Convert to what the planner takes: whole numbers to decimals, times to UTC without a zone."""
    if isinstance(value, bool | float | str | Decimal) or value is None:
        return value
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return value
    raise TypeError(f"a {type(value).__name__} is no value of a sample")
