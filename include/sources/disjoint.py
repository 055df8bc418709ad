"""Estimate how many distinct values parts of a column have together, by the count and the bounds of
each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple


class PartOfColumn(NamedTuple):
    """A row group or a file: its least and largest value, of types that can be compared with those
    of the other parts, None where they are not known; and how many distinct values it has."""

    low: Any
    high: Any
    distinct: int


def least_distinct(parts: Iterable[PartOfColumn]) -> int:
    """Return a lower bound, near the truth where rows come in the order of the column, or where
    each part has all values: parts whose bounds do not meet have no value in common but one, so it
    is the largest sum over any such parts (weighted interval scheduling), and at least what one of
    them has."""
    parts = tuple(parts)
    most = max((part.distinct for part in parts), default=0)
    bounded = sorted(
        (part for part in parts if part.low is not None and part.high is not None),
        key=lambda part: part.high,
    )
    highs = [part.high for part in bounded]
    best = [0]  # of the first n parts
    for number, part in enumerate(bounded):
        before = bisect_right(highs, part.low, hi=number)
        shared = 1 if before and highs[before - 1] == part.low else 0
        best.append(max(best[-1], best[before] + part.distinct - shared))
    return max(most, best[-1])
