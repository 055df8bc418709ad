"""The columns of a table, as a report can declare them so that the files that are there fit."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, Literal

from forerun.first_report.layout import Layout, NoTableError
from forerun.first_report.values import Json, Number, Scalars
from forerun.include.machine.wall_clock import utc_now
from forerun.include.reports.sources.complete_when import ClockTime
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.sources.files import Listing, Location
from forerun.include.sources.formats import format_of
from forerun.include.sources.listing import data_files
from forerun.include.sources.pins import pin_source
from forerun.include.sources.unread import SourceFileError, refuse_unread
from forerun.include.sources.widening import same_type, widens
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import Store
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

MOST_DAYS = 7
"""So many of the newest days are looked at."""
_ANY_DAY = date(2000, 1, 1)
_BAD_COLUMN = re.compile(r", column (.+) \S+: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTable:
    """A table that a report can read: the source, how its files are on the days that were looked
    at, and what is to know of it, in sentences."""

    layout: Layout
    source: SourceSpec
    files: dict[date, tuple[PinnedFile, ...]]
    remarks: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The rows of the newest day, or of all of a table without days."""
        newest = max(self.files)
        return sum(file.rows for file in self.files[newest])


def look_at(layout: Layout, scratch: Store) -> SeenTable:
    """Find the columns of a table. ``scratch`` keeps what has to be copied to be looked at. Raises
    :class:`NoTableError` for one that no report can read, and says why."""
    days = layout.days[-MOST_DAYS:] or (_ANY_DAY,)
    try:
        if layout.columns:
            return _pinned(layout, days, layout.columns, [], scratch)
        first = _source(layout, (ColumnSpec(name="any", type="STRING"),))
        listed = {day: data_files(first, day) for day in days}
        if layout.format == "json":
            return _pinned(layout, days, *_in_objects(listed), scratch)
        if layout.format == "csv":
            return _pinned(layout, days, _in_texts(listed), [], scratch)
        return _look_at_footers(layout, listed)
    except NoTableError:
        raise
    except ForerunError as error:
        raise NoTableError(f"{layout.name}: {error.message}") from None


def _source(
    layout: Layout,
    columns: Sequence[ColumnSpec],
    *,
    extra: Literal["refuse", "ignore"] = "refuse",
    narrower: Literal["refuse", "widen"] = "refuse",
) -> SourceSpec:
    return SourceSpec(
        name=layout.name,
        path=layout.path,
        format=layout.format,
        columns=tuple(columns),
        catalog=layout.catalog,
        arrival="growing" if layout.days else "static",
        complete_when=ClockTime() if layout.days else None,
        extra_columns=extra,
        narrower_types=narrower,
    )


Listed = dict[date, Listing]


def _look_at_footers(layout: Layout, listed: Listed) -> SeenTable:
    form = format_of(layout.format)
    files = {day: tuple(form.describe(at.location, at.files, ())) for day, at in listed.items()}
    every = [file for found in files.values() for file in found]
    names = Counter(column.name.lower() for file in every for column in file.columns)
    remarks, columns = [], []
    extra: Literal["refuse", "ignore"] = "refuse"
    narrower: Literal["refuse", "widen"] = "refuse"
    for name, count in names.items():
        try:
            if count < len(every):
                raise NoTableError(f"only {count} of {len(every)} files have it")
            column, is_widened = _column(name, every)
            _source(layout, [column])
        except ForerunError as error:
            remarks.append(f"column {name} is left out: {error.message}")
            extra = "ignore"
            continue
        columns.append(column)
        if is_widened:
            narrower = "widen"
            remarks.append(f"column {column.name} is {column.type}, and narrower in some files")
    if not columns:
        raise NoTableError(f"{layout.name} has no column that can be read: {'; '.join(remarks)}")
    source = _source(layout, columns, extra=extra, narrower=narrower)
    return SeenTable(layout=layout, source=source, files=files, remarks=tuple(remarks))


def _pinned(
    layout: Layout,
    days: Sequence[date],
    found: Sequence[ColumnSpec],
    remarks: list[str],
    scratch: Store,
) -> SeenTable:
    """Pin a table whose columns are known before its files are looked at: every row of the days is
    held against them. A column that no report can have is left out."""
    columns = []
    for column in found:
        try:
            _source(layout, [column])
        except ForerunError as error:
            remarks.append(f"column {column.name} is left out: {error.message}")
        else:
            columns.append(column)
    if not columns:
        raise NoTableError(f"{layout.name} has no column that can be read: {'; '.join(remarks)}")
    while True:
        source = _source(layout, columns, extra="ignore" if remarks else "refuse")
        try:
            pins = {day: pin_source(scratch, source, day, utc_now())[1] for day in days}
        except SourceFileError as error:
            columns = _as_text(columns, error, remarks)
            continue
        files = {day: pin.files for day, pin in pins.items()}
        return SeenTable(layout=layout, source=source, files=files, remarks=tuple(remarks))


def _as_text(
    columns: Sequence[ColumnSpec], error: SourceFileError, remarks: list[str]
) -> list[ColumnSpec]:
    """Return the columns with the one that an error names as a text. Raises the error if it names
    none, or a text."""
    bad = _BAD_COLUMN.search(error.message)
    at = next((n for n, c in enumerate(columns) if bad and c.name == bad[1]), None)
    if at is None or columns[at].type == "STRING":
        raise error
    remarks.append(f"column {columns[at].name} is read as text: {error.message}")
    return [replace(c, type="STRING") if n == at else c for n, c in enumerate(columns)]


def _in_objects(listed: Listed) -> tuple[list[ColumnSpec], list[str]]:
    """Return the columns that the keys of JSON lines are, by all of their values, and what is to
    know of those that are none."""
    whole = Json()
    for listing in listed.values():
        for raw in listing.raw:
            for line in _lines(listing.location, raw.key):
                whole.take(line)
    columns, remarks = list[ColumnSpec](), list[str]()
    for name, values in whole.inside.items():
        try:
            columns.append(ColumnSpec(name=name, type=values.type))
        except NoTableError as error:
            remarks.append(f"column {name} is left out: {error.message}")
    return columns, remarks


def _lines(location: Location, key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file. Raises :class:`NoTableError` for what is none."""
    with location.store.open(key) as handle:
        text = gzip.GzipFile(fileobj=handle) if key.endswith(".gz") else handle
        try:
            for line in text:
                if line.strip():
                    found = json.loads(line, parse_int=Number, parse_float=Number)
                    if not isinstance(found, dict):
                        raise ValueError("a line that is no object")
                    yield found
        except (ValueError, EOFError, OSError, zlib.error) as error:
            uri = location.store.uri(key)
            raise NoTableError(f"{uri} is not one object in each line: {error}") from None


def _column(name: str, files: Iterable[PinnedFile]) -> tuple[ColumnSpec, bool]:
    """A column in the type that all files fit, and whether some have a narrower one."""
    found = []
    for file in files:
        column = next(one for one in file.columns if one.name.lower() == name)
        refuse_unread(file.uri, column)
        found.append(column)
    types = list(dict.fromkeys(column.type for column in found))
    for kind in types:
        if all(same_type(other, kind) or widens(other, kind) for other in types):
            alike = all(same_type(one, other) for one, other in pairwise(types))
            return ColumnSpec(name=found[0].name, type=kind), not alike
    raise NoTableError(f"it is {' and '.join(types)} in different files")


def _in_texts(listed: Listed) -> list[ColumnSpec]:
    """Return the columns of a CSV table in the types that every value of the days is of, and of
    which each is written as that type is. A number with leading zeros is a text."""
    values: dict[str, Scalars] = {}
    for listing in listed.values():
        for raw in listing.raw:
            _read_values(listing.location, raw.key, values)
    return [ColumnSpec(name=name, type=found.type) for name, found in values.items()]


def _read_values(location: Location, key: str, values: dict[str, Scalars]) -> None:
    from pyarrow import csv
    from pyarrow.lib import ArrowInvalid

    uri = location.store.uri(key)
    with location.store.open(key) as opened:
        try:
            data = gzip.decompress(opened.read()) if key.endswith(".gz") else opened.read()
            header = data.partition(b"\n")[0].decode().rstrip("\r")
            read = csv.read_csv(
                io.BytesIO(data),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(_header(header), "string"),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except (ArrowInvalid, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
            raise NoTableError(f"{uri} cannot be read: {error}") from None
    if values and set(values) != set(read.column_names):
        raise NoTableError(f"{uri} has other columns than the files before it")
    for name, column in zip(read.column_names, read.columns, strict=True):
        known = values.setdefault(name, Scalars())
        for text in column.drop_null().unique().to_pylist():
            known.take(text)


def _header(line: str) -> list[str]:
    import csv

    return next(csv.reader([line]), [])
