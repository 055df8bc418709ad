"""A few rows of a source drawn at random, for the planner to count predicates in.

Row groups are drawn in equal steps over all rows, from a random first one, then rows evenly within
each: every row of the source is equally likely, and a column that is sorted by arrival is met all
along (systematic sampling: Cochran 1977, "Sampling techniques", chapter 8). Rows of one row group
may be alike, so these rows know less than as many that were drawn one by one, which would read
every row group (Olken and Rotem 1995, "Random sampling from databases", on what a block of rows is
worth). So it is told which of them come from one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from forerun.include.sources.constants import value_of
from forerun.include.sources.formats import format_of
from forerun.include.sources.parquet.views import without_views
from forerun.include.state.records import PinnedFile
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.planner.errors import ForerunError
from forerun.planner.request import SampleValue, Source
from forerun.planner.sampling import Filtered

BLOCKS = 16
"""Row groups that are read at most: a row group is 64 to 128 MB of all columns by default."""

BY_DEFAULT = 2_000
"""Rows that are drawn where nobody says how many, of a source with a filter that is guessed: they
know a share of a tenth to within 7 percent of itself."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows that were drawn, column by column; and how many of them, one after the other, come from
    the same row group."""

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
    chance = random.Random("".join((seed, *(f"{f.uri} {f.identity} " for f in filled))))
    reader, read = format_of(source_format), [*columns, *([WEIGHT_COLUMN] if changelog else [])]
    wanted = -(-rows // BLOCKS)
    parts: list[pa.Table] = []
    try:
        for file, places in _in_equal_steps(filled, chance):
            blocks = reader.blocks(file, read, places)
            whole = [(_with_constants(part, file, read), n) for part, n in blocks]
            parts += _rows(whole, wanted, chance, changelog)
        together = pa.concat_tables(parts, promote_options="permissive")
    except (ForerunError, pa.ArrowException, OSError, EOFError):
        return Drawn()  # types that do not go together, too
    found = ((n, _values(together.column(n))) for n in columns if n in together.column_names)
    values = tuple((name, values) for name, values in found if values is not None)
    return Drawn(values, tuple(part.num_rows for part in parts) if values else ())


def _in_equal_steps(
    files: Sequence[PinnedFile], chance: random.Random
) -> Iterator[tuple[PinnedFile, list[int]]]:
    """Yield :data:`BLOCKS` places in equal steps over all rows, from a random first one: the files,
    each with the numbers of the rows that lie there."""
    total, first = sum(file.rows for file in files), chance.random()
    steps = [int((number + first) * total / BLOCKS) for number in range(BLOCKS)]
    before = 0
    for file in files:
        places = [step - before for step in steps if before <= step < before + file.rows]
        before += file.rows
        if places:
            yield file, places


def _with_constants(part: pa.Table, file: PinnedFile, columns: Sequence[str]) -> pa.Table:
    """Add the columns that the file lacks since all its rows have one value there."""
    types = {column.name: parse_type(column.type) for column in file.columns}
    for name, text in file.constants:
        if name in columns:
            value = value_of(text, types[name])
            part = part.append_column(name, pa.array([value] * part.num_rows))
    return part


def _rows(
    blocks: Sequence[tuple[pa.Table, int]], rows: int, chance: random.Random, changelog: bool
) -> Iterator[pa.Table]:
    """``rows`` rows of each block; of one that was drawn twice, twice as many. Of a changelog those
    that come."""
    for block, times in blocks:
        table = block.cast(without_views(block.schema))
        if changelog:
            coming = table.filter(pc.greater(table.column(WEIGHT_COLUMN), 0))
            table = coming.drop_columns([WEIGHT_COLUMN])
        count = min(rows * times, table.num_rows)
        yield table.take(sorted(chance.sample(range(table.num_rows), count)))


def _values(column: pa.ChunkedArray) -> tuple[SampleValue, ...] | None:
    """The values of a column; None if they are of a type that is not sampled, or if one of them is
    no value of Python (a date outside of the years 1 to 9999)."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not any(is_of(kind) for is_of in _SIMPLE):
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
