"""Statistics of bands and of the buckets that stand for them: how many pairs of rows are within a
band, and how many buckets a column has.

Values are taken to be spread evenly between their bounds. Without bounds nothing is said here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from forerun.planner.algebra.bands import as_bucket, bands
from forerun.planner.algebra.intervals import is_bucket_of_width
from forerun.planner.algebra.scalar import Call, Ref, Scalar, walk
from forerun.planner.algebra.types import ColumnId
from forerun.planner.stats.values import ColumnEstimate

_OF_INTERVALS = 48.0
"""So many buckets are taken to be of a width: of 16 that an interval may be in, a third is one that
it is in, and an interval holds a ninth of the values (:mod:`forerun.planner.stats.selectivity`)."""


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
    bucket of one. Of buckets whose width is that of an interval there are so many that as many
    pairs of rows have the same one as two open ranges are guessed to let through."""
    if is_bucket_of_width(scalar):
        values = {node.column.id: columns[node.column.id] for node in walk(scalar)
                  if isinstance(node, Ref)}  # fmt: skip
        most = math.prod(one.distinct for one in values.values())
        return ColumnEstimate(distinct=max(1.0, min(_OF_INTERVALS, most)), nulls=0.0, width=8.0)
    found = as_bucket(scalar) if scalar.name == "div" else None
    if found is None:
        return None
    of = columns[found.column.id]
    if of.low is None or of.high is None:
        return None
    per = found.unit.per / found.width
    low, high = of.low * per, of.high * per
    return of._replace(distinct=min(of.distinct, high - low + 1.0), low=low, high=high, width=8.0)
