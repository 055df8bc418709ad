"""Pins: the exact files of a source at an instant, taken once and shared by all reports.

A series of pins per source and day, numbered from 1, each put if absent. A new pin is made only if
something has changed since the last one; only footers of files that the last pin does not have are
read. A pin says what is there, also when a file was replaced: whether a run may go on from its
base's pin is for :func:`forerun.include.sources.delivery.delivery` to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.changelog import check_weights
from forerun.include.sources.contents import changed_contents, with_digests
from forerun.include.sources.delivery import put_together, read_pin, read_with_base
from forerun.include.sources.files import Listing, SourcePathError, locate
from forerun.include.sources.formats import format_of
from forerun.include.sources.listing import completed, data_files, describe_files, said
from forerun.include.sources.rows.upserts import upserted
from forerun.include.sources.spool import Spool
from forerun.include.sources.table_formats import refuse_tables_above
from forerun.include.sources.tables.compactions import compacted_in
from forerun.include.sources.unread import refuse_unread
from forerun.include.sources.widening import same_type, widens
from forerun.include.state.layout import numbers, pin_key, pins_folder, source_id
from forerun.include.state.records import Pin, PinnedFile, encode
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

_WHOLE_BELOW = 500
"""Pins of fewer files are always stored whole: some 250 kB of JSON."""


class SchemaDriftError(ForerunError):
    """A delivered file has not the declared columns."""

    code = "schema-drift"


def pin_source(store: Store, source: SourceSpec, day: date, now: datetime) -> tuple[str, Pin]:
    """Pin what is there now; return the pin and its key.

    Raises :class:`SourcePathError` if nothing is there and the source may not be empty,
    :class:`forerun.include.sources.parquet.footers.SourceFileError` for a file that is not Parquet,
    :class:`SchemaDriftError` for one that has not the declared columns,
    :class:`forerun.include.sources.table_formats.TableFormatError` for a folder of a table of
    another format, and
    :class:`forerun.include.sources.changelog.ChangelogError` for one of a changelog that may have
    NULL in ``__w``.
    """
    paths, form = list(source.folders_on(day)), format_of(source.format)
    if form.has_files and not form.has_log:
        for path in paths:
            refuse_tables_above(locate(path))
    name = source_id(source.name, source.pinned_as, source.format)
    at = day.isoformat()
    backoff = Backoff(pins_folder(name, at))
    while True:
        # The last pin is read before the folder is listed: a pin with a higher number never shows
        # an older state, and the loser of a race looks again.
        last, whole_before = _last_pin(store, name, at)
        before, first = _earlier(store, source, day, last)
        plain = source.as_delivered
        listing = data_files(plain, day, last, now, before, first)
        files = _files_of(store, name, plain, listing, None if source.newest_by else last)
        if not files and not source.allow_empty:
            raise SourcePathError(
                f"source {source.name} has no files in {said(paths)}",
                hint="Correct its path, deliver a file (one without rows will do), or declare "
                "allow_empty.",
            )
        check_schema(plain, files)
        if source.newest_by:
            files = _files_of(store, name, source, upserted(source, files, last), last)
        if source.change == "changelog":
            check_weights(source.name, files)
        if last is not None and last.files == files:
            return pin_key(name, at, last.number), last
        number = last.number + 1 if last else 1
        whole = Pin(
            source=name,
            name=source.name,
            day=at,
            number=number,
            path=paths[-1],
            more_paths=tuple(paths[:-1]),
            format=source.format,
            pinned_at=now.astimezone(UTC).isoformat(),
            files=files,
            table=listing.table.table if listing.table else "",
            version=listing.table.version if listing.table else 0,
            compacted=compacted_in(listing.compacted, last, before, files),
        )
        key = pin_key(name, at, number)
        pin = _shortened(whole, whole_before)
        if store.put_if_absent(key, encode(pin)):
            return key, replace(whole, base=pin.base)
        backoff.wait()


def _shortened(pin: Pin, whole: Pin | None) -> Pin:
    """A pin as it is stored: only what has changed since the last whole one, if it is large and
    most of it has not. A pin is never more than one step away from a whole one."""
    if whole is None or len(pin.files) < _WHOLE_BELOW:
        return pin
    base = whole.files
    known, there = {file.uri: file for file in base}, {file.uri for file in pin.files}
    new = tuple(file for file in pin.files if known.get(file.uri) != file)
    dropped = tuple(file.uri for file in base if file.uri not in there)
    if 4 * (len(new) + len(dropped)) > len(pin.files):
        return pin
    if put_together(base, new, dropped) != pin.files:
        return pin
    return replace(pin, files=new, base=whole.number, dropped=dropped)


def _last_pin(store: StoreReader, source: str, day: str) -> tuple[Pin, Pin] | tuple[None, None]:
    """The last pin of a source's day, and the whole one that it goes on from."""
    # The listing only says where the series ends; the put is what decides.
    known = numbers(tuple(file.key for file in store.list(pins_folder(source, day))))
    return read_with_base(store, pin_key(source, day, known[-1])) if known else (None, None)


def _earlier(
    store: StoreReader, source: SourceSpec, day: date, last: Pin | None
) -> tuple[Pin | None, Pin | None]:
    """The newest pin of an earlier day, where there is no ``last`` one and the source goes on from
    it; and of a table with a log the first pin of the day of the newest pin."""
    name, form = source_id(source.name, source.pinned_as, source.format), format_of(source.format)
    goes_on = not form.has_files or (form.has_log and source.over is not None)
    before = _pin_before(store, source, name, day) if goes_on and last is None else None
    newest = last or before
    if newest is None or not form.has_log:
        return before, None
    return before, read_pin(store, pin_key(name, newest.day, 1))


def _pin_before(store: StoreReader, source: SourceSpec, name: str, day: date) -> Pin | None:
    """The newest pin of the day before, or of the period before that of ``day``."""
    first = source.over.bounds(day)[0] if source.over is not None else day
    found = (_last_pin(store, name, (each - timedelta(days=1)).isoformat())[0]
             for each in dict.fromkeys((day, first)))  # fmt: skip
    return next((pin for pin in found if pin is not None), None)


def _pin_files(source: SourceSpec, listing: Listing, last: Pin | None) -> tuple[PinnedFile, ...]:
    """The files as they are now. One that the last pin has with its size and time is described
    again only if its content is another one by now, or a column was declared since."""
    if listing.folder is None:
        return ()
    location, listed, form = listing.location, listing.files, format_of(source.format)
    declared = {column.name.lower() for column in source.file_columns}
    known = {
        (f.uri, f.size, f.identity): f
        for f in (last.files if last else ())
        if not f.constants or declared <= {column.name.lower() for column in f.columns}
    }
    there = [known.get((location.store.uri(f.key), f.size, f.identity)) for f in listed]
    pairs = [(old, f.key) for old, f in zip(there, listed, strict=True) if old is not None]
    changed = changed_contents(form, location, pairs)
    old = [file if file and file.uri not in changed else None for file in there]
    new = [file for file, found in zip(listed, old, strict=True) if found is None]
    described = describe_files(source, listing, new)
    keyed = [(file, at.key) for file, at in zip(described, new, strict=True)]
    read = iter(with_digests(form, location, keyed))
    return tuple(found or next(read) for found in old)


def _files_of(
    store: Store, name: str, source: SourceSpec, listing: Listing, last: Pin | None
) -> tuple[PinnedFile, ...]:
    """The files of a listing as they are pinned, and the copies of what no engine reads there."""
    files = _pin_files(source, listing, last)
    if not listing.raw and not listing.kept:
        return files
    spooled = _spooled(Spool(store, name, last), source, listing)
    return tuple(sorted((*files, *spooled), key=lambda file: file.uri))


def _spooled(spool: Spool, source: SourceSpec, listing: Listing) -> Iterator[PinnedFile]:
    """Yield the files that hold what no engine reads where it is."""
    yield from listing.kept
    copied = spool.files(listing.raw, source.held_columns)
    for raw, files in zip(listing.raw, copied, strict=True):
        for file in files:
            if raw.by_day is None or raw.by_day.reads(file.day):
                yield completed(source, listing, raw.key, file, raw.weight)


def arrived_rows(source: SourceSpec, day: date) -> int:
    """The rows that have arrived by now, as the files say themselves."""
    source = source.as_delivered
    listing = data_files(source, day)
    described = describe_files(source, listing, listing.files)
    raw = sum(one.count(source.held_columns) for one in listing.raw)
    return sum(file.rows for file in (*described, *listing.kept)) + raw


def check_schema(source: SourceSpec, files: Sequence[PinnedFile]) -> None:
    """Every file has the declared columns, in their types or, where the source says so, in narrower
    ones; in any order, without others unless the source ignores them; and by its footer no NULL
    where none is declared: plans rely on that.

    Names are compared as Spark does, whatever their case. Raises :class:`SchemaDriftError` naming
    file and column, and :class:`forerun.include.sources.parquet.footers.SourceFileError` for a
    column in a type that Spark does not read.
    """
    wanted = {column.name.lower(): column for column in source.file_columns}
    for file in files:
        found = {column.name.lower(): column for column in file.columns}
        for name, there in found.items():
            if name in wanted or source.extra_columns == "refuse":
                refuse_unread(file.uri, there)
        for name, column in wanted.items():
            if name not in found:
                raise _drift(source.name, file.uri, column.name, column.type, "no such column")
            there = found[name]
            if not _fits(source, there.type, column):
                raise _drift(source.name, file.uri, column.name, column.type, there.type)
            if there.nulls and not column.nullable:
                expected, found_there = f"{column.type} without NULL", f"{there.nulls} NULL values"
                raise _drift(source.name, file.uri, column.name, expected, found_there)
        for name, extra in found.items():
            if name not in wanted and source.extra_columns == "refuse":
                raise _drift(source.name, file.uri, extra.name, "no such column", extra.type)


def _fits(source: SourceSpec, found: str, column: ColumnSpec) -> bool:
    if same_type(found, column.type):
        return True
    # How often a row comes is never in another type: engines add it up as it is.
    mine = any(column is one for one in source.columns)
    return mine and source.narrower_types == "widen" and widens(found, column.type)


def _drift(source: str, uri: str, column: str, expected: str, found: str) -> SchemaDriftError:
    return SchemaDriftError(
        f"source {source}: {uri}, column {column}: expected {expected}, found {found}",
        hint="Deliver the file with the declared columns, or declare the new ones in the report "
        '(a new generation of the day then starts). extra_columns="ignore" and '
        'narrower_types="widen" of a source say what it lives with.',
    )
