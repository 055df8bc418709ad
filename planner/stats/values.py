"""The estimates of a relation and its columns, and the counting formulas behind them.

Formulas: Cardenas (1975), "Analysis and performance of inverted data base structures": rows drawn
with replacement from ``d`` equally frequent values hit ``d (1 - (1 - 1/d)^n)`` of them; the form
for a fraction of the rows of a relation is Yao's (1977), approximated.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from forerun.planner.algebra.parts import Path, part_type
from forerun.planner.algebra.types import ColumnId, DataType
from forerun.planner.request import ColumnStats
from forerun.planner.stats.sample import Sample

STRING_DISTINCT = 0.1
"""Guess: distinct values per row of a string column of which nothing is known. System R guessed a
fixed 10 values (Selinger et al. 1979); a fixed number makes joins on string keys explode, a
fraction keeps them within the size of their inputs. Of a few rows it would be none."""
FEW_DISTINCT = 10.0
"""At least so many values, or as many as there are rows: a table of five regions has five names."""

MANY_DISTINCT = 1e15
"""Bound for products of distinct counts, far above any row count."""

_NO_PARTS: Mapping[Path, ColumnEstimate] = MappingProxyType({})

_EPOCH = dt.date(1970, 1, 1)
_SECONDS_PER_DAY = 86_400.0


class TableLeaf(NamedTuple):
    """The rows of a table, as one place of a query reads them: ``id`` is one of its columns."""

    id: ColumnId
    rows: float


class ColumnEstimate(NamedTuple):
    """``distinct``: values without NULL, at least 1 where there is a row; ``nulls``: fraction of
    the rows; ``low`` and ``high``: bounds on a number line (days for dates and timestamps), None if
    there is none; ``width``: mean bytes of a value; ``mean`` of what has no bounds, such as the
    sum or count of a group; ``leaf``: whose rows determine the values, if those of one leaf do;
    ``is_guess``: nothing is known of how many values a column of texts has.
    ``parts`` are the leaves of a nested value by their paths, as far as they are known, each with
    ``entries``, its values in a row, as :class:`forerun.planner.request.ColumnStats` has them."""

    distinct: float
    nulls: float = 0.0
    low: float | None = None
    high: float | None = None
    width: float = 8.0
    mean: float | None = None
    leaf: TableLeaf | None = None
    is_guess: bool = False
    entries: float = 1.0
    parts: Mapping[Path, ColumnEstimate] = _NO_PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Expected rows, and the columns by id; a sample of the rows, where there is one."""

    rows: float
    columns: Mapping[ColumnId, ColumnEstimate]
    sample: Sample | None = None

    @property
    def width(self) -> float:
        """Bytes of one row."""
        return sum(column.width for column in self.columns.values()) or 1.0

    @property
    def bytes(self) -> float:
        return self.rows * self.width

    def distinct(self, column: ColumnId) -> float:
        return self.columns[column].distinct


def drawn(distinct: float, draws: float) -> float:
    """Cardenas: how many of ``distinct`` equally frequent values ``draws`` rows hit."""
    if distinct <= 1.0 or draws <= 0.0:
        return min(distinct, draws)
    # 1 - (1 - 1/d)^n, in a form that keeps its digits when d is large.
    return min(-distinct * math.expm1(draws * math.log1p(-1.0 / distinct)), draws, distinct)


def kept(distinct: float, rows: float, fraction: float) -> float:
    """Yao, approximated: distinct values left when a fraction of ``rows`` rows is kept.

    A value with n/d rows vanishes when none of them is kept: d (1 - (1 - f)^(n/d)). A unique
    column keeps exactly the fraction.
    """
    if fraction >= 1.0 or rows <= 0.0 or distinct <= 0.0:
        return distinct
    if fraction <= 0.0:
        return 0.0
    return -distinct * math.expm1(max(1.0, rows / distinct) * math.log1p(-fraction))


def resized(columns: Mapping[ColumnId, ColumnEstimate], before: float, rows: float
            ) -> dict[ColumnId, ColumnEstimate]:  # fmt: skip
    """The columns after a random selection (or the repetition of a join): ``before`` rows became
    ``rows``."""
    if rows >= before:
        return dict(columns)
    fraction = rows / before if before > 0.0 else 0.0
    return {
        id_: column._replace(distinct=kept(column.distinct, before * (1 - column.nulls), fraction))
        for id_, column in columns.items()
    }


def number(text: str | None, type_: DataType) -> float | None:
    """A value's place on the number line: the number itself, days since 1970 for dates and
    timestamps, None for what has no such place (or cannot be read)."""
    if text is None:
        return None
    try:
        if type_.is_numeric:
            value = float(text)
            return value if math.isfinite(value) else None
        if type_.name == "DATE":
            return float((dt.date.fromisoformat(text[:10]) - _EPOCH).days)
        if type_.name.startswith("TIMESTAMP"):
            # A difference of zones moves every bound of a day by hours: no matter here.
            at = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
            return at.timestamp() / _SECONDS_PER_DAY
    except ValueError:
        # A text we do not understand is no evidence; the guesses for the unknown hold.
        return None
    return None


def of_source(stats: ColumnStats, type_: DataType, rows: float, unique: bool) -> ColumnEstimate:
    """A source column from what is known of it: sketch, key, or range of its footers.

    Distinct values when no sketch counted them: of a key, the rows; of integers and dates, the
    width of the range; of booleans 2; else a guess. Never more than there are rows.
    """
    low, high = number(stats.minimum, type_), number(stats.maximum, type_)
    some = rows * (1.0 - stats.nulls)
    distinct = stats.distinct
    is_one = stats.minimum is not None and stats.minimum == stats.maximum
    is_unknown = not (unique or is_one) and distinct <= 0.0
    if is_one:
        distinct = 1.0
    elif unique:
        distinct = some
    elif is_unknown:
        distinct = _guess(type_, some, low, high)
    return ColumnEstimate(
        distinct=max(min(distinct, some), min(1.0, some)),
        nulls=stats.nulls,
        low=low,
        high=high,
        width=stats.width or float(type_.width),
        is_guess=is_unknown and type_.name == "STRING",
        entries=stats.entries,
        parts={
            path: of_source(part, part_type(type_, path), rows * part.entries, unique=False)
            for path, part in stats.parts
        }
        or _NO_PARTS,
    )


def _guess(type_: DataType, rows: float, low: float | None, high: float | None) -> float:
    if type_.name == "BOOLEAN":
        return 2.0
    discrete = type_.is_integer or type_.name == "DATE"
    if low is not None and high is not None and (discrete or type_.name == "DECIMAL"):
        steps = 1.0 if discrete else 10.0**type_.scale
        return (high - low) * steps + 1.0
    return rows if type_.is_numeric or type_.name.startswith("TIMESTAMP") else (
        max(min(rows, FEW_DISTINCT), rows * STRING_DISTINCT)
    )  # fmt: skip


def merged(sides: list[tuple[float, ColumnEstimate]], rows: float) -> ColumnEstimate:
    """Branches may share values or not: as many as the largest has, plus half of the others."""
    counts = sorted((column.distinct for _, column in sides), reverse=True)
    lows, highs = [c.low for _, c in sides], [c.high for _, c in sides]
    total = max(rows, 1.0)
    return ColumnEstimate(
        distinct=counts[0] + sum(counts[1:]) / 2.0,
        nulls=sum(n * c.nulls for n, c in sides) / total,
        low=None if None in lows else min(low for low in lows if low is not None),
        high=None if None in highs else max(high for high in highs if high is not None),
        width=sum(n * c.width for n, c in sides) / total if rows else sides[0][1].width,
    )
