"""Turn pins into the planner's statistics of a source, and into forecasts of what will arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.changelog import taken_back
from forerun.include.sources.disjoint import PartOfColumn, least_distinct
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import ColumnFooter, PartFooter, Pin, PinnedFile
from forerun.planner.algebra.parts import Path, part_type
from forerun.planner.algebra.types import DataType, parse_type
from forerun.planner.contract.plan_v1 import ForeignKey
from forerun.planner.request import ColumnStats, Source, SourceColumn, SourceForeignKey, TimePoint

_HISTORY_DAYS = 14
"""Days of history that a forecast looks back: two weeks, so that each weekday is in twice."""
LEAST_SHARE = 0.02
"""Smallest fraction of a day that a forecast believes in: it divides what has arrived."""


_FILES_ASKED = 50
"""Files of a parent that are compared with all files of a child: more would say the same."""


def to_source(source: SourceSpec, pin: Pin, arrived: float) -> Source:
    """A source as the planner sees it. ``arrived`` is the fraction of the day that the pin is
    believed to hold; rows and bytes are those of the whole day, so the pin's divided by it."""
    changing = source.arrival == "growing"
    share = max(arrived, LEAST_SHARE) if changing else 1.0
    columns = tuple(
        SourceColumn(name=c.name, type=parse_type(c.type), nullable=c.nullable)
        for c in source.columns
    )
    gone = taken_back(pin.files) if source.change == "changelog" else 0.0
    rows = max(0.0, pin.rows - 2 * gone)  # what came, less what was taken back of it
    return Source(
        name=source.name,
        columns=columns,
        changing=changing,
        change=source.change if changing else "append_only",  # a static one never changes again
        retracted=gone / rows if rows and changing else 0.0,
        rows=round(rows / share),
        bytes=round(pin.bytes / share),
        keys=(source.key,) if source.key else (),
        ordered_by=source.ordered_by,
        foreign_keys=tuple(SourceForeignKey(key=key) for key in source.foreign_keys),
        stats=tuple((c.name, column_stats(pin.files, c.name, c.type)) for c in columns)
        if pin.rows
        else (),
    )


def column_stats(files: Sequence[PinnedFile], name: str, kind: DataType) -> ColumnStats:
    """The footers of all files together.

    A bound that one non-empty file does not have is not known. ``distinct`` is what the
    dictionaries of row groups have at least: near the truth exactly where it matters, for columns
    of few values and for those in whose order rows come. ``width`` is the decoded size of a value:
    that of its type, for texts and nested values the bytes of the column before compression.
    """
    here = [
        (file.rows, column)
        for file in files
        for column in file.columns
        if file.rows and column.name.lower() == name.lower()
    ]
    rows = sum(n for n, _ in here)
    if not rows:
        return ColumnStats()
    stats = _of_values(here, kind)
    raw = sum(c.uncompressed for _, c in here) / rows
    varies = kind.name in ("STRING", "BINARY") or "<" in kind.name
    # A dictionary makes a text look small in the file; in memory it is whole.
    width = max(raw, float(kind.width)) if varies and stats.distinct else raw if varies else 0.0
    return replace(stats, width=width, parts=_parts(here, rows, kind))


def _parts(
    here: Sequence[tuple[int, ColumnFooter]], rows: int, kind: DataType
) -> tuple[tuple[Path, ColumnStats], ...]:
    """The leaves that the column has in each of the files."""
    by_path = [{part.path: part for part in column.parts} for _, column in here]
    found = []
    for path in by_path[0]:
        parts = [known[path] for known in by_path if path in known]
        if len(parts) == len(here):
            entries = [(part.entries, part) for part in parts]
            stats = _of_values(entries, part_type(kind, path))
            mean = sum(part.entries for part in parts) / rows
            found.append((path, replace(stats, entries=mean)))
    return tuple(found)


def _of_values(
    here: Sequence[tuple[int, ColumnFooter | PartFooter]], kind: DataType
) -> ColumnStats:
    """Statistics of a column, or of a part, by those of files of which each has so many values."""
    count = sum(n for n, _ in here)
    values = [(n, c) for n, c in here if c.nulls != n]
    known = bool(values) and all(c.minimum is not None for _, c in values)
    nulls = sum(c.nulls or 0 for _, c in here)
    in_each = all(c.distinct for _, c in values)
    distinct = least_distinct(_part(c, kind) for _, c in values) if in_each and values else 0
    return ColumnStats(
        minimum=_least([c.minimum for _, c in values], kind) if known else None,
        maximum=_least([c.maximum for _, c in values], kind, last=True) if known else None,
        nulls=min(1.0, nulls / count) if count else 0.0,
        distinct=float(distinct),
    )


def _part(column: ColumnFooter | PartFooter, kind: DataType) -> PartOfColumn:
    order = _order(kind)
    low, high = (None if text is None else order(text) for text in (column.minimum, column.maximum))
    return PartOfColumn(low, high, column.distinct)


def with_overlaps(
    sources: Sequence[Source], files: Mapping[str, Sequence[PinnedFile]]
) -> tuple[Source, ...]:
    """The sources with the overlaps of their foreign keys, by the bounds in the footers."""
    by_name = {source.name: source for source in sources}
    return tuple(
        replace(
            source,
            foreign_keys=tuple(
                replace(one, overlap=_overlap(source, by_name[one.key.parent], one.key, files))
                for one in source.foreign_keys
            ),
        )
        for source in sources
    )


def _overlap(
    child: Source, parent: Source, key: ForeignKey, files: Mapping[str, Sequence[PinnedFile]]
) -> float:
    """The share of the child's rows that lie in files whose bounds meet those of a file of the
    parent, in the mean over some of the parent's files, by their rows."""
    mine = _rows_with_bounds(files[child.name], child, key.columns)
    theirs = _rows_with_bounds(files[parent.name], parent, key.parent_columns)
    asked = theirs[:: max(1, len(theirs) // _FILES_ASKED)]
    pairs = sum(n for n, _ in mine) * sum(n for n, _ in asked)
    met = sum(n * m for n, one in mine for m, other in asked if _meet(one, other))
    return met / pairs if pairs else 1.0


_Bounds = list[tuple[Any, Any] | None]


def _rows_with_bounds(
    files: Sequence[PinnedFile], source: Source, names: Sequence[str]
) -> list[tuple[int, _Bounds]]:
    return [(file.rows, _bounds(file, source, names)) for file in files if file.rows]


def _bounds(file: PinnedFile, source: Source, names: Sequence[str]) -> _Bounds:
    """The least and the greatest value of columns in a file, each in the order of its type; None
    where the footer has none."""
    kinds = {column.name: column.type for column in source.columns}
    known = {column.name.lower(): column for column in file.columns}
    found: _Bounds = []
    for name in names:
        footer = known.get(name.lower())
        if footer is None or footer.minimum is None or footer.maximum is None:
            found.append(None)
        elif kinds[name].is_numeric:
            found.append((float(footer.minimum), float(footer.maximum)))
        else:
            found.append((footer.minimum, footer.maximum))
    return found


def _meet(one: _Bounds, other: _Bounds) -> bool:
    """Return whether rows with these bounds may have equal values in all columns."""
    return all(
        a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])
        for a, b in zip(one, other, strict=True)
    )


def _least(texts: Sequence[str | None], kind: DataType, *, last: bool = False) -> str | None:
    """The least (or last) of values given as text, in the order of their type."""
    there = [text for text in texts if text is not None]
    if len(there) < len(texts) or not there:
        return None
    order = sorted(there, key=_order(kind))
    return order[-1] if last else order[0]


def _order(kind: DataType) -> Callable[[str], Any]:
    """Return the function that gives the sort key of values that are given as text."""
    return float if kind.is_numeric else str


def forecast(
    spec_points: Sequence[datetime],
    starts: datetime,
    growing: Sequence[str],
    history: Sequence[LedgerEntry],
    before: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Mapping[str, float], ...]:
    """The fraction of each growing source that is expected at each run; 1 at the last.

    From earlier days, where a source has some (mean of what each run had seen, as a fraction of
    what the last run saw); else as if it arrived evenly from the start of the day to the last run,
    but for what was there ``before``, by source.
    """
    even = _evenly(spec_points, starts)
    curves = {name: _curve(name, len(spec_points), history) for name in growing}
    fractions: list[Mapping[str, float]] = []
    for i, by_clock in enumerate(even):
        earlier = fractions[-1] if fractions else {}
        now = {
            name: curve[i] if curve else by_clock + before.get(name, 0.0) * (1.0 - by_clock)
            for name, curve in curves.items()
        }
        fractions.append({name: max(earlier.get(name, 0.0), f) for name, f in now.items()})
    return tuple(fractions)


def _evenly(points: Sequence[datetime], starts: datetime) -> list[float]:
    whole = (points[-1] - starts).total_seconds()
    if whole <= 0:
        return [1.0] * len(points)
    spent = [(point - starts).total_seconds() / whole for point in points]
    return [min(1.0, max(LEAST_SHARE, s)) for s in spent[:-1]] + [1.0]


def _curve(name: str, runs: int, history: Sequence[LedgerEntry]) -> list[float] | None:
    """Mean fraction by run over past days; None if no day has all runs of the policy."""
    days: dict[tuple[str, str], dict[int, int]] = {}
    for entry in history:
        rows = dict(entry.arrived).get(name)
        if rows is not None:
            days.setdefault((entry.day, entry.generation), {})[entry.run] = rows
    whole = [
        [seen[i] / seen[runs] for i in range(1, runs + 1)]
        for _, seen in sorted(days.items())
        if set(range(1, runs + 1)) <= set(seen) and seen[runs] > 0
    ][-_HISTORY_DAYS:]
    if not whole:
        return None
    mean = [sum(day[i] for day in whole) / len(whole) for i in range(runs)]
    return [min(1.0, max(LEAST_SHARE, f)) for f in mean[:-1]] + [1.0]


def time_points(
    weights: Sequence[float], fractions: Sequence[Mapping[str, float]]
) -> tuple[TimePoint, ...]:
    """The runs of a day as the planner sees them; ``arrived`` is the mean over the sources."""
    points = []
    for weight, by_source in zip(weights, fractions, strict=True):
        shares = sorted(by_source.items())
        mean = sum(f for _, f in shares) / len(shares) if shares else 1.0
        points.append(TimePoint(weight=weight, arrived=mean, by_source=tuple(shares)))
    return tuple(points)
