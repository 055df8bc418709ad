"""Statistics of bands and of the buckets that stand for them: how many pairs of rows are within a
band, and how many buckets a column has.

Values are taken to be spread evenly between their bounds. Without bounds nothing is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from forerun.planner.algebra.bands import as_bucket, bands
from forerun.planner.algebra.scalar import Call, Scalar
from forerun.planner.algebra.types import ColumnId
from forerun.planner.stats.values import ColumnEstimate


def share_in_bands(
    parts: tuple[Scalar, ...], columns: Mapping[ColumnId, ColumnEstimate]
) -> tuple[float, AbstractSet[Scalar]]:
    """Return the fraction of the pairs of rows that are within the bands of a conjunction, and the
    conjuncts that say so: the width of a band over that of the values."""
    fraction, told = 1.0, frozenset[Scalar]()
    for band in bands(parts) if len(parts) > 1 else ():
        both = columns[band.base.id], columns[band.point.id]
        spans = [one.high - one.low for one in both if one.low is not None and one.high is not None]
        if len(spans) == len(both):
            least = 1.0 / band.unit.per
            width = max(least, (band.high - band.low) * least)
            fraction *= min(1.0, width / max(least, *spans))
            fraction *= (1.0 - both[0].nulls) * (1.0 - both[1].nulls)
            told |= band.parts
    return fraction, told


def bucket_estimate(
    scalar: Call, columns: Mapping[ColumnId, ColumnEstimate]
) -> ColumnEstimate | None:
    """Return the estimate of the buckets of a column whose bounds are known; None if it is no
    bucket of one."""
    found = as_bucket(scalar) if scalar.name == "div" else None
    if found is None:
        return None
    of = columns[found.column.id]
    if of.low is None or of.high is None:
        return None
    per = found.unit.per / found.width
    low, high = of.low * per, of.high * per
    return of._replace(distinct=min(of.distinct, high - low + 1.0), low=low, high=high, width=8.0)
