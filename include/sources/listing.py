"""The files of a source that are data on a day: one answer for all who count, pin or read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from forerun.include.reports.sources.complete_when import CompleteWhen, HourlyMarkers, MarkerFile
from forerun.include.reports.spec import SourceSpec
from forerun.include.reports.values.clock import parse_time, parse_zone
from forerun.include.sources.constants import Constants, in_folders, with_constants
from forerun.include.sources.days import DayBounds, DayColumn
from forerun.include.sources.files import Asked, Listing
from forerun.include.sources.formats import format_of
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN


def data_files(
    source: SourceSpec,
    day: date,
    last: Pin | None = None,
    now: datetime | None = None,
    before: Pin | None = None,
    first: Pin | None = None,
) -> Listing:
    """List the data files of a source on ``day``
    (:meth:`forerun.include.sources.files.Location.files`); of a source that is read over several
    days those of all their folders. The marker that the source is complete by is none of them,
    whatever its name. A table is listed as one that goes on from ``last``, the newest pin of it;
    ``now`` says whether days are over, and ``before``, the newest pin of an earlier day, what was
    read of them by then. ``first`` is the first pin of the day of the one that it goes on from.

    Raises :class:`forerun.include.sources.table_formats.TableFormatError` if a table of another
    format lies there, and :class:`forerun.include.sources.files.SourcePathError` for days that lie
    in different buckets.
    """
    zone = parse_zone(source.timezone) if source.timezone else None
    days = _days(source, day, zone) if zone else ()
    day_of = {path: str(each) for path, each in source.places_of_days(day).items()}
    asked = Asked(
        paths=tuple(source.folders_on(day)),
        day_of=day_of,
        is_marker=_markers(source.complete_when),
        last=last,
        catalog=source.catalog,
        signed=source.change == "changelog",
        ignores=source.extra_columns == "ignore",
        accepts_loss=source.lost_rows == "accept",
        days=days,
        day_by=_day_column(source, zone, days) if zone else None,
        now=now,
        before=before,
        first=first,
        columns=source.columns,
        where=source.where_on(day),
        slot=source.slot,
        key=tuple(column for column in source.columns if column.name in source.key),
        store=source.store,
    )
    form = format_of(source.format)
    listing = form.listed(asked)
    if form.has_files and not form.has_log and day_of:
        listing = replace(listing, days=_in_folders_of_days(asked, listing.keys))
    if not source.partitioned_by or listing.folder is None:
        return listing
    uri = listing.location.store.uri
    named = {key: in_folders(uri(key), key, source.partitioned_by) for key in listing.keys}
    return replace(listing, constants=named)


def _in_folders_of_days(asked: Asked, keys: Iterable[str]) -> Mapping[str, str]:
    """Return the days in whose folders files lie, by their keys."""
    located = zip(asked.locations, asked.paths, strict=True)
    days = {at.key: asked.day_of[path] for at, path in located}
    found = {}
    for key in keys:
        folder = key
        while folder and folder not in days:
            folder = folder.rpartition("/")[0]
        if folder:
            found[key] = days[folder]
    return found


def _days(source: SourceSpec, day: date, zone: ZoneInfo) -> tuple[DayBounds, ...]:
    midnight = parse_time("00:00", "the start of a day")
    return tuple(
        DayBounds(each, midnight.on(each, zone), midnight.on(each + timedelta(days=1), zone))
        for each in source.days_read(day)
    )


def _day_column(
    source: SourceSpec, zone: ZoneInfo, days: tuple[DayBounds, ...]
) -> DayColumn | None:
    kinds = (column.type for column in source.columns if column.name == source.day_by)
    kind = next(kinds, None)
    return DayColumn(source.day_by, parse_type(kind).name, zone, days) if kind else None


def describe_files(
    source: SourceSpec, listing: Listing, files: Sequence[StoredFile]
) -> list[PinnedFile]:
    """Return files of a listing as they are pinned, in order: what they hold, and the constants
    that they lack. What a data file has beside the columns of its table is the format's own, such
    as the ids of rows, or was dropped from the table."""
    if listing.folder is None:
        return []
    found = format_of(source.format).describe(listing.location, files, source.held_columns)
    return [
        completed(source, listing, file.key, one) for file, one in zip(files, found, strict=True)
    ]


def completed(
    source: SourceSpec, listing: Listing, key: str, file: PinnedFile, weight: int = 1
) -> PinnedFile:
    """Return a file that holds rows of the one at ``key``, with the constants that it lacks.
    ``weight`` is how often each row counts, in a table whose rows may go."""
    if listing.table is not None and listing.table.columns is not None:
        known = {name.lower() for name in listing.table.columns}
        known.add(WEIGHT_COLUMN)  # how often a row comes, of rows that were told apart
        file = replace(file, columns=tuple(c for c in file.columns if c.name.lower() in known))
    file = replace(file, day=file.day or listing.days.get(key, ""))
    constants = _constants(source, listing, key, file, weight)
    return with_constants(file, constants, source.file_columns)


def _constants(
    source: SourceSpec, listing: Listing, key: str, file: PinnedFile, weight: int
) -> Constants:
    """The constants of a file. Of a table, a column that it has got since the file was written is
    NULL there; and a source whose rows change has each row of a file once, or takes it back."""
    known = listing.constants.get(key, ())
    if listing.table is None or listing.table.columns is None:
        return known
    held = {column.name.lower() for column in file.columns}
    known = tuple((name, value) for name, value in known if name.lower() not in held)
    there = held | {name.lower() for name, _ in known}
    later = (name for name in listing.table.columns if name.lower() not in there)
    is_said = WEIGHT_COLUMN in held or source.change != "changelog"
    weights = () if is_said else ((WEIGHT_COLUMN, str(weight)),)
    return (*known, *((name, None) for name in later), *weights)


def said(paths: Sequence[str]) -> str:
    """Return folders in words for people: all of one or two, of more the first and the last."""
    if len(paths) < 3:
        return " and ".join(paths)
    return f"the {len(paths)} folders from {paths[0]} to {paths[-1]}"


def _markers(rule: CompleteWhen | None) -> Callable[[str], bool] | None:
    """Return what tells the paths of markers below the folder of a day."""
    match rule:
        case MarkerFile(name=name):
            return lambda path: path == name
        case HourlyMarkers():
            return rule.is_marker
        case _:
            return None
