"""``--as-if``: the same query over the same kind of data, and more of it.

A plan that pays over a terabyte is batch over the megabyte that a person has at hand. Only the
statistics are scaled; nothing is read or made.
"""

from __future__ import annotations

import re
from dataclasses import replace

from forerun.planner.algebra.types import DataType
from forerun.planner.errors import RequestError
from forerun.planner.request import ColumnStats, PlanRequest, Source

_TEXT = re.compile(r"(\d+(?:\.\d+)?)x?\Z")
_GROWS = 0.01
"""A column with at least this share of distinct values has more of them in a larger table, as keys
have; one with fewer, such as a status, has the same."""


def parse_factor(text: str) -> float:
    """Return the factor of ``--as-if``. Raises :class:`RequestError` for what is none."""
    found = _TEXT.match(text.strip().lower())
    if found is None or not float(found[1]):
        raise RequestError(
            f"--as-if {text!r} is no factor", hint="Write how many times as much: --as-if 1000x."
        )
    return float(found[1])


def as_if(request: PlanRequest, factor: float) -> PlanRequest:
    """Return the request as it would be with ``factor`` times the rows in every source."""
    return replace(request, sources=tuple(_larger(one, factor) for one in request.sources))


def _larger(source: Source, factor: float) -> Source:
    types = {column.name: column.type for column in source.columns}
    stats = tuple(
        (name, _of_more_rows(one, types.get(name), source.rows, factor))
        for name, one in source.stats
    )
    return replace(
        source,
        rows=max(1, round(source.rows * factor)),
        bytes=round(source.bytes * factor),
        stats=stats,
        sample=(),  # its rows are those of the small table
        sample_blocks=(),
    )


def _of_more_rows(
    stats: ColumnStats, type_: DataType | None, rows: int, factor: float
) -> ColumnStats:
    if stats.distinct < _GROWS * rows:
        return stats
    larger = replace(stats, distinct=stats.distinct * factor)
    # Keys are numbered on: else their bounds would say that there cannot be more of them.
    bounded = stats.minimum is not None and stats.maximum is not None
    if type_ is not None and type_.is_integer and bounded:
        low, high = int(stats.minimum or 0), int(stats.maximum or 0)
        larger = replace(larger, maximum=str(low + round((high - low) * factor)))
    return larger
