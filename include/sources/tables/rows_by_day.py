"""Tables that tell the days of their rows by a column alone, listed for some days.

A file of one of these days is read as it is, if the table's log says by its bounds that all rows
are of that day; one of other days is left out. Of a file with rows of several days a copy is made,
once, with the rows of each day in files of their own; and so of what is copied of a table anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from forerun.include.sources.days import DayColumn
from forerun.include.sources.files import Asked, Listing, SourcePathError, locate_file
from forerun.include.sources.tables.log import FileBounds, TableLog, columns_read


@dataclass(frozen=True, slots=True)
class _Days:
    """The days that files may have rows of. ``bounds``: what the log says of the column."""

    column: DayColumn
    bounds: dict[str, FileBounds]

    def of(self, key: str) -> Sequence[str]:
        """Return the ones that are read, in order, and an empty text for rows that are not."""
        found = self.bounds.get(key)
        if found is None:
            return self.column.days_between(None, None)
        days = self.column.days_between(found.least, found.greatest)
        return (*days, "") if days and found.has_nulls else days


def told_by_day(listing: Listing, log: TableLog, asked: Asked) -> Listing:
    """Return a listing of all rows of a table as that of the days which are read."""
    column = asked.day_by
    if column is None:
        return listing
    if column.name.lower() in {name.lower() for name in log.snapshot.partitions}:
        return _told_by_partition(listing, column)
    from forerun.include.sources.tables.copied_rows import NO_POSITIONS, rows_at

    days = _Days(column, dict(log.bounds(column.name)))
    pinned = asked.last.files if asked.last else ()
    told = {locate_file(one.uri).key: one.day for one in pinned if not one.origin}
    files, raw = [], [one for one in listing.raw if days.of(one.key)]
    for file in listing.files:
        known = (told[file.key],) if file.key in told else days.of(file.key)
        if len(known) == 1 and known[0]:
            told[file.key] = known[0]
            files.append(file)
        elif any(known):
            columns = columns_read(log.snapshot, asked)
            raw.append(rows_at(listing.location, file, NO_POSITIONS, columns, left=True))
    return replace(
        listing,
        files=tuple(files),
        raw=tuple(replace(one, by_day=column) for one in raw),
        days={file.key: told[file.key] for file in files},
    )


def _told_by_partition(listing: Listing, column: DayColumn) -> Listing:
    """Return a listing of a table that is partitioned by the column itself, which its files need
    not hold."""
    days = {}
    for key, values in listing.constants.items():
        text = next((text for name, text in values if name.lower() == column.name.lower()), None)
        if column.type != "DATE":
            raise SourcePathError(
                f"the table is partitioned by {column.name}, which is no DATE",
                hint="Name another column in day_by, or let the path name the partition.",
            )
        if text is not None and column.reads(text):
            days[key] = text
    return replace(
        listing,
        files=tuple(file for file in listing.files if file.key in days),
        raw=tuple(one for one in listing.raw if one.key in days),
        days=days,
    )
