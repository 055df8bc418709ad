"""Pins: the exact files of a source at an instant, taken once and shared by all reports.

A series of pins per source and day, numbered from 1, each put if absent. A new pin is made only if
something has changed since the last one; only footers of files that the last pin does not have are
read. A pin says what is there, also when a file was replaced: whether a run may go on from its
base's pin is for :func:`include.pinned.delivery` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from include.changelog import check_weights
from include.pinned import read_pin
from include.report import SourceSpec
from include.source_files import SourcePathError, locate
from include.state.layout import numbers, pin_key, pins_folder, source_id
from include.state.records import Pin, PinnedFile, encode
from include.state.store import Store, StoredFile, StoreReader
from planner.algebra.types import parse_type
from planner.contract import ColumnSpec
from planner.errors import ForerunError


class SchemaDriftError(ForerunError):
    """A delivered file has not the declared columns."""

    code = "schema-drift"


def pin_source(store: Store, source: SourceSpec, day: date, now: datetime) -> tuple[str, Pin]:
    """Pin what is there now; return the pin and its key.

    Raises :class:`SourcePathError` if nothing is there and the source may not be empty,
    :class:`include.footers.SourceFileError` for a file that is not Parquet,
    :class:`SchemaDriftError` for one that has not the declared columns, and
    :class:`include.changelog.ChangelogError` for one of a changelog that may have NULL in ``__w``.
    """
    path = source.path_on(day)
    name = source_id(source.name, source.path, source.format)
    at = day.isoformat()
    while True:
        # The last pin is read before the folder is listed: a pin with a higher number never shows
        # an older state, and the loser of a race looks again.
        last = _last_pin(store, name, at)
        files = _pin_files(path, last)
        if not files and not source.allow_empty:
            raise SourcePathError(
                f"source {source.name} has no files in {path}",
                hint="Correct its path, deliver a file (one without rows will do), or declare "
                "allow_empty.",
            )
        check_schema(source.name, source.file_columns, files)
        if source.change == "changelog":
            check_weights(source.name, files)
        if last is not None and last.files == files:
            return pin_key(name, at, last.number), last
        number = last.number + 1 if last else 1
        pin = Pin(
            source=name,
            name=source.name,
            day=at,
            number=number,
            path=path,
            format=source.format,
            pinned_at=now.astimezone(UTC).isoformat(),
            files=files,
        )
        key = pin_key(name, at, number)
        if store.put_if_absent(key, encode(pin)):
            return key, pin


def _last_pin(store: StoreReader, source: str, day: str) -> Pin | None:
    # The listing only says where the series ends; the put is what decides.
    known = numbers(tuple(file.key for file in store.list(pins_folder(source, day))))
    return read_pin(store, pin_key(source, day, known[-1])) if known else None


def _pin_files(path: str, last: Pin | None) -> tuple[PinnedFile, ...]:
    location = locate(path)
    known = {(f.uri, f.size, f.identity): f for f in last.files} if last else {}
    listed = location.files()

    def old(file: StoredFile) -> PinnedFile | None:
        return known.get((location.store.uri(file.key), file.size, file.identity))

    new = [file for file in listed if old(file) is None]
    if new:
        from include.footers import read_footers

        read = dict(zip((f.key for f in new), read_footers(location, new), strict=True))
    return tuple(old(file) or read[file.key] for file in listed)


def arrived_rows(source: SourceSpec, day: date) -> int:
    """The rows that have arrived by now, from the footers."""
    return sum(file.rows for file in _pin_files(source.path_on(day), None))


def check_schema(source: str, declared: Sequence[ColumnSpec], files: Sequence[PinnedFile]) -> None:
    """Every file has exactly the declared columns, in their types, in any order, and by its footer
    no NULL where none is declared: plans rely on that.

    Names are compared as Spark does, whatever their case. No type is widened: a key whose type
    changes hashes differently. Raises :class:`SchemaDriftError` naming file and column.
    """
    wanted = {column.name.lower(): column for column in declared}
    for file in files:
        found = {column.name.lower(): column for column in file.columns}
        for name, column in wanted.items():
            there = found.get(name)
            if there is None:
                raise _drift(source, file.uri, column.name, column.type, "no such column")
            if _same_type(there.type) != _same_type(column.type):
                raise _drift(source, file.uri, column.name, column.type, there.type)
            if there.nulls and not column.nullable:
                expected, found_there = f"{column.type} without NULL", f"{there.nulls} NULL values"
                raise _drift(source, file.uri, column.name, expected, found_there)
        for name, extra in found.items():
            if name not in wanted:
                raise _drift(source, file.uri, extra.name, "no such column", extra.type)


def _same_type(text: str) -> str:
    if "<" in text:
        return "".join(text.split()).upper()
    return parse_type(text).sql


def _drift(source: str, uri: str, column: str, expected: str, found: str) -> SchemaDriftError:
    return SchemaDriftError(
        f"source {source}: {uri}, column {column}: expected {expected}, found {found}",
        hint="Deliver the file with the declared columns, or declare the new ones in the report "
        "(a new generation of the day then starts).",
    )
